"""Read batches in worker processes or on a Dask cluster.

`engine` yields a function that reads tasks (`batch.Task`) and gives their batches in the order
of the tasks, with no more of them under way than keeps the workers busy, so that batches do not
pile up. When a worker dies its batch is read again, and if more workers die, by halves, until the
file that kills them stands alone.
"""

import logging
import multiprocessing
import os
import socket
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from urllib.parse import urlsplit

from traincost.errors import ParameterError
from traincost.reading.batch import read_batch
from traincost.reading.formats.run import Run
from traincost.reading.formats.statuses import UNREADABLE
from traincost.reading.redaction import Redactor
from traincost.reading.tables import tabulated

CONNECT_S = 5  # to hear from a scheduler and its workers
AHEAD = 2  # batches under way for each worker
LOST = "cannot be read: the worker process that read it died"


class WorkerLost(Exception):
    """The process that read a batch died, more than once."""


@contextmanager
def engine(workers=1, scheduler=""):
    """Yield a function of an iterable of tasks, which yields their batches in order.

    `workers` is the number of processes, one for each core if 0; `scheduler` the address of a Dask
    scheduler whose workers see the same files.
    """
    if scheduler and workers != 1:
        raise ParameterError("`workers` and `scheduler` exclude each other: the cluster has its own workers")
    if scheduler:
        with _cluster(scheduler) as (submit, width):
            yield lambda tasks: _ordered(tasks, submit, width)
        return
    if workers < 0:
        raise ParameterError(f"`workers` must be 0 (one for each core) or more, got {workers}")
    workers = workers or os.cpu_count() or 1
    with closing(_Pool(workers)) as pool:
        yield lambda tasks: _ordered(tasks, pool.submit, workers)


def _ordered(tasks, submit, width):
    """Yield the batches of `tasks` in order; `submit` starts one and returns a wait for it."""
    waiting = deque()
    for task in tasks:
        waiting.append((task, submit(task)))
        if len(waiting) >= AHEAD * width:
            yield from _whole(*waiting.popleft(), submit)
    while waiting:
        yield from _whole(*waiting.popleft(), submit)


def _whole(task, wait, submit):
    """Yield the batch of a task, or those of its halves where workers die of it."""
    try:
        yield wait()
    except WorkerLost:
        if len(task.sources) == 1:
            directory = task.sources[0][0].rpartition("/")[0] or task.name
            yield tabulated(
                task.places, [([Run(directory, UNREADABLE, reason=LOST)], "")], Redactor(task.rule)
            )
            return
        middle = len(task.sources) // 2
        for part in (slice(None, middle), slice(middle, None)):
            half = replace(task, places=task.places[part], sources=task.sources[part])
            yield from _whole(half, submit(half), submit)


# -- processes -----------------------------------------------------------------------------


class _Pool:
    """Worker processes that are started anew when one of them dies."""

    def __init__(self, workers):
        self._workers = workers
        self._start()

    def _start(self):
        # A fork would copy the locks that other threads hold, of a notebook's kernel for one.
        context = multiprocessing.get_context("spawn")
        self._executor = ProcessPoolExecutor(self._workers, mp_context=context)

    def submit(self, task):
        """Start a task; return a wait for its batch."""
        try:
            future = self._executor.submit(read_batch, task)
        except BrokenProcessPool:
            return lambda: self._alone(task)

        def wait():
            try:
                return future.result()
            except BrokenProcessPool:
                return self._alone(task)

        return wait

    def _alone(self, task):
        """Read a task with no other beside it: if its process dies now, this is the one."""
        self.close()
        self._start()
        try:
            return self._executor.submit(read_batch, task).result()
        except BrokenProcessPool:
            self.close()
            self._start()
            raise WorkerLost from None

    def close(self):
        """Stop the processes; what they have not begun is dropped."""
        self._executor.shutdown(wait=True, cancel_futures=True)


# -- Dask ----------------------------------------------------------------------------------


@contextmanager
def _cluster(address):
    client = _client(address)
    try:
        width = max(1, sum(client.nthreads().values()))
        yield (lambda task: _submitted(client, task)), width
    finally:
        with suppress(Exception):
            client.close(timeout=CONNECT_S)


def check(scheduler):
    """Raise `ParameterError` unless a scheduler answers and has workers."""
    with _cluster(scheduler):
        pass


def _submitted(client, task):
    from distributed import KilledWorker

    future = client.submit(read_batch, task, pure=False)

    def wait():
        try:
            return future.result()
        except KilledWorker:
            raise WorkerLost from None
        except ModuleNotFoundError as problem:
            raise ParameterError(
                f"the workers of `scheduler` cannot read runs: {problem}; install traincost there"
            ) from None
        finally:
            future.release()  # or the cluster would keep the batch

    return wait


def _client(address):
    _greeted(address)
    try:
        from distributed import Client
    except ImportError:
        raise ParameterError("`scheduler` needs Dask: pip install 'traincost[scale]'") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as problem:
        raise _unanswered(address, problem) from None
    try:
        client.wait_for_workers(1, timeout=CONNECT_S)
    except TimeoutError:
        client.close(timeout=1)
        raise ParameterError(
            f"`scheduler` {address!r} has no workers; start some (dask worker {address})"
        ) from None
    return client


def _greeted(address):
    """Wait for a scheduler's first sign, or raise `ParameterError`.

    A scheduler speaks first. Dask itself waits long for one that is there and silent.
    """
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    try:
        with socket.create_connection((parts.hostname, parts.port), timeout=CONNECT_S) as connection:
            if parts.scheme == "tcp" and not connection.recv(1):
                raise OSError("connection closed")
    except (OSError, ValueError, TypeError) as problem:
        raise _unanswered(address, problem) from None


def _unanswered(address, problem):
    why = " ".join(str(problem).split()) or "no answer"
    return ParameterError(
        f"`scheduler` {address!r} does not answer ({why}); it must be the address of a Dask scheduler, like "
        "tcp://host:8786"
    )
