"""Decide, for continuous integration, whether a change is slower than a limit allows.

A one-sided paired test on log runtime, with the configuration as unit (`comparison`). With the
one-sided 95 % lower and upper bounds of the change:

- *slower*: the lower bound is above the limit.
- *within*: the upper bound is at or below the limit.
- *too few runs*: the bounds enclose the limit, or a single pair leaves nothing to estimate chance from.

Contract: two collections and their pairing in, a `Check` out; `results.gate` prints it.
"""

import re
from dataclasses import dataclass

import numpy as np
from scipy import stats

from traincost.analysis import comparison
from traincost.analysis.verdicts import ALPHA
from traincost.errors import ParameterError

WITHIN, SLOWER, UNCLEAR = "within", "slower", "too few runs"
STATUS = {WITHIN: 0, SLOWER: 3, UNCLEAR: 4}
_PERCENTAGE = re.compile(r"\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*%\s*")


@dataclass(frozen=True)
class Check:
    """What the gate found.

    Attributes
    ----------
    before, after : str
        Names of the collections.
    outcome : str
        `WITHIN`, `SLOWER` or `UNCLEAR`.
    max_slowdown, change : float
        Relative: 0.05 is 5 % slower.
    low, high : float
        One-sided 95 % bounds of the change; NaN where chance cannot be estimated.
    p : float
        One-sided, that the change is within the limit.
    n_pairs, n_configurations, n_unpaired : int
    changed : tuple of str
        Shared settings that differ, as text.
    """

    before: str
    after: str
    outcome: str
    max_slowdown: float
    change: float
    low: float
    high: float
    p: float
    n_pairs: int
    n_configurations: int
    n_unpaired: int
    changed: tuple

    @property
    def status(self):
        """Exit status of the command: 0, 3 or 4."""
        return STATUS[self.outcome]


def limit(text):
    """Return a limit given in percent as a fraction.

    Raises
    ------
    ParameterError
        `text` is no percentage.

    >>> limit("5%")
    0.05
    """
    found = _PERCENTAGE.fullmatch(text)
    if not found:
        raise ParameterError(f"`--max-slowdown` must be a percentage like 5%, got {text!r}")
    return float(found.group(1)) / 100


def check(before, after, pairing, max_slowdown):
    """Decide whether `after` is slower than `before` beyond a limit.

    Parameters
    ----------
    before, after : Collection
    pairing : Pairing
    max_slowdown : float
        As a fraction of runtime, at least 0.

    Returns
    -------
    Check
    """
    overall = comparison.overall_change(before, after, pairing)
    mean, se, df = overall["log_ratio"], overall["se"], overall["df"]
    half = stats.t.ppf(1 - ALPHA, df) * se if df else np.nan
    beyond = mean - np.log1p(max_slowdown)
    return Check(
        before=before.name,
        after=after.name,
        outcome=_outcome(beyond, half),
        max_slowdown=float(max_slowdown),
        change=float(np.expm1(mean)),
        low=float(np.expm1(mean - half)),
        high=float(np.expm1(mean + half)),
        p=float(comparison.tail(beyond, se, df)),
        n_pairs=int(overall["n_pairs"]),
        n_configurations=int(overall["n_configurations"]),
        n_unpaired=len(pairing.unpaired),
        changed=tuple(f"{row.setting}: {row.before} -> {row.after}" for row in pairing.changed.itertuples()),
    )


def _outcome(beyond, half):
    if np.isnan(half):
        return UNCLEAR
    if beyond - half > comparison.EXACT:
        return SLOWER
    return WITHIN if beyond + half <= comparison.EXACT else UNCLEAR
