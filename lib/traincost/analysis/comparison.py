"""Before and after: how much the paired runs changed, and whether that can be told from chance.

*Paired change*: the mean over configurations of the difference of mean log runtime, with its t
interval. The change overall is tested by itself, as the gate does (`gate`): *slower* is said where
the one-sided 95 % lower bound is above no change, which is what `check` finds at a limit of 0 %;
*faster* where the two-sided test at 5 % says so; *not slower* where only the one-sided upper bound is
below no change. So idle runs are called changed 7.5 % of the time, and what is said here of the whole
never contradicts what the gate says. The levels are a family of their own (Holm 1979, Scand. J.
Stat. 6), two-sided, and come after the whole (the fallback procedure of Wiens 2003, Pharm. Stat. 2):
at 5 % where the whole changed, else at a tenth of that. So of idle runs something is claimed in less
than 8 % of comparisons, however many levels there are.

The unit is the configuration: its runs are averaged first. The variance of its change is estimated
from the changes of all configurations, pooled with the variance of repetitions unless an F-test
finds the former larger (Bancroft 1964, Biometrics 20). Simulated for twelve configurations of
three seeds, a one-sided test at 5 % is wrong 5 % of the time where configurations change alike,
and at most 7.5 % where they do not.

Contract: two collections and their `pairs.Pairing` in, frames out.
"""

import numpy as np
import pandas as pd
from scipy import stats

from traincost.analysis import fields
from traincost.analysis.families import holm
from traincost.analysis.verdicts import ALPHA, TOO_FEW
from traincost.columns import COST_ORDER, SCORE_PREFIX
from traincost.words import in_natural_order

FASTER, SLOWER, NOT_SLOWER = "faster", "slower", "not slower"
MORE, LESS = "more", "less"
APART = "cannot be told apart"
SAME = "no change"
UNGUARDED = 10  # by which p of a level is multiplied where the whole did not change
OVERALL = "all configurations"
LEVEL = 0.95  # of the intervals
NOT_POOLED = 0.025  # tail of the F-test at or below which repetitions are not pooled
EXACT = 1e-12  # log ratios closer than this are equal: rounding


# -- paired change -------------------------------------------------------------------------


def runtime_change(before, after, pairing):
    """Paired change of log runtime, overall and by level.

    Returns
    -------
    DataFrame
        A row for all configurations, then a row per level of each factor with several levels (of a
        number with many values, per quartile): ``factor`` (empty overall), ``level``,
        ``n_configurations``, ``n_pairs``; ``before_s``, ``after_s`` (mean over configurations of mean
        runtime); ``log_ratio``, its ``se`` and ``df``; ``change`` = exp(log ratio) - 1, and ``low``,
        ``high`` of its 95 % interval; ``at_least``, ``at_most``, its one-sided 95 % bounds; ``p``
        (two-sided t), ``p_family`` (overall that of its verdict, of a level Holm's over the levels, times
        `UNGUARDED` where the whole did not change), ``verdict``.
    """
    each = _runtime_evidence(before, after, pairing)
    rows = []
    for name, codes, labels in _partitions(pairing, each["configuration"]):
        estimates = _estimates(each, codes)
        rows += [_row(name, label, each[codes == k], *estimates[k]) for k, label in enumerate(labels)]
    overall = _overall(each)
    changed = overall["verdict"] in (SLOWER, FASTER)
    levels = _judged(pd.DataFrame(rows), SLOWER, FASTER, 1 if changed else UNGUARDED) if rows else None
    return _relative(pd.concat([pd.DataFrame([overall]), levels], ignore_index=True))


def overall_change(before, after, pairing):
    """Return the first row of `runtime_change`, which is tested by itself."""
    return _relative(pd.DataFrame([_overall(_runtime_evidence(before, after, pairing))])).iloc[0]


def _overall(each):
    row = _row("", OVERALL, each, *_estimates(each)[0])
    p_family, verdict = _alone(row)
    return {**row, "p_family": p_family, "verdict": verdict}


def _alone(row):
    """Return p and verdict of the change overall, in step with `gate.check` at a limit of 0 %."""
    mean, se, df = row["log_ratio"], row["se"], row["df"]
    low, high = bounds(mean, se, df)
    if np.isnan(low):
        return np.nan, TOO_FEW
    if abs(mean) <= EXACT and se <= EXACT:
        return np.nan, SAME
    if low > EXACT:
        return tail(mean, se, df), SLOWER
    if high > EXACT:
        return (tail(mean, se, df) if mean > 0 else row["p"]), APART
    return row["p"], FASTER if row["p"] <= ALPHA else NOT_SLOWER


def bounds(mean, se, df):
    """Return the one-sided 95 % bounds of a change; NaN without an estimate of `se`."""
    if not df or not np.isfinite(se):
        return np.nan, np.nan
    half = stats.t.ppf(1 - ALPHA, df) * se if se > EXACT else 0.0
    return mean - half, mean + half


def _runtime_evidence(before, after, pairing):
    values = [side.runs["runtime_s"].to_numpy(dtype=float) for side in (before, after)]
    each = evidence(pairing, np.log(values[0]), np.log(values[1]))
    means = evidence(pairing, *values)
    return each.assign(before_s=means["before"], after_s=means["after"])


def _relative(table):
    ends = {"change": "log_ratio", "low": "log_low", "high": "log_high"}
    ends |= {"at_least": "log_at_least", "at_most": "log_at_most"}
    return table.assign(**{name: np.expm1(table[column]) for name, column in ends.items()})


def _partitions(pairing, configurations):
    """Return (factor, codes, labels) of each way in which a factor divides the configurations.

    Factors that divide them alike are one question, asked of the first of them. A number with many
    values (`pairs.Pairing.numbers`) divides them into quartiles.
    """
    found = {}
    for name in pairing.factors:
        levels = pairing.configurations[name].to_numpy()[configurations]
        labels = in_natural_order(set(levels))
        codes = np.array([labels.index(level) for level in levels])
        if name in pairing.numbers:
            values = pairing.numbers[name][configurations]
            codes, labels = fields.bins(
                fields.Field(name, "numeric", tuple(labels), codes, values, trend=True)
            )
            present, codes = np.unique(codes, return_inverse=True)
            labels = [labels[k] for k in present]
        if len(labels) > 1:
            found.setdefault(pd.factorize(codes)[0].tobytes(), (name, codes, labels))
    return list(found.values())


def evidence(pairing, before, after):
    """Return the change of each configuration, and the scatter of its repetitions.

    `before` and `after` have a value per run; a pair that lacks one is left out.

    Returns
    -------
    DataFrame
        A row per configuration: ``configuration``, ``n_pairs``, ``before``, ``after`` (means),
        ``difference``; ``sum_sq``, ``df`` of the variance s² of a single pair's difference, from
        repetitions; ``weight``: by repetitions alone, Var(difference) = weight · s².
    """
    rows = []
    for configuration, group in pairing.pairs.groupby("configuration", sort=True):
        sides = [(before[a], after[b]) for a, b in zip(group["before"], group["after"], strict=True)]
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
    at_least, at_most = bounds(mean, se, df)
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
        "log_at_least": at_least,
        "log_at_most": at_most,
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


def _judged(table, up, down, times=1):
    """Add ``p_family``, times a factor, and ``verdict``; a row without any change is not tested."""
    p = table["p"].to_numpy(dtype=float, copy=True)
    p[(table["log_ratio"].abs() <= EXACT) & (table["se"] <= EXACT)] = np.nan
    table = table.assign(p_family=np.minimum(1.0, times * holm(p)))
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
    both = [name for name in before.runs if name in after.runs]
    compared = [name for name in COST_ORDER if name in both and not name.startswith("cost_runtime")]
    rows = []
    for name in compared + sorted(name for name in both if name.startswith(SCORE_PREFIX)):
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
    names += ["p", "log_ratio", "se"]
    return _judged(pd.DataFrame(rows, columns=names), MORE, LESS).drop(columns=["log_ratio", "se"])
