"""Long texts and impossible numbers of runs: shortened or left out, as the run's fault."""

import json
import re
import time

import pytest
from conftest import record, write_run

from traincost.columns import column
from traincost.errors import NothingToReport
from traincost.pages import publish
from traincost.printing import TimeUnit, count, money, percent, share_text, time_text
from traincost.reading import bounds, tables
from traincost.reading.collection import read_collection
from traincost.reading.formats.run import Run
from traincost.reading.redaction import Redactor, Rule


def read(tmp_path, *runs):
    for i, run in enumerate(runs):
        write_run(tmp_path / f"{i}", record(f"{i}", **run))
    return read_collection(tmp_path)


def test_long_values_are_short_and_stay_what_they_were(tmp_path):
    one, other = list(range(90_000)), [*range(89_999), 0]
    runs = read(tmp_path, *({"config": {"ids": ids}} for ids in (one, other, one))).runs
    values = list(runs["config.ids"])
    assert {len(value) for value in values} == {bounds.MAX_VALUE}
    assert values[0] == values[2] != values[1]


def test_long_names_are_short_and_stay_apart(tmp_path):
    names = ["n" * 5_000 + "a", "n" * 5_000 + "b"]
    part = "p" * 5_000
    sections = {part: {"seconds": 9.0, "count": 1}, f"{part}/x": {"seconds": 3.0, "count": 1}}
    more = {"scores": dict.fromkeys(names, 1.0), "sections": sections}
    found = read(tmp_path, {"config": dict.fromkeys(names, 1), **more})
    columns = [name for name in found.runs if name.startswith(("config.n", "score.n"))]
    assert len(columns) == 4
    assert max(map(len, columns)) <= bounds.MAX_NAME + len("config.")
    parent, child = sorted(found.sections["section"])
    assert child == f"{parent}/x"


def test_a_secret_is_withheld_before_a_text_is_cut(tmp_path):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    # It would begin just before the place of the cut.
    text = "x " * 238 + secret + " y" * 5_000
    assert secret[:12] in bounds.short(text, bounds.MAX_VALUE)
    (value,) = read(tmp_path, {"config": {"note": text}}).runs["config.note"]
    assert "ghp_" not in value


@pytest.mark.parametrize("runtime_s", [1e16, 1e300, 10**300, 10**400])
def test_a_runtime_beyond_measure_is_the_fault_of_the_run(tmp_path, runtime_s):
    found = read(tmp_path, {"runtime_s": runtime_s}, {})
    assert list(found.runs["run_id"]) == ["1"]
    (reason,) = found.excluded["reason"]
    assert "runtime" in reason
    assert len(reason) < 200


def test_sections_scores_and_costs_beyond_measure_are_noted(tmp_path):
    long = {"seconds": 1e300, "count": 1}
    more = {"scores": {"s": 1e300, "fine": 1.0}, "cost": {"cost_total_flos": 1e200}}
    found = read(tmp_path, {"sections": {"a": long, "b": {"seconds": 1.0, "count": 1}}, **more})
    assert list(found.sections["section"]) == ["b"]
    assert {"score.s", "cost_total_flos"}.isdisjoint(found.runs)
    assert "score.fine" in found.runs
    assert found.notes["note"].str.contains("beyond|more than").sum() == 3


def test_an_integer_of_hundreds_of_digits_is_a_short_name(tmp_path):
    config = [{"n": str(10**300)}, {"n": str(10**300 + 10**150)}, {"n": 10**4000}, {"n": [10**300, 10**400]}]
    values = list(read(tmp_path, *({"config": c} for c in config)).runs["config.n"])
    assert len(set(values)) == 4
    assert max(map(len, values)) <= 90
    assert not any(re.search("[0-9]{41}", value) for value in values)


def test_no_figure_is_printed_with_hundreds_of_digits():
    printed = [show(1e300) for show in (count, percent, share_text, time_text, money)]
    printed += [column(name).text(1e300) for name in ("x_s", "x_mib", "x_count", "x")]
    assert max(map(len, [*printed, TimeUnit("h", 3600).number(1e300)])) < 20


def test_runs_with_nothing_long_are_not_copied():
    runs = [Run(f"r{i}", config={"lr": 0.1, "task": "t"}, runtime_s=1.0, scores={"f": 1.0}) for i in range(3)]
    assert tables._shown(runs, Redactor(Rule())) is runs


def test_a_text_is_short_with_the_marks_in_it_too(tmp_path):
    text = " ".join(f"pwd={c}" for c in "abcdefghijklmnopqrstuvwxyz" * 6)
    assert len(text) < bounds.MAX_VALUE
    (value,) = read(tmp_path, {"config": {"note": text}}).runs["config.note"]
    assert "pwd=withheld 1 pwd=withheld 2" in value
    assert len(value) <= bounds.MAX_VALUE


@pytest.mark.parametrize("name", ["run_id", "device", "host", "started_at"])
def test_every_text_of_a_run_is_short(tmp_path, name):
    run = record("a", **({} if name == "run_id" else {name: f"{name} " * 2_000}))
    run["run_id"] = "a " * 9_000 if name == "run_id" else "a"
    write_run(tmp_path / "a", run)
    (text,) = read_collection(tmp_path, show=["host"]).runs[name]
    assert len(text) == (bounds.MAX_NAME if name == "host" else bounds.MAX_TEXT)  # of one machine


def lists(root, extra):
    for i in range(36):
        config = {"task": "abc"[i % 3], "loss": "xyz"[i // 3 % 3], "seed": i // 9, **extra(i)}
        sections = {"epoch": {"seconds": 50.0, "count": 3}}
        write_run(root / f"r{i}", record(f"r{i}", config=config, runtime_s=100.0 + i, sections=sections))
    return root


@pytest.mark.slow
def test_lists_of_half_a_megabyte_cost_a_page_little(tmp_path):
    took = {}
    made = {"small": lambda i: {}, "big": lambda i: {k: [f"{k}{i}"] * 60_000 for k in ("ids", "names")}}
    for name, extra in made.items():
        root = lists(tmp_path / name, extra)
        started = time.process_time(), time.monotonic()
        publish.page(root, tmp_path / f"out-{name}")
        took[name] = time.monotonic() - started[1]
    assert took["big"] <= 2 * took["small"]
    assert (tmp_path / "out-big" / "profiling.json").stat().st_size <= 1e6
    report = json.loads((tmp_path / "out-big" / "profiling.json").read_text())
    assert report["n_runs"] == 36


def test_runtimes_all_beyond_measure_leave_nothing_to_report(tmp_path):
    with pytest.raises(NothingToReport, match="beyond"):
        read(tmp_path, {"runtime_s": 1e20})


def test_a_long_integer_does_not_hide_behind_an_equal_float(tmp_path):
    long = 10000000000000000303786028427003666890752
    held = bounds.Held([Run("a", config={"x": 1e40}), Run("b", config={"x": long})])
    assert not held.is_short()
    found = read(tmp_path, {"config": {"x": 1e40}}, {"config": {"x": long}, "scores": {"a": float("nan")}})
    assert all(len(str(level)) <= bounds.MAX_DIGITS for level in found.runs["config.x"])


@pytest.mark.parametrize("kind", [dict, list])
@pytest.mark.parametrize("depth", [bounds.MAX_DEPTH - 10, bounds.MAX_DEPTH + 10, 495, 900])
def test_a_deep_compute_block_costs_only_itself(tmp_path, kind, depth):
    block = 1
    for _ in range(depth):
        block = {"a": block} if kind is dict else [block]
    found = read(tmp_path, {"compute": {"x": block, "at": "/home/anna/x"}}, {})
    assert len(found.runs) == 2
    left_out = depth > bounds.MAX_DEPTH
    assert (0 in found.compute) != left_out
    assert any("100 levels: left out" in note for note in found.notes["note"]) == left_out


@pytest.mark.parametrize("n", [3, 90, 200])
def test_a_list_of_machines_keeps_their_marks_whole(tmp_path, n):
    found = read(tmp_path, {"host": ", ".join(f"node{i}" for i in range(n))}, {"host": "node0"})
    kept = min(n, bounds.MAX_HOSTS)
    more = ["and 100 others"] if n == 200 else []
    assert found.runs["host"].iloc[0].split(", ") == [*(f"host {i + 1}" for i in range(kept)), *more]
    assert found.runs["host"].iloc[1] == "host 1"


def test_extents_of_whole_numbers_are_read_where_names_collide(tmp_path):
    n = 2**53 + 1
    sections = {
        "k=/home/anna": {"seconds": 1e16, "count": 1, "first_s": n, "min_s": n, "max_s": n},
        "k=/Users/anna": {"seconds": 5.0, "count": 1},
    }
    assert len(read(tmp_path, {"sections": sections}, {}).runs) == 2


def test_truth_values_beside_a_written_null_are_levels(tmp_path):
    found = read(
        tmp_path, {"config": {"amp": True}}, {"config": {"amp": "none"}}, {"config": {"amp": "false"}}
    )
    assert list(found.runs["config.amp"]) == ["True", "none", "False"]
