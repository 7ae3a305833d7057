"""Every command: its help, what it refuses, and how it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT, record, write_run

from traincost.__main__ import commands, main
from traincost.pages import lab, publish
from traincost.pages.parameters import declared, defaults, notebook_path, read_notebook

COMMANDS = sorted(commands.commands)
NOTEBOOK_COMMANDS = {
    "page": "profiling",
    "compare": "compare",
    "estimate": "estimation",
    "plan": "plan",
    "explore": "explore",
}
DEMO = ROOT / "notebooks/runs/demo-sweep"
CONFIG = ROOT / "tests/data/gpt2.json"
HEAVY = {"yaml", "numpy", "pandas", "nbformat", "papermill", "jupyter_client"}


def ended(capsys, *arguments):
    """Run a command; return its exit status, and what it said."""
    status = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


def modules_after(*arguments):
    """Run a command in a process of its own; return its exit status, and the modules it imported."""
    code = "import json, sys; from traincost.__main__ import main; status = main(sys.argv[1:]); "
    code += "print(); print(json.dumps([status, list(sys.modules)]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    status, modules = json.loads(done.stdout.splitlines()[-1])
    return status, set(modules)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_an_example(capsys, name):
    status, out, err = ended(capsys, name, "--help")
    assert (status, err) == (0, "")
    assert f"Example: traincost {name} " in out
    summary = out.split("\n\n")[1].strip()
    assert f"{name} " in main_help(capsys)
    assert summary in " ".join(main_help(capsys).split())  # whole: not cut with three dots


def main_help(capsys):
    status, out, err = ended(capsys)
    assert (status, err) == (0, "")
    return out


def test_the_version_is_printed(capsys):
    from traincost import __version__

    assert ended(capsys, "--version") == (0, f"traincost {__version__}\n", "")


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    "arguments", [[], ["--no-such-option"], ["a", "b", "c", "-o", "x"]], ids=["none", "unknown", "too many"]
)
def test_wrong_arguments_end_with_one_line(capsys, name, arguments):
    status, out, err = ended(capsys, name, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("traincost: ")
    assert err.endswith(f"; see traincost {name} --help\n")
    assert err.count("\n") == 1


def test_an_unknown_command_ends_with_one_line(capsys):
    status, _, err = ended(capsys, "pgae", "runs")
    assert status == 2
    assert "No such command 'pgae'" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(("command", "notebook"), NOTEBOOK_COMMANDS.items())
def test_help_lists_the_parameters_in_their_groups(capsys, command, notebook):
    _, out, _ = ended(capsys, command, "--help")
    text = " ".join(out.split("Parameters, for -p")[1].split())
    arguments = {parameter.name for parameter in commands.commands[command].params}
    found = [p for p in declared(read_notebook(notebook_path(notebook))) if p.name not in arguments]
    assert len(found) > 5
    places = [text.index(f" {parameter.name} {parameter.help}") for parameter in found]
    assert places == sorted(places)
    for parameter in found:
        assert f"{parameter.group}: " in text
    assert (
        "settings that repeat a configuration, beside those named like a seed" in text
        or command == "estimate"
    )


@pytest.mark.parametrize("arguments", [["--help"], ["page", "--help"], ["page"]])
def test_help_imports_nothing_that_takes_time(arguments):
    _, modules = modules_after(*arguments)
    assert not modules & HEAVY


def test_a_wrong_parameter_starts_no_kernel(tmp_path):
    status, modules = modules_after("page", str(DEMO), "-o", str(tmp_path), "-p", "devices", "0")
    assert status == 2
    assert not modules & {"nbformat", "papermill", "jupyter_client", "pandas"}


def test_an_interrupted_command_ends_with_130(capsys, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(publish, "build", interrupted)
    status, _, err = ended(capsys, "page", DEMO)
    assert status == 130
    assert err.strip() == "traincost: interrupted"


def test_the_shell_completes_commands(monkeypatch):
    environment = {"_TRAINCOST_COMPLETE": "bash_complete", "COMP_WORDS": "traincost pa", "COMP_CWORD": "1"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    done = subprocess.run([sys.executable, "-m", "traincost"], capture_output=True, text=True, check=True)
    assert done.stdout == "plain,page\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["page", "", "-p", "rows", "x"], "`runs_dir` must be a path or URL, got ''"),
        (["page", DEMO, "-p", "output", "x"], "'output' is not a parameter"),
        (["page", DEMO, "-p", "reruns", "{a: nowhere}"], "nowhere' does not exist"),
        (
            ["page", DEMO, "-p", "runtime_unit", "days"],
            "`runtime_unit` must be one of s, ms, us, min, h, got 'days'",
        ),
        (["page", DEMO, "--workers", "-1"], "`workers` must be at least 0, got -1"),
        (["compare", DEMO, "nowhere"], "after '"),
        (["count", DEMO / "none.json"], "none.json' cannot be opened"),
        (["count", ROOT / "params/literature.yaml"], "literature.yaml' "),
        (
            ["count", CONFIG, "--tokens", "7 apples"],
            "`tokens` must be a number, got '7 apples'; accepted is a",
        ),
        (["count", CONFIG, "--context", "0"], "`context` must be a whole number from 1 to"),
        (["estimate", DEMO, "-p", "n_draws", "few"], "`n_draws` must be a whole number, got 'few'"),
        (["estimate", DEMO, "-p", "claims", "none.yaml"], "none.yaml' does not exist"),
        (["publish", "none.ipynb"], "the notebook none.ipynb cannot be read: No such file or directory"),
        (["publish", "plain.ipynb", "-p", "a", "1"], "the notebook takes no parameters, got 'a'"),
        (["explore", DEMO, "-p", "where", "task"], "`where` must be a mapping such as {a: b}, got 'task'"),
        (["plan", DEMO, "-p", "seeds", "0"], "`seeds` must be above zero, got 0"),
        (["plan", DEMO, "-f", "wrong.yaml"], "'befor' is not a parameter"),
        (["plan", DEMO, "--remaining", "-p", "levels", "{task_name: [x]}"], "was never run with 'x'"),
        (["check", DEMO, DEMO, "-f", "wrong.yaml"], "'befor' is not a parameter; did you mean 'before'?"),
    ],
)
def test_unusable_values_end_with_one_line(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    nbformat.write(nbformat.v4.new_notebook(), "plain.ipynb")
    (tmp_path / "wrong.yaml").write_text("befor: x")
    status, out, err = ended(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"plain.ipynb", "wrong.yaml"}


# -- exploring ---------------------------------------------------------------------------------


@pytest.fixture
def opened(monkeypatch):
    """The notebooks that would have been opened."""
    found = []
    monkeypatch.setattr(lab, "opened", lambda path, browser, allow_root: found.append((path, browser)))
    return found


def test_explore_opens_a_copy_with_the_runs_set(tmp_path, monkeypatch, capsys, opened):
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "my runs" / "a", record())
    assert main(["explore", "my runs", "-p", "replicates", "fold", "--no-browser"]) == 0
    ((path, browser),) = opened
    assert (path.name, browser) == ("explore-my runs.ipynb", False)
    nb = nbformat.read(path, as_version=4)
    nbformat.validate(nb)
    values = defaults(declared(nb))
    assert values["runs_dir"] == str(tmp_path / "my runs")
    assert values["replicates"] == ["fold"]
    ours = nbformat.read(notebook_path("explore"), as_version=4)
    assert [cell.source for cell in nb.cells if not cell.metadata.tags] == [
        cell.source for cell in ours.cells if not cell.metadata.tags
    ]


def test_a_copy_to_explore_in_is_never_overwritten(tmp_path, monkeypatch, capsys, opened):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        write_run(tmp_path / name / "r", record())
    assert main(["explore", "a", "-o", "mine.ipynb"]) == 0
    worked_in = (tmp_path / "mine.ipynb").read_text().replace("# Explore a collection", "# My own")
    (tmp_path / "mine.ipynb").write_text(worked_in)
    assert main(["explore", "a", "-o", "mine.ipynb"]) == 0
    for arguments in (["b"], ["a", "-p", "rows", "task"]):
        status, _, err = ended(capsys, "explore", *arguments, "-o", "mine.ipynb")
        assert status == 2
        assert "mine.ipynb is there already" in err
    assert (tmp_path / "mine.ipynb").read_text() == worked_in
    assert len(opened) == 2


def test_the_lab_is_that_of_this_python(tmp_path, monkeypatch):
    started = []

    class Server(subprocess.Popen):
        def __init__(self, command, **options):
            started.append(command)
            super().__init__([sys.executable, "-c", "raise SystemExit(3)"], **options)

    monkeypatch.setattr(subprocess, "Popen", Server)
    assert lab.opened(tmp_path / "x.ipynb", browser=False) == 3
    assert lab.opened(tmp_path / "x.ipynb", allow_root=True) == 3
    command = [sys.executable, "-m", "jupyterlab", str(tmp_path / "x.ipynb")]
    assert started == [[*command, "--no-browser"], [*command, "--allow-root"]]


@pytest.fixture
def tables(tmp_path):
    """Two tables of 12 runs whose run times stand in a column of another name, the second a fifth less."""
    for name, times in (("before", 1.0), ("after", 0.8)):
        rows = [
            f"{model},{seed},{times * s}"
            for model, s in zip("abcd", (9, 5, 7, 3), strict=True)
            for seed in (1, 2)
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join(["model,seed,elapsed", *rows]))
    (tmp_path / "columns.yaml").write_text("runtime_column: elapsed\nruntime_unit: min\n")
    return tmp_path


def test_gates_and_plans_take_tables_with_their_own_columns(tables, capsys):
    both, how = [str(tables / "before.csv"), str(tables / "after.csv")], str(tables / "columns.yaml")
    assert main(["check", *both, "-f", how]) == 0
    assert "20.0 % faster" in capsys.readouterr().out
    assert main(["check", *both]) == 2
    assert "`runtime_column` must name the column of the run times" in capsys.readouterr().err
    assert main(["plan", both[0], "-f", how]) == 0
    assert "24.0 min" in capsys.readouterr().out


@pytest.mark.slow
def test_a_comparison_takes_tables_with_their_own_columns(tables):
    both = [str(tables / "before.csv"), str(tables / "after.csv")]
    assert main(["compare", *both, "-f", str(tables / "columns.yaml"), "-o", str(tables / "out")]) == 0
    numbers = json.loads((tables / "out" / "compare.json").read_text())["numbers"]
    assert numbers["change.faster"] == pytest.approx(0.2)


@pytest.mark.slow
def test_explore_opens_a_real_lab_in_the_browser(tmp_path):
    browser, seen, config = tmp_path / "browser", tmp_path / "seen", tmp_path / "config"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{seen}.part" && mv "{seen}.part" "{seen}"\n')
    browser.chmod(0o700)
    config.mkdir()
    (config / "jupyter_server_config.json").write_text('{"ServerApp": {"port": 0}}')
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "JUPYTER_CONFIG_DIR": str(config),
        "BROWSER": f"{browser} %s",
    }
    with (tmp_path / "log").open("wb") as log:
        command = [sys.executable, "-m", "traincost", "explore", str(DEMO), "--allow-root"]
        started = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            wait_for(seen, started, tmp_path / "log")
            page = Path(seen.read_text().strip().removeprefix("file://")).read_text()
        finally:
            os.killpg(started.pid, signal.SIGTERM)
            started.wait(timeout=60)
    assert "lab/tree/explore-demo-sweep.ipynb" in page


def wait_for(path, process, log, seconds=180):
    for _ in range(seconds * 5):
        if path.exists():
            return
        assert process.poll() is None, log.read_text()
        time.sleep(0.2)
    raise AssertionError(log.read_text())
