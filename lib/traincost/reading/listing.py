"""List what there is to read under a directory or URL: the one place that walks a tree."""

import gc
import os
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from traincost.errors import NothingToReport, ParameterError, brief
from traincost.reading import sensitive
from traincost.reading.formats import READERS, table_files
from traincost.reading.formats.files import RACY_NS
from traincost.reading.tables import printable
from traincost.words import natural

MAX_DEPTH = 64  # of directories below the first
MANY_NAMES = 100  # in a directory of runs, rather than of one
POINTER = "traincost-index.json"  # names what an index consists of (`index`)
POINTER_KEY = "traincost-index.key"  # of the marks of what is withheld (`redaction`): for the owner alone
URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
LIVE = re.compile(r"(mlflow|optuna):(?=.)(.+)", re.DOTALL)


@dataclass(frozen=True, eq=False)
class Listing:
    """The files that may hold runs.

    `seen` has the path of a directory to its state (inode, times of modification and change in ns) and
    its children: (name, reader) of a source, (name, "") of a folder. It lacks those that may change
    without a change of their state: changed just now, or with links in them.
    """

    root: str  # directory or URL that the paths are relative to
    name: str  # of the collection
    sources: list  # of (path, reader), in natural order of the paths
    unopened: list  # (path, reason) of directories that were not opened
    versions: object = None  # all files of a remote directory (`remote.Versions`)
    seen: dict | None = None

    @property
    def shown(self):
        """The directory as it may be shown."""
        return shown(self.root) if is_url(self.root) else self.root


def is_url(path):
    """Say whether a path is a URL."""
    return isinstance(path, str) and bool(URL.match(path))


def is_live(path):
    """Say whether a path is the address of a store (`live`), and no file's name."""
    return isinstance(path, str) and bool(LIVE.fullmatch(path)) and not os.path.exists(path)


def shown(url):
    """Return a URL without what may be a credential.

    >>> shown("s3://key:secret@bucket/runs?token=x")
    's3://bucket/runs'
    """
    return sensitive.USERINFO.sub("", url).replace("://@", "://").partition("?")[0]


def readers(format):
    """Return the names of the readers that `format` asks for, in the order of their claims."""
    if format == "auto":
        return list(READERS)
    if format not in READERS:
        raise ParameterError(f"`format` must be auto or one of {', '.join(READERS)}, got {brief(format)}")
    return [format]


def listed(runs_dir, format="auto", known=None):
    """List a directory, or the URL of one.

    `known` is what an earlier listing with this format has `seen`: directories that did not change
    since are not read again. It is empty for a first listing that is to keep what it sees.
    Raises `NothingToReport` and `ParameterError`.
    """
    asked, versions, unusable = readers(format), None, []
    if is_url(runs_dir):
        from traincost.reading import remote

        root, known = runs_dir.rstrip("/"), None
        versions, unusable = remote.files(root)
        name = shown(root).rpartition("/")[2]
    else:
        root = checked(runs_dir)
        name = os.path.basename(os.path.realpath(root))
    with collector_paused():
        walk = _Walk(root, asked, known, versions)
    unopened = ordered(walk.unopened + unusable)
    return Listing(root, printable(name), walk.sources, unopened, versions, walk.seen)


@contextmanager
def collector_paused():
    """Pause the garbage collector while many objects without cycles are made."""
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


def checked(runs_dir):
    """Return the directory as text, or raise `NothingToReport`."""
    if not isinstance(runs_dir, str | os.PathLike):
        raise NothingToReport(f"`runs_dir` must be a path, got {brief(runs_dir)}")
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


class _Walk:
    """Sources and unopened directories below a root; links are followed out of it alone.

    A link to what lies in the collection or around it, or to a target met before, would count
    runs twice or never end.
    """

    def __init__(self, root, readers, known, versions):
        self.sources, self.unopened = [], []
        self.seen = None if known is None else {}
        self._all = [(name, READERS[name].sources) for name in readers]
        self._readers, self._known, self._versions = readers, known or {}, versions
        self._settled_ns = time.time_ns() - RACY_NS
        self._targets = set() if versions else {os.path.realpath(root)}
        # Runs hold files of the same names.
        self._takers = lru_cache(maxsize=1_024)(self._taking)
        # What is still to be taken, the next one last: so the sources come in natural order.
        self._tied, waiting = False, [(root, "", 0)]
        while waiting:
            entry = waiting.pop()
            if len(entry) == 2:
                self.sources.append(entry)
                continue
            found = self._enter(*entry)
            # Nearly all directories are those of a run, with nothing to go into.
            if len(found) == 1 and len(found[0]) == 2:
                self.sources += found
            else:
                waiting += reversed(found)
        if self._tied:
            ordered(self.sources)

    def _taking(self, names):
        """Return the name and `sources` of the readers that may take one of the names for a source."""
        readers = ((name, READERS[name]) for name in self._readers)
        return [(n, reader.sources) for n, reader in readers if any(map(reader.NAMES.fullmatch, names))]

    def _enter(self, directory, relative, depth):
        """Return the sources in a directory, and the folders to go into, in natural order."""
        try:
            children = self._children(directory, relative)
        except OSError as problem:
            self.unopened.append((relative or ".", f"cannot be opened: {problem.strerror}"))
            return []
        below = f"{relative}/" if relative else ""
        if depth > MAX_DEPTH and any(not reader for _, reader in children):
            reason = f"lies deeper than {MAX_DEPTH} directories: what is below it is not read"
            self.unopened.append((relative, reason))
            children = [child for child in children if child[1]]
        return [
            (below + name, reader) if reader else (f"{directory}/{name}", below + name, depth + 1)
            for name, reader in children
        ]

    def _children(self, directory, relative):
        """Return (name, reader) of the sources in a directory and (name, "") of its folders."""
        if self._versions:
            inside = self._versions.inside(relative)
            return self._arranged(directory, sorted(inside), [n for n in inside if inside[n]])[0]
        if self.seen is None:
            return self._scanned(directory)[0]
        status = os.stat(directory)
        state = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
        known = self._known.get(relative)
        if known and known[0] == state:
            self.seen[relative] = known
            return known[1]
        children, is_plain = self._scanned(directory)
        if is_plain and status.st_mtime_ns > 0 and max(state[1:]) < self._settled_ns:
            self.seen[relative] = (state, children)
        return children

    def _scanned(self, directory):
        """Return the children of a directory, and whether they depend on nothing outside it."""
        names, folders, links, is_kept = [], [], [], self.seen is not None
        with os.scandir(directory) as entries:
            for entry in entries:
                name = entry.name
                names.append(name)
                try:
                    is_folder = entry.is_dir()
                except OSError:
                    is_folder = False
                if is_folder:
                    (links if entry.is_symlink() else folders).append(name)
                elif is_kept and entry.is_symlink():
                    links.append("")
        names.sort()
        if links:
            folders += [name for name in sorted(links) if name and self._leads_out(f"{directory}/{name}")]
        children, is_tied = self._arranged(directory, names, folders)
        return children, not (links or is_tied)

    def _arranged(self, directory, names, folders):
        """Return the children of a directory in order, and whether some of them sort alike."""
        # A directory that bears the name of a source is offered too, so that it is not missed.
        if len(names) <= MANY_NAMES:
            takers = self._takers(tuple(names))
        else:
            takers = self._all if any(map(_any_source().fullmatch, names)) else ()
        children = [(name, reader) for reader, sources in takers for name in sources(directory, names)]
        children += [(name, "") for name in folders]
        is_tied = len(children) > 1 and _arranged(children)
        self._tied |= is_tied
        return children, is_tied

    def _leads_out(self, link):
        target = os.path.realpath(link)
        for known in self._targets:
            if f"{target}/".startswith(f"{known}/") or f"{known}/".startswith(f"{target}/"):
                return False
        self._targets.add(target)
        return True


@lru_cache(maxsize=1)
def _any_source():
    """Return a pattern of all names that any reader may take for a source."""
    return re.compile("|".join(f"(?s:{reader.NAMES.pattern})" for reader in READERS.values()))


def _arranged(children):
    """Sort the children of a directory as the paths that they begin; say whether some sort alike.

    What is below those must be sorted by its whole path.
    """
    keys = {child: natural(child[0] if child[1] else f"{child[0]}/") for child in children}
    children.sort(key=keys.get)
    return len(set(keys.values())) < len({(name, not reader) for name, reader in children})
