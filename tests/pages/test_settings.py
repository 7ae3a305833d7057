"""Parameters are checked by name and type before a run is read."""

import pytest

from traincost.errors import ParameterError
from traincost.pages.settings import Estimation, Profiling, assigned_names, injected_names


def test_defaults_need_only_the_directory():
    settings = Profiling("runs")
    assert settings.format == "auto"
    assert settings.replicates == ["seed"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"runs_dir": 1}, "`runs_dir` must be text, got 1; give it as text"),
        ({"runs_dir": float("nan")}, "`runs_dir` must be text, got nan"),
        ({"runs_dir": True}, "`runs_dir` must be text, got True"),
        ({"rows": 3}, "`rows` must be text, got 3"),
        ({"replicates": "seed"}, "`replicates` must be a list, got 'seed'"),
        ({"replicates": [1]}, "`replicates` must be a list of text, got 1"),
        ({"shared_settings": "lr"}, "`shared_settings` must be list | null, got 'lr'"),
        ({"links": ["x"]}, "`links` must be a mapping"),
        ({"links": {"x": "javascript:alert(1)"}}, "must be a relative address or start with http:"),
        ({"links": {"x": "java\nscript:alert(1)"}}, "must be a relative address"),
        ({"links": {"x": " DATA:text/html,x"}}, "must be a relative address"),
        ({"knobs": [{"name": "k"}]}, "`knobs`: "),
        (
            {"knobs": [{"name": "k", "sections": ["a"], "kind": "x"}]},
            "`knobs`: knob 'k': `kind` must be one of",
        ),
    ],
)
def test_a_value_that_cannot_be_used_is_named(parameters, message):
    with pytest.raises(ParameterError, match=message.replace("|", r"\|")):
        Profiling(**{"runs_dir": "runs", **parameters})


@pytest.mark.parametrize(
    ("make", "parameters"), [(Profiling, {"runs_dir": "runs"}), (Estimation, {"systems": "runs"})]
)
def test_a_path_pattern_is_checked_before_a_run_is_read(make, parameters):
    assert make(**parameters).path_pattern == ""
    assert make(**parameters, path_pattern="lr_{lr}").path_pattern == "lr_{lr}"
    with pytest.raises(ParameterError, match="`path_pattern` must hold fields in braces"):
        make(**parameters, path_pattern="lr_*")
    with pytest.raises(ParameterError, match="`path_pattern` must be text, got 1"):
        make(**parameters, path_pattern=1)


@pytest.mark.parametrize(
    "address", ["../design.html", "x.html#a:b", "https://example.org", "mailto:a@b.c", ""]
)
def test_links_that_are_fine(address):
    assert Profiling("runs", links={"x": address}).links == {"x": address}


def test_what_papermill_injected_is_checked_and_nothing_else():
    cells = ["", "import x", "runs_dir: str = 'a'", "# Parameters\nruns_dirr = 'b'\nrows = ['x']\n"]
    assert injected_names(cells) == ["runs_dirr", "rows"]
    with pytest.raises(ParameterError, match="'runs_dirr' is not a parameter; did you mean 'runs_dir'"):
        Profiling.from_notebook({"runs_dir": "a", "In": cells})
    assert Profiling.from_notebook({"runs_dir": "a", "other": 1, "In": cells[:3]}).runs_dir == "a"


def test_assigned_names():
    assert assigned_names("a: int = 1\nb = c = 2\nd[0] = 3\n") == ["a", "b", "c"]


def test_the_page_never_shows_where_the_runs_lie():
    assert Profiling("/home/somebody/runs/x").public("x")["runs_dir"] == "x"
