"""What is left of a grid of runs: which combinations have not run, what they would take, and until when.

The grid is the product of the levels seen of the settings that the model holds (`plan`), each run with as
many seeds as the combination that had most. A run at work counts with the time that it is still to
take: the draws of its runtime that are longer than its time so far, less that time. How many run at once
is the median over the time in which any ran.

Contract: a frame of completed runs, one of the others, and described settings in; values and a frame
out. Nothing here knows the present time: it counts from the last moment that a run recorded.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

from traincost.analysis import fields as _fields
from traincost.analysis import plan as _plan
from traincost.analysis.order import starts_s
from traincost.columns import PREFIX
from traincost.errors import NothingToReport, ParameterError, require_count

AT_WORK = ("running", "unfinished")  # statuses
N_DRAWS = 2_000
MAX_DRAWN = 20_000_000  # runs drawn in all; a larger rest gets fewer draws, at least `MIN_DRAWS`
MIN_DRAWS = 400
MAX_RUNS = 100_000  # that may remain
MIN_LONGER = 20  # draws longer than a run's time so far; with fewer it is overdue
TOTAL = "all that remains"


@dataclass(frozen=True, eq=False)
class Remaining:
    """What is left of a grid."""

    # A row per combination with runs left and `TOTAL` last: a column per factor (``level.<name>``),
    # ``n_before`` (completed), ``n_at_work``, ``n_to_run``; ``hours``, ``low``, ``high`` (90 % prediction
    # interval), ``device_hours``, and ``money`` where a price is given.
    frame: pd.DataFrame
    n_combinations: int
    n_seeds: int  # runs of each combination
    at_once: int | None  # runs at one time, observed or asked for; None where no starts are recorded
    # Hours until the last run ends, if so many run at once: the middle of the draws and a 90 % interval.
    wall_hours: tuple
    latest_s: float  # last moment that a run recorded, since 1970; NaN where no starts are recorded
    n_overdue: int  # at work for longer than nearly all that was predicted: counted as about to end
    n_unknown: int  # at work or failed with a level that no completed run has: nothing is predicted of them


def remaining(runs, described, excluded, proposal, at_once=None):
    """Say what is left of the grid of some runs.

    Parameters
    ----------
    runs, described
        As `plan.fit` takes them.
    excluded : DataFrame
        The runs that did not complete: ``status``, ``runtime_s``, ``started_at``, ``config.*``.
    proposal : dict
        As `plan.checked` returns it; its ``levels`` limit the grid, and ``seeds``, where it is not
        None, says how often each combination is to run.
    at_once : int, optional
        Runs at one time; as observed, if left out.

    Raises
    ------
    ParameterError
        `at_once` is no whole number above zero, a level was never run, or the rest is too large.
    NothingToReport
        The runs are no grid, or too few to predict from.
    """
    if at_once is not None:
        require_count(at_once, "at_once")
    model = _plan.fit(runs, described)
    _refuse_no_grid(model.factors, proposal["levels"])
    cells = _plan.cells_of(model, proposal["levels"])
    seen = _seen(runs, excluded, model.factors, described, cells)
    n_seeds = proposal["seeds"] or _seeds(seen)
    n_to_run = np.maximum(0, n_seeds - seen.done - seen.n_at_work)
    if n_to_run.sum() > MAX_RUNS:
        raise ParameterError(
            f"more than {MAX_RUNS:,} runs of the grid remain; limit it with `levels` or `seeds`"
        )
    starts, seconds = _times(runs, excluded)
    slots = at_once or concurrency(starts, seconds) or None
    drawn = _drawn(model, cells, seen, n_to_run, slots)
    frame = _frame(model, cells, seen, n_to_run, drawn, proposal)
    ends = starts + seconds
    return Remaining(
        frame=frame,
        n_combinations=len(cells),
        n_seeds=int(n_seeds),
        at_once=slots,
        wall_hours=drawn.wall_hours,
        latest_s=float(np.nanmax(ends)) if np.isfinite(ends).any() else np.nan,
        n_overdue=drawn.n_overdue,
        n_unknown=seen.n_unknown,
    )


def ended(excluded):
    """Return the runs that did not complete, with those at work as killed: nothing recorded their end."""
    status = excluded["status"]
    return excluded.assign(status=status.mask(status.isin(AT_WORK), "killed"))


def _refuse_no_grid(factors, levels):
    for field in factors:
        many = field.kind == "numeric" and field.n_levels > _fields.MAX_NUMERIC_LEVELS
        if many and field.name not in levels:
            raise NothingToReport(
                f"these runs are no grid: {field.name} takes {field.n_levels} values, so what remains is not "
                f"known; name the planned ones with `levels`"
            )


# -- what ran, and what runs ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Seen:
    """Runs of each cell: how many are done and at work; `so_far` lists (cell, seconds) of the latter."""

    done: np.ndarray
    n_at_work: np.ndarray
    so_far: list
    named: bool
    n_unknown: int


def _seen(runs, excluded, factors, described, cells):
    names = [field.name for field in factors]
    repeats = [field.name for field in described if field.kind == "replicate"]
    places = {cell: i for i, cell in enumerate(cells)}
    known = [set(field.labels) for field in factors]
    done = [set() if repeats else Counter() for _ in cells]
    at_work, n_unknown = {}, 0
    for cell, seed in zip(_labels(runs, names), _labels(runs, repeats), strict=True):
        if cell in places:
            done[places[cell]].update([seed])
    others = excluded[excluded["status"].isin((*AT_WORK, *_plan.FAILED))]
    times_s = pd.to_numeric(others["runtime_s"], errors="coerce").fillna(0.0)
    columns = _labels(others, names), _labels(others, repeats), others["status"], times_s
    for row, (cell, seed, status, so_far_s) in enumerate(zip(*columns, strict=True)):
        if not all(level in of for level, of in zip(cell, known, strict=True)):
            n_unknown += 1
        elif cell in places and status in AT_WORK and not (repeats and seed in done[places[cell]]):
            # A run that was started again is at work once.
            which = (places[cell], seed if repeats else row)
            at_work[which] = max(at_work.get(which, 0.0), so_far_s)
    return _Seen(
        done=np.array([len(x) if repeats else x.total() for x in done]),
        n_at_work=np.bincount([i for i, _ in at_work], minlength=len(cells)),
        so_far=[(i, so_far_s) for (i, _), so_far_s in sorted(at_work.items(), key=lambda item: -item[1])],
        named=bool(repeats),
        n_unknown=n_unknown,
    )


def _labels(frame, names):
    """Return the levels of the runs of a frame, a tuple per run."""
    columns = []
    for name in names:
        known = PREFIX + name in frame and len(frame)
        columns.append(_fields.labelled(frame[PREFIX + name]) if known else [_fields.UNSET] * len(frame))
    return list(zip(*columns, strict=True)) if columns else [()] * len(frame)


def _seeds(seen):
    """Return how often a combination runs: as the most did; where no setting names repeats, as most did.

    Once, where none of them was run.
    """
    n = seen.done + seen.n_at_work
    n = n[n > 0]
    if not len(n):
        return 1
    return int(n.max()) if seen.named else Counter(n.tolist()).most_common(1)[0][0]


# -- hours and days ------------------------------------------------------------------------


def _times(runs, excluded):
    """Return when each run that took time started, and its seconds; NaN where not recorded."""
    frames = runs, excluded[excluded["status"].isin((*AT_WORK, *_plan.FAILED))]
    seconds = [pd.to_numeric(f["runtime_s"], errors="coerce").to_numpy(dtype=float) for f in frames]
    return np.concatenate([starts_s(frame) for frame in frames]), np.concatenate(seconds)


def concurrency(starts, seconds):
    """Return how many runs ran at once for at least half of the time in which any ran; 0 if not recorded.

    A median over time, so that the last runs, beside which places are idle, do not count for much.

    >>> concurrency(np.array([0.0, 0.0, 10.0]), np.array([10.0, 10.0, 5.0]))
    2
    """
    known = np.isfinite(starts) & np.isfinite(seconds) & (seconds > 0)
    begin, end = starts[known], (starts + seconds)[known]
    times = np.concatenate([begin, end])
    order = np.argsort(times, kind="stable")
    running = np.cumsum(np.repeat([1, -1], len(begin))[order])[:-1]
    lasting = np.diff(times[order])
    busy = running > 0
    if not lasting[busy].sum() > 0:
        return 0
    by_count = np.bincount(running[busy], lasting[busy]).cumsum()
    return int(np.searchsorted(by_count, by_count[-1] / 2))


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Seconds left of each cell, (draws, cells), their expectation, and the hours until all have ended."""

    seconds: np.ndarray
    expected_s: np.ndarray
    wall_hours: tuple
    n_overdue: int


def _drawn(model, cells, seen, n_to_run, slots):
    rng = np.random.default_rng(0)
    rows, own = _plan.rows_of(model, cells), _plan.own_runs(model, cells)[0]
    n_runs = int(n_to_run.sum()) + len(seen.so_far)
    n = max(MIN_DRAWS, min(N_DRAWS, MAX_DRAWN // max(n_runs, len(cells))))
    centre, spread = _plan.centres(model, rows, n, rng, own)
    spread = spread[:, 0]
    seconds = np.zeros_like(centre)
    loads = np.zeros((n, min(slots, max(n_runs, 1)))) if slots else None
    every, n_overdue = np.arange(n), 0

    def takes(cell, seconds_each):
        seconds[:, cell] += seconds_each
        if loads is not None:
            loads[every, loads.argmin(axis=1)] += seconds_each

    # In the order in which they begin: those at work hold their places already.
    for cell, so_far_s in seen.so_far:
        whole = _plan.seconds_of(centre[:, cell] + rng.standard_normal(n) * spread)
        longer = whole[whole > so_far_s]
        n_overdue += len(longer) < MIN_LONGER
        takes(cell, rng.choice(longer, n) - so_far_s if len(longer) >= MIN_LONGER else np.zeros(n))
    expected_s = seconds.mean(axis=0) + n_to_run * _plan.expected(model, rows, own=own)
    for cell in np.repeat(np.arange(len(cells)), n_to_run):
        takes(cell, _plan.seconds_of(centre[:, cell] + rng.standard_normal(n) * spread))
    wall = (np.nan,) * 3 if loads is None else tuple(np.quantile(loads.max(axis=1) / 3600, [0.5, *_ENDS]))
    return _Drawn(seconds, expected_s, wall, n_overdue)


_ENDS = ((1 - _plan.COVERAGE) / 2, (1 + _plan.COVERAGE) / 2)


def _frame(model, cells, seen, n_to_run, drawn, proposal):
    left = np.flatnonzero(n_to_run + seen.n_at_work)
    low, high = np.quantile(drawn.seconds[:, left], _ENDS, axis=0)
    total = np.quantile(drawn.seconds.sum(axis=1), _ENDS)
    columns = [f"level.{field.name}" for field in model.factors]
    table = pd.DataFrame([*(cells[i] for i in left), (TOTAL,) * len(columns)], columns=columns)
    counts = {"n_before": seen.done, "n_at_work": seen.n_at_work, "n_to_run": n_to_run}
    table = table.assign(**{name: [*n[left], n.sum()] for name, n in counts.items()})
    expected_s = drawn.expected_s[left], drawn.expected_s.sum()
    for name, ends_s in (("hours", expected_s), ("low", (low, total[0])), ("high", (high, total[1]))):
        table[name] = np.append(*ends_s) / 3600
    table["device_hours"] = table["hours"] * proposal["devices"]
    if proposal["price_per_hour"] is not None:
        table["money"] = table["device_hours"] * proposal["price_per_hour"]
    return table
