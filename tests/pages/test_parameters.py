"""Parameters are declared once, in the notebook, and checked before anything else happens."""

import datetime
import json

import nbformat
import papermill
import pytest
from conftest import ROOT
from papermill.translators import PythonTranslator

from traincost.errors import ParameterError
from traincost.pages import parameters
from traincost.pages.parameters import INPUTS, Unknown, checked, declared, typed
from traincost.results import checks

CELL = """\
%s
# --- Input
runs_dir: Path = "runs/#1"  # where the runs are  # really
# a remark of no group
tables: list[Path] | None = None

# --- What is compared ---
goal: str = "max"  # one of max, min: which is better
unit: Literal["s", "h"] = "s"
names: list[str] = [
    "a # b",  # the first
    "c",
]  # several lines
limit: float | None = -1.5  # a = b
both: dict[str, Path] = {"x": "y"}; old = Path("data")  # two on a line
computed = 60 * 60
needed: int
"""


def notebook(source, **metadata):
    cell = nbformat.v4.new_code_cell(source, metadata={"tags": ["parameters"]})
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# T"), cell], metadata=metadata)


def named(source):
    return {parameter.name: parameter for parameter in declared(notebook(source))}


def test_a_cell_declares_type_default_help_group_and_choices():
    found = named(CELL % "")
    assert list(found) == [
        "runs_dir",
        "tables",
        "goal",
        "unit",
        "names",
        "limit",
        "both",
        "old",
        "computed",
        "needed",
    ]
    assert found["runs_dir"].default == "runs/#1"
    assert found["runs_dir"].help == "where the runs are  # really"
    assert (found["runs_dir"].group, found["tables"].group) == ("Input", "Input")
    assert found["tables"].annotation == "list[Path] | None"
    assert found["tables"].default is None
    assert (found["goal"].group, found["goal"].choices) == ("What is compared", ("max", "min"))
    assert (found["names"].default, found["names"].help) == (["a # b", "c"], "several lines")
    assert (found["limit"].default, found["limit"].help) == (-1.5, "a = b")
    assert (found["both"].default, found["old"].default) == ({"x": "y"}, "data")
    assert found["computed"].default is found["needed"].default is Unknown
    assert found["computed"].written == "60 * 60"


def test_a_cell_that_is_no_python_is_refused_in_words():
    with pytest.raises(ParameterError, match="the parameters cell must be plain Python"):
        named(CELL % "%matplotlib inline")


def test_a_notebook_without_parameters_declares_none():
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("a = 1")])
    assert declared(nb) == []
    assert checked({}, []) == {}
    with pytest.raises(ParameterError, match="takes no parameters, got 'a': declare them in a cell with"):
        checked({"a": 1}, [])


@pytest.mark.parametrize("name", INPUTS)
def test_papermill_reads_our_declarations_as_we_do(name):
    path = parameters.notebook_path(name)
    theirs = papermill.inspect_notebook(path)
    ours = declared(nbformat.read(path, as_version=4))
    assert [parameter.name for parameter in ours] == list(theirs)
    for parameter in ours:
        inspected = theirs[parameter.name]
        assert parameter.annotation == inspected["inferred_type_name"]
        assert parameter.written == inspected["default"]
        assert parameter.help == inspected["help"]


def test_papermill_drops_what_we_read():
    """So that our own notebooks write ``float = None``."""
    theirs = {found.name for found in PythonTranslator.inspect({"source": CELL % ""})}
    assert theirs == {"runs_dir", "goal", "names", "computed"}


@pytest.mark.parametrize(
    ("annotation", "given", "taken"),
    [
        ("list[str]", "seed", ["seed"]),
        ("list[str]", ("a", "b"), ["a", "b"]),
        ("list[str] | None", None, None),
        ("list[dict]", {"name": "k"}, [{"name": "k"}]),
        ("list", 3, [3]),
        ("Optional[float]", 3, 3),
        ("float", "1e-2", 0.01),
        ("int", "1e3", 1000),
        ("'int | str'", "a", "a"),
        ("Path", ROOT, str(ROOT)),
        ("dict[str, Path]", {"a": ROOT}, {"a": str(ROOT)}),
        ("str", datetime.date(2015, 9, 1), "2015-09-01"),
        ("bool", True, True),
        ("Literal['s', 'h']", "h", "h"),
        ("numpy.ndarray", object, object),
    ],
)
def test_a_value_is_taken_as_its_type_has_it(annotation, given, taken):
    found = checked({"a": given}, declared(notebook(f"a: {annotation} = 0")))
    assert found == {"a": taken}
    assert type(found["a"]) is type(taken)


@pytest.mark.parametrize(
    ("declaration", "value", "message"),
    [
        ("a: list[str] = ['seed']", 3, "`a` must be a list such as [seed], got 3"),
        ("a: list[str] = None", 3, "`a` must be a list such as [a], got 3"),
        ("a: list[str] = None", [1], "`a` must be a list such as [a], got [1]"),
        ("a: list = None", {"b": 1}, "`a` must be a list such as [a], got {'b': 1}"),
        ("a: dict[str, Path] = {}", ["b"], "`a` must be a mapping such as {a: path}, got ['b']"),
        ("a: dict = {}", "b", "`a` must be a mapping such as {a: b}, got 'b'"),
        ("a: str = ''", 3, "`a` must be text, got 3; put it in quotes"),
        ("a: str = ''", None, "`a` must be text, got None"),
        ("a: Path = ''", True, "`a` must be a path or URL, got True"),
        ("a: float | None = 1.0", "x", "`a` must be a number, got 'x'"),
        ("a: int | list[int] = 1", 1.5, "`a` must be a whole number or a list such as [1], got 1.5"),
        ("a: int = 1", True, "`a` must be a whole number, got True"),
        ("a: bool = True", 1, "`a` must be true or false, got 1"),
        ("a: float = 1.0", float("nan"), "`a` must be finite, got nan"),
        ("a: float = 1.0", "nan", "`a` must be finite, got 'nan'"),
        ("a: dict = {}", {"b": [float("inf")]}, "`a` must be finite, got"),
        ("a: str = 'x'  # one of x, y: what it is", "z", "`a` must be one of x, y, got 'z'"),
        ("a: list[str] = []  # one of x, y", ["x", "z"], "`a` must be one of x, y, got 'z'"),
        ("a: Literal['x', 'y'] = 'x'", "z", "`a` must be one of x, y, got 'z'"),
    ],
)
def test_a_value_that_does_not_fit_is_named(declaration, value, message):
    with pytest.raises(ParameterError) as refused:
        checked({"a": value}, declared(notebook(declaration)))
    assert message in str(refused.value)


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(ParameterError, match="'rowz' is not a parameter; did you mean 'rows'"):
        checked({"rowz": "x"}, declared(notebook("rows: str = ''\ncolumns: str = ''")))


@pytest.mark.parametrize(
    ("declaration", "text", "value"),
    [
        ("a: str = ''", "01", "01"),
        ("a: str = ''", "nan", "nan"),
        ("a: Path = ''", "1e3", "1e3"),
        ("a = 'x'", "01", "01"),
        ("a = 1", "0.5", 0.5),
        ("a: list[str] = []", "01", "01"),
        ("a: list[str] = []", "[b, c]", ["b", "c"]),
        ("a: list[str] = None", "null", None),
        ("a: float = None", "", None),
        ("a: int = 1", "3", 3),
        ("a: dict = {}", "{b: 1}", {"b": 1}),
        ("b: int = 1", "3", "3"),
    ],
)
def test_text_of_the_command_line_becomes_a_value(declaration, text, value):
    assert typed("a", text, declared(notebook(declaration))) == value


def test_text_that_is_no_yaml_is_refused():
    with pytest.raises(ParameterError, match=r"`a` must be a mapping such as \{a: b\}, as YAML, got '\{'"):
        typed("a", "{", declared(notebook("a: dict = {}")))


def test_effective_values_are_defaults_and_what_papermill_set():
    nb = notebook("a: int = 1\nb: str = 'x'\nc = f()", papermill={"parameters": {"b": "y"}})
    assert parameters.effective(nb) == {"a": 1, "b": "y"}
    del nb.metadata["papermill"]
    assert parameters.effective(nb) == {"a": 1, "b": "x"}


def test_paths_are_shown_by_their_last_part():
    found = declared(nbformat.read(parameters.notebook_path("profiling"), as_version=4))
    given = {
        "runs_dir": "s3://key@bucket/runs.csv/?token=x",
        "rows": "a/b",
        "reruns": {"k": "/home/somebody/once/"},
        "rerun_baseline": "",
        "sections_table": "/home/somebody/sections.csv",
        "workers": 4,
        "scheduler": "tcp://host:8786",
    }
    assert parameters.public(given, found) == {
        "runs_dir": "runs",
        "rows": "a/b",
        "reruns": {"k": "once"},
        "rerun_baseline": "",
        "sections_table": "sections.csv",
    }


@pytest.mark.parametrize(
    ("name", "collection", "inputs", "file"),
    [
        ("profiling", "demo-sweep", ["demo-sweep"], "demo"),
        ("compare", "demo-sweep-once", ["demo-sweep-control", "demo-sweep-once"], None),
        ("estimation", "demo-sweep", ["demo-sweep"], None),
        ("estimation", "milestones", ["/x/milestones.yaml"], "milestones-card"),
    ],
)
def test_the_shown_parameters_are_those_of_the_shipped_pages(name, collection, inputs, file):
    found = declared(nbformat.read(parameters.notebook_path(name), as_version=4))
    given = parameters.read_parameters(ROOT / f"params/{file}.yaml") if file else {}
    given |= dict(zip(INPUTS[name], inputs, strict=True))
    values = parameters.defaults(found) | checked(given, found)
    shipped = json.loads((ROOT / f"reports/{collection}/{name}.json").read_text())["parameters"]
    assert parameters.public(values, found) == shipped


def test_a_cell_is_filled_with_values_and_keeps_its_comments():
    nb = notebook('é: str = "é"; runs_dir: Path = "x"  # where\nnames: list[str] = [\n    "a",\n]  # which\n')
    filled = parameters.filled(nb, {"runs_dir": "/r/'é'", "names": None})
    assert filled["cells"][1]["source"] == (
        'é: str = "é"; runs_dir: Path = "/r/\'é\'"  # where\nnames: list[str] = None  # which\n'
    )
    assert "x" in nb.cells[1].source


def test_a_file_that_is_no_notebook_is_refused(tmp_path):
    for content, says in (
        (None, "No such file"),
        ("{", "cannot be read"),
        ("[]", "is no notebook"),
        ("{}", "no cells"),
    ):
        path = tmp_path / "x.ipynb"
        if content:
            path.write_text(content)
        with pytest.raises(ParameterError, match=says):
            parameters.read_notebook(path)


# -- what values mean --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("links", {"x": "javascript:alert(1)"}, "must be a relative address or start with http:"),
        ("links", {"x": "java\nscript:alert(1)"}, "must be a relative address"),
        ("links", {"x": " DATA:text/html,x"}, "must be a relative address"),
        ("links", {"x": 3}, "`links` must map text to an address, got 'x': 3"),
        ("path_pattern", "lr_*", "`path_pattern` must hold fields in braces"),
        ("format", "parquet", "`format` must be auto or one of traincost"),
        ("knobs", [{"name": "k"}], "`knobs`: "),
        (
            "knobs",
            [{"name": "k", "sections": ["a"], "kind": "x"}],
            "`knobs`: knob 'k': `kind` must be one of",
        ),
        ("knobs", [{"name": "k", "sections": ["a"]}] * 2, "`knobs` must have names of their own"),
        ("devices", 0, "`devices` must be above zero, got 0"),
        ("price_per_hour", -1.0, "`price_per_hour` must be above zero"),
        ("start", "soon", "`start` must be a date like 2015-09-01, got 'soon'"),
        ("target_error", 2.0, "`target_error` must be between 0 and 1"),
        ("n_draws", 99, "`n_draws` must be at least 100"),
        ("score_goal", "best", "`score_goal` must be one of max, min, got 'best'"),
        ("workers", -1, "`workers` must be at least 0"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(name, value, message):
    with pytest.raises(ParameterError) as refused:
        checks.check(**{name: value})
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "address", ["../design.html", "x.html#a:b", "https://example.org", "mailto:a@b.c", ""]
)
def test_links_that_are_fine(address):
    checks.check(links={"x": address}, knobs=None, start="", path_pattern="", scheduler="", rows="x")


def test_a_table_is_checked_by_its_columns():
    assert checks.table({"runtime_unit": "ms", "rows": "x"}).runtime_unit == "ms"
    with pytest.raises(ParameterError, match="`cost_columns`: 'm' must be one of"):
        checks.table({"cost_columns": {"m": "stones"}})


def test_an_absolute_path_is_shown_by_its_last_part():
    known = declared(notebook('note: str = ""\nlinks: dict = {}\nfiles: list = []'))
    values = {"note": "/home/me/x.csv", "links": {"a": "/b/c.html"}, "files": ["/home/me/y.csv", "z"]}
    shown = parameters.public(values, known)
    assert shown == {"note": "x.csv", "links": {"a": "/b/c.html"}, "files": ["y.csv", "z"]}
