"""The views of a choice, the widgets that make one, and the notebook that has both."""

import dataclasses
import json
import re
import subprocess
import sys

import nbformat
import numpy as np
import papermill
import pytest
from conftest import ROOT, collection_of, record, write_run
from traincost.pages.settings import Exploring

from traincost.analysis import knobs as speedups
from traincost.errors import ParameterError
from traincost.pages import controls, exploring, sortable
from traincost.reading.collection import read_collection

PAYLOAD = '"><img src=x onerror=alert(1)>'
VIEWS = (exploring.runs, exploring.dependence, exploring.levels, exploring.shares, exploring.knobs)


def small(root, n=24):
    rng = np.random.default_rng(1)
    for i in range(n):
        config = {"task": "abc"[i % 3], "loss": "uv"[i // 3 % 2], "lr": float(10.0 ** -(1 + i / n))}
        sections = {
            "epoch": {"seconds": 40.0, "count": 4},
            "epoch/train": {"seconds": 20.0, "count": 4},
            "epoch/eval": {"seconds": 12.0 + i % 3, "count": 4 + i % 3},
        }
        status = "failed" if i == n - 1 else "completed"
        runtime_s = float(60 + 20 * (i % 3) + rng.uniform())
        write_run(
            root / f"r{i:02}",
            record(f"r{i:02}", config=config, runtime_s=runtime_s, sections=sections, status=status),
        )
    return root


@pytest.fixture
def collection(tmp_path):
    return read_collection(small(tmp_path / "runs"))


def settings(**changes):
    return Exploring("runs", **changes)


def explorer(collection, **changes):
    return exploring.Explorer(collection, settings(**changes))


# -- views ---------------------------------------------------------------------------------


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.__name__)
def test_a_view_is_of_the_chosen_runs(collection, view):
    some = explorer(collection, where={"task": ["a", "b"]})
    whole = explorer(collection)
    assert some.html(view) != whole.html(view)
    whole.choose(where={"task": ["a", "b"]})
    assert whole.html(view) == some.html(view)
    whole.choose(where={})
    assert whole.html(view) == explorer(collection).html(view)


def test_a_knob_is_kept_as_often_as_asked(collection):
    found = explorer(collection, kept={"epoch/eval": 2})
    counts = np.array([4 + i % 3 for i in range(23)])
    runs = collection.runs["runtime_s"].to_numpy()
    expected = ((12.0 + counts - 4) / runs * (1 - 2 / counts)).mean()
    bounds = found.chosen.bounds.set_index("knob")["bound"]
    assert bounds["epoch/eval"] == pytest.approx(expected)
    assert bounds["epoch/eval"] < explorer(collection).chosen.bounds.set_index("knob")["bound"]["epoch/eval"]


def test_knobs_stay_those_of_the_whole_collection(collection):
    proposed = {knob.name for knob in speedups.propose(collection)}
    found = explorer(collection, where={"task": ["a"]}).chosen.bounds
    assert set(found["knob"]) - {speedups.JOINT} == proposed
    assert found["proposed"].all()
    own = [{"name": "k", "sections": ["epoch/eval"]}]
    assert not explorer(collection, knobs=own).chosen.bounds["proposed"].any()


def test_a_choice_without_a_completed_run_says_so(collection):
    found = explorer(collection, statuses=["failed"])
    assert "r23" in found.html(exploring.runs)
    for view in VIEWS[1:]:
        assert found.html(view) == "<p>No completed run is chosen.</p>"
    assert "No completed run" not in explorer(collection, where={"task": ["a"]}).html(exploring.knobs)


def test_a_choice_of_one_run_can_be_shown(collection):
    found = explorer(collection, longest_s=collection.runs["runtime_s"].min())
    assert len(found.chosen.runs.runs) == 1
    for view in VIEWS:
        assert re.search("<(p|figure)", found.html(view))


def test_the_rows_that_are_asked_for_are_compared(collection):
    assert "<code>loss</code>" in explorer(collection, rows="loss").html(exploring.levels)


def test_the_frames_on_display_are_kept_whole(collection):
    found = explorer(collection)
    found.html(exploring.runs)
    frame = found.frames["runs"]
    assert list(frame["run_id"]) == [f"r{i:02}" for i in range(24)]
    assert list(frame["runtime_s"][:23]) == list(collection.runs["runtime_s"])
    assert frame["status"].value_counts().to_dict() == {"completed": 23, "failed": 1}


def test_a_refused_choice_leaves_the_one_before(collection):
    found = explorer(collection, where={"task": ["a"]})
    with pytest.raises(ParameterError, match="'task' has no level 'z'"):
        found.choose(where={"task": ["z"]})
    assert len(found.chosen.runs.runs) == 8
    assert found.settings.where == {"task": ["a"]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kept": {"epoch/evil": 1}}, "`kept` must name knobs of the kind cadence, got 'epoch/evil'"),
        ({"kept": {"epoch/eval": -1}}, "'epoch/eval' must be a number of at least 0, got -1"),
        ({"kept": {"epoch/eval": float("nan")}}, "must be a number of at least 0, got nan"),
        ({"kept": {"epoch/eval": True}}, "must be a number of at least 0, got True"),
        ({"where": [1]}, "`where` must be a mapping"),
        ({"shortest_s": "1"}, "`shortest_s` must be"),
        ({"knobs": [{"name": "k", "sections": "x"}]}, "`knobs`: knob 'k': `sections` must be a list"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(collection, changes, message):
    with pytest.raises(ParameterError, match=message):
        explorer(collection, **changes)


# -- widgets -------------------------------------------------------------------------------


def widgets(collection, given):
    knobs = speedups.propose(collection)
    made = controls.pickers(collection, given, knobs)
    return made, {picker.widget.description: picker.widget for picker in made}


def test_untouched_widgets_change_nothing(collection):
    given = settings(
        where={"task": ["a", "b"], "lr": {"max": 0.05}},
        statuses=["completed"],
        longest_s=float(collection.runs["runtime_s"].max()) - 5,
        rows="loss",
        kept={"epoch/eval": 2},
    )
    made, _ = widgets(collection, given)
    before = exploring.Explorer(collection, given)
    after = exploring.Explorer(collection, dataclasses.replace(given, **controls.changes(given, made)))
    for view in VIEWS:
        assert after.html(view) == before.html(view)


def test_widgets_become_settings(collection):
    made, by_name = widgets(collection, settings())
    by_name["task"].value = ["c"]
    by_name["status"].value = ["completed"]
    by_name["rows"].value = "loss"
    by_name["epoch/eval, kept"].value = 3
    by_name["runtime"].index = (1, len(by_name["runtime"].options) - 1)
    by_name["lr"].index = (0, 5)
    changed = controls.changes(settings(), made)
    lr = np.sort(collection.runs["config.lr"])
    assert changed["where"] == {"task": ["c"], "loss": [], "lr": {"max": lr[5]}}
    assert changed["statuses"] == ["completed"]
    assert (changed["rows"], changed["columns"]) == ("loss", "")
    assert changed["shortest_s"] == np.sort(collection.runs["runtime_s"])[1]
    assert changed["longest_s"] is None
    assert changed["kept"]["epoch/eval"] == 3


def test_conditions_that_no_widget_shows_stay(collection):
    given = settings(where={"loss": ["u"]})
    made, _ = widgets(collection, given)
    fewer = [picker for picker in made if picker.widget.description != "loss"]
    assert controls.changes(given, fewer)["where"]["loss"] == ["u"]


def test_a_range_has_no_more_places_than_can_be_moved_to():
    values = np.arange(10_000.0)
    stops = controls._stops(values)
    assert len(stops) == controls.MAX_STOPS
    assert (stops[0], stops[-1]) == (0.0, 9_999.0)
    assert set(stops) <= set(values)


def test_many_numbers_are_a_range_and_many_names_are_no_list():
    n = 2 * (controls.MAX_STOPS + 1)
    config = {
        "seed": np.arange(n) // 2,
        "name": [f"n{i // 2}" for i in range(n)],
        "task": ["a", "b"] * (n // 2),
    }
    _, by_name = widgets(collection_of(config, 10.0 + np.arange(n)), settings())
    assert len(by_name["seed"].options) == controls.MAX_STOPS
    assert "name" not in by_name
    assert len(by_name["task"].options) == 2


def test_a_widget_draws_the_displayed_views_anew(collection, monkeypatch):
    shown = []
    monkeypatch.setattr(controls.lab_style, "display_styled", shown.append)
    found = explorer(collection)
    controls.controls(found)
    (box,) = shown
    task = next(w for w in box.children[1].children if w.description == "task")
    task.value = ["a"]
    assert set(found.chosen.runs.runs["config.task"]) == {"a"}


# -- hostile text --------------------------------------------------------------------------


def test_hostile_text_stays_text(tmp_path):
    for i in range(8):
        config = {PAYLOAD: f"{PAYLOAD}{i % 2}", "status": i % 2, "runtime (s)": i % 4 < 2}
        write_run(
            tmp_path / f"r{i}",
            record(f"{PAYLOAD}{i}", config=config, runtime_s=5.0 + i, sections={PAYLOAD: {"seconds": 2.0}}),
        )
    found = explorer(read_collection(tmp_path))
    html = "".join(found.html(view) for view in VIEWS)
    assert "<img" not in html
    assert "onerror" in html
    table = exploring.runs(found.chosen)[1]
    assert "<img" not in sortable.sortable(table)
    assert not re.search(r"(src=|from |import\()['\"]https?:", sortable.sortable(table))


# -- the notebook --------------------------------------------------------------------------


def executed(tmp_path, extra="", **parameters):
    notebook = nbformat.read(ROOT / "notebooks/explore.ipynb", as_version=4)
    if extra:
        notebook.cells.append(nbformat.v4.new_code_cell(extra))
    return papermill.execute_notebook(
        notebook, str(tmp_path / "out.ipynb"), parameters=parameters, progress_bar=False, cwd=tmp_path
    )


def html_of(notebook):
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    return "".join(output.get("data", {}).get("text/html", "") for output in outputs)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_notebook_runs_headless_and_follows_a_choice(tmp_path):
    runs = small(tmp_path / "runs")
    whole = executed(tmp_path, runs_dir=str(runs))
    some = executed(tmp_path, runs_dir=str(runs), where={"task": ["a"]})
    chosen = executed(tmp_path, 'explorer.choose(where={"task": ["a"]})', runs_dir=str(runs))
    figures = [re.findall(r"<svg aria.*?</svg>", html_of(n), flags=re.DOTALL) for n in (whole, some, chosen)]
    assert len(figures[0]) == 5
    assert figures[2] == figures[1]
    assert all(figure not in figures[1] for figure in figures[0])


@pytest.mark.slow
def test_without_the_extra_the_notebook_is_plain_and_says_how_to_get_it(tmp_path):
    """In an interpreter where the two packages cannot be found, as if they were not installed."""
    hidden = (
        "import sys, importlib.util as u\n"
        "found = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name in ('itables', 'ipywidgets') else found(name, *a)\n"
        "sys.modules['itables'] = sys.modules['ipywidgets'] = None\n"
    )
    notebook = nbformat.read(ROOT / "notebooks/explore.ipynb", as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(hidden))
    nbformat.write(notebook, tmp_path / "explore.ipynb")
    runs = small(tmp_path / "runs")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "papermill",
            "--no-progress-bar",
            "explore.ipynb",
            "out.ipynb",
            "-p",
            "runs_dir",
            runs,
        ],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    html = html_of(nbformat.read(tmp_path / "out.ipynb", as_version=4))
    assert "pip install ipywidgets itables" in html
    assert '<table id="table-runs">' in html
    assert len(re.findall("<svg aria", html)) == 5
    assert "application/vnd.jupyter.widget-view+json" not in json.dumps(html)
