"""Effect sizes against statsmodels and against values derived by hand."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from conftest import fields_of, grid
from scipy import stats
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.oneway import confint_noncentrality

from traincost.analysis import effects, explained
from traincost.analysis.verdicts import NO_VARIATION


def unbalanced(seed=0, drop=7):
    """Return config and runtime of a grid with interactionless effects and rows dropped."""
    rng = np.random.default_rng(seed)
    config = grid(a=list("xyz"), b=list("pq"), c=["1", "2", "3"], rep=["u", "v"])
    runtime = np.exp(
        0.8 * (config["a"] == "x") + 0.3 * (config["b"] == "p") + rng.normal(0, 0.3, len(config))
    )
    keep = np.sort(rng.permutation(len(config))[drop:])
    return config.iloc[keep].reset_index(drop=True), runtime.iloc[keep].to_numpy() * 100


def table(config, runtime, **options):
    """Return the effects by factor; few permutations, as most tests here are of sizes."""
    options = {"n_permutations": 99, **options}
    return effects.main_effects(runtime, fields_of(config).values(), **options).set_index("factor")


def interactions(config, runtime):
    """Return the interaction tests by scale."""
    return effects.interactions(runtime, fields_of(config).values()).set_index("scale")


def test_one_way_sizes_equal_statsmodels():
    config, runtime = unbalanced()
    found = table(config, runtime)
    data = config.assign(y=runtime)
    total = ((runtime - runtime.mean()) ** 2).sum()
    for name in "abc":
        fit = smf.ols(f"y ~ C({name})", data).fit()
        mse = fit.mse_resid
        df = fit.df_model
        assert found.loc[name, "eta_squared"] == pytest.approx(fit.rsquared, rel=1e-12)
        assert found.loc[name, "epsilon_squared"] == pytest.approx(fit.rsquared_adj, rel=1e-9, abs=1e-12)
        omega = (fit.ess - df * mse) / (total + mse)
        assert found.loc[name, "omega_squared"] == pytest.approx(omega, rel=1e-9, abs=1e-12)


def test_partial_sizes_equal_type_ii_of_statsmodels():
    config, runtime = unbalanced()
    found = table(config, runtime)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anova = anova_lm(smf.ols("y ~ C(a) + C(b) + C(c) + C(rep)", config.assign(y=runtime)).fit(), typ=2)
    residual = anova.loc["Residual", "sum_sq"]
    for name in "abc":
        expected = anova.loc[f"C({name})", "sum_sq"]
        assert found.loc[name, "partial_sum_sq"] == pytest.approx(expected, rel=1e-9)
        assert found.loc[name, "partial_eta_squared"] == pytest.approx(expected / (expected + residual))
        assert found.loc[name, "partial_p"] == pytest.approx(anova.loc[f"C({name})", "PR(>F)"], rel=1e-9)


def test_a_disconnected_grid_has_its_rank_in_degrees_of_freedom():
    # Levels x, y of `a` occur with p, q only, and z, w with r, s only: two islands.
    config = pd.concat(
        [grid(a=list("xy"), b=list("pq")), grid(a=list("zw"), b=list("rs"))] * 2, ignore_index=True
    )
    runtime = np.exp(np.random.default_rng(1).normal(0, 1, len(config)))
    config["lr"] = np.arange(16.0)  # each run its own configuration
    found = table(config, runtime)
    # `a` has 3 df, one of which (which island) `b` holds already.
    assert found.loc["a", "partial_df"] == 2
    assert found.loc["b", "partial_df"] == 2


def test_a_jointly_determined_factor_has_no_degrees_of_freedom():
    config = grid(a=["0", "1"], b=["0", "1"], rep=list("uvw"))
    config["sum"] = config["a"] + config["b"]  # fixed by a and b together, by neither alone
    config["sum"] = config["sum"].map({"00": "lo", "01": "mid", "10": "mid2", "11": "hi"})
    config["x"] = np.where(config["a"] == config["b"], "same", "other")
    config = config.drop(columns="sum")
    runtime = np.exp(np.random.default_rng(0).normal(0, 1, len(config)))
    found = table(config, runtime)
    assert found.loc["x", "partial_df"] == 1  # an interaction of a and b adds to their main effects
    assert (found["partial_df"] > 0).all()


def test_sizes_ignore_shift_and_scale_of_the_response():
    config, runtime = unbalanced()
    first, second = table(config, runtime), table(config, 3.6 * runtime + 50)
    pd.testing.assert_series_equal(first["eta_squared"], second["eta_squared"])


def test_chance_level_is_the_mean_over_random_dealings():
    rng = np.random.default_rng(0)
    config = grid(task=list("abcd"), lr=["1", "2", "3"], seed=[0, 1, 2])
    y = np.repeat(rng.normal(0, 1, 12), 3) + rng.normal(0, 0.4, 36)
    expected = table(config, np.exp(y)).loc["task", "chance"]
    runtime = np.exp(y)
    etas = []
    for _ in range(2000):
        dealt = rng.permutation(12).repeat(3) % 4  # levels dealt to configurations
        groups = [runtime[dealt == k] for k in range(4)]
        between = sum(len(g) * (g.mean() - runtime.mean()) ** 2 for g in groups)
        etas.append(between / ((runtime - runtime.mean()) ** 2).sum())
    assert expected == pytest.approx(np.mean(etas), rel=0.03)


def test_chance_without_replicates_is_df_over_total_df():
    config, runtime = unbalanced()
    assert table(config, runtime).loc["a", "chance"] == pytest.approx(2 / (len(config) - 1))


def test_statsmodels_interval_saturates_where_ours_does_not():
    eta, df, residual_df, n = 0.6, 3, 9_996, 10_000
    statistic = eta / df / ((1 - eta) / residual_df)
    theirs = confint_noncentrality(statistic, (df, residual_df))
    assert theirs / (theirs + n) == pytest.approx([0.5, 0.5])
    assert explained.eta_interval(eta, df, residual_df) == pytest.approx((0.58955, 0.60988), abs=1e-5)


def test_the_interval_agrees_with_statsmodels_where_that_is_whole():
    theirs = confint_noncentrality(0.3 / 3 / (0.7 / 96), (3, 96))
    assert explained.eta_interval(0.3, 3, 96) == pytest.approx(tuple(theirs / (theirs + 100)), rel=1e-3)


def test_the_interval_covers_the_population_value():
    rng = np.random.default_rng(0)
    means, k, n = np.array([0.0, 0.5, 1.0]), 3, 20
    between = ((means - means.mean()) ** 2).mean()
    truth = between / (between + 1)
    hits = 0
    for _ in range(400):
        y = np.repeat(means, n) + rng.normal(0, 1, k * n)
        statistic = stats.f_oneway(*y.reshape(k, n)).statistic
        eta = statistic * (k - 1) / (statistic * (k - 1) + k * n - k)
        low, high = explained.eta_interval(eta, k - 1, k * n - k)
        hits += low <= truth <= high
    assert 0.92 <= hits / 400 <= 0.98


def test_a_replicate_is_shown_and_not_tested():
    config = grid(task=list("abc"), lr=["1", "2"], seed=[0, 1, 2])
    runtime = np.exp(np.random.default_rng(0).normal(0, 1, 18))
    found = table(config, runtime)
    assert found.loc["seed", "verdict"] == effects.REPLICATE
    assert found.loc["seed", "eta_squared"] > 0
    assert found.loc["task", "n_configurations"] == 6


def test_a_numeric_factor_is_a_cubic_in_rank():
    rng = np.random.default_rng(0)
    lr = rng.random(30)
    runtime = np.exp(2 * lr + rng.normal(0, 0.1, 30))
    found = table(pd.DataFrame({"lr": lr}), runtime, n_permutations=999)
    rank = stats.rankdata(lr)
    fit = np.polynomial.Polynomial.fit(rank, runtime, 3)
    expected = 1 - ((runtime - fit(rank)) ** 2).sum() / ((runtime - runtime.mean()) ** 2).sum()
    assert found.loc["lr", "eta_squared"] == pytest.approx(expected, rel=1e-9)
    assert found.loc["lr", "df"] == 3
    assert found.loc["lr", "direction"] > 0.9
    assert found.loc["lr", "verdict"] == "depends on it"


def test_missing_values_are_a_level():
    config = pd.DataFrame({"momentum": ["0.9", None, "0.9", None, "0.5", "0.5"] * 2})
    found = table(config, np.arange(1.0, 13))
    assert found.loc["momentum", "n_levels"] == 3


def test_equal_runtimes_leave_nothing_to_explain():
    found = table(grid(a=list("xy"), lr=[0.1, 0.2]), [3.3] * 4)
    assert set(found["verdict"]) == {NO_VARIATION}
    assert found[["eta_squared", "direction"]].isna().all(axis=None)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_very_few_runs_show_no_dependence(n):
    found = table({"a": list("xyz")[:n], "b": [1, 2, 3][:n]}, [1.0, 2.0, 4.0][:n])
    assert not found["verdict"].isin(["depends on it"]).any()


def test_interaction_that_logs_remove_is_said_to_multiply():
    config = grid(a=list("wxyz"), b=list("pqrs"))
    rng = np.random.default_rng(0)
    logs = config["a"].map({"w": 0, "x": 1, "y": 2, "z": 3}) + config["b"].map(
        {"p": 0, "q": 1, "r": 2, "s": 3}
    )
    found = interactions(config, np.exp(logs + rng.normal(0, 0.1, 16)))
    assert found.loc["hours", "p"] < 0.05
    assert found.loc["log", "p"] > 0.05
    assert set(found["test"]) == {"Tukey's one-df"}


def test_lack_of_fit_is_used_where_there_are_replicates():
    config = grid(a=list("xy"), b=list("pqr"), seed=[0, 1, 2])
    rng = np.random.default_rng(0)
    crossed = (config["a"] == "x") & (config["b"] == "p")
    runtime = np.exp(1.0 * crossed + rng.normal(0, 0.05, 18))
    found = interactions(config, runtime)
    data = config.assign(y=np.log(runtime))
    whole, additive = smf.ols("y ~ C(a) * C(b)", data).fit(), smf.ols("y ~ C(a) + C(b)", data).fit()
    statistic, p, df = whole.compare_f_test(additive)
    assert found.loc["log", "test"] == "lack of fit"
    assert found.loc["log", "statistic"] == pytest.approx(statistic, rel=1e-9)
    assert found.loc["log", "p"] == pytest.approx(p, rel=1e-6)
    assert found.loc["log", "df"] == df


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        (["nope"], "`factors` must be config fields; 'nope'"),
        (["fixed"], r"`factors` must vary; 'fixed' has one level \(0.1\)"),
        (["name"], "`factors` must be testable; 'name': one value per run"),
    ],
)
def test_factors_that_cannot_be_tested_are_refused(factors, message):
    config = pd.DataFrame({"a": list("xxyy"), "fixed": [0.1] * 4, "name": list("abcd")})
    with pytest.raises(ValueError, match=message):
        table(config, [1, 2, 3, 4], factors=factors)


def test_names_from_runs_are_never_evaluated():
    config = {"C": list("xxyy"), "__import__('os').system('x')": list("pqpq"), "f0 + f1": [1, 2, 1, 2]}
    found = table(config, [1, 2, 3, 4])
    # The numeric one stands for the two that partition the runs identically.
    assert set(found.index) == {"C", "f0 + f1"}
    assert found.loc["f0 + f1", "names"] == ("f0 + f1", "__import__('os').system('x')")


def test_a_step_by_a_numeric_factor_is_no_interaction():
    rng = np.random.default_rng(0)
    config = grid(size=np.arange(10.0), task=list("ab"), seed=[0, 1, 2])
    claimed = 0
    for _ in range(40):
        logs = 1.0 * (config["size"] > 6) + 0.5 * (config["task"] == "a") + rng.normal(0, 0.1, 60)
        found = interactions(config, np.exp(logs))
        claimed += found.loc["log", "p"] <= 0.05
    assert claimed <= 6  # 5 % of 40 are 2


def test_interactions_are_not_asked_where_levels_hardly_repeat():
    rng = np.random.default_rng(0)
    config = pd.DataFrame({"lr": rng.random(20), "task": list("ab") * 10})
    assert not len(interactions(config, np.exp(rng.normal(0, 1, 20))))


def test_missing_numeric_values_are_apart_from_the_trend():
    rng = np.random.default_rng(0)
    lr = np.where(np.arange(40) % 4 == 0, np.nan, rng.random(40))
    runtime = np.exp(np.where(np.isnan(lr), 3.0, np.nan_to_num(lr)) + rng.normal(0, 0.05, 40))
    found = table(pd.DataFrame({"lr": lr}), runtime, n_permutations=999)
    assert found.loc["lr", "df"] == 4
    assert found.loc["lr", "eta_squared"] > 0.95
