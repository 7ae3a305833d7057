"""A plan's total is unbiased, its intervals hold, and what was never run is refused."""

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import ROOT, grid, runs_of
from scipy import stats

from traincost.analysis import plan
from traincost.errors import NothingToReport, ParameterError
from traincost.results.runs import read

CONFIG = grid(task=list("abcd"), loss=list("xyz"))


@pytest.fixture(scope="module")
def demo():
    knobs = yaml.safe_load((ROOT / "params/demo.yaml").read_text(encoding="utf-8"))["knobs"]
    return read(ROOT / "notebooks/runs/demo-sweep", knobs=knobs)


def effect(config):
    return 0.8 * config["task"].map(ord).to_numpy() % 3 + 0.3 * config["loss"].map(ord).to_numpy() % 2


def drawn_s(rng, config, missed=0.0, repeat=0.4):
    """Return seconds drawn from the model; runs of a configuration share what it misses."""
    of = config.groupby(["task", "loss"], sort=False).ngroup().to_numpy()
    y = 3 + effect(config) + rng.normal(0, missed, of.max() + 1)[of] + rng.normal(0, repeat, len(config))
    return np.exp(y)


def planned(runs, **proposal):
    return plan.plan(runs.frame, runs.described, plan.checked(proposal), runs.timing)


def test_the_shipped_sweep_is_predicted_about_as_often_as_said(demo):
    left_out = plan.left_out(demo.frame, demo.described)
    assert len(left_out) == 36
    assert 0.80 <= left_out["inside"].mean() <= 0.97


def test_leaving_one_out_is_what_a_fit_without_it_gives(demo):
    found = plan.left_out(demo.frame, demo.described)
    varied = demo.frame[["config.task_name", "config.loss_setting"]]
    levels = pd.get_dummies(varied, drop_first=True, dtype=float)
    x = np.column_stack([np.ones(36), levels])
    y = np.log(demo.runtime_s.to_numpy())
    for i in (0, 7, 35):
        keep = np.arange(36) != i
        beta, (rss,), *_ = np.linalg.lstsq(x[keep], y[keep], rcond=None)
        df = 35 - x.shape[1]
        half = stats.t.ppf(0.95, df) * np.sqrt(
            rss / df * (1 + x[i] @ np.linalg.inv(x[keep].T @ x[keep]) @ x[i])
        )
        middle = x[i] @ beta
        row = found.iloc[i]
        assert row["runtime_s"] == pytest.approx(demo.runtime_s[i])
        assert np.log([row["low_s"], row["high_s"]]) == pytest.approx([middle - half, middle + half])
        assert row["inside"] == (middle - half <= y[i] <= middle + half)


def test_the_predicted_mean_is_corrected_for_the_logarithm():
    rng = np.random.default_rng(0)
    truth = np.exp(3 + effect(CONFIG) + 0.4**2 / 2).sum()
    described = runs_of(CONFIG, np.ones(len(CONFIG))).described
    predicted, naive = [], []
    for _ in range(300):
        model = plan.fit(pd.DataFrame({"runtime_s": drawn_s(rng, CONFIG)}), described)
        predicted.append(plan.expected(model, model.matrix).sum())
        naive.append(np.exp(model.matrix @ model.coefficients).sum())
    error = np.std(predicted) / np.sqrt(len(predicted))
    assert np.mean(predicted) == pytest.approx(truth, abs=3 * error)
    assert np.mean(naive) < truth - 3 * error


@pytest.mark.slow
@pytest.mark.parametrize(("missed", "seeds", "low"), [(0.0, 1, 0.85), (0.3, 3, 0.85)])
def test_the_interval_of_a_total_holds_as_often_as_said(missed, seeds, low):
    rng = np.random.default_rng(1)
    config = grid(task=list("abcd"), loss=list("xyz"), seed=range(seeds))
    held = 0
    for _ in range(300):
        # What the settings do together, they do again.
        together = np.exp(rng.normal(0, missed, 12)).repeat(seeds)
        past_s, future_s = (together * drawn_s(rng, config) for _ in range(2))
        total = planned(runs_of(config, past_s), seeds=seeds).iloc[-1]
        held += total["low"] <= future_s.sum() / 3600 <= total["high"]
    assert low <= held / 300 <= 0.96


def test_the_whole_is_the_sum_and_money_follows_hours(demo):
    table = planned(demo, seeds=2, devices=4, price_per_hour=3.0)
    cells, whole = table.iloc[:-1], table.iloc[-1]
    assert whole["hours"] == pytest.approx(cells["hours"].sum())
    assert whole["n_runs"] == 72
    assert whole["device_hours"] == pytest.approx(4 * whole["hours"])
    assert whole["money"] == pytest.approx(12 * whole["hours"])
    # Errors of the configurations partly cancel in the sum.
    assert whole["high"] - whole["low"] < (cells["high"] - cells["low"]).sum()
    assert (table["low"] < table["hours"]).all()
    assert (table["hours"] < table["high"]).all()


def test_the_demo_itself_is_predicted_to_take_what_it_took(demo):
    whole = planned(demo).iloc[-1]
    assert whole["hours"] == pytest.approx(demo.runtime_s.sum() / 3600, rel=0.01)


def test_turned_knobs_lower_the_hours_by_their_joint_bound(demo):
    def saved(n_knobs):
        table = planned(demo, knobs=list(demo.knobs[:n_knobs]))
        return 1 - (table["hours_at_least"] / table["hours"]).to_numpy()

    assert saved(1) == pytest.approx(0.421986, abs=1e-4)
    assert (saved(2) > 0.42).all()
    assert (saved(2) < 0.42 + 0.35).all()


def test_levels_of_numbers_are_found_however_they_are_written():
    config = grid(lr=[0.001, 0.01], task=list("abc"))
    table = planned(runs_of(config, np.arange(1.0, 7.0)), levels={"lr": [1e-3]})
    assert list(table["level.lr"][:-1]) == ["0.001"] * 3


@pytest.mark.parametrize(
    ("proposal", "message"),
    [
        ({"levels": {"task": ["zz"]}}, "task was never run with 'zz', so nothing is known of it"),
        ({"levels": {"beta": [1]}}, "must name settings that the model holds (task, loss), got 'beta'"),
        ({"levels": {"task": {}}}, "task must be a list of levels, got {}"),
        ({"seed": 3}, "a plan has the keys levels, seeds,"),
        ({"seeds": 0}, "`seeds` must be a whole number above zero, got 0"),
        ({"seeds": True}, "`seeds` must be a whole number above zero"),
        ({"price_per_hour": -1}, "`price_per_hour` must be a number above zero"),
        ({"levels": []}, "`levels` must be a dict"),
        ({"knobs": [{"name": "k", "sections": ["x"]}]}, "what 'k' saves is not known"),
        ({"knobs": [{"name": "k"}]}, "missing 1 required"),
    ],
)
def test_a_proposal_that_cannot_be_used_is_named(proposal, message):
    made = runs_of(CONFIG, np.arange(1.0, 13.0))
    with pytest.raises(ParameterError) as raised:
        planned(made, **proposal)
    assert message in str(raised.value)


def test_too_few_runs_to_predict_from():
    with pytest.raises(NothingToReport, match="nothing is left to estimate chance from"):
        planned(runs_of({"task": list("abc")}, [1.0, 2.0, 3.0]))


def test_a_cell_run_before_is_drawn_to_its_own_runs():
    rng, config = np.random.default_rng(5), grid(task=list("abcd"), loss=list("xyz"), seed=range(3))
    seconds = drawn_s(rng, config, missed=0.5, repeat=0.05)
    model = plan.fit(runs_of(config, seconds).frame, runs_of(config, seconds).described)
    cells = plan.cells_of(model, {})
    own, n_before = plan.own_runs(model, cells)
    assert (n_before == 3).all()
    weight, left = own.weight(model.missed_variance, model.repeat_variance)
    between, within = model.missed_variance, model.repeat_variance
    assert weight == pytest.approx(between / (between + within / 3))
    assert left == pytest.approx(between * within / (3 * between + within))
    means = np.exp(np.log(seconds).reshape(-1, 3).mean(axis=1))
    assert plan.expected(model, plan.rows_of(model, cells), own=own) == pytest.approx(means, rel=0.03)
    # The draws have the mean squared error of the rule: what is left, and (1 - λ)² of the fit's.
    drawn = plan.centres(model, plan.rows_of(model, cells), 40_000, rng, own)[0]
    leverage = np.diag(model.matrix @ model.covariance @ model.matrix.T)
    rule = left + (1 - weight) ** 2 * leverage * model.variance
    assert drawn.var(axis=0) == pytest.approx(rule, rel=0.15)


def test_without_repetitions_nothing_is_drawn_to_own_runs():
    made = runs_of(CONFIG, np.arange(1.0, 13.0))
    model = plan.fit(made.frame, made.described)
    own, n_before = plan.own_runs(model, plan.cells_of(model, {}))
    assert (n_before == 1).all()
    rows = plan.rows_of(model, plan.cells_of(model, {}))
    assert plan.expected(model, rows, own=own) == pytest.approx(plan.expected(model, rows))


def test_combinations_never_run_are_counted():
    config = CONFIG.drop(index=[3, 7])
    table = planned(runs_of(config, np.arange(1.0, 11.0)))
    assert len(table) == 13
    assert (table["n_before"].iloc[:-1] == 0).sum() == 2
    assert table["n_before"].iloc[-1] == 10


def test_failed_runs_are_forecast_by_their_share_of_hours():
    made = runs_of(CONFIG, np.full(12, 100.0) + np.arange(12))
    lost = pd.DataFrame({"status": ["failed", "killed", "running"], "runtime_s": [200.0, np.nan, 5e5]})
    share = 200.0 / (200.0 + made.runtime_s.sum())
    assert plan.failed_share(made.frame, lost) == pytest.approx(share)
    table = plan.plan(made.frame, made.described, plan.checked({}), None, lost)
    assert table["failed_hours"].to_numpy() == pytest.approx(table["hours"].to_numpy() * share / (1 - share))


@pytest.mark.slow
def test_cells_are_predicted_within_their_interval():
    """Settings that act together, by .3 in log runtime: the additive model alone is .23 off."""
    rng = np.random.default_rng(6)
    config = grid(task=list("abcd"), loss=list("xyz"), seed=range(3))
    of = config.groupby(["task", "loss"], sort=False).ngroup().to_numpy()
    held, errors, additive = [], [], []
    for _ in range(400):
        truth = 3 + effect(config) + rng.normal(0, 0.3, 12)[of]
        past_s, future_s = (np.exp(truth + rng.normal(0, 0.14, len(of))) for _ in range(2))
        made = runs_of(config, past_s)
        table = planned(made).iloc[:-1]
        future = future_s[::3] / 3600
        held += list((table["low"] <= future) & (future <= table["high"]))
        model = plan.fit(made.frame, made.described)
        rows, own = (
            plan.rows_of(model, plan.cells_of(model, {})),
            plan.own_runs(model, plan.cells_of(model, {}))[0],
        )
        wanted = truth[::3] + 0.14**2 / 2
        errors += list(np.log(plan.expected(model, rows, own=own)) - wanted)
        additive += list(np.log(plan.expected(model, rows)) - wanted)
    assert 0.87 <= np.mean(held) <= 0.93
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(0.08, abs=0.01)
    assert np.sqrt(np.mean(np.square(additive))) > 0.2


def test_one_setting_with_seeds_is_predicted_from_its_repetitions():
    rng, config = np.random.default_rng(8), grid(task=list("abcd"), seed=range(5))
    log_s = 3 + config["task"].map(ord).to_numpy() % 4 + rng.normal(0, 0.2, 20)
    made = runs_of(config, np.exp(log_s))
    model = plan.fit(made.frame, made.described)
    assert model.is_saturated
    within = log_s - np.repeat(log_s.reshape(4, 5).mean(axis=1), 5)
    assert model.repeat_variance == pytest.approx((within**2).sum() / 16)
    table = planned(made).iloc[:-1]
    half = stats.t.ppf(0.95, 16) * np.sqrt(model.repeat_variance * (1 + 1 / 5))
    assert np.log(table["high"] / table["low"]).to_numpy() == pytest.approx(2 * half, rel=0.05)


def test_too_many_configurations_name_the_setting_of_most_levels():
    rng = np.random.default_rng(0)
    config = pd.DataFrame({"lr": rng.random(60), "width": rng.random(60), "decay": rng.integers(1, 9, 60)})
    made = runs_of(config, np.arange(1.0, 61.0))
    with pytest.raises(ParameterError, match=r"more than 10,000 configurations; .*: lr alone has 60"):
        plan.plan(made.frame, made.described, plan.checked({}))
