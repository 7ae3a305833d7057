"""Before and after: how much the paired runs changed, and what the change is made of.

*Paired change*: the mean over configurations of the difference of mean log runtime, with its t
interval, and a family-wise test over the overall change and every level (Holm 1979, Scand. J.
Stat. 6). *Decomposition*: the change of mean runtime over all runs, exactly, as which
configurations were run, how often each section ran, what one call of it cost, and the rest. The
change of a product a·b is split as Δa·b̄ + ā·Δb, which leaves no remainder and depends on no order
(the Shapley value of two factors; Shorrocks 2013, J. Econ. Inequal. 11).

The unit is the configuration: its runs are averaged first. The variance of its change is estimated
from the changes of all configurations, pooled with the variance of repetitions unless an F-test
finds the former larger (Bancroft 1964, Biometrics 20). Simulated for twelve configurations of
three seeds, a one-sided test at 5 % is wrong 5 % of the time where configurations change alike,
and at most 7.5 % where they do not.

Contract: two collections and their `pairs.Pairing` in, frames out.
"""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy import stats

from traincost.analysis.sections import UNATTRIBUTED, cut, timing
from traincost.analysis.verdicts import ALPHA, TOO_FEW
from traincost.columns import COST_ORDER, SCORE_PREFIX
from traincost.words import natural

FASTER, SLOWER = "faster", "slower"
MORE, LESS = "more", "less"
APART = "cannot be told apart"
SAME = "no change"
OVERALL = "all configurations"
LEVEL = 0.95  # of the intervals
NOT_POOLED = 0.025  # tail of the F-test at or below which repetitions are not pooled
EXACT = 1e-12  # log ratios closer than this are equal: rounding
MIX = "which configurations were run"
LEAST_DRAWN = 0.01  # of the largest part: a smaller one would not be seen beside it
MIN_DRAWN, MAX_DRAWN = 3, 20  # parts with a row of their own
_PART = (
    "part", "count_before", "count_after", "call_before_s", "call_after_s", "count_s", "call_s", "total_s",
)  # fmt: skip


# -- paired change -------------------------------------------------------------------------


def runtime_change(before, after, pairing):
    """Paired change of log runtime, overall and by level.

    Returns
    -------
    DataFrame
        A row for all configurations, then a row per level of each factor with several levels:
        ``factor`` (empty overall), ``level``, ``n_configurations``, ``n_pairs``; ``before_s``,
        ``after_s`` (mean over configurations of mean runtime); ``log_ratio``, its ``se`` and
        ``df``; ``change`` = exp(log ratio) - 1, and ``low``, ``high`` of its 95 % interval;
        ``p`` (two-sided t), ``p_family`` (Holm over all rows), ``verdict``.
    """
    each = _runtime_evidence(before, after, pairing)
    rows = [_row("", OVERALL, each, *_estimates(each)[0])]
    for name, codes, labels in _partitions(pairing, each["configuration"]):
        estimates = _estimates(each, codes)
        rows += [_row(name, label, each[codes == k], *estimates[k]) for k, label in enumerate(labels)]
    return _relative(_judged(pd.DataFrame(rows), SLOWER, FASTER))


def overall_change(before, after, pairing):
    """Return the first row of `runtime_change`, tested by itself."""
    each = _runtime_evidence(before, after, pairing)
    row = pd.DataFrame([_row("", OVERALL, each, *_estimates(each)[0])])
    return _relative(_judged(row, SLOWER, FASTER)).iloc[0]


def _runtime_evidence(before, after, pairing):
    values = [side.runs["runtime_s"].to_numpy(dtype=float) for side in (before, after)]
    each = evidence(pairing, np.log(values[0]), np.log(values[1]))
    means = evidence(pairing, *values)
    return each.assign(before_s=means["before"], after_s=means["after"])


def _relative(table):
    ends = {"change": "log_ratio", "low": "log_low", "high": "log_high"}
    return table.assign(**{name: np.expm1(table[column]) for name, column in ends.items()})


def _partitions(pairing, configurations):
    """Return (factor, codes, labels) of each way in which a factor divides the configurations.

    Factors that divide them alike are one question, asked of the first of them.
    """
    found = {}
    for name in pairing.factors:
        levels = pairing.configurations[name].to_numpy()[configurations]
        labels = sorted(set(levels), key=natural)
        if len(labels) > 1:
            codes = np.array([labels.index(level) for level in levels])
            found.setdefault(pd.factorize(codes)[0].tobytes(), (name, codes, labels))
    return list(found.values())


def evidence(pairing, before, after):
    """Return the change of each configuration, and the scatter of its repetitions.

    Parameters
    ----------
    pairing : Pairing
    before, after : ndarray
        A value per run; a pair that lacks one is left out.

    Returns
    -------
    DataFrame
        A row per configuration: ``configuration``, ``n_pairs``, ``before``, ``after`` (means),
        ``difference``; ``sum_sq``, ``df`` of the variance s² of a single pair's difference, from
        repetitions; ``weight``: by repetitions alone, Var(difference) = weight · s².
    """
    rows = []
    for configuration, group in pairing.pairs.groupby("configuration", sort=True):
        sides = [
            (before[here], after[there]) for here, there in zip(group["before"], group["after"], strict=True)
        ]
        sides = [(a[np.isfinite(a)], b[np.isfinite(b)]) for a, b in sides]
        sides = [(a, b) for a, b in sides if len(a) and len(b)]
        if sides:
            rows.append((configuration, *_repetitions(sides)))
    names = ["configuration", "n_pairs", "before", "after", "difference", "sum_sq", "df", "weight"]
    return pd.DataFrame(rows, columns=names)


def _repetitions(pairs):
    """Return the columns of `evidence` for one configuration's pairs of arrays."""
    means = np.array([(a.mean(), b.mean()) for a, b in pairs])
    differences = means[:, 1] - means[:, 0]
    n = len(pairs)
    if n > 1:  # pairs share a seed, so only their differences scatter
        sum_sq, df, weight = ((differences - differences.mean()) ** 2).sum(), n - 1, 1 / n
    else:  # the variances of two independent runs add up
        a, b = pairs[0]
        sum_sq = 2 * (((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum())
        df, weight = len(a) + len(b) - 2, (1 / len(a) + 1 / len(b)) / 2
    return n, *means.mean(axis=0), differences.mean(), sum_sq, df, weight


def _estimates(each, codes=None):
    """Return (mean, standard error, df) of the differences of each group of configurations.

    Groups share one variance, that of the differences about their groups' means.
    """
    d = each["difference"].to_numpy()
    codes = np.zeros(len(d), dtype=int) if codes is None else codes
    n = np.bincount(codes)
    mean = np.bincount(codes, d) / n
    between, df = ((d - mean[codes]) ** 2).sum(), len(d) - len(n)
    variance, df = _pooled(between, df, each)
    return [(m, np.sqrt(variance / k), df) for m, k in zip(mean, n, strict=True)]


def _pooled(between, df, each):
    """Return the variance of a configuration's difference, and its degrees of freedom."""
    within_df = each["df"].sum()
    if not within_df:
        return (between / df, df) if df else (np.nan, 0)
    within = each["sum_sq"].sum() / within_df * each["weight"].mean()
    if not df:
        # Of a single configuration, only repetitions vary.
        return (within, within_df) if len(each) == 1 else (np.nan, 0)
    if within <= EXACT**2 or stats.f.sf(between / df / within, df, within_df) <= NOT_POOLED:
        return between / df, df
    return (between + within * within_df) / (df + within_df), df + within_df


def _row(factor, level, each, mean, se, df):
    half = stats.t.ppf((1 + LEVEL) / 2, df) * se if df else np.nan
    return {
        "factor": factor,
        "level": level,
        "n_configurations": len(each),
        "n_pairs": int(each["n_pairs"].sum()),
        **{name: each[name].mean() for name in ("before_s", "after_s") if name in each},
        "log_ratio": mean,
        "se": se,
        "df": df,
        "log_low": mean - half,
        "log_high": mean + half,
        "p": tail(mean, se, df, two_sided=True),
    }


def tail(mean, se, df, two_sided=False):
    """Return the upper tail of t = mean / se, or both; NaN without an estimate of `se`.

    Of differences that are all equal, to rounding, it is 0 or 1.
    """
    if not df or not np.isfinite(se):
        return np.nan
    if se <= EXACT:
        certain = abs(mean) > EXACT if two_sided else mean > EXACT
        return 0.0 if certain else 1.0
    return 2 * stats.t.sf(abs(mean / se), df) if two_sided else stats.t.sf(mean / se, df)


def holm(p):
    """Return p-values adjusted by Holm's step-down method; NaN, a missing test, is left out.

    Equal to `statsmodels.stats.multitest.multipletests`, which collects garbage at each call (0.1 s).

    >>> holm(np.array([0.01, 0.04, np.nan])).tolist()
    [0.02, 0.04, nan]
    """
    adjusted, tested = np.full(len(p), np.nan), np.flatnonzero(np.isfinite(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


def _judged(table, up, down):
    """Add ``p_family`` and ``verdict``; a row without any change is not tested."""
    p = table["p"].to_numpy(dtype=float, copy=True)
    p[(table["log_ratio"].abs() <= EXACT) & (table["se"] <= EXACT)] = np.nan
    table = table.assign(p_family=holm(p))
    return table.assign(verdict=[_verdict(row, up, down) for row in table.itertuples()])


def _verdict(row, up, down):
    if np.isnan(row.p):
        return TOO_FEW
    if abs(row.log_ratio) <= EXACT and row.se <= EXACT:
        return SAME
    if row.p_family > ALPHA:
        return APART
    return up if row.log_ratio > 0 else down


def column_changes(before, after, pairing):
    """Paired change of every cost column and score that both collections have.

    Returns
    -------
    DataFrame
        ``column``, ``n_configurations``, ``before``, ``after`` (means over configurations);
        ``change``, ``low``, ``high``: of a cost column relative (from the paired log ratio), of
        a score the difference; ``relative``; ``p``, ``p_family`` (Holm over the rows), ``verdict``.
    """
    rows = []
    for name in _compared_columns(before.runs, after.runs):
        values = [side.runs[name].to_numpy(dtype=float) for side in (before, after)]
        means = evidence(pairing, *values)
        relative = name.startswith("cost_") and all((v[np.isfinite(v)] > 0).all() for v in values)
        each = evidence(pairing, *map(np.log, values)) if relative else means
        if len(each):
            row = _row("", "", each, *_estimates(each)[0])
            change = [row[key] for key in ("log_ratio", "log_low", "log_high")]
            change = np.expm1(change) if relative else change
            sides = means["before"].mean(), means["after"].mean()
            tested = row["p"], row["log_ratio"], row["se"]
            rows.append((name, len(each), *sides, *change, relative, *tested))
    names = ["column", "n_configurations", "before", "after", "change", "low", "high", "relative"]
    table = pd.DataFrame(rows, columns=[*names, "p", "log_ratio", "se"])
    return _judged(table, MORE, LESS).drop(columns=["log_ratio", "se"])


def _compared_columns(first, second):
    both = [name for name in first if name in second]
    costs = [name for name in COST_ORDER if name in both and not name.startswith("cost_runtime")]
    return costs + sorted(name for name in both if name.startswith(SCORE_PREFIX))


# -- decomposition -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The change of mean runtime, as parts that add up to it.

    Attributes
    ----------
    before_s, after_s : float
        Mean runtime over all runs of each side.
    parts : DataFrame
        A row per part of the cut, the largest change first, then the unattributed rest, then
        `MIX`: ``part``; ``count_before``, ``count_after`` (mean per run over the configurations
        of both sides, weighted as the change is), ``call_before_s``, ``call_after_s``;
        ``count_s``, ``call_s`` (the change through either, NaN where counts are not known),
        ``total_s``.
    configurations : DataFrame
        A row per configuration: its levels, ``share_before``, ``share_after`` (of the runs),
        ``before_s``, ``after_s``, ``mix_s`` (about the mean of both sides), ``change_s``.
    """

    before_s: float
    after_s: float
    parts: pd.DataFrame
    configurations: pd.DataFrame

    @property
    def change_s(self):
        """Change of the mean runtime."""
        return self.after_s - self.before_s


def decompose(before, after, pairing):
    """Decompose the change of mean runtime over all runs.

    Returns
    -------
    Decomposition
        ``parts["total_s"]`` sums to the change.
    """
    t = timing(stacked(before, after))
    n_first, n = len(before.runs), len(pairing.configurations)
    of = [pairing.of_before, pairing.of_after]
    runs = np.array([np.bincount(codes, minlength=n) for codes in of], dtype=float)
    weight = runs / runs.sum(axis=1, keepdims=True)
    sides = _Sides(of, n_first, runs, (runs > 0).all(axis=0), weight.mean(axis=0))
    parts = cut(t)
    rows = [_part(name, seconds, _counts(t, name), sides) for name, seconds in parts.items()]
    rows.sort(key=lambda row: (-abs(row[-1]), row[0]))
    rest = t.runtime_s - sum(parts.values())
    mix, configurations = _mix(sides.means(t.runtime_s), weight, sides.common, pairing)
    rows += [_part(UNATTRIBUTED, rest, None, sides), (MIX, *[np.nan] * 6, mix)]
    table = pd.DataFrame(rows, columns=_PART).astype(dict.fromkeys(_PART[1:], float))
    overall = float(t.runtime_s[:n_first].mean()), float(t.runtime_s[n_first:].mean())
    return Decomposition(*overall, table, configurations)


@dataclass(frozen=True, eq=False)
class _Sides:
    """The runs of both sides by configuration.

    `of` is the configuration of each run of a side, `n_first` the runs of the first; `runs`
    (2, configurations) counts them, `common` says which configurations both sides have, and
    `weight` is their mean share of the runs.
    """

    of: list
    n_first: int
    runs: np.ndarray
    common: np.ndarray
    weight: np.ndarray

    def means(self, values):
        """Return the mean of each configuration on each side, (2, configurations); NaN without runs."""
        sums = [
            np.bincount(codes, side, minlength=self.runs.shape[1])
            for codes, side in zip(self.of, np.split(values, [self.n_first]), strict=True)
        ]
        return np.divide(sums, self.runs, out=np.full_like(self.runs, np.nan), where=self.runs > 0)


def stacked(before, after):
    """Return the runs and sections of both sides as one collection, so that one cut serves both."""
    shifted = after.sections.assign(run=after.sections["run"] + len(before.runs))
    return SimpleNamespace(
        runs=pd.concat([before.runs[["runtime_s"]], after.runs[["runtime_s"]]], ignore_index=True),
        sections=pd.concat([before.sections, shifted], ignore_index=True),
    )


def _counts(t, name):
    """Return how often a part ran in each run: 0 where it did not, NaN where that is not known."""
    if name not in t.paths:
        return None
    i = t.paths.index(name)
    absent, counts = t.whole[:, i] == 0, t.counts[:, i]
    # Seconds without an occurrence contradict each other: how often it ran is not known.
    return np.where(absent & np.isnan(counts), 0.0, np.where(~absent & (counts == 0), np.nan, counts))


def _part(name, seconds, counts, sides):
    """Return a row of the parts: the change of this section's seconds."""
    weight = sides.weight[sides.common]
    whole = sides.means(seconds)[:, sides.common]
    total = float(weight @ (whole[1] - whole[0]))
    if counts is None or not len(weight):
        return (name, *[np.nan] * 6, total)
    n = sides.means(counts)[:, sides.common]
    by_count, by_call = _midpoint(n, whole)
    mean_n, mean_s = n @ weight / weight.sum(), whole @ weight / weight.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        call = np.where(mean_n > 0, mean_s / mean_n, np.nan)
    return (name, *mean_n, *call, float(weight @ by_count), float(weight @ by_call), total)


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
    table = levels.assign(
        share_before=weight[0],
        share_after=weight[1],
        before_s=runtime[0],
        after_s=runtime[1],
        mix_s=mix,
        change_s=change,
    )
    return float(mix.sum()), table


def drawn_parts(parts):
    """Return the parts to draw: the large ones, and one row for all others together.

    Returns
    -------
    DataFrame
        Rows of `parts`, and last ``part`` "n other parts" with their ``total_s``, where several
        are small; ``attrs["n_others"]`` says how many, 0 where there is no such row.
    """
    size = parts[["count_s", "call_s", "total_s"]].abs().max(axis=1)
    rank = size.rank(method="first", ascending=False)
    seen = rank.le(MIN_DRAWN) | (size.ge(LEAST_DRAWN * size.max()) & rank.le(MAX_DRAWN))
    others = parts[~seen]
    if len(others) < 2:
        drawn = parts.copy()
        drawn.attrs["n_others"] = 0
        return drawn
    row = {"part": f"{len(others)} other parts", "total_s": others["total_s"].sum()}
    last = pd.DataFrame([row], columns=parts.columns).astype(parts.dtypes)
    drawn = pd.concat([parts[seen], last], ignore_index=True)
    drawn.attrs["n_others"] = len(others)
    return drawn


def largest(parts):
    """Return the rows of `parts` that changed anything, the largest change first."""
    moved = parts[parts["total_s"].abs() > 0]
    return moved.iloc[np.argsort(-moved["total_s"].abs().to_numpy(), kind="stable")]
