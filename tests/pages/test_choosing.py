"""A choice of runs, the widgets that make one, and the notebook that has both."""

import json
import re
import subprocess
import sys

import nbformat
import numpy as np
import papermill
import pytest
from conftest import ROOT, record, write_run

import traincost as tc
from traincost.analysis import knobs
from traincost.errors import ParameterError
from traincost.pages import choosing, controls, sortable
from traincost.results.result import PAGE_HTML

PAYLOAD = '"><img src=x onerror=alert(1)>'
ANSWERS = (tc.listing, tc.effects, tc.levels, tc.shares, tc.knobs)


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


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return tc.read(small(tmp_path_factory.mktemp("choosing") / "runs"))


@pytest.fixture(autouse=True)
def screen(monkeypatch):
    """What is displayed: place to HTML, as a notebook has it."""
    shown = {}

    def put(made, display_id):
        shown[display_id] = made._repr_mimebundle_()["text/html"]

    monkeypatch.setattr(choosing, "display", put)
    monkeypatch.setattr(choosing, "update_display", put)
    monkeypatch.setattr(sortable, "load", lambda: None)
    return shown


def shown_by(screen, choice, answer):
    screen.clear()
    choice.show(answer)
    (html,) = screen.values()
    return html


# -- choices -------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.__name__)
def test_an_answer_follows_the_choice(runs, screen, answer):
    some = shown_by(screen, tc.choose(runs, where={"task": ["a", "b"]}), answer)
    choice = tc.choose(runs)
    whole = shown_by(screen, choice, answer)
    assert some != whole
    choice.choose(where={"task": ["a", "b"]})
    assert list(screen.values()) == [some]
    choice.choose(where=None)
    assert list(screen.values()) == [whole]


def test_a_cell_run_again_is_drawn_once(runs, screen):
    choice = tc.choose(runs)
    for _ in range(2):
        choice.show(tc.shares)
    choice.show(tc.shares, name="other")
    assert len(screen) == 2


def test_any_function_of_runs_follows_the_choice(runs, monkeypatch):
    shown = []
    monkeypatch.setattr(choosing, "display", lambda made, display_id: shown.append(made))
    monkeypatch.setattr(choosing, "update_display", lambda made, display_id: shown.append(made))
    choice = tc.choose(runs)
    choice.show(len)
    choice.choose(where={"task": ["a"]})
    assert shown == [23, 8]


def test_a_knob_is_kept_as_often_as_asked(runs):
    kept = tc.choose(runs, kept={"epoch/eval": 2}).runs
    counts = np.array([4 + i % 3 for i in range(23)])
    expected = ((12.0 + counts - 4) / runs.runtime_s * (1 - 2 / counts)).mean()
    bounds = kept.bounds.set_index("knob")["bound"]
    assert bounds["epoch/eval"] == pytest.approx(expected)
    assert bounds["epoch/eval"] < runs.bounds.set_index("knob")["bound"]["epoch/eval"]


def test_knobs_stay_those_of_all_runs(runs):
    proposed = {knob.name for knob in knobs.propose(runs.timing)}
    found = tc.choose(runs, where={"task": ["a"]}).runs.bounds
    assert set(found["knob"]) - {knobs.JOINT} == proposed
    assert found["proposed"].all()
    own = runs.choosing(knobs=[{"name": "k", "sections": ["epoch/eval"]}])
    assert not tc.choose(own).runs.bounds["proposed"].any()


def test_a_choice_without_a_completed_run_says_so(runs, screen):
    choice = tc.choose(runs, statuses=["failed"])
    assert "r23" in shown_by(screen, choice, tc.listing)
    for answer in ANSWERS[1:]:
        shown = re.sub("<style.*</style>|<[^>]*>", "", shown_by(screen, choice, answer), flags=re.DOTALL)
        assert shown.strip() == "No completed run is chosen."


def test_a_choice_of_one_run_can_be_shown(runs, screen):
    choice = tc.choose(runs, longest_s=runs.runtime_s.min())
    assert len(choice.runs) == 1
    for answer in ANSWERS:
        assert re.search("<(p|figure)", shown_by(screen, choice, answer))


def test_the_rows_that_are_asked_for_are_compared(runs, screen):
    assert "<code>loss</code>" in shown_by(screen, tc.choose(runs, rows="loss"), tc.levels)


def test_a_refused_choice_leaves_the_one_before(runs, screen):
    choice = tc.choose(runs, where={"task": ["a"]})
    choice.show(tc.shares)
    before = dict(screen)
    with pytest.raises(ParameterError, match="'task' has no level 'z'"):
        choice.choose(where={"task": ["z"]})
    assert len(choice.runs) == 8
    assert choice.choices["where"] == {"task": ["a"]}
    assert screen == before


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"kept": {"epoch/evil": 1}}, "`kept` must name knobs of the kind cadence, got 'epoch/evil'"),
        ({"kept": {"epoch/eval": -1}}, "'epoch/eval' must be a number of at least 0, got -1"),
        ({"kept": {"epoch/eval": float("nan")}}, "must be a number of at least 0, got nan"),
        ({"kept": {"epoch/eval": True}}, "must be a number of at least 0, got True"),
        ({"kept": ["epoch/eval"]}, "`kept` must be a mapping"),
        ({"where": [1]}, "`where` must be a mapping"),
        ({"shortest_s": "1"}, "`shortest_s` must be a number of seconds, got '1'"),
        ({"statuses": 3}, "`statuses` must be a list"),
        ({"rows": "loos"}, "`rows` must be a setting of the runs, got 'loos'"),
        ({"were": {}}, "'were' is no choice; there are: where, statuses"),
    ],
)
def test_choices_that_cannot_be_used_are_refused(runs, choices, message):
    with pytest.raises(ParameterError, match=message) as refused:
        tc.choose(runs, **choices)
    assert "\n" not in str(refused.value)


# -- the list of runs ----------------------------------------------------------------------


def test_the_listing_has_every_run_and_what_differs(runs):
    made = tc.listing(runs)
    assert list(made.frame["run_id"]) == [f"r{i:02}" for i in range(24)]
    assert list(made.frame["runtime_s"][:23]) == list(runs.runtime_s)
    assert made.frame["status"].value_counts().to_dict() == {"completed": 23, "failed": 1}
    assert [heading.text for heading in made.tables["listing"].headings] == [
        *("run", "status", "runtime", "task", "loss", "lr")
    ]
    some = tc.listing(runs.where(task=["a"], loss=["u"]))
    assert [heading.text for heading in some.tables["listing"].headings][3:] == ["lr"]
    assert str(some).startswith("4 of 23 completed runs took ")


def test_a_sortable_table_is_a_plain_one_on_a_page(runs):
    bundle = sortable.sorted_where_possible(tc.listing(runs))._repr_mimebundle_()
    assert "<script" in bundle["text/html"]
    assert "<script" not in bundle[PAGE_HTML]
    assert '<table id="table-listing"' in bundle[PAGE_HTML]


# -- widgets -------------------------------------------------------------------------------


def widgets(choice):
    box = controls.controls(choice)
    return {widget.description: widget for widget in box.children[1].children}, box.children[2]


def test_a_widget_changes_what_it_shows_and_no_more(runs):
    given = {"where": {"loss": ["u"], "lr": {"max": 0.05}}, "rows": "loss", "kept": {"epoch/eval": 2}}
    choice = tc.choose(runs, **given)
    by_name, _ = widgets(choice)
    assert by_name["loss"].value == ("u",)
    assert by_name["rows"].value == "loss"
    assert by_name["epoch/eval, kept"].value == 2
    by_name["task"].value = ["c"]
    assert choice.choices["where"] == {**given["where"], "task": ["c"]}
    assert (choice.choices["rows"], choice.choices["kept"]) == ("loss", given["kept"])


def test_widgets_choose(runs, screen):
    choice = tc.choose(runs)
    choice.show(tc.shares)
    (before,) = screen.values()
    by_name, _ = widgets(choice)
    by_name["task"].value = ["c"]
    by_name["status"].value = ["completed"]
    by_name["rows"].value = "loss"
    by_name["epoch/eval, kept"].value = 3
    by_name["runtime"].index = (1, len(by_name["runtime"].options) - 1)
    by_name["lr"].index = (0, 20)
    lr = np.sort(runs.frame["config.lr"])
    assert choice.choices == {
        "where": {"task": ["c"], "lr": {"max": lr[20]}},
        "statuses": ["completed"],
        "shortest_s": np.sort(runs.runtime_s)[1],
        "longest_s": None,
        "rows": "loss",
        "columns": "",
        "kept": {"epoch/eval": 3},
    }
    assert set(choice.runs.frame["config.task"]) == {"c"}
    assert list(screen.values()) != [before]


def test_a_widget_says_what_was_refused(runs):
    choice = tc.choose(runs)
    choice.show(tc.effects, response="epoch/eval")
    by_name, said = widgets(choice)
    choice._shown = {"": (lambda runs: tc.effects(runs, response="evil"), (), {})}
    by_name["task"].value = ["c"]
    assert said.value.startswith("`response` must be")
    assert choice.choices["where"] == {}


def test_a_range_has_only_steps_one_can_move_to():
    values = np.arange(10_000.0)
    stops = controls._stops(values)
    assert len(stops) == controls.MAX_STOPS
    assert (stops[0], stops[-1]) == (0.0, 9_999.0)
    assert set(stops) <= set(values)


def test_many_numbers_are_a_range_and_many_names_no_list(tmp_path):
    n = 2 * (controls.MAX_STOPS + 1)
    rows = [f"r{i},{i // 2},n{i // 2},{'ab'[i % 2]},{10 + i}" for i in range(n)]
    (tmp_path / "runs.csv").write_text("\n".join(["run,seed,name,task,seconds", *rows]), encoding="utf-8")
    table = tc.read(tmp_path / "runs.csv", runtime_column="seconds", run_column="run")
    by_name, _ = widgets(tc.choose(table))
    assert len(by_name["seed"].options) == controls.MAX_STOPS
    assert "name" not in by_name
    assert len(by_name["task"].options) == 2


# -- hostile text --------------------------------------------------------------------------


def test_hostile_text_stays_text(tmp_path, screen):
    for i in range(8):
        config = {PAYLOAD: f"{PAYLOAD}{i % 2}", "status": i % 2, "runtime": i % 4 < 2}
        write_run(
            tmp_path / f"r{i}",
            record(f"{PAYLOAD}{i}", config=config, runtime_s=5.0 + i, sections={PAYLOAD: {"seconds": 2.0}}),
        )
    choice = tc.choose(tc.read(tmp_path))
    html = "".join(shown_by(screen, choice, answer) for answer in ANSWERS)
    assert "<img" not in html
    assert "onerror" in html
    assert not re.search(r"(src=|from |import\()['\"]https?:", html)


# -- the notebook --------------------------------------------------------------------------


def html_of(notebook):
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    return "".join(output.get("data", {}).get("text/html", "") for output in outputs)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_notebook_follows_a_choice_in_place(tmp_path):
    runs = small(tmp_path / "runs")
    figures = []
    for extra, parameters in (
        ("", {}),
        ("", {"where": {"task": ["a"]}}),
        ('choice.choose(where={"task": ["a"]})', {}),
    ):
        notebook = nbformat.read(ROOT / "notebooks/explore.ipynb", as_version=4)
        notebook.cells.append(nbformat.v4.new_code_cell(extra))
        executed = papermill.execute_notebook(
            notebook,
            str(tmp_path / "out.ipynb"),
            parameters={"runs_dir": str(runs), **parameters},
            progress_bar=False,
            cwd=tmp_path,
        )
        answers = r"<svg aria.*?</svg>|<table id=.table-(?:effects|levels|sections|knobs)\".*?</table>"
        figures.append(re.findall(answers, html_of(executed), flags=re.DOTALL))
    assert len(figures[0]) == 5
    assert figures[2] == figures[1]
    assert all(figure not in figures[1] for figure in figures[0])


@pytest.mark.slow
def test_without_the_extra_the_notebook_is_plain(tmp_path):
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
    command = [sys.executable, "-m", "papermill", "--no-progress-bar", "explore.ipynb", "out.ipynb"]
    subprocess.run([*command, "-p", "runs_dir", runs], cwd=tmp_path, check=True, capture_output=True)
    executed = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    assert "pip install ipywidgets itables" in json.dumps(executed)
    assert '<table id="table-listing">' in html_of(executed)
    assert re.search("<svg aria", html_of(executed))
    for answer in ("effects", "levels", "sections", "knobs"):
        assert f'<table id="table-{answer}"' in html_of(executed)
