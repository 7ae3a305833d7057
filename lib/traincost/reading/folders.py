"""Write into a folder of this machine or at a URL: whole files, each replaced in one step.

Who writes holds the lock of the folder (`locked`), which the system lets go of when its holder ends,
however that ends: there is no stale one. What a killed writer left beside, the next removes.

Folders of this machine are not used through fsspec: importing it takes longer than a page's files
take to write, and it offers neither locks nor a replacement in one step.
"""

import errno
import os
import re
import shutil
import tempfile
import time
import uuid
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

from traincost.errors import ParameterError, limit_of, require
from traincost.reading import remote
from traincost.reading.tables import printable

LOCK = ".lock"
# Elsewhere there is no lock: what no list names may be the work of a refresh under way.
LEFTOVER_S = 24 * 3600
PATIENCE_S, LOOK_S = 600, 0.01  # with another writer, and between two looks for its end
SCRATCH = "traincost-"  # begins the names of our temporary folders
SCRATCH_S = 60  # from which age on one that nobody holds is a leftover
_BESIDE = re.compile(r"\..+\.[0-9a-f]{32}\.tmp")


def at(path):
    """Return the folder at a path or URL, or None where that is no path."""
    if remote.is_url(path):
        return Elsewhere(path)
    return Here(os.fspath(path)) if isinstance(path, str | os.PathLike) and os.fspath(path) else None


class Here:
    """A folder of this machine."""

    def __init__(self, path):
        self._path = path
        self._is_alone = False
        self.shown = repr(path)

    def make(self):
        """Make the folder where it is not there."""
        os.makedirs(self._path, exist_ok=True)

    def refuse_unwritable(self):
        """Raise the system's OSError where nothing can be written: before the work, not after it."""
        place = os.path.abspath(self._path)
        while not os.path.lexists(place):
            place = os.path.dirname(place)
        with tempfile.TemporaryFile(dir=place):
            pass

    def names(self):
        """Return the names of the files in it; none where it is not there."""
        try:
            return os.listdir(self._path)
        except FileNotFoundError:
            return []

    def read(self, name):
        """Return the content of a file, or None where there is none."""
        try:
            with open(self._of(name), "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None

    def create(self, name):
        """Open a new file for writing."""
        return open(self._of(name), "wb")

    def publish(self, files, mode=0o666):
        """Put contents (a dict of name to bytes) in the place of files, each in one step.

        A name may begin with a folder in this one. All are written beside before the first is
        switched: where there is no room for them, the old ones stay. Call it under the lock.
        """
        self._clean({os.path.dirname(name) for name in files})
        # A name of a file may have 255 bytes.
        beside = {
            f"{folder}{slash}.{own[:40]}.{uuid.uuid4().hex}.tmp": name
            for name in files
            for folder, slash, own in [name.rpartition("/")]
        }
        try:
            for temporary, name in beside.items():
                os.makedirs(os.path.dirname(self._of(temporary)), exist_ok=True)
                with open(self._of(temporary), "xb", opener=partial(os.open, mode=mode)) as file:
                    file.write(files[name])
                    _settle(file)
            for temporary, name in beside.items():
                os.replace(self._of(temporary), self._of(name))
        except BaseException:
            self.remove(beside)
            raise

    def _clean(self, folders):
        """Remove what writers that were killed left beside; without a lock, only what is old."""
        for folder in folders:
            with suppress(FileNotFoundError):
                for name in filter(_BESIDE.fullmatch, os.listdir(self._of(folder))):
                    left = os.path.join(folder, name)
                    if self._is_alone or _is_aged(self._of(left), LEFTOVER_S):
                        self.remove([left])

    def remove(self, names):
        """Remove files; one that is gone already is no matter."""
        for name in names:
            with suppress(FileNotFoundError):
                os.remove(self._of(name))

    def leftovers(self, is_ours, kept):
        """Return the names of files that `is_ours` accepts and nothing names; call it under the lock."""
        return [name for name in self.names() if is_ours(name) and name not in kept]

    @contextmanager
    def locked(self):
        """Wait for other writers of this folder to end, and keep others out; it is there already.

        Where a file system has no locks, the files of two writers are whole, and may be of both.
        """
        with ExitStack() as held:
            self._is_alone = any(_is_locked(held, place) for place in (self._path, self._of(LOCK)))
            try:
                yield
            finally:
                self._is_alone = False

    def _of(self, name):
        return os.path.join(self._path, name)


def _settle(file):
    """Wait until a file is on its disk; some file systems of a network or of users know no such thing."""
    file.flush()
    try:
        os.fsync(file.fileno())
    except OSError as problem:
        if problem.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
            raise


def _is_locked(held, place):
    """Lock a folder, or the file of the lock: some network file systems lock only what is written to."""
    if fcntl is None:
        return False
    try:
        is_folder = os.path.isdir(place)
        descriptor = os.open(place, os.O_RDONLY if is_folder else os.O_RDWR | os.O_CREAT, 0o666)
        held.callback(os.close, descriptor)
    except OSError:
        return False
    began = time.monotonic()
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() - began > PATIENCE_S:
                raise OSError(
                    f"another process has been writing to it for {PATIENCE_S} s; end it, or wait for it"
                ) from None
            time.sleep(LOOK_S)
        except OSError:  # no locks here
            return False
        else:
            return True


def _is_aged(path, seconds):
    with suppress(OSError):
        return time.time() - os.lstat(path).st_mtime > seconds
    return False


@contextmanager
def scratch():
    """Make a temporary folder, and remove it at the end; and those that killed processes left.

    Who made one holds its lock, so that none is removed that is in use, be it by another machine.
    """
    with ExitStack() as held:
        with suppress(OSError):
            _remove_scratches(tempfile.gettempdir())
        folder = held.enter_context(tempfile.TemporaryDirectory(prefix=SCRATCH, ignore_cleanup_errors=True))
        _is_locked(held, folder)
        yield folder


def _remove_scratches(parent):
    for entry in list(os.scandir(parent)):
        is_ours = entry.name.startswith(SCRATCH) and entry.is_dir(follow_symlinks=False)
        if fcntl is None or not is_ours or not _is_aged(entry.path, SCRATCH_S):
            continue
        if entry.stat(follow_symlinks=False).st_uid != os.getuid():
            continue
        with suppress(OSError), ExitStack() as held:
            descriptor = os.open(entry.path, os.O_RDONLY)
            held.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused where it is in use
            shutil.rmtree(entry.path, ignore_errors=True)


class Elsewhere:
    """A folder at an fsspec URL, as `Here`. Whoever publishes last wins; the files of both are whole."""

    def __init__(self, url):
        self._system, self._path = remote.filesystem(url)
        self.shown = repr(remote.shown(url))

    def make(self):
        remote.retried(self._system.makedirs, self._path, exist_ok=True)

    def refuse_unwritable(self):
        """Do nothing: to try it would cost a request, and one more to remove what was written."""

    def names(self):
        return [path.rpartition("/")[2] for path in self._found()]

    def _found(self):
        try:
            return {info["name"]: info for info in remote.retried(self._system.ls, self._path, detail=True)}
        except FileNotFoundError:
            return {}

    def read(self, name):
        try:
            return remote.retried(self._system.cat_file, self._of(name))
        except FileNotFoundError:
            return None

    @contextmanager
    def create(self, name):
        """Open a new file for writing; it is there once it is whole."""
        # Through a file of this machine, so that an upload that fails can be tried again.
        with tempfile.NamedTemporaryFile(prefix="traincost-") as file:
            yield file
            file.flush()
            remote.retried(self._system.put_file, file.name, self._of(name))

    def publish(self, files, mode=None):
        """Put contents in the place of files; object stores do so in one step for each."""
        for name, content in files.items():
            remote.retried(self._system.pipe_file, self._of(name), content)

    def remove(self, names):
        for name in names:
            with suppress(FileNotFoundError):
                remote.retried(self._system.rm_file, self._of(name))

    def leftovers(self, is_ours, kept):
        """Return what `Here.leftovers` does, of old files."""
        names = {path.rpartition("/")[2]: info for path, info in self._found().items()}
        return [n for n, info in names.items() if is_ours(n) and n not in kept and _is_old(info)]

    @contextmanager
    def locked(self):
        """Do nothing: there is no lock elsewhere."""
        yield

    def _of(self, name):
        return f"{self._path}/{name}"


def _is_old(info):
    changed = info.get("LastModified") or info.get("mtime") or info.get("created")
    changed = changed.timestamp() if hasattr(changed, "timestamp") else changed
    return isinstance(changed, int | float) and time.time() - changed > LEFTOVER_S


def refuse_unwritable(path):
    """Raise `ParameterError` where nothing can be written into the folder at `path`, be it there or not."""
    folder = at(path)
    require(folder is not None, "output", "a path or URL", path)
    with told(folder):
        folder.refuse_unwritable()


@contextmanager
def told(folder):
    """Say of what cannot be written which folder it was for."""
    try:
        yield
    except OSError as problem:
        limit = limit_of(problem)
        reason = (problem.strerror or remote.why(problem)) + (f": {limit}" if limit else "")
        raise ParameterError(f"the folder {printable(folder.shown)} cannot be written: {reason}") from None
