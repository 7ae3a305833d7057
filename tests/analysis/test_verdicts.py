"""The verdict is a family-wise test: it must not find effects in noise, and must find real ones."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from conftest import REFERENCE, fields_of, grid
from scipy import stats

from traincost.analysis import effects, fields, verdicts
from traincost.analysis.far import far_runs
from traincost.analysis.verdicts import (
    CHANCE,
    CLEARING,
    DEPENDS,
    GOES_WITH,
    HERE,
    NO_VARIATION,
    ORDER,
    TOO_FEW,
    family_wise,
)

STAT = REFERENCE / "stat"
IN_WORDS = {
    DEPENDS: "depends",
    HERE: "differs_here",
    GOES_WITH: "goes_with",
    ORDER: "order",
    CHANCE: "chance",
    TOO_FEW: "too_few",
}


def judged(config, y, start=None, n_permutations=999):
    """Return what is judged of a response on the scale that is tested."""
    described = list(fields_of(config).values())
    return family_wise(fields.tested(described), np.asarray(y, dtype=float), start, n_permutations)


def verdicts_of(config, y, start=None, n_permutations=499):
    """Return the verdict of each factor, by name."""
    return judged(config, y, start, n_permutations).table.set_index("factor")["verdict"]


# -- single collections ---------------------------------------------------------------------


def test_both_tests_clear():
    config = grid(task=list("abcd"), loss=list("xyz"), amp=["0", "1"])
    rng = np.random.default_rng(0)
    log_runtime = 2.0 * (config["task"] == "a") + rng.normal(0, 0.1, len(config))
    assert verdicts_of(config, log_runtime)["task"] == DEPENDS
    assert verdicts_of(config, log_runtime)["loss"] == CHANCE


def test_an_effect_hidden_by_another_is_found_once_held():
    config = grid(task=list("abcdefghijkl"), amp=["0", "1"])
    rng = np.random.default_rng(0)
    log_runtime = 1.5 * config["task"].map(ord) + 0.4 * (config["amp"] == "1") + rng.normal(0, 0.1, 24)
    found = judged(config, log_runtime).table.set_index("factor").loc["amp"]
    assert found["p_alone"] > 0.05 >= found["p_held"]
    assert found["verdict"] == DEPENDS


def test_a_tied_factor_is_said_to_go_with_it():
    rng = np.random.default_rng(3)
    task = np.repeat(list("abcd"), 18)
    host = np.where(rng.random(72) < 0.12, np.roll(task, 18), task)  # nearly the same partition
    config = pd.DataFrame({"task": task, "queue": "h" + pd.Series(host), "lr": rng.random(72)})
    log_runtime = pd.Series(task).map(ord) + rng.normal(0, 0.2, 72)
    found = judged(config, log_runtime).table.set_index("factor")
    assert found.loc["task", "verdict"] in CLEARING
    assert found.loc["queue", "verdict"] not in CLEARING
    x1 = rng.random(40)
    tied = pd.DataFrame({"x0": x1 + rng.normal(0, 0.02, 40), "x1": x1})
    found = judged(tied, x1 + rng.normal(0, 0.2, 40)).table.set_index("factor")
    assert set(found["verdict"]) == {GOES_WITH}
    assert found.loc["x0", "entangled_with"] == ("x1",)
    assert 0.8 < found.loc["x0", "entangled_r_squared"][0] < 1


def test_three_runs_of_two_levels_are_too_few():
    found = judged(pd.DataFrame({"task": list("aab")}), [0.0, 0.1, 5.0]).table
    assert set(found["verdict"]) == {TOO_FEW}
    assert found["lacks"].iloc[0] == "3 runs for 2 values leave 1 of 2 degrees of freedom"


def test_equal_runtimes_leave_nothing_to_explain():
    config = grid(task=list("abc"), lr=["1", "2"])
    assert set(verdicts_of(config, np.full(6, np.log(7.3)))) == {NO_VARIATION}


def test_p_values_are_those_of_the_definition():
    # Recomputed the slow way: the same draws, scipy's F test for each of them.
    config = grid(task=list("abc"), lr=["1", "2"], amp=["u", "v"])
    rng = np.random.default_rng(1)
    y = rng.normal(0, 1, 12) + (config["task"] == "a")
    groups = [np.flatnonzero(config["task"] == task) for task in "abc"]
    result = judged(config[["task"]], y, n_permutations=199)
    assert not result.table["unequal_spread"].any()
    draws = np.random.default_rng(0).permuted(np.tile(y - y.mean(), (199, 1)), axis=1)
    tails = [stats.f_oneway(*(draw[g] for g in groups)).pvalue for draw in draws]
    observed = stats.f_oneway(*(y.to_numpy()[g] for g in groups)).pvalue
    expected = (1 + sum(t <= observed * (1 + verdicts.TIE) for t in tails)) / 200
    assert result.table["p_alone"].iloc[0] == pytest.approx(expected, abs=1e-12)


def test_welch_and_brown_forsythe_are_those_of_scipy():
    from statsmodels.stats.oneway import anova_oneway

    from traincost.analysis.stratum import spread_differs, welch

    rng = np.random.default_rng(2)
    codes = np.repeat([0, 1, 2], [6, 9, 5])
    y = rng.normal(0, [1, 2, 5], (20, 3)).T[codes, np.arange(20)]
    groups = [y[codes == k] for k in range(3)]
    assert spread_differs(y, codes) == pytest.approx(stats.levene(*groups, center="median").pvalue)
    expected = anova_oneway(y, codes, use_var="unequal", welch_correction=True).pvalue
    assert welch(y[:, None], codes)[0] == pytest.approx(expected)


def test_a_factor_of_ten_thousand_levels_is_tested_alone():
    rng = np.random.default_rng(0)
    level = np.repeat(np.arange(10_000), 2)
    config = pd.DataFrame({"user": "u" + pd.Series(level).astype(str), "amp": list("xy") * 10_000})
    effect = rng.normal(0, 1, 10_000)[level] + rng.normal(0, 0.1, 20_000)
    found = judged(config, effect).table.set_index("factor")
    assert np.isnan(found.loc["user", "p_held"])
    assert found.loc["amp", "verdict"] == CHANCE


@pytest.mark.parametrize("n_levels", [300, 2_000])
def test_repeats_tell_of_a_factor_too_large_for_columns(n_levels):
    rng = np.random.default_rng(6)
    level = np.repeat(np.arange(n_levels), 3)
    config = pd.DataFrame(
        {"dataset": "openml-" + pd.Series(level).astype(str), "seed": list("123") * n_levels}
    )
    y = rng.normal(0, 1, n_levels)[level] + rng.normal(0, 0.5, 3 * n_levels)
    assert verdicts_of(config, y)["dataset"] == DEPENDS


def test_a_small_effect_beside_three_hundred_datasets_is_found():
    rng = np.random.default_rng(7)
    dataset, method = np.divmod(np.arange(900), 3)
    config = pd.DataFrame(
        {"dataset": "openml-" + pd.Series(dataset).astype(str), "method": list("abc") * 300}
    )
    y = rng.normal(0, 1, 300)[dataset] + 0.06 * (method == 2) + rng.normal(0, 0.1, 900)
    assert verdicts_of(config, y)["method"] == DEPENDS


def test_the_same_seed_gives_the_same_p():
    config = noise_config(np.random.default_rng(2), 24)
    response, described = np.exp(np.random.default_rng(3).normal(0, 1, 24)), fields_of(config).values()
    first, second = (effects.main_effects(response, described, n_permutations=499) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)


# -- the rules' own collections ---------------------------------------------------------------


def case(name):
    """Return the settings, log runtimes and starts of one of the rules' collections."""
    table = pd.read_csv(STAT / "cases" / f"{name}.csv")
    start = table["start_order"].to_numpy(dtype=float) if "start_order" in table else None
    config = table.drop(columns=["runtime_s", "start_order"], errors="ignore").add_prefix("config.")
    return config, np.log(table["runtime_s"].to_numpy()), start


def expected_cases():
    path = STAT / "cases" / "expected.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


@pytest.mark.reference
@pytest.mark.parametrize("name", sorted(expected_cases()) or ["none"])
def test_each_collection_of_the_rules_has_its_verdicts(name):
    expected = expected_cases()[name]
    config, y, start = case(name)
    described = fields.describe(config, start_rank=start)
    far = far_runs(described, y)
    assert np.flatnonzero(far).tolist() == expected["far_runs"]
    config, y, start = config[~far], y[~far], None if start is None else start[~far]
    described = fields.describe(config, start_rank=start)
    found = family_wise(fields.tested(described), y, start)
    said = found.table.set_index("factor")["verdict"].map(IN_WORDS).to_dict()
    if found.start:
        said["start order"] = IN_WORDS[found.start["verdict"]]
    assert {factor: said.get(factor) for factor in expected["verdicts"]} == expected["verdicts"]
    roles = {field.name: field.kind for field in described}
    assert {field: roles[field] for field in expected["roles"]} == expected["roles"]
    assert {f.name: f.fixed_by for f in described if f.fixed_by} == expected["fixed_by"]
    block = found.structure.block
    assert (block.name if block else None) == expected["block"]
    assert found.structure.unit == expected["unit"]
    assert found.structure.act_together == expected["act_together"]
    unequal = found.table.loc[found.table["unequal_spread"], "factor"]
    assert sorted(unequal) == expected["spread_differs"]
    for key, p in expected["p_family_wise"].items():
        factor, which = key.rsplit(", ", 1)
        row = found.start if factor == "start order" else found.table.set_index("factor").loc[factor]
        assert row[f"p_{which}"] == pytest.approx(p, abs=0.06)


@pytest.mark.slow
@pytest.mark.reference
def test_generated_collections_get_the_verdicts_of_the_rules_executable_form():
    sys.path.insert(0, str(STAT))
    try:
        import far as their_far
        import rule
    finally:
        sys.path.remove(str(STAT))
    compared = 0
    for seed in range(120):
        settings, y, start = generated(np.random.default_rng(seed))
        config = pd.DataFrame({f"config.{name}": values for name, values in settings.items()})
        far = far_runs(fields.describe(config, start_rank=start), y)
        assert (far == their_far.far_runs(settings, y, start)).all(), seed
        config, y, start = config[~far], y[~far], None if start is None else start[~far]
        kept = {name: values[~far] for name, values in settings.items()}
        try:
            theirs, more = rule.analyse(kept, y, start, B=999, full=True)
        except KeyError:  # their program ends so where start order cannot be tested
            continue
        found = family_wise(fields.tested(fields.describe(config, start_rank=start)), y, start, 999)
        for row in found.table.itertuples():
            sizes = {which: more["p"].get((row.factor, which)) for which in ("alone", "held")}
            if any(p is not None and abs(p - 0.05) < 0.025 for p in sizes.values()):
                continue  # one draw more or less decides
            said = IN_WORDS[row.verdict].replace("_", " ")
            assert said == theirs.get(row.factor), (seed, row.factor, sizes)
            compared += 1
    assert compared > 200


def generated(rng):
    """Return settings, log runtimes and starts of a collection of some design."""
    shape = rng.integers(2, 6, rng.integers(1, 4))
    codes = np.stack(np.meshgrid(*map(np.arange, (*shape, rng.integers(1, 5))), indexing="ij"), -1)
    codes = codes.reshape(-1, len(shape) + 1)[:250]
    codes = codes if len(codes) >= 12 else np.tile(codes, (4, 1))
    n = len(codes)
    settings = {"ABC"[i]: np.array([f"{'abc'[i]}{v}" for v in codes[:, i]]) for i in range(len(shape))}
    if rng.random() < 0.7:
        settings["seed"] = codes[:, -1]
    if rng.random() < 0.3:
        settings["lr"] = rng.random(n)
    if rng.random() < 0.3:
        settings["host"] = np.array([f"h{v}" for v in rng.integers(0, 3, n)])
    if rng.random() < 0.2:
        settings["family"] = np.array([f"f{v // 2}" for v in codes[:, 0]])
    y = rng.normal(0, 0.2, n) + codes[:, 0] * rng.choice([0, 0.1, 0.4])
    if len(shape) > 1 and rng.random() < 0.4:
        y = y + rng.normal(0, 0.4, shape[:2])[codes[:, 0], codes[:, 1]]
    if rng.random() < 0.2:
        y[rng.integers(n)] -= 5
    if rng.random() < 0.3:
        y = y * np.where(codes[:, 0] == 0, 3, 1)
    start = None
    if rng.random() < 0.6:
        start = np.arange(n, dtype=float) if rng.random() < 0.5 else rng.permutation(n).astype(float)
    return settings, y, start


# -- how often they are wrong, and right ------------------------------------------------------
#
# Each within the standard error of the rate that reference/stat/RULES.md section 9 gives.

DRAWS = 300


def noise_config(rng, n):
    """Return `n` settings of 5 factors of 2-8 levels, a continuous one and an aliased one."""
    config = pd.DataFrame(
        {f"f{k}": rng.integers(0, k, n).astype(str) for k in (2, 3, 4, 6, 8)} | {"lr": rng.random(n)}
    )
    config["aliased"] = config["f6"].map(lambda level: str(int(level) % 2))
    return config


def share(make, claimed, seed, draws=DRAWS):
    """Return how often a verdict of made collections is `claimed`."""
    rng = np.random.default_rng(seed)
    return sum(bool(claimed(verdicts_of(*make(rng), n_permutations=199))) for _ in range(draws)) / draws


def standard_error(rate, draws=DRAWS):
    return np.sqrt(rate * (1 - rate) / draws)


def any_claim(found):
    return found.isin(CLEARING).any()


def any_strong_claim(found):
    return (found == DEPENDS).any()


def of(factor, *expected):
    return lambda found: found[factor] in expected


CELLS = grid(A=["a0", "a1", "a2", "a3"], B=["b0", "b1", "b2"], seed=[0, 1, 2])


def configurations(rng, config=CELLS, between=0.4, repeats=0.04):
    """Settings without effect: configurations differ, repeats hardly."""
    cell = config.groupby(["A", "B"], sort=False).ngroup().to_numpy()
    return config, rng.normal(0, between, cell.max() + 1)[cell] + rng.normal(0, repeats, len(config))


def named(name, values):
    def make(rng):
        config, y = configurations(rng)
        config = config.drop(columns="seed").assign(**{name: values(rng, len(config))})
        return config, y

    return make


def loop_with_drift(rng):
    config = grid(A=list("abcd"), B=list("xyz"), C=list("pqr"))
    n = len(config)
    step = 0.26 * (np.arange(n) > n / 2) if rng.random() < 0.5 else 0.26 * np.arange(n) / n
    return config, rng.normal(0, 0.1, n) + step, np.arange(n, dtype=float)


def random_search(ratio):
    def make(rng):
        config = pd.DataFrame({f"x{i}": rng.random(30) for i in range(6)})
        return config, np.log(ratio) * config["x0"].to_numpy() + rng.normal(0, 0.2, 30)

    return make


def nested(rng):
    config = grid(arch=[f"a{i}" for i in range(15)], lr=["u", "v", "w", "x"])
    config["family"] = config["arch"].map(lambda arch: f"f{int(arch[1:]) // 3}")
    return config, rng.normal(0, 0.4, 15)[np.repeat(np.arange(15), 4)] + rng.normal(0, 0.1, 60)


def one_noisy_level(rng):
    level = np.repeat(list("abcd"), [30, 30, 24, 8])
    return pd.DataFrame({"gpu": level, "x": rng.random(92)}), rng.normal(0, np.where(level == "d", 1.0, 0.2))


def few_cells(rng):
    return configurations(rng, grid(A=list("ab"), B=list("xy"), seed=range(5)))


def methods(ratio):
    def make(rng):
        config = grid(A=[f"a{i}" for i in range(8)], seed=range(5))
        return config, np.log(ratio) * (config["A"] == "a0") + rng.normal(0, 0.05, 40)

    return make


def port(rng, n):
    return rng.choice(60_000, n, replace=False) + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "claimed", "most"),
    [
        (named("random_seed", lambda rng, n: np.tile([0, 1, 2], n // 3)), any_claim, 0.08),
        (named("fold", lambda rng, n: np.tile(["fold_1", "fold_2", "fold_3"], n // 3)), any_claim, 0.08),
        (named("master_port", port), any_claim, 0.08),
        (named("hostname", lambda rng, n: rng.choice(["n1", "n2", "n3"], n)), any_claim, 0.08),
        (named("best_val", lambda rng, n: rng.random(n)), any_claim, 0.08),
        (loop_with_drift, any_claim, 0.05),
        (random_search(1.0), any_claim, 0.08),
        (nested, of("family", *CLEARING), 0.08),
        (one_noisy_level, any_claim, 0.12),
        (methods(1.0), any_claim, 0.08),
        (few_cells, any_strong_claim, 0.08),
    ],
    ids=[
        "random_seed", "fold", "port", "host", "measured", "loop", "search", "nested", "spread", "methods",
        "few cells",
    ],
)  # fmt: skip
def test_noise_is_rarely_taken_for_an_effect(make, claimed, most):
    assert share(make, claimed, seed=1) <= most + 2 * standard_error(most)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "claimed", "least"),
    [
        (methods(1.2), of("A", DEPENDS), 0.95),
        (random_search(2.25), of("x0", DEPENDS), 0.88),
        (random_search(2.25), lambda found: found["x0"] in (DEPENDS, GOES_WITH), 0.9),
    ],
    ids=["methods", "search", "search, tied"],
)
def test_real_effects_are_found(make, claimed, least):
    assert share(make, claimed, seed=2, draws=200) >= least


@pytest.mark.slow
def test_far_runs_are_rarely_named_in_lognormal_noise():
    rng = np.random.default_rng(3)
    config = list(fields_of(grid(a=list("abc"), b=list("xy"), seed=range(6))).values())
    found = sum(far_runs(config, rng.normal(0, 0.5, 36)).any() for _ in range(500))
    assert found <= 0.02 * 500


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("n", [36, 100])
def test_many_settings_without_effect_are_rarely_claimed(n, seeds):
    def make(rng):
        config = noise_config(rng, n // seeds)
        y = np.repeat(rng.normal(0, 0.5, len(config)), seeds)
        config = config.loc[config.index.repeat(seeds)].reset_index(drop=True)
        config["seed"] = np.tile(np.arange(seeds), len(config) // seeds)
        return config, y + rng.normal(0, 0.05, len(y)) * (seeds > 1)

    assert share(make, any_claim, seed=1000 * n + seeds, draws=500) <= 0.08 + 2 * standard_error(0.08, 500)
