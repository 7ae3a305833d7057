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
TRIES = 3  # at least
PATIENCE_S = 30  # with a store that does not answer, or only with failures
FIRST_WAIT_S = 0.2  # before the second try; doubled for each of the next four
SMALL_BYTES = 64 * 2**10  # of files that are brought along with those beside them
GROUP_BYTES = 64 * 2**20  # downloaded together, and held in memory
_S3 = ("s3", "s3a")
# What the file systems of fsspec call the version of a file, the surest first.
_VERSIONS = ("ETag", "etag", "md5Hash", "content_md5", "LastModified", "last_modified", "mtime", "created")
_FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)
# What S3 calls a refusal of who asks, rather than of one file.
_REFUSED = {
    "ExpiredToken": "the credentials have expired",
    "InvalidToken": "the session token is not valid",
    "InvalidAccessKeyId": "the access key is not known there",
    "SignatureDoesNotMatch": "the secret key is not that of the access key",
    "RequestTimeTooSkewed": "the clock of this machine is wrong",
}


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
        system, path = url_to_fs(url, use_listings_cache=False, **_options(scheme, fsspec.config.conf))
    except ImportError as problem:
        raise ParameterError(f"{shown(url)!r} needs a package: {problem}") from None
    if scheme in _S3:
        system.retries = 1  # `retried` tries again; both, would take minutes to give up
    return system, path.rstrip("/")


def _options(scheme, settings):
    """Return what a file system is made with, beside the user's settings of fsspec."""
    if scheme not in _S3:
        return {}
    own = settings.get(scheme, {}).get("config_kwargs", {})
    # s3fs would ask for the size of each file before it gets it, to get it in pieces.
    return {"max_concurrency": 1, "config_kwargs": {"retries": {"total_max_attempts": 1}, **own}}


def why(problem):
    """Return why something failed in a few words, without what may be a credential."""
    if isinstance(problem, PermissionError):
        return f"access denied{_refusal(problem, ': ')}"
    if isinstance(problem, FileNotFoundError):
        return "does not exist"
    text = shown(re.sub(r"\?\S*", "", " ".join(str(problem).split())))
    # What `retried` raises says already what failed.
    return text if type(problem) is OSError and not problem.errno else f"{type(problem).__name__}: {text}"


def _refusal(problem, before=""):
    """Return why who asks is refused, with a sign before it; empty where it is a matter of one file."""
    answer = getattr(problem.__cause__, "response", None) or {}
    reason = _REFUSED.get(answer.get("Error", {}).get("Code"), "")
    return reason and before + reason


def retried(call, *arguments, **named):
    """Return what `call` does; it is tried again and again (`_tries`).

    What is denied or not there is not tried again. Raises `OSError`.
    """
    for n in _tries():
        try:
            return call(*arguments, **named)
        except _FINAL:
            raise
        except Exception as problem:
            failure = f"failed {n} times, at last with {why(problem)}"
    raise OSError(failure)


def _tries():
    """Yield the number of each try, with longer and longer waits between, until `PATIENCE_S` are over."""
    began, n = time.monotonic(), 0
    while n < TRIES or time.monotonic() - began < PATIENCE_S:
        if n:
            time.sleep(FIRST_WAIT_S * 2 ** min(n - 1, 4))
        n += 1
        yield n


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
            version = next((str(info[key]) for key in _VERSIONS if info.get(key)), "")
            usable[path] = [info.get("size"), version]
        else:
            unusable.append((printable(path), "its name can be no file's: not read"))
    return Versions(usable), unusable


def _is_safe(path):
    """Say whether a key names a file below the folder it is brought to."""
    parts = path.split("/")
    return "\0" not in path and all(p not in ("", ".", "..") and len(os.fsencode(p)) < 256 for p in parts)


@contextmanager
def staged(task):
    """Bring the files of a `batch.Task` here; yield the folder that stands for its root."""
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
        limit_of = dict.fromkeys(sources, MAX_FILE_MIB * 2**20)
        return [
            name
            for name, (size, _) in self._task.versions.items()
            if (size or 0) <= limit_of.get(name, SMALL_BYTES) and name.rpartition("/")[0] in directories
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
        """Download files together; what fails is tried again.

        What is denied or gone is noted. Raises `NothingToReport` where the line fails for good, or who asks
        is refused: without the files that lack for that, any answer would be of some of the runs.
        """
        self._here.update(names)
        for n in _tries():
            failed, reason = {}, f"failed {n} times, at last with "
            for name, found in self._contents(names).items():
                if not isinstance(found, bytes):
                    failed[name] = found
                elif not self._is_whole(name, found):
                    failed[name] = OSError(f"{name} came with {len(found):,} bytes, which it does not have")
                else:
                    with open(f"{self._folder}/{name}", "wb") as file:
                        file.write(found)
            final = {name: problem for name, problem in failed.items() if isinstance(problem, _FINAL)}
            self._problems.update((name, OSError(0, why(p))) for name, p in final.items())
            if any(map(_refusal, final.values())):
                self._give_up(why(next(filter(_refusal, final.values()))))
            names = [name for name in failed if name not in final]
            if not names:
                return
        self._give_up(reason + why(failed[names[0]]))

    def _give_up(self, reason):
        raise NothingToReport(f"{shown(self._task.root)!r} cannot be read: {printable(reason)}")

    def _is_whole(self, name, found):
        """Say whether a content has the length that was listed, or what the file has by now."""
        size = self._task.versions[name][0]
        if size is None or len(found) == size:
            return True
        try:
            return retried(self._system.info, f"{self._root}/{name}").get("size") == len(found)
        except OSError:
            return False

    def _contents(self, names):
        keys = {f"{self._root}/{name}": name for name in names}
        try:
            found = self._system.cat(list(keys), on_error="return", batch_size=AT_ONCE)
        except Exception as problem:  # of the file system itself, not of a file
            return dict.fromkeys(names, problem)
        if isinstance(found, bytes):  # what a list of one gives in some file systems
            return {names[0]: found}
        return {keys[key]: value for key, value in found.items()}
