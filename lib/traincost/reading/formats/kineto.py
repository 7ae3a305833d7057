"""Traces of the PyTorch profiler (Kineto) and other trace-event files, packed or not.

A trace covers what was profiled, which its run time is: from the first event's begin to the last
one's end. Sections are the user's annotations and the profiler's steps, nested as they lie in one
another on their thread; a time is never counted twice.

The ranks of one run are one run: those that the file names (``rank_3``, ``worker-3``), or the
directory's, tell apart, and those that the profiler's own TensorBoard handler wrote side by side,
told apart by the rank inside. The run lasts as long as its slowest rank, and has its sections.
Files of one rank written one after another are its windows; these add up.
"""

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from traincost.columns import finite
from traincost.reading.formats.by_name import all_like
from traincost.reading.formats.files import Unreadable, names, shortened
from traincost.reading.formats.run import Run, added, one_level, runtime
from traincost.reading.formats.statuses import COMPLETED, KILLED, UNREADABLE
from traincost.reading.formats.trace_events import MAX_NAMES, looks_like_trace, read_facts, read_trace

NAME = "kineto"
TITLE = "PyTorch profiler traces (*.json, *.json.gz)"
MAX_FILES = 4_096  # of one run
MAX_DEPTH = 64  # of sections
MAX_DEVICES = 8  # named
_ROUNDING_US = 1.0  # older traces have whole microseconds
# What lies beside runs under these names is no trace.
_OTHERS = (
    r"(run|results|manifest|(all|train|eval|test|predict)_results|trainer_state|state|metrics|stats"
    r"|((generation|adapter|preprocessor|tokenizer)_)?config|tokenizer|vocab|added_tokens"
    r"|special_tokens_map|(model\.safetensors|pytorch_model\.bin)\.index|package(-lock)?|hparams|args"
    r"|params|dataset_infos?|wandb-(summary|metadata)|machine|benchmarks|profiling|estimation)\.json"
)
_RANK = re.compile(r"(?<![A-Za-z0-9])(rank|worker)[-_]?(\d{1,6})(?![A-Za-z0-9])")
_HANDLER = re.compile(r"(.+?)\.\d{10,20}")  # worker.time.pt.trace.json
_FLAGS = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")
_EPOCH_US = 1e15  # September 2001: a smaller time is relative to something


@dataclass(frozen=True)
class _File:
    """A candidate, and what its name says.

    Files of one run have an equal `run`, those of one process an equal `worker`. Where the rank
    is `ranked` by the name, an equal `run` is enough; else what is in the files must say so.
    """

    path: str
    run: str
    worker: str
    ranked: bool


NAMES, sources = all_like(rf"(?!{_OTHERS}\Z).*\.json(\.gz|\.tmp)?")
recognises = looks_like_trace


def read(path, run_id):
    """Return the run that the trace at `path` is of; its other ranks and windows are its parts."""
    folder, name = os.path.split(path)
    # Above a directory at the top of a collection, there is nothing of the collection.
    by_folder = bool(_RANK.fullmatch(os.path.basename(folder))) and "/" in run_id
    mine = _file(folder, name, by_folder)
    run_id = f"{os.path.dirname(run_id) if by_folder else run_id}/{shortened(mine.run, 120)}"
    try:
        trace = read_trace(path)
    except Unreadable as problem:
        return [Run(run_id, UNREADABLE, named=False, reason=str(problem))]
    if trace is None:
        return []
    places = _rank_folders(folder) if by_folder else [folder]
    files = (_file(place, name, by_folder) for place in places for name in sources(place, names(place)))
    together = _together(mine, trace, [file for file in files if file.run == mine.run][:MAX_FILES])
    traces, notes = {mine: trace}, []
    # A file and its packed copy are one window.
    others = {_unpacked(file.path): file for file in together if _unpacked(file.path) != _unpacked(path)}
    for file in others.values():
        _read_other(file, traces, notes)
    run = _run(run_id, mine, traces, notes)
    run.parts = [os.path.relpath(file.path, folder) for file in together if file.path != path]
    return [run]


# -- which files -----------------------------------------------------------------------------


def _file(folder, name, by_folder):
    path = os.path.join(folder, name)
    if name.endswith(".tmp"):  # the profiler renames what it has written to its end
        return _File(path, name, name, False)
    stem = _unpacked(name).removesuffix(".json")
    is_trace = stem.endswith(".pt.trace")
    stem = stem.removesuffix(".pt.trace")
    if by_folder:
        rank = int(_RANK.fullmatch(os.path.basename(folder))[2])
        return _File(path, "trace" if is_trace else stem, str(rank), True)
    if rank := _RANK.search(stem):
        # What follows the rank in the profiler's own names is a time, which differs between ranks.
        rest = "" if is_trace else stem[rank.end() :]
        return _File(path, f"{stem[: rank.start()]}{rank[1]}{rest}", str(int(rank[2])), True)
    if is_trace and (handler := _HANDLER.fullmatch(stem)):
        return _File(path, "trace", handler[1], False)
    return _File(path, stem, stem, False)


def _rank_folders(folder):
    """Return the directories beside `folder` whose names differ from its in the rank only."""
    above, name = os.path.split(folder)
    word = _RANK.fullmatch(name)[1]
    found = [_RANK.fullmatch(other) for other in names(above)]
    return [os.path.join(above, rank[0]) for rank in found if rank and rank[1] == word]


def _together(mine, trace, candidates):
    """Return those candidates, which are so by their names, that are of the run of `mine`.

    Files of the TensorBoard handler lie in one directory whether they are ranks of one run or
    runs of their own; they are ranks where each worker has a rank of its own inside.
    """
    if mine.ranked:
        return candidates
    workers = {file.worker: file for file in candidates}
    if "rank" in trace.facts and len(workers) > 1:
        ranks = [read_facts(file.path).get("rank", [None])[0] for file in workers.values()]
        if all(isinstance(rank, int) for rank in ranks) and len(set(ranks)) == len(ranks):
            return candidates
    return [file for file in candidates if file.worker == mine.worker]


def _unpacked(path):
    return path.removesuffix(".gz")


def _read_other(file, traces, notes):
    try:
        trace = read_trace(file.path)
    except Unreadable as problem:
        notes.append(f"rank {file.worker} {problem}: left out" if file.ranked else f"a window {problem}")
        return
    if trace is not None:
        traces[file] = trace


# -- what they say -----------------------------------------------------------------------------


def _run(run_id, mine, traces, notes):
    workers = {}
    for file, trace in traces.items():
        workers.setdefault(file.worker, []).append(trace)
    spans = {worker: sum(trace.span_s or 0.0 for trace in windows) for worker, windows in workers.items()}
    slowest = max(spans, key=spans.get)
    facts = traces[mine].facts
    run = Run(run_id, COMPLETED, _started(workers[slowest]), spans[slowest], named=False)
    run.config = _config(facts)
    sizes = [size for size in facts.get("device_bytes", []) if finite(size) and size > 0]
    run.cost = {"cost_device_capacity_mib": max(sizes) / 2**20} if sizes else {}
    for trace in workers[slowest]:
        for path, timed in sections(trace, notes).items():
            run.sections[path] = added(run.sections.get(path, (0.0, 0)), timed)
    if facts.get("device"):
        # Annotations are timed on the host, which does not wait for what they launch on the device.
        run.extents = dict.fromkeys(run.sections, (None, None, None, False))
    run.notes = [*_scope(workers, facts), *notes]
    for trace in traces.values():
        run.notes += trace.notes
        if trace.n_unusable:
            run.notes.append(f"{trace.n_unusable} events without a usable time are left out")
    run.notes = list(dict.fromkeys(run.notes))
    broken = [trace.cut_short for trace in traces.values() if trace.cut_short]
    if broken:
        run.status, run.reason = KILLED if "cut short" in broken[0] else UNREADABLE, broken[0]
    elif not any(trace.n_events for trace in traces.values()):
        run.status, run.reason, run.runtime_s = UNREADABLE, "holds no timed event (X, B or E)", None
    else:
        run.runtime_s, run.reason = runtime(run.runtime_s, "the time from the first event to the last")
    return run


def _scope(workers, facts):
    """Return notes on what the runtime covers."""
    windows = max(map(len, workers.values()))
    yield "its runtime is the time that the trace covers" + (f", in {windows} windows" * (windows > 1))
    size = facts.get("world_size", [1])[0]
    if isinstance(size, int) and size > len(workers):
        yield f"{len(workers)} of its {size} ranks found: the slowest may be missing"
    elif len(workers) > 1:
        yield f"its runtime and sections are those of the slowest of {len(workers)} ranks"


def _config(facts):
    """Return what the trace says of how it was made; the rank and the host are left out."""
    config = {}
    for name in ("world_size", "backend"):
        if isinstance(facts.get(name, [None])[0], int | str):
            config[name] = facts[name][0]
    devices = sorted({shortened(name, 120) for name in facts.get("device", []) if isinstance(name, str)})
    if devices:
        config["device"] = ", ".join(devices[:MAX_DEVICES])
    return config | {name: str(bool(facts[name][0])) for name in _FLAGS if name in facts}


def _started(windows):
    """Return when the first window began, as ISO 8601; empty where the clock has no known zero."""
    starts = []
    for trace in windows:
        base = trace.facts.get("base_ns", [0])[0]
        base = base if finite(base) else 0
        start_us = trace.first_us + base / 1000
        if finite(start_us) and _EPOCH_US < start_us < 4 * _EPOCH_US:
            starts.append(start_us)
    return datetime.fromtimestamp(min(starts) / 1e6, UTC).isoformat() if starts else ""


def sections(trace, notes):
    """Return section path to (seconds, count) of the annotations of a trace.

    An annotation lies in the innermost one of its thread that holds it; one that only overlaps
    another lies beside it. What rounding put past its parent's end is cut off, and what two of one
    parent share counts for the first, so that children never take longer than their parent.
    What was left out is added to `notes`.
    """
    starts, ends, order = _ordered(trace)
    found, open_ = {}, []  # open_: [thread, end, path, where its children have come to], outermost first
    for i in order:
        thread, start, end = trace.threads[i], starts[i], ends[i]
        while open_:
            outer_thread, outer_end, *_ = open_[-1]
            if outer_thread == thread and start < outer_end and end <= outer_end + _ROUNDING_US:
                break
            open_.pop()
        above = f"{open_[-1][2]}/" if open_ else ""
        if open_:
            start, end = max(start, open_[-1][3]), min(end, open_[-1][1])
            end = max(start, end)
            open_[-1][3] = end
        path = above + one_level(trace.names[trace.labels[i]])
        if len(open_) >= MAX_DEPTH or (path not in found and len(found) >= MAX_NAMES):
            notes.append(f"sections beyond {MAX_NAMES}, or deeper than {MAX_DEPTH}, are left out")
            continue
        open_.append([thread, end, path, start])
        seconds, count = found.get(path, (0.0, 0))
        found[path] = (seconds + (end - start) / 1e6, count + 1)
    return found


def _ordered(trace):
    """Return starts and ends, and the order in which an annotation follows those that hold it."""
    starts = np.frombuffer(trace.starts_us, dtype=float) if trace.starts_us else np.zeros(0)
    ends = starts + np.frombuffer(trace.durations_us, dtype=float) if len(starts) else starts
    threads = np.array(trace.threads, dtype=np.int64)
    # Of equal intervals, the one that was written first holds the others.
    return starts.tolist(), ends.tolist(), np.lexsort((np.arange(len(starts)), -ends, starts, threads))
