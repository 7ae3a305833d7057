"""Read files at fsspec URLs: list them in bulk and download those of a batch while it is read.

The readers know only files of this machine. A batch's files are therefore put into a temporary
folder: the sources, and small files beside them, are downloaded together, a bounded number at a
time; any other is there by name and size, and downloaded when a reader opens it. Credentials come
from fsspec's own settings and the environment; no URL is shown with what may be one.
"""

import os
import re
import tempfile
import time
from bisect import bisect_left
from contextlib import contextmanager

from traincost.errors import NothingToReport, ParameterError
from traincost.reading import sensitive
from traincost.reading.formats.files import MAX_FILE_MIB, digest_of_names, fetched
from traincost.reading.listing import URL, shown
from traincost.reading.listing import is_url as is_url  # beside the rest of what URLs need
from traincost.reading.tables import printable

AT_ONCE = 16  # requests under way
TRIES = 6
FIRST_WAIT_S = 0.2  # before the second try; doubled for each further one
SMALL_BYTES = 64 * 2**10  # of files that are brought along with those beside them
GROUP_BYTES = 64 * 2**20  # downloaded together, and held in memory
# s3fs would ask for the size of each file before it gets it, to get it in pieces.
_OPTIONS = {"s3": {"max_concurrency": 1}, "s3a": {"max_concurrency": 1}}
# What the file systems of fsspec call the version of a file, the surest first.
_VERSIONS = ("ETag", "etag", "md5Hash", "content_md5", "LastModified", "last_modified", "mtime", "created")
_FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)


class Versions:
    """Every file of a remote directory, by path to [size in bytes, what tells its versions apart]."""

    def __init__(self, files):
        self._files = files
        self._sorted = sorted(files)

    def get(self, name, default=None):
        """Return [size, version] of a file, or the default."""
        return self._files.get(name, default)

    def inside(self, directory):
        """Return each name in a directory, and whether it is (also) that of a folder."""
        start = len(directory) + 1 if directory else 0
        found = {}
        for path in self._below(directory):
            name, slash, _ = path[start:].partition("/")
            found[name] = found.get(name, False) or bool(slash)
        return found

    def _below(self, directory):
        """Return the sorted paths of the files in or below a directory."""
        if not directory:
            return self._sorted
        # "0" is the sign that follows the slash.
        start, end = (bisect_left(self._sorted, directory + sign) for sign in "/0")
        return self._sorted[start:end]

    def near(self, sources):
        """Return a dict of the files that readers of the sources may look for."""
        found = {}
        for directory in {path.rpartition("/")[0] for path, _ in sources} - {""}:
            found.update((name, self._files[name]) for name in self._below(directory))
        if any("/" not in path for path, _ in sources):
            beside = {path for path, _ in sources}
            for name in self._sorted:
                if "/" not in name or name.partition("/")[0] in beside:
                    found[name] = self._files[name]
        return found

    def state(self, name):
        """Return what `formats.files.state` would of a file or directory."""
        if name in self._files:
            return self._files[name]
        names = self.inside(name)
        return digest_of_names(names) if names else []


def filesystem(url):
    """Return the fsspec file system of a URL, and the path in it; raises `ParameterError`."""
    login = sensitive.USERINFO.search(url)
    if login and ":" in login[0]:
        raise ParameterError(
            f"{shown(url)!r} must hold no password: give it by the environment, or in fsspec's settings"
        )
    try:
        import fsspec
        from fsspec.core import url_to_fs
    except ImportError:
        raise ParameterError(f"{shown(url)!r} needs fsspec: pip install 'traincost[scale]'") from None
    known = fsspec.available_protocols()
    scheme = URL.match(url)[1]
    if scheme not in known:
        raise ParameterError(
            f"{shown(url)!r}: there is no {scheme!r}; fsspec knows {', '.join(sorted(known))}"
        )
    try:
        system, path = url_to_fs(url, use_listings_cache=False, **_OPTIONS.get(scheme, {}))
    except ImportError as problem:
        raise ParameterError(f"{shown(url)!r} needs a package: {problem}") from None
    return system, path.rstrip("/")


def why(problem):
    """Return why something failed in a few words, without what may be a credential."""
    if isinstance(problem, PermissionError):
        return "access denied"
    if isinstance(problem, FileNotFoundError):
        return "does not exist"
    text = re.sub(r"\?\S*", "", " ".join(str(problem).split()))
    return f"{type(problem).__name__}: {shown(text)}"


def retried(call, *arguments, **named):
    """Return what `call` does; it is tried up to `TRIES` times, with longer and longer waits between.

    What is denied or not there is not tried again. Raises `OSError`.
    """
    for attempt in range(TRIES):
        try:
            return call(*arguments, **named)
        except _FINAL:
            raise
        except Exception as problem:
            if attempt == TRIES - 1:
                raise OSError(f"failed {TRIES} times, at last with {why(problem)}") from None
            time.sleep(FIRST_WAIT_S * 2**attempt)
    return None


def files(url):
    """Return the `Versions` of all files below a URL, and (path, reason) of those of unusable names."""
    system, root = filesystem(url)
    try:
        found = retried(system.find, root, detail=True)
        if not found and not retried(system.exists, root):
            raise FileNotFoundError(root)
    except FileNotFoundError:
        raise NothingToReport(f"runs_dir {shown(url)!r} does not exist") from None
    except OSError as problem:
        raise NothingToReport(f"runs_dir {shown(url)!r} cannot be read: {why(problem)}") from None
    usable, unusable = {}, []
    for name, info in found.items():
        path = name.removeprefix(root).lstrip("/")
        if _is_safe(path):
            usable[path] = [info.get("size"), _version(info)]
        else:
            unusable.append((printable(path), "its name can be no file's: not read"))
    return Versions(usable), unusable


def _is_safe(path):
    """Say whether a key names a file below the folder it is brought to."""
    parts = path.split("/")
    return "\0" not in path and all(p not in ("", ".", "..") and len(os.fsencode(p)) < 256 for p in parts)


def _version(info):
    return next((str(info[key]) for key in _VERSIONS if info.get(key)), "")


@contextmanager
def staged(task):
    """Bring the files of a `batch.Task` here; yield the folder that stands for its root."""
    if task.versions is None:
        yield task.root
        return
    with tempfile.TemporaryDirectory(prefix="traincost-") as folder:
        stage = _Stage(task, folder)
        stage.download(stage.wanted())
        with fetched(stage.fetch):
            yield folder


class _Stage:
    """A folder of files that are here by name and size, and in full once they are asked for."""

    def __init__(self, task, folder):
        self._system, self._root = filesystem(task.root)
        self._folder, self._task = folder, task
        self._problems, self._here = {}, set()
        for name, (size, _) in task.versions.items():
            path = f"{folder}/{name}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.truncate(size or 0)

    def wanted(self):
        """Return the names of the files to bring before any is asked for."""
        sources = {path for path, _ in self._task.sources}
        directories = {path.rpartition("/")[0] for path in sources}
        return [
            name
            for name, (size, _) in self._task.versions.items()
            if (name in sources and (size or 0) <= MAX_FILE_MIB * 2**20)
            or (name.rpartition("/")[0] in directories and (size or 0) <= SMALL_BYTES)
        ]

    def fetch(self, path):
        """Download the file at `path` in the folder, if it is one of them and not here yet."""
        name = path.removeprefix(f"{self._folder}/")
        if name in self._task.versions and name not in self._here:
            self.download([name])
        if name in self._problems:
            raise self._problems[name]

    def download(self, names):
        """Download files, a group at a time."""
        group, held = [], 0
        for name in names:
            group.append(name)
            held += self._task.versions[name][0] or 0
            if held >= GROUP_BYTES:
                self._download(group)
                group, held = [], 0
        if group:
            self._download(group)

    def _download(self, names):
        """Download files together; what fails is tried again, and what fails for good is noted."""
        self._here.update(names)
        for attempt in range(TRIES):
            failed = {}
            for name, found in self._contents(names).items():
                if isinstance(found, bytes):
                    with open(f"{self._folder}/{name}", "wb") as file:
                        file.write(found)
                else:
                    failed[name] = found
            names = [name for name, problem in failed.items() if not isinstance(problem, _FINAL)]
            if not names or attempt == TRIES - 1:
                self._problems.update((name, OSError(0, why(p))) for name, p in failed.items())
            if not names:
                return
            time.sleep(FIRST_WAIT_S * 2**attempt)

    def _contents(self, names):
        keys = {f"{self._root}/{name}": name for name in names}
        try:
            found = self._system.cat(list(keys), on_error="return", batch_size=AT_ONCE)
        except Exception as problem:  # of the file system itself, not of a file
            return dict.fromkeys(names, problem)
        if isinstance(found, bytes):  # what a list of one gives in some file systems
            return {names[0]: found}
        return {keys[key]: value for key, value in found.items()}
