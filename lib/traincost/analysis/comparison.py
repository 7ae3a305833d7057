"""Before and after: how much the paired runs changed, and what the change is made of.

Two questions are kept apart. *Paired change*: the mean over configurations of the difference of
mean log runtime, with its t interval; whether it can be told from chance is family-wise over the
overall change and every level (Holm 1979, Scand. J. Stat. 6). *Decomposition*: the change of mean
runtime over all runs, exactly, as which configurations were run, how often each section ran, what
one call of it cost, and the rest. Each product's change is split with midpoint weights, a·b: Δa·b̄
+ ā·Δb, which adds up without a remainder and does not depend on an order (the Shapley value of
two factors; Shorrocks 2013, J. Econ. Inequal. 11).

The unit is the configuration: its runs are averaged first. How much its change scatters is
estimated from all configurations' changes, together with the scatter of repetitions unless an
F-test finds the changes to vary more than that (Bancroft 1964, Biometrics 20); then from the
changes alone. Simulated for twelve configurations of three seeds, a one-sided test at 5 % is wrong
5 % of the time where configurations change alike, and at most 7.5 % where they do not.

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
NOT_POOLED = 0.025  # tail of the F-test from which repetitions say too little of the changes' scatter
EXACT = 1e-12  # log ratios closer than this are equal: rounding
MIX = "which configurations were run"
LEAST_DRAWN = 0.01  # of the largest part: a smaller one would not be seen beside it
MIN_DRAWN, MAX_DRAWN = 3, 20  # parts with a row of their own


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
    """Return the first row of `runtime_change`, as the only thing that is asked."""
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
    """Return the change of each configuration, and what its repetitions say of its scatter.

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
        repetitions; ``weight``, such that Var(difference) = weight · s² where nothing but these
        scatters.
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
    if n > 1:  # what a seed does to both sides is no scatter of the change
        sum_sq, df, weight = ((differences - differences.mean()) ** 2).sum(), n - 1, 1 / n
    else:  # each side scatters by itself, and a difference of two runs by as much as both
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
        # A single configuration: its repetitions are all there is, and the change is its own.
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
    """Return the upper tail of t = mean / se, or both; NaN where nothing scatters it.

    Differences that are all alike, to rounding, decide by themselves.
    """
    if not df or not np.isfinite(se):
        return np.nan
    if se <= EXACT:
        certain = abs(mean) > EXACT if two_sided else mean > EXACT
        return 0.0 if certain else 1.0
    return 2 * stats.t.sf(abs(mean / se), df) if two_sided else stats.t.sf(mean / se, df)


def holm(p):
    """Return p-values adjusted by Holm's step-down method; a missing test takes no part.

    >>> holm(np.array([0.01, 0.04, np.nan])).tolist()
    [0.02, 0.04, nan]
    """
    adjusted = np.full(len(p), np.nan)
    order = [i for i in np.argsort(p, kind="stable") if np.isfinite(p[i])]
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, p[i] * (len(order) - rank)))
        adjusted[i] = largest
    return adjusted


def _judged(table, up, down):
    """Add ``p_family`` and ``verdict``; where nothing changed at all there is nothing to test."""
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
            found = _row("", "", each, *_estimates(each)[0])
            ends = [found[key] for key in ("log_ratio", "log_low", "log_high")]
            ends = np.expm1(ends) if relative else ends
            sides = means["before"].mean(), means["after"].mean()
            rows.append(
                (name, len(each), *sides, *ends, relative, found["p"], found["log_ratio"], found["se"])
            )
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
    n_first = len(before.runs)
    of = [pairing.of_before, pairing.of_after]
    sides = [np.s_[:n_first], np.s_[n_first:]]
    n = len(pairing.configurations)
    runs = np.array([np.bincount(codes, minlength=n) for codes in of], dtype=float)
    weight = runs / runs.sum(axis=1, keepdims=True)
    means = SimpleNamespace(
        runs=runs,
        of=of,
        sides=sides,
        common=(runs > 0).all(axis=0),
        weight=weight.mean(axis=0),
    )
    runtime = _per_configuration(t.runtime_s, means)
    rows = [_part(name, seconds, _counts(t, name), means) for name, seconds in cut(t).items()]
    parts = pd.DataFrame(rows, columns=_PART)
    parts = parts.iloc[np.lexsort((parts["part"], -parts["total_s"].abs()))]
    rest = t.runtime_s - sum(cut(t).values())
    mix, configurations = _mix(runtime, weight, means.common, pairing)
    last = [_part(UNATTRIBUTED, rest, None, means), (MIX, *[np.nan] * 6, mix)]
    parts = pd.concat([parts.astype(dict.fromkeys(_PART[1:], float)), pd.DataFrame(last, columns=_PART)])
    overall = [t.runtime_s[side].mean() for side in sides]
    return Decomposition(*map(float, overall), parts.reset_index(drop=True), configurations)


_PART = (
    "part",
    "count_before",
    "count_after",
    "call_before_s",
    "call_after_s",
    "count_s",
    "call_s",
    "total_s",
)


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


def _per_configuration(values, means):
    """Return the mean of each configuration on each side, (2, configurations); NaN where it has none."""
    sums = [
        np.bincount(codes, values[side], minlength=means.runs.shape[1])
        for codes, side in zip(means.of, means.sides, strict=True)
    ]
    with np.errstate(invalid="ignore"):
        return np.array(sums) / np.where(means.runs > 0, means.runs, np.nan)


def _part(name, seconds, counts, means):
    """Return a row of the parts: what of the change passed through this section."""
    weight = means.weight[means.common]
    whole = _per_configuration(seconds, means)[:, means.common]
    total = float(weight @ (whole[1] - whole[0]))
    if counts is None or not len(weight):
        return (name, *[np.nan] * 6, total)
    n = _per_configuration(counts, means)[:, means.common]
    by_count, by_call = _midpoint(n, whole)
    mean_n, mean_s = n @ weight / weight.sum(), whole @ weight / weight.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        call = np.where(mean_n > 0, mean_s / mean_n, np.nan)
    return (name, *mean_n, *call, float(weight @ by_count), float(weight @ by_call), total)


def _midpoint(n, seconds):
    """Split the change of seconds = n · seconds a call, per configuration, with midpoint weights.

    What did not run on one side would have cost there what it costs on the other.
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
    # A configuration of one side only changed in share alone: it has no other runtime.
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
    """Return the parts to draw: those that would be seen, and one row for all others together.

    Returns
    -------
    DataFrame
        Rows of `parts`, and last ``part`` "n other parts" with their ``total_s``, where several
        would not be seen; ``attrs["n_others"]`` says how many, 0 where there is no such row.
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
