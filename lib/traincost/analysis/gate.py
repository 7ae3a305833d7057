"""Decide, for continuous integration, whether a change is slower than a limit allows.

A one-sided paired test on log runtime, with the configuration as unit (`comparison`). With the
one-sided 95 % lower and upper bounds of the change:

- *slower*: the lower bound is above the limit.
- *within*: the upper bound is at or below the limit.
- *too few runs*: the bounds enclose the limit, or a single pair leaves nothing to estimate chance from;
  then `df`, `spread` and `n_needed` say what lacks.
- *lost*: more configurations or runs than are allowed did not come through, and those that did
  cannot speak for them. It is said before any other outcome.

A configuration is lost that completed before, and of which nothing completed after. A run is lost
that was begun or asked for after, and did not complete: copies, and runs that were pruned on purpose,
are none.

At a limit of 0 % it is in step with what a comparison says of the whole (`comparison`): *slower* is
slower there, *within* is faster, not slower or no change, and *too few* cannot be told apart.

Contract: two collections and their pairing in, a `Check` out; `results.gate` prints it.
"""

import math
import re
from dataclasses import dataclass, field

import numpy as np

from traincost.analysis import comparison, sessions
from traincost.errors import ParameterError, brief

WITHIN, SLOWER, UNCLEAR, LOST = "within", "slower", "too few runs", "lost"
STATUS = {WITHIN: 0, SLOWER: 3, UNCLEAR: 4, LOST: 5}
NOT_LOST = ("duplicate", "pruned")  # statuses of runs that are left out, and yet nothing broke
MOST_NEEDED = 1_000_000  # configurations: more is as good as never
_PERCENTAGE = re.compile(r"\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*%\s*")


@dataclass(frozen=True)
class Check:
    """What the gate found."""

    before: str  # names of the collections
    after: str
    outcome: str  # `LOST`, else `of_pairs`
    max_slowdown: float  # relative, as all changes here: 0.05 is 5 % slower
    change: float
    low: float  # one-sided 95 % bounds of the change; NaN where chance cannot be estimated
    high: float
    p: float  # one-sided, that the change is within the limit
    n_pairs: int
    n_configurations: int
    n_unpaired: int
    changed: tuple  # shared settings that differ, as text
    averaged: tuple = ()  # settings that vary on one side only and are absent from the other; averaged over
    df: int = 0  # of the scatter of the change; 0 where there is nothing to estimate it from
    spread: float = np.nan  # SD of a configuration's log change (of a single one: a pair's); NaN likewise
    # Configurations (of a single one: pairs) that would tell, if the change and its spread stayed what they
    # are; None where that is not known, or where more than `MOST_NEEDED` are.
    n_needed: int | None = None
    drift_side: str = ""  # session whose start order the ratio goes with (`sessions.session_drift`), or empty
    drift_r: float = np.nan  # that correlation
    of_pairs: str = UNCLEAR  # `WITHIN`, `SLOWER` or `UNCLEAR`: what the pairs alone say
    n_before: int = 0  # configurations that completed before
    lost: tuple = ()  # those of which nothing completed after, by their settings
    n_lost_runs: int = 0  # completed runs before of these
    # Status to number of runs after that did not complete, the most first; ``not usable`` are those that did,
    # and whose time is not known.
    failed: dict = field(default_factory=dict)
    max_lost: int = 0  # so many configurations, and so many runs, may be lost

    @property
    def status(self):
        """Exit status of the command: 0, 3, 4 or 5."""
        return STATUS[self.outcome]

    @property
    def n_lost(self):
        """Number of configurations lost."""
        return len(self.lost)

    @property
    def n_failed(self):
        """Number of runs after that did not complete."""
        return sum(self.failed.values())


def limit(text):
    """Return a limit given in percent as a fraction; `ParameterError` where it is no percentage.

    >>> limit("5%")
    0.05
    """
    found = _PERCENTAGE.fullmatch(text)
    if not found:
        raise ParameterError(f"`--max-slowdown` must be a percentage like 5%, got {brief(text)}")
    return float(found.group(1)) / 100


def check(before, after, pairing, max_slowdown, max_lost=0):
    """Decide whether `after` is slower than `before` beyond a limit, a fraction of runtime of at least 0.

    So many configurations, and runs, as `max_lost` may be lost.
    """
    overall = comparison.overall_change(before, after, pairing)
    mean, se, df = overall["log_ratio"], overall["se"], overall["df"]
    beyond = mean - np.log1p(max_slowdown)
    low, high = comparison.bounds(mean, se, df)
    n, n_pairs = int(overall["n_configurations"]), int(overall["n_pairs"])
    units = n if n > 1 else n_pairs
    drift = sessions.session_drift(before, after, pairing).query("drifts").sort_values("p")
    outcome = _outcome(*comparison.bounds(beyond, se, df))
    found = {
        "change": float(np.expm1(mean)),
        "low": float(np.expm1(low)),
        "high": float(np.expm1(high)),
        "p": float(comparison.tail(beyond, se, df)),
        "n_pairs": n_pairs,
        "n_configurations": n,
        "n_unpaired": len(pairing.unpaired),
        "changed": tuple(
            f"{row.setting}: {row.before} -> {row.after}" for row in pairing.changed.itertuples()
        ),
        "df": int(df),
        "spread": float(se * np.sqrt(units)) if df else np.nan,
        "n_needed": _n_needed(beyond, (high - low) / 2, units),
        "drift_side": str(drift["side"].iloc[0]) if len(drift) else "",
        "drift_r": float(drift["r"].iloc[0]) if len(drift) else np.nan,
    }
    return _checked(before, after, pairing, pairing.of_after, outcome, max_slowdown, max_lost, **found)


def nothing_left(before, after, pairing, max_slowdown, max_lost=0):
    """Return the outcome where no run `after` can be used: the configurations before are all lost.

    `LOST`, or `UNCLEAR` where so much may be lost. `pairing` is that of `before` with itself.
    """
    nothing = dict.fromkeys(("change", "low", "high", "p"), np.nan) | {"n_pairs": 0, "n_configurations": 0}
    nothing |= {"n_unpaired": len(before.runs), "changed": ()}
    return _checked(before, after, pairing, (), UNCLEAR, max_slowdown, max_lost, **nothing)


def _checked(before, after, pairing, of_after, outcome, max_slowdown, max_lost, **found):
    """Return a `Check` of what was found of the pairs, and of what did not come through."""
    lost = np.setdiff1d(pairing.of_before, of_after)
    statuses = after.excluded["status"].replace("completed", "not usable")
    failed = statuses[~statuses.isin(NOT_LOST)].value_counts()
    return Check(
        before=before.name,
        after=after.name,
        outcome=LOST if max(len(lost), failed.sum()) > max_lost else outcome,
        of_pairs=outcome,
        max_slowdown=float(max_slowdown),
        n_before=len(np.unique(pairing.of_before)),
        lost=tuple(_named(pairing.configurations.iloc[int(row)]) for row in lost),
        n_lost_runs=int(np.isin(pairing.of_before, lost).sum()),
        averaged=tuple(pairing.averaged),
        failed={str(status): int(n) for status, n in failed.items()},
        max_lost=max_lost,
        **found,
    )


def _named(levels):
    return ", ".join(f"{name}={level}" for name, level in levels.items()) or "the only one"


def _outcome(low, high):
    if np.isnan(low):
        return UNCLEAR
    if low > comparison.EXACT:
        return SLOWER
    return WITHIN if high <= comparison.EXACT else UNCLEAR


def _n_needed(beyond, half, n):
    """Return how many of `n` units would bring the bounds within the distance to the limit."""
    if not np.isfinite(half) or half <= abs(beyond):
        return None
    needed = n * (half / abs(beyond)) ** 2 if beyond else np.inf
    return math.ceil(needed) if needed <= MOST_NEEDED else None
