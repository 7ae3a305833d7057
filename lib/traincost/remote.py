"""stub for now"""
from contextlib import contextmanager
@contextmanager
def staged(task):
    yield task.root
