"""What there is to read under a directory: the one place that walks a tree."""

import gc
import os
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from traincost import remote
from traincost.errors import NothingToReport, ParameterError
from traincost.fields import natural
from traincost.formats import READERS, table_files
from traincost.rows import printable

MAX_DEPTH = 64  # of directories below the first
MANY_NAMES = 100  # in a directory of runs, rather than of one


@dataclass(frozen=True, eq=False)
class Listing:
    """The files that may hold runs.

    Attributes
    ----------
    root : str
        Directory or URL that the paths are relative to.
    name : str
        Of the collection.
    sources : list of (path, reader)
        In natural order of the paths.
    unopened : list of (path, reason)
        Directories that were not gone into.
    versions : remote.Versions, or None
        All files of a remote directory; None where files are at hand to be asked.
    """

    root: str
    name: str
    sources: list
    unopened: list
    versions: object = None

    @property
    def shown(self):
        """The directory as it may be shown."""
        return remote.shown(self.root) if remote.is_url(self.root) else self.root


def readers(format):
    """Return the names of the readers that `format` asks for, in the order of their claims.

    Raises
    ------
    ParameterError
        There is none of that name.
    """
    if format == "auto":
        return list(READERS)
    if format not in READERS:
        raise ParameterError(f"`format` must be auto or one of {', '.join(READERS)}, got {format!r}")
    return [format]


def listed(runs_dir, format="auto"):
    """List a directory, or the URL of one.

    Raises
    ------
    NothingToReport
        It is missing, is none, or cannot be read.
    ParameterError
        `format` is not known.
    """
    if remote.is_url(runs_dir):
        return _listed_elsewhere(runs_dir.rstrip("/"), readers(format))
    root = checked(runs_dir)
    with collector_paused():
        walk = _Walk(root, readers(format))
        return Listing(root, name_of(root), ordered(walk.sources), ordered(walk.unopened))


@contextmanager
def collector_paused():
    """Hold the garbage collector off, where many objects are made and no cycles worth a search."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def ordered(entries):
    """Sort tuples that begin with a path in natural order; those of one path keep theirs."""
    entries.sort(key=lambda entry: entry[0])
    entries.sort(key=lambda entry: natural(entry[0]))
    return entries


def _listed_elsewhere(url, readers):
    versions, unopened = remote.files(url)
    names = {}
    for path in versions.below(""):
        # A directory is offered in the one around it, too.
        while path:
            directory, _, name = path.rpartition("/")
            if name in names.setdefault(directory, {}):
                break
            names[directory][name] = None
            path = directory
    sources = [
        source
        for directory, found in names.items()
        for source in sources_in(
            f"{url}/{directory}" if directory else url, directory, sorted(found), readers
        )
    ]
    name = printable(remote.shown(url).rpartition("/")[2])
    return Listing(url, name, ordered(sources), ordered(unopened), versions)


def checked(runs_dir):
    """Return the directory as text, or raise `NothingToReport`."""
    if not isinstance(runs_dir, str | os.PathLike):
        raise NothingToReport(f"`runs_dir` must be a path, got {runs_dir!r}")
    root = os.fspath(runs_dir)
    if not root or not os.path.exists(root):
        raise NothingToReport(f"runs_dir {root!r} does not exist")
    if not os.path.isdir(root):
        raise NothingToReport(
            f"runs_dir {root!r} is a file; it must be the directory of the runs, or a table of them "
            f"({', '.join(table_files.ENDINGS)})"
        )
    try:
        os.scandir(root).close()
    except OSError as problem:
        raise NothingToReport(f"runs_dir {root!r} cannot be read: {problem.strerror}") from None
    return root


def files_below(runs_dir):
    """Yield the path of every file below a directory, relative to it."""
    for directory, folders, names in os.walk(runs_dir):
        folders.sort(key=natural)
        for name in sorted(names, key=natural):
            yield os.path.relpath(os.path.join(directory, name), runs_dir)


def name_of(root):
    """Return the name of a collection: that of its directory."""
    return printable(os.path.basename(os.path.realpath(root)))


def sources_in(directory, relative, names, readers):
    """Return (path, reader) of the sources among the sorted `names` in a directory."""
    return [
        ((f"{relative}/{name}" if relative else name), reader)
        for reader in _asked(names)
        if reader in readers
        for name in READERS[reader].sources(directory, names)
    ]


def _asked(names):
    """Return the readers to ask for sources among names, in the order of their claims."""
    return READERS if len(names) > MANY_NAMES else _interested(tuple(names))


@lru_cache(maxsize=1_024)
def _interested(names):
    """Return the readers that may take one of the names for a source.

    The directories of a sweep's runs hold files of the same names.
    """
    return [name for name, reader in READERS.items() if any(map(reader.NAMES.fullmatch, names))]


class _Walk:
    """Sources and unopened directories below a root; links are followed out of it alone.

    A link to what lies in the collection or around it, or to a target met before, would count
    runs twice or never end.
    """

    def __init__(self, root, readers):
        self.sources, self.unopened = [], []
        self._readers = readers
        self._seen = {os.path.realpath(root)}
        waiting = [(root, "", 0)]
        while waiting:
            waiting += reversed(self._enter(*waiting.pop()))

    def _enter(self, directory, relative, depth):
        """Note what lies in a directory; return the folders to go into."""
        names, folders = [], []
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    names.append(entry.name)
                    if _is_folder(entry):
                        folders.append((entry.name, entry.is_symlink()))
        except OSError as problem:
            self.unopened.append((relative or ".", f"cannot be opened: {problem.strerror}"))
            return []
        # A directory that bears the name of a source is offered too, so that it is not missed.
        names.sort()
        self.sources += sources_in(directory, relative, names, self._readers)
        if folders and depth > MAX_DEPTH:
            reason = f"lies deeper than {MAX_DEPTH} directories: what is below it is not read"
            self.unopened.append((relative, reason))
            return []
        return [
            (f"{directory}/{name}", f"{relative}/{name}" if relative else name, depth + 1)
            for name, is_link in sorted(folders)
            if not is_link or self._leads_out(f"{directory}/{name}")
        ]

    def _leads_out(self, link):
        target = os.path.realpath(link)
        for known in self._seen:
            if f"{target}/".startswith(f"{known}/") or f"{known}/".startswith(f"{target}/"):
                return False
        self._seen.add(target)
        return True


def _is_folder(entry):
    try:
        return entry.is_dir()
    except OSError:
        return False
