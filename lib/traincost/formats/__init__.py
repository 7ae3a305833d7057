"""One small reader per kind of run directory, and the register that recognises them.

A reader is a module with

``NAME``
    What ``format=`` calls it.
``TITLE``
    What a person calls it.
``sources(directory, names)``
    Of the sorted names in a directory, those that this reader can open.
``read(path, run_id)``
    The runs in one such file: a list of `Run`; one that cannot be used has its ``reason``.
    `run_id` is the path of its directory in the collection, for runs without a name.

A reader never raises for what a file contains: it returns what it could read and why not more.
"""

from traincost.formats import pyhighlights, run_record
from traincost.formats.run import Run

READERS = {reader.NAME: reader for reader in (run_record, pyhighlights)}

__all__ = ["READERS", "Run"]
