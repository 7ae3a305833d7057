"""Runs of the Hugging Face Trainer: ``all_results.json``, ``trainer_state.json`` and their like.

A directory with one of `RESULT_NAMES` is a run; a directory that holds only ``checkpoint-N`` is
one that was stopped before it wrote any. ``checkpoint-N`` itself is none.

**Runtime.** ``train_runtime`` is the wall-clock time of ``train()``, with the evaluations on
schedule inside it. Passes made after it (``evaluate()``, ``predict()``) have runtimes of their
own and are added. Which they are stands in the order of ``log_history``: an entry before that of
``train_runtime`` is inside, one after it is not. A pass of a result file is a later one too,
unless its figures equal those of an entry. The section of a pass is named by its prefix
(``eval``, ``predict``), its count is the number of passes; ``train`` is the training without the
evaluations inside it. So the sections are disjoint and sum to the runtime.

**Resumed runs.** ``train_runtime`` covers only the last session, and nothing says so. But
``train_loss`` times the steps is then the sum of that session's losses, not of all that are
logged: such a run is listed and not counted.

**Settings** are those that ``trainer_state.json`` names, the sizes of the data, and the plain
values of JSON files beside it (`SIDE_FILES`), less what was measured or says where the run lies;
and whatever the path says (`formats.paths`). ``training_args.bin`` is not opened: reading it would run code.

**Compute.** ``total_flos`` is what the Trainer counted, 6 x parameters without embeddings x
tokens unless the model knows better: forward and backward passes, of all sessions.
"""

import hashlib
import os
import re

from traincost.columns import finite
from traincost.reading.formats.files import Unreadable, mapping_in, names, parse_json, read_bytes, shortened
from traincost.reading.formats.run import Run, flat, one_level, runtime
from traincost.reading.formats.statuses import COMPLETED, KILLED, UNFINISHED, UNREADABLE

NAME = "huggingface"
TITLE = "Hugging Face Trainer directories (all_results.json, trainer_state.json)"
STATE_NAME = "trainer_state.json"
# What belongs to a run, the more telling last: its figures replace those before.
RESULT_NAMES = (
    *("metrics.json", "predict_results.json", "test_results.json", "eval_results.json", "all_results.json"),
    *("train_results.json", STATE_NAME),
)
# Names that other tools use as well: what is in them decides whether they are the Trainer's.
SHARED_NAMES = RESULT_NAMES[:5]
# File to the field under which its plain values are settings.
SIDE_FILES = {
    **dict.fromkeys(("stats.json", "args.json", "training_args.json", "hparams.json", "params.json"), ""),
    "config.json": "model",
    "adapter_config.json": "adapter",
}
# What follows from others stands after them: of settings that vary as one, the first names them.
STATE_SETTINGS = (
    *("num_train_epochs", "train_batch_size", "max_steps", "eval_steps", "logging_steps", "save_steps"),
)
TRAIN = "train"
ABOVE = "lies above the runs and holds what one of them wrote last: it belongs to none"
MAX_SIDE_MIB = 1
MAX_BELOW = 200  # directories looked through for runs below a file that may be none's
TOLERANCE = 0.01  # of times and summed losses that should agree
LOSS_ROUNDING = 5e-5
MAX_PASSES = 50  # in one log entry
MAX_SECTIONS = 1_000
MAX_SCORES = 1_000

_CHECKPOINT = re.compile(r"checkpoint-(\d{1,12})")
_RUNTIME = re.compile(r"(.+)_runtime")
_SPEED = re.compile(r".*_(runtime|per_second|preparation_time|compilation_time)")
_SCORE = re.compile(r"(eval|test|predict)_|train_loss$")
_SIZE = re.compile(r"(train|eval|test|predict)_samples")
_MEASURED = re.compile(
    r"(eval|test|predict)_.*|.*_(time|mem|memory|loss|acc|accuracy|runtime|per_second|param|params|flos)"
)
_PLACE = re.compile(r".*(_dir|_path|_token|_host)|run_name|local_rank|transformers_version|_commit_hash")
_EXTENSION = re.compile(r".*\.[A-Za-z]\w*", re.DOTALL)  # lr_0.001 has none
_A_PATH = re.compile(r"([/~\\]|\.\.?/|[A-Za-z]:\\).*", re.DOTALL)
NAMES = re.compile("|".join([_CHECKPOINT.pattern, *map(re.escape, RESULT_NAMES)]))


def sources(directory, names):
    """Return the state or a result file of a run, or a checkpoint where a run left no more."""
    if _CHECKPOINT.fullmatch(os.path.basename(directory)):
        return []
    results = [name for name in reversed(RESULT_NAMES) if name in names]
    return (results or _checkpoints(names))[:1]


def read(path, run_id):
    """Return the run in the directory around `path`; `run_id` names it."""
    folder, notes = os.path.dirname(path), []
    if _CHECKPOINT.fullmatch(os.path.basename(path)):
        return _stopped(folder, run_id)
    contents, digest = _contents(folder, notes)
    if any(map(_is_result, contents.values())):
        run = _run(folder, run_id, contents, notes)
        run.fingerprint = digest
        return [run]
    if os.path.basename(path) in SHARED_NAMES:
        return []
    reason = notes[0] if notes else f"{os.path.basename(path)} holds no result of a Trainer: it times nothing"
    return [Run(run_id, UNREADABLE, reason=reason)]


def _contents(folder, notes):
    """Return name to content of what a directory holds of `RESULT_NAMES`, and their digest.

    The times and losses in these files have so many digits that only copies share a digest.
    """
    contents, listed, digest = {}, names(folder), hashlib.sha256()
    for name in RESULT_NAMES:
        if name in listed:
            try:
                raw = read_bytes(os.path.join(folder, name))
                content = parse_json(raw)
            except Unreadable as problem:
                notes.append(f"{name} {problem}")
                continue
            digest.update(raw)
            if isinstance(content, dict):
                contents[name] = content
            else:
                notes.append(f"{name} holds a JSON {type(content).__name__} at the top, not an object")
    return contents, digest.hexdigest()


def _is_result(content):
    return "log_history" in content or any(map(_RUNTIME.fullmatch, content))


def _run(folder, run_id, contents, notes):
    run = Run(run_id, named=False, notes=notes, parts=list(contents))
    state, results = contents.pop(STATE_NAME, {}), {}
    for content in contents.values():
        results |= content
    if not state and "train_results.json" not in contents and _runs_below(folder):
        run.status, run.reason = UNREADABLE, ABOVE
        return run
    history = _history(state)
    trained = next((entry for entry in reversed(history) if "train_runtime" in entry), {})
    results = {"step": state.get("global_step"), **results, **trained}
    run.config = _settings(folder, state, results, run.notes)
    run.scores = _scores([*history, results])
    if "train_runtime" not in results:
        run.status, run.reason = _untrained(state, results)
        return run
    train_s, run.reason = runtime(results["train_runtime"], "train_runtime")
    if not run.reason:
        _add_times(run, train_s, history, results)
    run.cost, run.compute = _cost(results, state)
    return run


def _history(state):
    history = state.get("log_history")
    return [entry for entry in history if isinstance(entry, dict)] if isinstance(history, list) else []


# -- times ---------------------------------------------------------------------------------


def _add_times(run, train_s, history, results):
    """Give the run its runtime and sections, or the reason why its times are not those of all of it."""
    at = max((i for i, entry in enumerate(history) if "train_runtime" in entry), default=len(history))
    inside, after = _passes(history[:at]), _passes(history[at:])
    known = {}
    for each in inside + after:
        known.setdefault(each[:2], []).append(each)
    later = [each for each in _passes([results]) if not any(_same(each, o) for o in known.get(each[:2], []))]
    evaluated_s = sum(seconds for _, seconds, _ in inside)
    total_s = train_s + sum(seconds for _, seconds, _ in after + later)
    run.runtime_s, run.reason = runtime(total_s, "the sum of train_runtime and later passes")
    if not run.reason:
        run.reason = _resumed(history, results, train_s, evaluated_s)
        run.status = UNFINISHED if run.reason else COMPLETED
    if not run.reason and inside + after + later:
        timed = _timed(train_s - evaluated_s, inside + after + later)
        run.sections = {name: (sum(seconds), len(seconds)) for name, seconds in timed.items()}
        run.extents = {name: (s[0], min(s), max(s), None) for name, s in timed.items() if len(s) > 1}


def _timed(alone_s, passes):
    """Return the seconds of each occurrence of a section, in order."""
    timed = {TRAIN: [max(0.0, alone_s)]}
    for prefix, seconds, _ in passes:
        name = one_level(prefix)
        if name not in timed and len(timed) >= MAX_SECTIONS:
            name = "(other passes)"
        timed.setdefault(name, []).append(seconds)
    return timed


def _same(one, other):
    """Say whether two entries are of one pass: equal in each figure that both have."""
    return all(one[2][name] == other[2][name] for name in one[2].keys() & other[2].keys())


def _passes(entries):
    """Return (prefix, seconds, figures) of each pass over data that is not the training."""
    passes = []
    for entry in entries:
        timed = [name for name in entry if _RUNTIME.fullmatch(name) and name != "train_runtime"]
        for name in timed[:MAX_PASSES]:
            if finite(entry[name]) and entry[name] >= 0:
                prefix = name.removesuffix("runtime")
                figures = {other: value for other, value in entry.items() if other.startswith(prefix)}
                passes.append((prefix[:-1], float(entry[name]), figures))
    return passes


def _resumed(history, results, train_s, evaluated_s):
    """Return why a run is taken for resumed, or an empty text."""
    if evaluated_s > train_s * (1 + TOLERANCE):
        return "was resumed: its evaluations took longer than train_runtime, which is of the last session"
    losses = [(entry.get("step"), entry["loss"]) for entry in history if "loss" in entry]
    steps, mean = results["step"], results.get("train_loss")
    if not all(map(finite, (steps, mean, *(value for pair in losses for value in pair)))):
        return ""
    if not losses or min(loss for _, loss in losses) <= 0:
        return ""
    starts = [0, *(step for step, _ in losses[:-1])]
    logged = sum(loss * (step - start) for (step, loss), start in zip(losses, starts, strict=True))
    # Older versions round what they log; train_loss they do not.
    if (mean + LOSS_ROUNDING) * steps >= (1 - TOLERANCE) * logged:
        return ""
    return "was resumed: train_runtime is of the last session only, as train_loss is"


# -- runs that were not trained to the end -------------------------------------------------


def _untrained(state, results):
    """Return the status and reason of a directory whose files time no training."""
    if state:
        status, reached = _progress(state)
        return status, f"has no train_runtime: {reached}"
    timed = shortened(", ".join(sorted(name for name in results if _RUNTIME.fullmatch(name))), 80)
    return UNFINISHED, f"has no train_runtime: no training was timed, only {timed}"


def _runs_below(folder):
    """Say whether a directory below is a run's, looking at names only and not for long."""
    waiting, looked = [folder], 0
    while waiting and looked < MAX_BELOW:
        directory = waiting.pop()  # the deepest first: runs lie at the leaves
        looked += 1
        listed = names(directory)
        if directory != folder and sources(directory, listed):
            return True
        waiting += [
            os.path.join(directory, name)
            for name in listed
            if not _EXTENSION.fullmatch(name) and not _CHECKPOINT.fullmatch(name)
        ]
    return False


def _checkpoints(names):
    """Return the names of checkpoints, the last first."""
    numbers = {name: int(match[1]) for name in names if (match := _CHECKPOINT.fullmatch(name))}
    return sorted(numbers, key=numbers.get, reverse=True)


def _stopped(folder, run_id):
    """Return the run that left checkpoints only, by the last one whose state can be read."""
    run = Run(run_id, KILLED, named=False)
    for name in _checkpoints(names(folder)):
        path = os.path.join(folder, name, STATE_NAME)
        if STATE_NAME not in names(os.path.dirname(path)):
            continue
        try:
            state = parse_json(read_bytes(path))
        except Unreadable as problem:
            run.status, run.reason = UNREADABLE, f"{name}/{STATE_NAME} {problem}"
            continue
        if isinstance(state, dict) and _is_result(state):
            run.status, reached = _progress(state)
            run.reason = f"left only checkpoints: {reached}"
            run.config = _settings(folder, state, {}, run.notes)
            run.scores = _scores(_history(state))
            return [run]
        run.status, run.reason = UNREADABLE, f"{name}/{STATE_NAME} is no state of a Trainer"
    return [run] if run.reason else []


def _progress(state):
    """Return the status of a run without results, and how far it came."""
    step, last = state.get("global_step"), state.get("max_steps")
    if not finite(step) or not finite(last):
        return KILLED, "it was killed or is at work"
    if 0 < last <= step:
        return UNFINISHED, f"it made all {last:g} steps and wrote no results"
    return KILLED, f"it was killed or is at work, saved last at step {step:g} of {last:g}"


# -- settings, costs and scores ------------------------------------------------------------


def _settings(folder, state, results, notes):
    config = {name: state[name] for name in STATE_SETTINGS if state.get(name) is not None}
    trial = state.get("trial_params")
    config |= trial if isinstance(trial, dict) else {}
    config |= {name: value for name, value in results.items() if _SIZE.fullmatch(name)}
    for name in names(folder):
        if name in SIDE_FILES:
            found = _side_file(os.path.join(folder, name), notes)
            config |= {SIDE_FILES[name]: found} if SIDE_FILES[name] and found else found
    return flat(config, notes)


def _side_file(path, notes):
    """Return the plain values at the top of a JSON file that are settings, by their names."""
    content = mapping_in(path, parse_json, notes, ": no settings are taken from it", MAX_SIDE_MIB)
    return {
        name: value
        for name, value in content.items()
        if (value is None or isinstance(value, bool | int | float | str))
        and not _MEASURED.fullmatch(name)
        and not _PLACE.fullmatch(name)
        and not (isinstance(value, str) and _A_PATH.fullmatch(value))
    }


def _cost(results, state):
    """Return the cost columns, and the compute block where operations were counted."""
    cost, flop = {}, results.get("total_flos", state.get("total_flos"))
    speed = results.get("train_samples_per_second")
    if finite(speed) and speed > 0:
        cost["cost_train_samples_per_second"] = speed
    if not finite(flop) or flop <= 0:
        return cost, {}
    return {**cost, "cost_total_flos": flop}, {"stages": [{"name": "training", "counted_flop": flop}]}


def _scores(entries):
    scores = {}
    for name, value in (item for entry in entries for item in entry.items()):
        is_metric = _SCORE.match(name) and not _SPEED.fullmatch(name) and not _SIZE.fullmatch(name)
        if is_metric and finite(value) and (name in scores or len(scores) < MAX_SCORES):
            scores[name] = value
    return scores
