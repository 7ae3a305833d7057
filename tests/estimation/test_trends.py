"""Trends: a known line comes back, intervals cover, and the 2022 table is reproduced."""

import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from conftest import REFERENCE

from traincost.estimation import trends
from traincost.estimation.lines import fit_line

COMPUTE = REFERENCE / "compute"


def systems(dates, log_flop):
    names = [f"s{i}" for i in range(len(dates))]
    return pd.DataFrame(
        {"system": names, "date": pd.to_datetime(dates), "flop": 10.0 ** np.asarray(log_flop)}
    )


def line(n, months, start="2012-01-01", sd=0.0, seed=0):
    """Return systems every 30 days that double each `months`, with scatter in log10."""
    rng = np.random.default_rng(seed)
    dates = pd.date_range(start, periods=n, freq="30D")
    days = (dates - dates[0]).days.to_numpy()
    growth = np.log10(2) * days / (months * trends.DAYS_PER_MONTH)
    return systems(dates, 20 + growth + rng.normal(0, sd, n))


def fit(frame, **options):
    return trends.fit_trends(frame, eras=(("1900-01-01", "2100-01-01"),), split_large=False, **options)


def test_a_noise_free_exponential_gives_its_doubling_time():
    row = fit(line(60, 7.25), drop_low=False, noise=1.0).iloc[0]
    assert row["doubling_months"] == pytest.approx(7.25, rel=1e-9)
    assert row["doubling_low"] == pytest.approx(7.25, rel=1e-9)
    assert row["r_squared"] == pytest.approx(1)
    assert row["established"]


def test_the_month_is_stated_by_the_caller():
    days = 7.25 * trends.DAYS_PER_MONTH
    row = fit(line(60, 7.25), drop_low=False, days_per_month=30).iloc[0]
    assert row["doubling_months"] == pytest.approx(days / 30)


def test_growth_that_spans_zero_has_no_upper_limit():
    rng = np.random.default_rng(0)
    frame = systems(pd.date_range("2015-01-01", periods=12, freq="60D"), 20 + rng.normal(0, 1, 12))
    row = fit(frame, drop_low=False).iloc[0]
    assert not row["established"]
    assert np.isinf(row["doubling_high"])
    assert np.isfinite(row["doubling_low"])


@pytest.mark.parametrize("n", [3, 4, 5])
def test_fewer_than_five_systems_establish_no_growth(n):
    row = fit(line(n * 8, 9.0).iloc[::8], drop_low=False, noise=1.0).iloc[0]
    assert row["n"] == n
    assert row["slope_t_low"] > 0
    assert row["established"] == (n == 5)
    doubling = row[[name for name in row.index if name.startswith("doubling")]].astype(float)
    assert doubling.isna().all() == (n < 5)
    assert doubling.isna().any() == (n < 5)


def test_the_interval_is_the_wider_at_either_end():
    frame = systems(
        ["2016-01-01", "2017-01-01", "2018-01-01", "2019-01-01", "2020-01-01"], [18, 20, 19, 22, 21]
    )
    row = fit(frame, drop_low=False).iloc[0]
    assert row["slope_low"] > 0  # resampling five rows leaves too little
    assert row["slope_t_low"] < row["slope_low"]
    assert row["established"] == (row["slope_t_low"] > 0)
    most = max(row["slope_high"], row["slope_t_high"]) / trends.DAYS_PER_YEAR
    assert row["doubling_low"] == pytest.approx(trends.doubling_time(most))
    assert row["doubling_high"] >= row["doubling_bootstrap_high"]
    assert row["doubling_low"] <= row["doubling_bootstrap_low"]


@pytest.mark.slow
def test_where_five_systems_establish_growth_the_interval_holds():
    """At n = 5; three and four systems, of which none is claimed, held the truth 50 and 78 % of the time."""
    truth, rng = 9.0, np.random.default_rng(0)
    held = claimed = 0
    for seed in range(3_000):
        dates = np.sort(rng.uniform(0, 4 * 365, 5))
        days = pd.Timestamp("2016-01-01") + pd.to_timedelta(dates, unit="D")
        growth = np.log10(2) * dates / (truth * trends.DAYS_PER_MONTH)
        frame = systems(days, 20 + growth + rng.normal(0, 0.3, 5))
        found = fit(frame, drop_low=False, n_draws=300, seed=seed)
        if len(found) and found["established"].iloc[0]:
            claimed += 1
            held += found["doubling_low"].iloc[0] <= truth <= found["doubling_high"].iloc[0]
    assert claimed > 1_000
    assert held / claimed >= 0.94


def test_a_history_of_under_a_year_has_no_trend():
    assert not len(fit(line(10, 3.0), drop_low=False))
    assert len(fit(line(20, 3.0), drop_low=False))


def test_groups_are_named_by_what_is_set_apart():
    early, late = line(30, 9.0, "2012-01-01"), line(40, 9.0, "2016-01-01")
    above = late.iloc[::4].assign(flop=late["flop"].iloc[::4] * 1e4)
    found = trends.fit_trends(pd.concat([early, late, above], ignore_index=True), drop_low=False, n_draws=50)
    groups = list(zip(found["era_start"], found["group"], found["descriptive"], strict=True))
    assert groups == [
        ("2009-12-31", "all", False),
        ("2015-09-01", "regular scale", True),
        ("2015-09-01", "large scale", True),
    ]


def test_systems_in_no_fit_are_listed():
    lone = systems(["1970-01-01", "1980-01-01"], [10, 11]).assign(system=["first", "second"])
    late = line(40, 1e12, "2016-01-01")
    late.loc[20, ["system", "flop"]] = ["fallen", 1.0]
    scored = trends.window_scores(trends.in_period(pd.concat([lone, late], ignore_index=True)))
    rest = trends.not_fitted(scored)
    assert list(rest.itertuples(index=False, name=None)) == [
        ("first", False),
        ("second", False),
        ("fallen", True),
    ]
    assert len(scored) - len(rest) == trends.fit_trends(scored, n_draws=10)["n"].sum()


def test_window_scores_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    dates = pd.to_datetime("2012-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 3000, 80)), unit="D")
    frame = systems(dates, rng.normal(21, 2, 80))
    scored = trends.window_scores(frame)
    log, days = np.log10(frame["flop"].to_numpy()), trends._days(frame["date"])
    for i in (0, 17, 79):
        near = np.abs(days - days[i]) <= 364
        assert scored["n_window"].iloc[i] == near.sum()
        assert scored["z"].iloc[i] == pytest.approx((log[i] - log[near].mean()) / log[near].std(), rel=1e-9)


def test_perturbed_draws_stay_within_the_factor():
    draws = trends.perturbed_draw(np.full(50_000, 20.0), np.random.default_rng(0)) - 20
    assert np.abs(draws).max() <= np.log10(2)
    assert np.abs(draws).max() > 0.999 * np.log10(2)
    assert draws.std() == pytest.approx(np.log10(2) / np.sqrt(3), rel=0.02)  # uniform in the log


def test_a_vectorised_draw_equals_a_row_by_row_one():
    rng = np.random.default_rng(3)
    x, y = rng.uniform(0, 3000, 25), rng.normal(20, 1, 25)
    slopes = trends.bootstrap_slopes(x, y, 40, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    drawn = rng.integers(0, 25, size=(40, 25))
    noisy = trends.perturbed_draw(y[drawn], rng)
    centred = x - x.mean()
    expected = [
        np.polynomial.Polynomial.fit(centred[i], v, 1).convert().coef[1]
        for i, v in zip(drawn, noisy, strict=True)
    ]
    assert slopes == pytest.approx(expected, rel=1e-9)


def test_draws_of_two_or_fewer_distinct_rows_are_skipped():
    slopes = trends.bootstrap_slopes(
        [0.0, 1.0, 2.0], [1.0, 2.0, 3.0], 1000, np.random.default_rng(0), noise=1.0
    )
    assert 100 < len(slopes) < 400  # all three distinct: 3!/27 of the draws
    assert slopes == pytest.approx(np.ones(len(slopes)))


def test_a_small_window_never_loses_a_row():
    frame = systems(["2015-01-01", "2015-02-01", "2015-03-01", "2015-04-01"], [20, 20, 20, 1])
    scored = trends.window_scores(frame)
    assert (scored["n_window"] == 4).all()
    assert np.abs(scored["z"]).max() <= np.sqrt(3) + 1e-9
    assert not scored["low_outlier"].any()


def test_the_period_is_strict_and_comes_before_the_windows():
    frame = systems(["2015-01-01", "2015-02-01", "2015-03-01"], [20, 20, np.nan])
    assert list(trends.in_period(frame, "2015-01-01")["system"]) == ["s1"]


def test_records_and_largest():
    frame = systems(["2015-01-01", "2015-02-01", "2015-03-01", "2018-01-01"], [20, 19, 21, 20.5])
    assert list(trends.record_setters(frame)["system"]) == ["s0", "s2"]
    assert list(trends.largest(frame, 1)["system"]) == ["s2", "s3"]


def test_subsets_by_name():
    frame = systems(["2015-01-01", "2015-02-01", "2015-03-01"], [20, 19, 21]).assign(domain=["a", "b", "b"])
    assert list(trends.subset(frame)["system"]) == ["s0", "s1", "s2"]
    assert list(trends.subset(frame, "records")["system"]) == ["s0", "s2"]
    assert list(trends.subset(frame, "largest 1")["system"]) == ["s2"]
    assert list(trends.subset(frame, "b")["system"]) == ["s1", "s2"]
    with pytest.raises(ValueError, match="`subset` must be records, largest N, or one of a, b, got 'c'"):
        trends.subset(frame, "c")


@pytest.mark.slow
@pytest.mark.parametrize(("n", "low", "high"), [(60, 0.93, 0.97), (20, 0.91, 0.96)])
def test_the_intervals_cover_the_truth(n, low, high):
    truth = np.log10(2) / (9.0 * trends.DAYS_PER_MONTH)
    boot = student = 0
    for seed in range(1000):
        frame = line(n, 9.0, sd=1.0, seed=seed)
        days, log = trends._days(frame["date"]), np.log10(frame["flop"].to_numpy())
        a, b = np.quantile(
            trends.bootstrap_slopes(days, log, 500, np.random.default_rng(seed)), [0.025, 0.975]
        )
        boot += a <= truth <= b
        a, b = fit_line(days, log).slope_interval()
        student += a <= truth <= b
    assert low <= boot / 1000 <= high
    assert 0.93 <= student / 1000 <= 0.97


def test_a_hundred_thousand_draws_stay_small():
    x, y = np.arange(60.0), np.random.default_rng(0).normal(20, 1, 60)
    tracemalloc.start()
    assert len(trends.bootstrap_slopes(x, y, 100_000)) == 100_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**30 / 4


def test_projection_of_an_exact_law():
    compute = 10.0 ** np.arange(16, 24)
    error = (compute / 1e15) ** (-1 / 12)
    found = trends.exponents(error, compute)
    assert found["error_on_compute"] == pytest.approx(12)
    assert found["compute_on_error"] == pytest.approx(12)
    projected = trends.project(trends.fit_error(error, compute), 0.01)
    assert projected["log10_flop"] == pytest.approx(15 + 24)
    assert projected["low"] == pytest.approx(projected["high"])
    assert projected["orders_beyond"] == pytest.approx(39 - 23)


def test_an_error_that_does_not_fall_is_not_called_falling():
    compute = 10.0 ** np.arange(16, 22)
    assert not trends.exponents(np.array([0.1, 0.2, 0.25, 0.3, 0.35, 0.4]), compute)["established"]
    with pytest.raises(ValueError, match="does not change with compute"):
        trends.exponents(np.full(6, 0.25), compute)


@pytest.mark.parametrize("form", ["cubic", ""])
def test_an_unknown_form_is_refused(form):
    with pytest.raises(ValueError, match="`form` must be polynomial or exponential"):
        trends.fit_error([0.1, 0.2, 0.3], [1, 2, 3], form)


# -- the 2022 table ------------------------------------------------------------------------------

AUTHORS = {"days_per_year": 365, "days_per_month": 30}
PERIOD = {"start": "1950-01-01", "end": "2022-02-01"}
SPLIT = (("1950-01-01", "2009-12-31"), ("2009-12-31", "2100-01-01"))
ONE = (("1950-01-01", "2100-01-01"),)
# The figures of the paper, by what each block of the released notebook does.
FIG1 = PERIOD | {"eras": trends.ERAS}
MERGED = PERIOD | {"eras": SPLIT}
FIG3 = MERGED | {"split_large": False}
CELL1 = PERIOD | {
    "eras": (("1950-01-01", "2009-12-31"), ("2009-12-31", "2012-12-31"), ("2012-12-31", "2100-01-01")),
    "split_large": False,
    "drop_low": False,
}
TABLE8 = {"start": "2012-09-01", "end": "2017-11-01", "eras": ONE, "large_from": "2000-01-01"}
# Block: (options, number of the era, group, domain).
BLOCKS = {
    "fig1|All|Pre Deep Learning Era": (FIG1, 0, "all", ""),
    "fig1|All|Deep Learning Era": (FIG1, 1, "all", ""),
    "fig1|All|Large Scale Era": (FIG1, 2, "regular scale", ""),
    "fig1|Large Scale|Large Scale Era": (FIG1, 2, "large scale", ""),
    "fig1_merged_DL|All|Pre Deep Learning Era": (MERGED, 0, "all", ""),
    "fig1_merged_DL|All|Deep Learning Era": (MERGED, 1, "regular scale", ""),
    "fig1_merged_DL|Large Scale|Deep Learning Era": (MERGED, 1, "large scale", ""),
    "fig3|All|Pre Deep Learning Era": (FIG3, 0, "all", ""),
    "fig3|All|Deep Learning Era": (FIG3, 1, "all", ""),
    "cell1_saved_output(outliers=ignore)|All|Pre Deep Learning Era": (CELL1, 0, "all", "All"),
    "cell1_saved_output(outliers=ignore)|Record|Pre Deep Learning Era": (CELL1, 0, "all", "Record"),
    "cell1_saved_output(outliers=ignore)|All|Deep Learning Era": (CELL1, 1, "all", "All"),
    "cell1_saved_output(outliers=ignore)|All|Large Scale Era": (CELL1, 2, "all", "All"),
    "cell1_saved_output(outliers=ignore)|Record|Large Scale Era": (CELL1, 2, "all", "Record"),
    "table8run1|All|Large Scale Era": (TABLE8 | {"split_large": False}, 0, "all", ""),
    "table8run2|All|Large Scale Era": (TABLE8, 0, "regular scale", ""),
    "table8run2|Large Scale|Large Scale Era": (TABLE8, 0, "large scale", ""),
    "table8run6|All|Large Scale Era": (TABLE8 | {"end": "2022-02-01"}, 0, "regular scale", ""),
    "table8run6|Large Scale|Large Scale Era": (TABLE8 | {"end": "2022-02-01"}, 0, "large scale", ""),
}


@pytest.fixture(scope="module")
def table_2022():
    from traincost.results.systems import read_systems

    frame = read_systems(COMPUTE / "compute_trends_2022_123_systems.csv").frame
    frame = frame[["system", "date", "domain", "stated_compute_flop"]]
    return frame.rename(columns={"stated_compute_flop": "flop"})


@pytest.mark.reference
def test_every_published_block_is_compared():
    assert set(BLOCKS) == set(json.loads((COMPUTE / "trend_fits_exact.json").read_text()))


@pytest.mark.reference
@pytest.mark.parametrize("block", BLOCKS)
def test_deterministic_blocks_of_the_2022_table(table_2022, block):
    expected = json.loads((COMPUTE / "trend_fits_exact.json").read_text())[block]
    options, era, group, domain = BLOCKS[block]
    found = trends.fit_trends(trends.subset(table_2022, domain), n_draws=100, **options, **AUTHORS)
    here = (found["era_start"] == options["eras"][era][0]) & (found["group"] == group)
    row = found[here].iloc[0]
    assert row["n"] == expected["n"]
    assert row["slope"] == pytest.approx(expected["slope_oom_per_year_365"], rel=1e-9)
    assert row["doubling_months"] == pytest.approx(expected["doubling_months_30"], rel=1e-9)
    assert row["r_squared"] == pytest.approx(expected["r2"], rel=1e-9)
    assert row["start_flop"] == pytest.approx(expected["start"], rel=1e-9)
    assert row["end_flop"] == pytest.approx(expected["end"], rel=1e-9)
    assert f"{row['first']:%Y-%m-%d}" == expected["first"]
    assert f"{row['last']:%Y-%m-%d}" == expected["last"]


@pytest.mark.reference
def test_low_outliers_by_name(table_2022):
    scored = trends.window_scores(trends.in_period(table_2022, **PERIOD))
    assert set(scored[scored["low_outlier"]]["system"]) == {
        "DeepStack",
        "Hanabi 4 player",
        "Hide and Seek",
        "LSUN Bedroom model",
        "ERNIE 3.0",
    }
    assert scored["large_scale"].sum() == 19


@pytest.mark.reference
def test_bootstrap_intervals_agree_within_monte_carlo_error(table_2022):
    found = trends.fit_trends(table_2022, n_draws=4000, **PERIOD, **AUTHORS)
    expected = {0: (16.2, 30.4), 1: (3.9, 9.1), 2: (4.4, 8.2), 3: (7.8, 24.7)}
    for i, (low, high) in expected.items():
        assert found["doubling_bootstrap_low"].iloc[i] == pytest.approx(low, rel=0.06)
        assert found["doubling_bootstrap_high"].iloc[i] == pytest.approx(high, rel=0.15)


@pytest.mark.reference
def test_the_quoted_doubling_time_is_not_reproduced(table_2022):
    months = []
    for z in np.linspace(0.5, 1.0, 6):
        found = trends.fit_trends(table_2022, large_z=z, n_draws=100, **PERIOD, **AUTHORS)
        months += list(found[found["group"] == "large scale"]["doubling_months"])
    assert min(months) > 9.9
