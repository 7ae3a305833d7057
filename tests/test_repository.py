"""The repository holds to its own rules: layers, environments, notebooks."""

import ast
import re
import tomllib
from pathlib import Path

import nbformat
import pytest
import yaml
from conftest import ROOT
from dependency_ends import oldest

from traincost.pages.parameters import INPUTS, checked, declared

LIB = ROOT / "lib" / "traincost"
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

# What each part of the library may import of the others, beside itself.
PLAIN = {"columns", "printing", "words", "errors"}
MAY_IMPORT = {
    "columns": {"printing"},
    "printing": set(),
    "words": set(),
    "errors": set(),
    "measure": PLAIN,
    "reading": PLAIN | {"measure"},
    "analysis": PLAIN,
    "estimation": PLAIN | {"analysis"},
    "results": PLAIN | {"measure", "reading", "analysis", "estimation"},
    "pages": PLAIN | {"measure", "reading", "analysis", "estimation", "results"},
}
MAY_IMPORT["__main__"] = {*MAY_IMPORT}
MOST_WORDS = 10
MOST_LINES, MOST_LINES_OF_A_FUNCTION = 500, 50
NO_FILES = ("analysis", "estimation")
PACKAGE_DATA = r'\(resources\.files\(__package__\) / "(accelerators|grid)\.csv"\)\.read_text\('


def modules():
    for path in sorted(LIB.rglob("*.py")):
        yield path, path.relative_to(LIB).parts[0].removesuffix(".py")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "traincost":
            parts = node.module.split(".")[1:]
            yield from [parts[0]] if parts else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "traincost":
                    yield (alias.name.split(".")[1:] or ["__init__"])[0]


def test_packages_import_only_what_they_may():
    wrong = [
        f"{path.relative_to(LIB)} imports {other}"
        for path, name in modules()
        if name != "__init__"
        for other in imported(path)
        if other not in {name, "__version__"} | MAY_IMPORT[name]
    ]
    assert wrong == []


def test_every_top_level_part_has_its_rule():
    assert {name for _, name in modules()} - {"__init__"} == set(MAY_IMPORT)


@pytest.mark.parametrize("name", NO_FILES)
def test_numeric_packages_read_no_files(name):
    for path in (LIB / name).glob("*.py"):
        source = re.sub(PACKAGE_DATA, "", path.read_text(encoding="utf-8"))
        assert not re.search(r"\bopen\(|read_(csv|text|bytes|json)\(|\bos\b|pathlib", source), path.name


def test_nothing_is_unpickled_evaluated_or_constructed_from_yaml():
    forbidden = r"\bpickle\b|yaml\.(load|full_load|unsafe_load)\(|(?<![\w.])(eval|exec)\("
    for path, _ in modules():
        assert not re.search(forbidden, path.read_text(encoding="utf-8")), path.name


def normalised(name):
    return re.sub(r"[-_.]+", "-", name.lower())


def requirements(entries):
    return {normalised(re.split(r"[\[<>=!~ ]", e)[0]): re.sub(r"^[A-Za-z0-9._-]+", "", e) for e in entries}


def test_conda_and_pip_install_the_same():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    *conda, pip = environment["dependencies"]
    assert pip == {"pip": ["-e ."]}
    conda = requirements(conda)
    assert conda.pop("python") == project["requires-python"]
    assert conda.pop("pip") == ""
    assert conda == requirements(project["dependencies"])
    assert environment["channels"] == ["conda-forge", "nodefaults"]


def test_constraints_name_every_requirement_once_and_exactly():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [x for x in (ROOT / "constraints.txt").read_text().splitlines() if x and not x.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[A-Za-z0-9.!+]+", line) for line in lines)
    pinned = {line.split("==")[0] for line in lines}
    assert len(pinned) == len(lines)
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(entry for extra in extras for entry in extra)]
    assert set(requirements(wanted)) <= pinned


def test_every_requirement_has_a_lower_bound_alone():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = oldest(project)
    assert len(wanted) > len(project["dependencies"])
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", entry) for entry in wanted)


# What Python 3.12 and 3.13 took away.
REMOVED = (
    "aifc|asynchat|asyncore|audioop|cgi|cgitb|chunk|crypt|distutils|imghdr|imp|lib2to3|mailcap|msilib|nis|nntplib"
    "|ossaudiodev|pipes|smtpd|sndhdr|spwd|sunau|telnetlib|uu|xdrlib"
)


def test_no_module_is_imported_that_newer_pythons_lack():
    for path, _ in modules():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        names |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        assert not [name for name in names if re.fullmatch(REMOVED, name.split(".")[0])], path


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_plain_and_stored_without_outputs(path):
    nb = nbformat.read(path, as_version=4)
    nbformat.validate(nb)
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    assert len(code) <= 15
    assert sum("parameters" in cell.metadata.get("tags", []) for cell in code) == 1
    assert all("tags" in cell.metadata for cell in nb.cells)
    for cell in code:
        assert cell.outputs == []
        assert cell.execution_count is None
        assert not re.search(r"^\s*(def|class) ", cell.source, flags=re.MULTILINE)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_parameter_has_a_type_and_a_comment(path):
    for parameter in declared(nbformat.read(path, as_version=4)):
        assert parameter.annotation, parameter.name
        assert parameter.help, parameter.name


@pytest.mark.parametrize("name", INPUTS)
def test_the_wheel_ships_our_notebooks(name):
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"][f"notebooks/{name}.ipynb"] == f"traincost/notebooks/{name}.ipynb"


def test_parameter_files_are_accepted():
    for name, kind in (("demo", "profiling"), ("milestones-card", "estimation")):
        known = declared(nbformat.read(ROOT / "notebooks" / f"{kind}.ipynb", as_version=4))
        values = yaml.safe_load((ROOT / "params" / f"{name}.yaml").read_text())
        assert checked(values, known)["project"] == "traincost"


def test_the_shipped_runs_are_small_whole_and_long_enough():
    from traincost.reading.collection import read_collection

    folder = ROOT / "notebooks" / "runs" / "demo-sweep"
    collection = read_collection(folder)
    assert len(collection.runs) == 36
    assert not len(collection.excluded)
    assert (collection.runs["runtime_s"] >= 10).all()
    assert sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) <= 500_000
    for name in ("control", "once", "quarter"):
        rerun = read_collection(folder.with_name(f"demo-sweep-{name}"))
        assert len(rerun.runs) == 12
        assert not len(rerun.excluded)


def test_no_path_of_a_machine_is_in_the_repository():
    for path in [*ROOT.glob("*.*"), *LIB.rglob("*.*"), *(ROOT / "params").iterdir(), *NOTEBOOKS]:
        if path.is_file() and path.name != ".git" and path.suffix not in (".pyc", ".png"):
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"/(home|root|Users|work)/", text), path


def test_public_functions_have_docstrings():
    for path, _ in modules():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree), path
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                assert ast.get_docstring(node), f"{path.name}: {node.name}"


def test_no_docstring_holds_a_stray_quote():
    for path, _ in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
                said = ast.get_docstring(node) or ""
                assert ' "\n' not in said, f"{path.name}: {said}"


def test_names_of_tests_have_at_most_ten_words():
    names = [
        node.name
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    assert [name for name in names if len(name.removeprefix("test_").split("_")) > MOST_WORDS] == []


def lines_of_code(node):
    """Count the lines of a function, without its decorators and its docstring."""
    has_docstring = ast.get_docstring(node) is not None
    described = node.body[0].end_lineno - node.body[0].lineno + 1 if has_docstring else 0
    return node.end_lineno - node.lineno + 1 - described


def test_modules_and_functions_are_short():
    long = []
    for path, _ in modules():
        text, name = path.read_text(encoding="utf-8"), path.relative_to(LIB)
        long += [str(name)] if text.count("\n") > MOST_LINES else []
        long += [
            f"{name}: {node.name}"
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and lines_of_code(node) > MOST_LINES_OF_A_FUNCTION
        ]
    assert long == []


def test_paths_are_where_the_design_says():
    for name in ("notebooks", "lib", "params", "reports", "tests", "environment.yml", "Makefile", ".ci/run"):
        assert Path(ROOT / name).exists()
