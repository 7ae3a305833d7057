"""What the change of mean runtime is made of: parts that add up to it.

The change of mean runtime over all runs, exactly, as which configurations were run, how often each
section ran, what one call of it cost, and the rest. The change of a product a·b is split as
Δa·b̄ + ā·Δb, which leaves no remainder and depends on no order (the Shapley value of two factors;
Shorrocks 2013, J. Econ. Inequal. 11).

A section that runs n times may take seconds = a + b·n, where `a` is paid once a run (a first call
that compiles, a loader that starts). If it ran less often, a / n of each call would look like a
slower call. So only b·n is split. `a` is what the first occurrence took beyond a later one, where the
records tell (`occurrences.beyond_later`); its own change is a part of its own. Else, where counts
changed, it is estimated within configurations (`_fixed_s`).

Contract: two collections and their `pairs.Pairing` in, frames out.
"""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy import stats

from traincost.analysis import occurrences
from traincost.analysis.designs import NEGLIGIBLE, means, orthonormal, within
from traincost.analysis.sections import UNATTRIBUTED, cut, timing

MIX = "which configurations were run"
LEAST_DRAWN = 0.01  # of the largest part: a smaller one would not be seen beside it
MIN_DRAWN, MAX_DRAWN = 3, 20  # parts with a row of their own
_PART = (
    "part", "count_before", "count_after", "call_before_s", "call_after_s", "count_s", "call_s", "once_s",
    "total_s", "fixed_s",
)  # fmt: skip
MIN_DF = 3  # residual degrees of freedom, to estimate what a part takes whatever its count
N_STEPS = 8  # of the fit
WARM_UP_LEVEL = 0.95  # of the interval that must lie above zero for that to be taken out


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The change of mean runtime, as parts that add up to it."""

    before_s: float  # mean runtime over all runs of each side
    after_s: float
    # A row per part of the cut, the largest change first, then the unattributed rest, then `MIX`: ``part``;
    # ``count_before``, ``count_after`` (mean per run over the configurations of both sides, weighted as the
    # change is), ``call_before_s``, ``call_after_s``; ``count_s``, ``call_s``, ``once_s`` (the change through
    # either, and through first calls, NaN where counts are not known), ``total_s``; ``fixed_s``, seconds of a
    # run that do not grow with the count (a warm-up) and are in no call: 0 where none were found, NaN where
    # the runs cannot tell.
    parts: pd.DataFrame
    # A row per configuration: its levels, ``share_before``, ``share_after`` (of the runs), ``before_s``,
    # ``after_s``, ``mix_s`` (about the mean of both sides), ``change_s``.
    configurations: pd.DataFrame

    @property
    def change_s(self):
        """Change of the mean runtime."""
        return self.after_s - self.before_s


def decompose(before, after, pairing):
    """Decompose the change of mean runtime over all runs: ``parts["total_s"]`` sums to it."""
    t = timing(stacked(before, after))
    n_first, n = len(before.runs), len(pairing.configurations)
    of = [pairing.of_before, pairing.of_after]
    runs = np.array([np.bincount(codes, minlength=n) for codes in of], dtype=float)
    weight = runs / runs.sum(axis=1, keepdims=True)
    sides = _Sides(of, n_first, runs, (runs > 0).all(axis=0), weight.mean(axis=0))
    parts = cut(t)
    rows = [_part(name, seconds, sides, *_occurrences(t, name)) for name, seconds in parts.items()]
    rows.sort(key=lambda row: (-abs(row[-2]), row[0]))
    rest = t.runtime_s - sum(parts.values())
    mix, configurations = _mix(sides.means(t.runtime_s), weight, sides.common, pairing)
    rows += [_part(UNATTRIBUTED, rest, sides), (MIX, *[np.nan] * 7, mix, np.nan)]
    table = pd.DataFrame(rows, columns=_PART).astype(dict.fromkeys(_PART[1:], float))
    overall = float(t.runtime_s[:n_first].mean()), float(t.runtime_s[n_first:].mean())
    return Decomposition(*overall, table, configurations)


@dataclass(frozen=True, eq=False)
class _Sides:
    """The runs of both sides by configuration."""

    of: list  # configuration of each run of a side
    n_first: int  # runs of the first side
    runs: np.ndarray  # (2, configurations): how many
    common: np.ndarray  # which configurations both sides have
    weight: np.ndarray  # mean share of a configuration of the runs of both sides

    def means(self, values):
        """Return the mean of each configuration on each side, (2, configurations); NaN without runs."""
        sums = [
            np.bincount(codes, side, minlength=self.runs.shape[1])
            for codes, side in zip(self.of, np.split(values, [self.n_first]), strict=True)
        ]
        return np.divide(sums, self.runs, out=np.full_like(self.runs, np.nan), where=self.runs > 0)

    def known_means(self, values):
        """Return the means of what is known: else that of the other side, else that of all runs."""
        known = np.isfinite(values)
        sums, share = self.means(np.where(known, values, 0.0)), self.means(known.astype(float))
        found = np.divide(sums, share, out=np.full_like(sums, np.nan), where=share > 0)
        found = np.where(np.isnan(found), found[::-1], found)
        return np.where(np.isnan(found), values[known].mean(), found)


def stacked(before, after):
    """Return the runs and sections of both sides as one collection, so that one cut serves both."""
    shifted = after.sections.assign(run=after.sections["run"] + len(before.runs))
    return SimpleNamespace(
        runs=pd.concat([before.runs[["runtime_s"]], after.runs[["runtime_s"]]], ignore_index=True),
        sections=pd.concat([before.sections, shifted], ignore_index=True),
    )


def _occurrences(t, name):
    """Return how often a part ran in each run, and what its first time took beyond a later one.

    The former 0 where it did not run, NaN where that is not known; None where no record tells either.
    """
    if name not in t.paths:
        return None, None
    i = t.paths.index(name)
    absent, counts = t.whole[:, i] == 0, t.counts[:, i]
    # Seconds without an occurrence contradict each other: how often it ran is not known.
    counts = np.where(absent & np.isnan(counts), 0.0, np.where(~absent & (counts == 0), np.nan, counts))
    first_s = occurrences.beyond_later(t, i)
    return counts, first_s if np.isfinite(first_s).any() else None


def _part(name, seconds, sides, counts=None, first_s=None):
    """Return a row of the parts: the change of this section's seconds."""
    weight = sides.weight[sides.common]
    whole = sides.means(seconds)[:, sides.common]
    total = float(weight @ (whole[1] - whole[0]))
    if counts is None or not len(weight):
        return (name, *[np.nan] * 7, total, np.nan)
    n = sides.means(counts)[:, sides.common]
    # What is paid once a run, and not by a run that lacks the part, is no matter of counts or calls.
    if first_s is not None:
        once = np.fmin(sides.known_means(first_s)[:, sides.common], whole)
        fixed_s = float(weight @ once.mean(axis=0) / weight.sum())
    else:
        fixed_s = _fixed_s(seconds, counts, sides) if np.any(n[0] != n[1]) else 0.0
        once = np.fmin(np.nan_to_num(fixed_s), whole.min(axis=0)) + np.zeros_like(whole)
    once = np.where((n > 0).all(axis=0), once, 0.0)
    by_count, by_call = _midpoint(n, whole - once)
    by_once = float(weight @ (once[1] - once[0]))
    mean_n, mean_s = n @ weight / weight.sum(), (whole - once) @ weight / weight.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        call = np.where(mean_n > 0, mean_s / mean_n, np.nan)
    split = float(weight @ by_count), float(weight @ by_call), by_once
    return (name, *mean_n, *call, *split, total, fixed_s)


def _fixed_s(seconds, counts, sides):
    """Return the seconds that a part takes in a run whatever its count: `a` of seconds = a + b·n.

    From seconds / n = b_c + after · (δ + γ b_c) + a / n, least squares over the runs with the part: b_c is
    what a call takes in a configuration, δ and γ how it changed. So only counts that vary within a
    configuration tell: of its two sides, where they changed unlike, and of its repetitions. 0 where its 95 %
    interval (t) does not lie above zero; NaN where the runs cannot tell `a` from a change of b, since all
    counts changed alike, or leave fewer than `MIN_DF` degrees of freedom.
    """
    of = np.concatenate(sides.of)
    used = sides.common[of] & (counts > 0)
    after = (np.arange(len(of)) >= sides.n_first)[used].astype(float)
    _, of = np.unique(of[used], return_inverse=True)
    x, y = 1 / counts[used], seconds[used] / counts[used]
    df = len(x) - len(np.unique(of)) - 3
    if df < MIN_DF:
        return np.nan
    level = means(y, of)
    for _ in range(N_STEPS):  # b_c is not known before `a` is
        changed = np.column_stack([after, after * level[of]])
        columns = within(np.column_stack([changed, x]), of)
        basis = orthonormal(columns[:, :2] / np.maximum(np.abs(columns[:, :2]).max(axis=0), 1e-300))
        own = columns[:, 2] - basis @ (basis.T @ columns[:, 2])
        spread = (own**2).sum()
        if spread <= NEGLIGIBLE * (x**2).sum():
            return np.nan
        fixed = float(own @ y / spread)
        rest = y - fixed * x
        rest -= basis @ (basis.T @ rest)
        level = means(rest, of)
    error = np.sqrt(((rest - level[of]) ** 2).sum() / df / spread)
    return fixed if fixed > stats.t.ppf((1 + WARM_UP_LEVEL) / 2, df) * error else 0.0


def _midpoint(n, seconds):
    """Split the change of seconds = n · seconds a call, per configuration, with midpoint weights.

    A section that did not run on one side is given the other side's seconds a call.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        call = np.where(n > 0, seconds / n, np.nan)
    call = np.where(np.isnan(call) & (n == 0), call[::-1], call)
    call = np.where((n == 0).all(axis=0), 0.0, call)
    by_count = (n[1] - n[0]) * call.mean(axis=0)
    by_call = n.mean(axis=0) * (call[1] - call[0])
    return by_count, by_call


def _mix(runtime, weight, common, pairing):
    """Return what the configurations' shares changed, and the table of configurations."""
    # A configuration on one side only has one runtime: all that changed is its share.
    known = np.where(np.isnan(runtime), runtime[::-1], runtime).mean(axis=0)
    moved = weight[1] - weight[0]
    about = known - weight.mean(axis=0) @ known  # the shares sum to 1, so this leaves the sum as it is
    mix = moved * about
    change = np.where(common, weight.mean(axis=0) * np.nan_to_num(runtime[1] - runtime[0]), 0.0)
    # A setting may be called like a column of ours.
    levels = pairing.configurations.add_prefix("level.")
    shares = {"share_before": weight[0], "share_after": weight[1]}
    seconds = {"before_s": runtime[0], "after_s": runtime[1], "mix_s": mix, "change_s": change}
    return float(mix.sum()), levels.assign(**shares, **seconds)


def drawn_parts(parts):
    """Return the rows of `parts` to draw: the large ones, and one row for all others together.

    That is last, ``part`` "n other parts" with their ``total_s``, where several are small;
    ``attrs["n_others"]`` says how many, 0 where there is no such row.
    """
    size = parts[["count_s", "call_s", "total_s"]].abs().max(axis=1)
    rank = size.rank(method="first", ascending=False)
    seen = rank.le(MIN_DRAWN) | (size.ge(LEAST_DRAWN * size.max()) & rank.le(MAX_DRAWN))
    others, drawn = parts[~seen], parts.copy()
    if len(others) >= 2:
        row = {"part": f"{len(others)} other parts", "total_s": others["total_s"].sum()}
        last = pd.DataFrame([row], columns=parts.columns).astype(parts.dtypes)
        drawn = pd.concat([parts[seen], last], ignore_index=True)
    drawn.attrs["n_others"] = len(others) if len(others) >= 2 else 0
    return drawn


def largest(parts):
    """Return the rows of `parts` that changed anything, the largest change first."""
    moved = parts[parts["total_s"].abs() > 0]
    return moved.iloc[np.argsort(-moved["total_s"].abs().to_numpy(), kind="stable")]
