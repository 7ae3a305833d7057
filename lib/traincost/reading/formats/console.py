"""Console logs with printed times: the Trainer's dictionaries, nanoGPT's iterations, a progress bar.

``{'train_runtime': 812.3, …}`` is the runtime. Where there is no total, the time of iterations that were
printed is a lower bound, and so is what a progress bar shows: said as such, and counted nowhere.
"""

import ast
import hashlib
import os
import re
from itertools import pairwise

from traincost.columns import finite
from traincost.reading.formats import durations
from traincost.reading.formats.csv_rows import number
from traincost.reading.formats.endings import lines_at_end, of_console
from traincost.reading.formats.files import Folder, Unreadable, read_head, text_of
from traincost.reading.formats.run import Run, runtime
from traincost.reading.formats.statuses import COMPLETED, CONSOLE, NOT_RECORDED, UNKNOWN

NAME = "console"
TITLE = "console logs with printed times (train_runtime, time per iteration)"
# A name without an ending, as the folders of many runs have, fails at once.
NAMES = re.compile(
    r"(?=[^.]*\.)(?i:.*\.(log|out|stdout|err)|.*(log|out|console|train|slurm).*\.txt)", re.DOTALL
)
MAX_LOG_MIB = 64
PRINTED_TOTAL = "runtime is what the console log printed as train_runtime"
LOWER_BOUND = (
    "its runtime is at least {:.4g} s: the time per iteration that its console log printed, without {}"
)
FROM_BAR = "its runtime is not known; its progress bar stood at {:.4g} s"
_ITERATION = re.compile(
    r"^iter (\d{1,12}): loss ([^\s,]{1,24}), time (\d{1,12}(?:\.\d{1,9})?)ms", re.MULTILINE
)
_DICTIONARY = re.compile(r"\{'(?:loss|eval_|train_)[^{}]{1,2000}\}")
_BAR = re.compile(r"\d+/\d+ \[(\d{1,6}(?::\d\d){1,3})<")
_MARKS = (b"'train_runtime'", b"'eval_runtime'", b"{'loss'", b"iter 0: loss", b"iter 10: loss")
_NO_SCORE = re.compile(
    r"(eval|train)_(runtime|samples_per_second|steps_per_second)|eval_model_preparation_time"
    "|epoch|learning_rate"
)


def sources(directory, found):
    """Return the files whose names logs have, those of W&B aside."""
    if os.path.basename(os.path.dirname(directory)).startswith(("run-", "offline-run-")):
        return []
    return [name for name in found if NAMES.fullmatch(name)]


def recognises(path):
    """Say whether a log has such lines, by its two ends."""
    try:
        ends = read_head(path, 2**15) + "\n".join(lines_at_end(path, 2**15)).encode()
    except Unreadable:
        return False
    return any(mark in ends for mark in _MARKS)


def read(path, run_id):
    """Return the run that printed a log; none where it holds no printed times."""
    if not recognises(path):
        return []
    folder, name = Folder(os.path.dirname(path)), os.path.basename(path)
    text = text_of(path, MAX_LOG_MIB)
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
    is_alone = not any(other != name and recognises(folder.of(other)) for other in folder.like(NAMES))
    run = Run(run_id if is_alone else f"{run_id}/{name}", named=False, fingerprint=digest)
    entries = [_entry(match[0]) for match in _DICTIONARY.finditer(text)]
    for entry in entries:
        run.scores.update(item for item in entry.items() if not _NO_SCORE.fullmatch(item[0]))
    totals, evaluations = (
        [entry[name] for entry in entries if name in entry] for name in ("train_runtime", "eval_runtime")
    )
    if evaluations:
        run.sections["eval"] = (sum(evaluations), len(evaluations))
    if totals:
        run.runtime_s, reason = runtime(sum(totals), "train_runtime")
        run.notes.append(PRINTED_TOTAL)
        ending = (COMPLETED, reason, CONSOLE)
    else:
        seconds, reason = _at_least(run, text)
        if not seconds and not entries:
            return []
        run.runtime_s, _ = runtime(seconds)
        ending = (UNKNOWN, reason, NOT_RECORDED)
    console = of_console(path)
    run.end(*((*console, CONSOLE) if console else ending))
    return [run]


def _entry(text):
    """Return the finite numbers of a dictionary of literals."""
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    items = found.items() if isinstance(found, dict) else ()
    numbers = {k: number(v) if isinstance(v, str) else v for k, v in items if isinstance(k, str)}
    return {k: v for k, v in numbers.items() if finite(v)}


def _at_least(run, text):
    """Return the least time that a log without a total took, and what is to be said."""
    printed = [(int(at), loss, float(ms)) for at, loss, ms in _ITERATION.findall(text)]
    if printed:
        # One in log_interval is printed; the first holds the start, and its evaluation.
        steps = [b[0] - a[0] for a, b in pairwise(printed) if b[0] > a[0]]
        interval = sorted(steps)[len(steps) // 2] if steps else 1
        total = printed[0][2] + sum(ms for _, _, ms in printed[1:]) * interval
        if (loss := number(printed[-1][1])) is not None:
            run.scores["loss"] = loss
        return total / 1000, LOWER_BOUND.format(total / 1000, "evaluations and checkpoints")
    bars = [seconds for text in _BAR.findall(text) if (seconds := durations.seconds(text))]
    seconds = max(bars, default=None)
    return seconds, FROM_BAR.format(seconds or 0.0)
