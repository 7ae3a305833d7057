"""SQLite databases that may be hostile or in use: opened for reading only, with bounded work.

One that is in use, with a write-ahead log or a journal beside it, is copied first, as SQLite would
write to read it.
"""

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from urllib.parse import quote

from traincost.reading.formats import files
from traincost.reading.formats.files import Unreadable, head_of, shortened

SQLITE_MAGIC = b"SQLite format 3\0"
ENDINGS = (".db", ".sqlite", ".sqlite3")
MAX_COPY_MIB = 1024  # of a database in use
MAX_STEPS = 500_000_000  # of SQLite's machine for one query; a row takes about ten
MAX_VALUE_BYTES = 1_000_000  # of one text; MLflow's own limit is 8,000 characters
_STEPS_PER_CALL = 100_000


@contextmanager
def opened(path):
    """Yield the `Rows` of a database. Raises `Unreadable`, also for what goes wrong inside the block."""
    try:
        with _at_rest(path) as (location, query), closing(_connected(location, query)) as connection:
            yield Rows(connection, os.path.getsize(location))
    except (sqlite3.Error, OSError, ValueError, OverflowError) as problem:
        if str(problem) == "interrupted":
            raise Unreadable(f"takes more than {MAX_STEPS} steps to read") from None
        raise Unreadable(f"is no readable database: {shortened(str(problem))}") from None


@contextmanager
def _at_rest(path):
    """Yield a path at which nothing is being written, and how it is to be opened."""
    beside = [f"{path}{suffix}" for suffix in ("-wal", "-journal")]
    in_use = [name for name in beside if head_of(name, 1)]
    if not in_use:
        yield path, "mode=ro&immutable=1"
        return
    with tempfile.TemporaryDirectory(prefix="traincost-") as folder:
        for name in (path, *in_use):
            copy = os.path.join(folder, "copy" + name.removeprefix(path))
            with files.opened(name, MAX_COPY_MIB) as source, open(copy, "wb") as target:
                shutil.copyfileobj(source, target, 2**20)
        yield os.path.join(folder, "copy"), "mode=rw"


def _connected(location, query):
    """Open a database that may be hostile: no code from its schema, and bounded work."""
    address = f"file:{quote(os.path.abspath(location))}?{query}"
    connection = sqlite3.connect(address, uri=True, timeout=1)
    connection.text_factory = lambda value: value.decode("utf-8", "replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA cell_size_check=ON")
    return connection


class Rows:
    """Tables row by row, no more of them than fit in the file.

    A damaged database can hold a page that is reached over and over, and so rows without end.
    """

    def __init__(self, connection, size):
        self._connection, self._left, self._steps = connection, 2 * size, 0
        connection.set_progress_handler(self._step, _STEPS_PER_CALL)
        self.tables = {"sqlite_master"}
        self.tables |= {
            name
            for (name,) in self.of("sqlite_master", "SELECT name FROM sqlite_master WHERE type = 'table'")
        }

    def of(self, table, query):
        """Yield the rows of a query on one table, which may be missing."""
        if table not in self.tables:
            return
        self._steps = 0
        for row in self._connection.execute(query):
            self._left -= 16 + sum(len(value) for value in row if isinstance(value, str | bytes))
            if self._left < 0:
                raise Unreadable("is damaged: it gives more rows than fit in it")
            yield row

    def _step(self):
        self._steps += _STEPS_PER_CALL
        return self._steps > MAX_STEPS
