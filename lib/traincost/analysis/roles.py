"""What a setting is for, by its name and its values: a factor, a repeat, a name of the run, a place.

Names are compared in snake case, lower case, by the last part of a dotted path. A name alone decides
nothing: a repeat must be counted (whole numbers, or text that differs in digits alone), and what names
a run must have a value of its own in each.

Contract: a name and the codes and values of one field in, a role and the reason for it out.
"""

import re

import numpy as np
from scipy import stats

_NUMBERED = r"(?:_?(?:id|idx|index|nr|no|num|number))?"
_REPEATS = re.compile(
    r"(?!n_|num_|nr_|number_)(?:.*_)?(?:seed|rng|random_?state|rand_?state|seed_everything)(?:_(?:value|id|idx))?"
    rf"|(?:cv_|test_|val_|outer_|inner_)?fold{_NUMBERED}"
    rf"|(?:rep|repeat|repetition|replicate|replica|trial|restart|attempt|run|take){_NUMBERED}"
)
_PLACES = re.compile(
    r"(?:slurmd?_?)?(?:host|host_?name|node|node_?name|node_?id|node_?list|machine|machine_?(?:id|name)"
    r"|worker|worker_?id|gpu_?id|gpu_?uuid|device_?id|cuda_visible_devices)"
)
_COUNTS_TOO = re.compile(r"host|node|machine|worker")  # of numbers these say how many, not which
_NAMES_OF_RUNS = re.compile(
    r"|unnamed(?::|_).*|index|idx|_?id|level_0|row"
    r"|(?:.*_)?(?:port|pid|job_?id|task_?id|run_?id|trial_?id|timestamp|started_?at|created_?at)"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
LEAST_COUNTED = 6  # runs from which numbers in start order are taken for a counter


def plain(name):
    """Return the last part of a dotted name in snake case, lower case.

    >>> plain("model.randomSeed"), plain("worker-id")
    ('random_seed', 'worker_id')
    """
    return _CAMEL.sub("_", name.rsplit(".", 1)[-1]).lower().replace("-", "_").replace(" ", "_")


def repeats(name, labels, numbers=None):
    """Say whether a field repeats a configuration, as a seed or a fold does, by its name and levels.

    `numbers` are its values, where they are numbers; NaN where missing.
    """
    return sounds_repeated(name) and counted(labels, numbers)


def sounds_repeated(name):
    """Say whether a name is that of a seed, a fold or a repeat."""
    return bool(_REPEATS.fullmatch(plain(name)))


def counted(labels, numbers=None):
    """Say whether levels are whole numbers, or text that differs in its digits alone.

    >>> counted(["fold_1", "fold_2"]), counted(["baseline", "tuned"])
    (True, False)
    """
    if numbers is not None:
        return is_whole(numbers)
    return all(re.search(r"\d", label) for label in labels) and (
        len({re.sub(r"\d+", "", label) for label in labels}) == 1
    )


def is_whole(numbers):
    """Say whether all known numbers are whole."""
    known = numbers[np.isfinite(numbers)]
    return bool((known == np.round(known)).all())


def names_a_run(name):
    """Say whether a field of this name names the run, where each run has a value of its own."""
    return bool(_NAMES_OF_RUNS.fullmatch(plain(name)))


def is_place(name, is_number):
    """Say whether a field says where a run ran: a host, a node, a device by its number."""
    low = plain(name)
    return bool(_PLACES.fullmatch(low)) and not (is_number and _COUNTS_TOO.fullmatch(low))


def is_counter(numbers, start_rank=None):
    """Say whether whole numbers, one per run, rise or fall with the order of files or of starts."""
    if len(numbers) < LEAST_COUNTED or not np.isfinite(numbers).all() or not is_whole(numbers):
        return False
    rank = stats.rankdata(numbers)
    orders = [np.arange(len(numbers))]
    if start_rank is not None and np.isfinite(start_rank).all():
        orders.append(stats.rankdata(start_rank))
    return any(np.ptp(o) > 0 and abs(np.corrcoef(rank, o)[0, 1]) > 1 - 1e-9 for o in orders)
