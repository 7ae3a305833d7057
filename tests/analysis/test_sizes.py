"""Sizes beside verdicts: their intervals cover the truth, and are those of the textbooks."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import REFERENCE, fields_of, grid
from scipy import stats

from traincost.analysis import fields, sizes, verdicts
from traincost.analysis.far import far_runs
from traincost.analysis.verdicts import family_wise

CASES = REFERENCE / "stat" / "cases"


def judged(config, y, start=None, n_permutations=199):
    tested = fields.tested(list(fields_of(config).values()))
    return family_wise(tested, np.asarray(y, dtype=float), start, n_permutations), tested


def ratios_of(config, y):
    found, tested = judged(config, y)
    return sizes.ratios(found, tested, np.asarray(y, dtype=float))


@pytest.mark.reference
@pytest.mark.parametrize("name", ["01_methods8x5", "03_grid2x2x5", "19_debug_run", "23_grid4x3x3_seeds"])
def test_ratios_are_those_of_the_rules(name):
    expected = json.loads((CASES / "expected.json").read_text(encoding="utf-8"))[name]["ratio"]
    table = pd.read_csv(CASES / f"{name}.csv")
    config, y = table.drop(columns="runtime_s").add_prefix("config."), np.log(table["runtime_s"].to_numpy())
    kept = ~far_runs(fields.describe(config), y)
    described = fields.tested(fields.describe(config[kept]))
    found = sizes.ratios(family_wise(described, y[kept]), described, y[kept])
    by_pair = {(row.level, row.than): row for row in found.itertuples()}
    assert len(expected) > 0
    for pair, ratio in expected.items():
        a, b = pair.split(" / ")
        row = by_pair.get((a, b))
        ends = (row.estimate, row.low, row.high) if row else None
        if row is None:
            row = by_pair[b, a]
            ends = (-row.estimate, -row.high, -row.low)
        assert np.exp(ends) == pytest.approx(ratio, rel=1e-3)


def test_equal_spread_gives_the_interval_of_statsmodels():
    from statsmodels.stats.multicomp import pairwise_tukeyhsd

    rng = np.random.default_rng(0)
    config = pd.DataFrame({"A": list("abc") * 10})
    noise = stats.norm.ppf((np.arange(10) + 0.5) / 10)  # the same in each level
    y = np.repeat(noise, 3) + 0.5 * rng.normal(0, 0.1, 30) + 9 * (config["A"] == "c")
    found = ratios_of(config, y)
    assert set(found["method"]) == {sizes.TUKEY}
    theirs = pairwise_tukeyhsd(y, config["A"].to_numpy())
    widths = sorted(theirs.confint[:, 1] - theirs.confint[:, 0])
    assert sorted(found["high"] - found["low"]) == pytest.approx(widths, rel=1e-3)


def test_unequal_spread_gives_games_howell():
    rng = np.random.default_rng(1)
    config = pd.DataFrame({"A": np.repeat(list("ab"), 12)})
    y = rng.normal(0, np.repeat([0.1, 3.0], 12)) + 20 * (config["A"] == "b")
    (row,) = ratios_of(config, y).itertuples()
    interval = stats.ttest_ind(y[12:], y[:12], equal_var=False).confidence_interval(0.95)
    assert row.method == sizes.GAMES
    assert (row.low, row.high) == pytest.approx((interval.low, interval.high))


def test_the_largest_pair_leads_many_levels_meet_the_least():
    rng = np.random.default_rng(2)
    level = np.repeat(np.arange(30), 4)
    found = ratios_of(
        pd.DataFrame({"A": "a" + pd.Series(level).astype(str)}), level + rng.normal(0, 0.1, 120)
    )
    assert len(found) == 29
    assert set(found["than"]) == {"a0"}
    assert found["level"].iloc[0] == "a29"


def test_doubling_is_the_slope_on_the_binary_logarithm():
    rng = np.random.default_rng(3)
    config = grid(batch_size=[8, 16, 32, 64], task=list("xyz"), seed=[0, 1])
    y = -0.5 * np.log2(config["batch_size"]) + (config["task"] == "x") + rng.normal(0, 0.01, 24)
    found, tested = judged(config, y)
    (row,) = sizes.doublings(found, tested, y.to_numpy()).itertuples()
    assert (row.factor, row.method) == ("batch_size", sizes.T)
    assert row.low < -0.5 < row.high
    assert row.estimate == pytest.approx(-0.5, abs=0.01)


def test_numbers_at_or_below_zero_are_not_doubled():
    config = grid(layers=[0, 1, 2, 3], seed=[0, 1, 2, 3])
    found, tested = judged(config, config["layers"] + np.linspace(0, 0.1, 16))
    assert found.table["verdict"].iloc[0] == verdicts.DEPENDS
    assert len(sizes.doublings(found, tested, config["layers"].to_numpy(dtype=float))) == 0


def test_spread_recovers_what_was_put_in():
    rng = np.random.default_rng(4)
    config = grid(A=range(12), B=range(10), seed=range(4)).astype({"A": str, "B": str})
    cell = config.groupby(["A", "B"], sort=False).ngroup().to_numpy()
    y = rng.normal(0, 0.3, 120)[cell] + rng.normal(0, 0.1, 480)
    found, _ = judged(config, y)
    spread = sizes.spread(found, y).set_index("source")
    assert spread.loc[sizes.REPEATS, "sd"] == pytest.approx(0.1, rel=0.1)
    assert spread.loc[sizes.REPEATS, "low"] < 0.1 < spread.loc[sizes.REPEATS, "high"]
    assert spread.loc[sizes.CONFIGURATIONS, "sd"] == pytest.approx(0.3, rel=0.15)


def test_the_cell_that_departs_from_the_sum_is_named():
    rng = np.random.default_rng(5)
    config = grid(A=list("abcd"), B=list("xyz"), seed=range(4))
    y = rng.normal(0, 0.05, 48) + 1.0 * ((config["A"] == "c") & (config["B"] == "y"))
    found, _ = judged(config, y)
    cells = sizes.unusual_cells(found, y.to_numpy())
    assert cells["levels"].iloc[0] == (("A", "c"), ("B", "y"))
    assert cells["low"].iloc[0] > 0
    idle, _ = judged(config, rng.normal(0, 0.05, 48))
    assert len(sizes.unusual_cells(idle, rng.normal(0, 0.05, 48))) == 0


# -- coverage ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("spread", [(0.2, 0.2, 0.2), (0.1, 0.2, 0.6)], ids=["equal", "unequal"])
def test_all_ratios_together_are_covered(spread):
    """Of 95 % intervals of all pairs, 91 to 97 % hold the truth (RULES.md section 9)."""
    rng = np.random.default_rng(6)
    config = pd.DataFrame({"A": np.repeat(list("abc"), 8)})
    true = np.array([0.0, 1.0, 3.0])
    covered = 0
    for _ in range(500):
        y = rng.normal(0, np.repeat(spread, 8)) + np.repeat(true, 8)
        found = ratios_of(config, y)
        differences = np.array(
            [true["abc".index(r.level)] - true["abc".index(r.than)] for r in found.itertuples()]
        )
        covered += ((found["low"] <= differences) & (differences <= found["high"])).all()
    assert 0.91 <= covered / 500 <= 0.97 + 0.01


@pytest.mark.slow
def test_the_effect_of_doubling_is_covered():
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(500):
        config = pd.DataFrame({"x": 2 ** rng.uniform(0, 5, 30), "z": rng.random(30)})
        y = 0.4 * np.log2(config["x"]).to_numpy() + 0.3 * config["z"].to_numpy() + rng.normal(0, 0.2, 30)
        found, tested = judged(config, y)
        row = sizes.doublings(found, tested, y).set_index("factor").loc["x"]
        covered += row["low"] <= 0.4 <= row["high"]
    assert 0.93 <= covered / 500 <= 0.97 + 0.01
