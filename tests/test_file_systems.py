"""File systems that refuse things: read-only folders and homes, no locks, no way to settle, slow reads."""

import os
import subprocess
import sys
import time
from collections import Counter

import nbformat
import pytest
from conftest import ROOT, record, write_run

from traincost.__main__ import main
from traincost.pages import publish
from traincost.reading import folders
from traincost.reading.collection import read_collection

# The administrator may write everywhere: the same person without those rights is anybody.
NOBODY = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
LIBRARY = str(ROOT / "lib")
LOCKS = "fcntl.flock"
SETTLING = "os.fsync"
# What the file systems of networks, of containers and of users answer to these.
REFUSALS = [(LOCKS, "ENOLCK"), (LOCKS, "EOPNOTSUPP"), (SETTLING, "EINVAL"), (SETTLING, "ENOTSUP")]
REFUSING = """
import errno, fcntl, os, sys
from traincost.__main__ import main
def refuse(*arguments):
    raise OSError(errno.{code}, os.strerror(errno.{code}))
{name} = refuse
sys.exit(main(sys.argv[1:]))
"""

# Each call that a file system over a network answers late, in the command and in its kernel.
SLOW = """
import os, sys, time
def late(event, arguments):
    if event in ("open", "os.scandir", "os.listdir") and isinstance(arguments[0], str):
        path = os.path.abspath(arguments[0])
        if path.startswith(os.environ["SLOW"] + os.sep):
            time.sleep(0.1)
            with open(os.environ["CALLS"], "a") as calls:
                calls.write(path + "\\n")
sys.addaudithook(late)
"""


def ran(*command, home, prefix=(), code=None, **options):
    """Run a command of ours; return its status, and what it said on both lines."""
    environment = {**os.environ, "PYTHONPATH": LIBRARY, "HOME": str(home)}
    for name in ("MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        environment.pop(name, None)
    called = ["-c", code] if code else ["-m", "traincost"]
    called = [*prefix, sys.executable, *called, *map(str, command)]
    done = subprocess.run(called, env=environment, capture_output=True, text=True, check=False, **options)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def places(tmp_path):
    """Runs, a home and a folder that cannot be written, and one that can."""
    for i in range(8):
        config = {"lr": i // 2, "seed": i % 2}
        write_run(
            tmp_path / "runs" / f"r{i}", record(f"r{i}", config=config, runtime_s=100.0 + 9 * (i // 2) + i)
        )
    for name in ("home", "closed", "open"):
        (tmp_path / name).mkdir()
    closed = [tmp_path / "home", tmp_path / "closed", *(p for p in tmp_path.glob("runs/**") if p.is_dir())]
    for path in closed:
        path.chmod(0o555)
    yield tmp_path
    for path in closed:
        path.chmod(0o755)


@pytest.mark.slow
def test_runs_and_home_that_are_read_only_give_pages(places):
    done = ran("page", places / "runs", "-o", places / "open", home=places / "home", prefix=NOBODY)
    assert done == (0, f"{places / 'open' / 'profiling.html'}\n", "")
    assert "cache" not in (places / "open" / "profiling.html").read_text(encoding="utf-8")
    assert list((places / "home").iterdir()) == []


COMMANDS = {
    "index": ["index", "runs", "-o", "home"],
    "index below": ["index", "runs", "-o", "closed/index"],
    "check": ["check", "runs", "runs", "--json", "closed/check.json"],
    "explore": ["explore", "runs", "--no-browser", "-o", "closed/x.ipynb"],
    "page": ["page", "runs", "-o", "closed/page"],
    "site": ["site", "."],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_an_unwritable_folder_is_told_in_one_line(places, name):
    (places / "closed").chmod(0o755)
    (places / "closed" / "x.json").write_text('{"format": "traincost/report/1", "title": "x"}')
    (places / "closed").chmod(0o555)
    places.chmod(0o555)
    status, out, error = ran(*COMMANDS[name], home=places / "home", prefix=NOBODY, cwd=places)
    places.chmod(0o755)
    assert (status, out) == (2, ""), error
    assert error.startswith("traincost: ")
    assert error.count("\n") == 1
    assert "Permission denied" in error
    assert [path.name for path in (places / "closed").iterdir()] == ["x.json"]


@pytest.mark.parametrize(
    "command",
    [
        ["page", "runs", "-o", "file/page"],
        ["compare", "runs", "runs", "-o", "file"],
        ["publish", "mine.ipynb", "-o", "file/page"],
        ["check", "runs", "runs", "--json", "file/check.json"],
        ["check", "runs", "runs", "--junit", "file/check.xml"],
        ["plan", "runs", "--json", "file/plan.json"],
    ],
    ids=" ".join,
)
def test_an_output_that_cannot_be_is_told_before_the_work(places, monkeypatch, capsys, command):
    def work(*_, **__):
        raise AssertionError("worked first")

    (places / "file").write_text("mine")
    nbformat.write(nbformat.v4.new_notebook(), places / "mine.ipynb")
    monkeypatch.chdir(places)
    monkeypatch.setattr(publish, "execute", work)
    monkeypatch.setattr("traincost.results.gate.checked", work)
    monkeypatch.setattr("traincost.__main__._answered", work)
    assert main(command) == 2
    said = capsys.readouterr().err
    assert "Not a directory" in said
    assert said.count("\n") == 1
    assert (places / "file").read_text() == "mine"


@pytest.mark.slow
def test_runs_that_may_not_be_read_are_counted(places):
    (places / "runs" / "r1" / "run.json").chmod(0)
    (places / "runs" / "r2").chmod(0)
    for source in ("runs", "open"):
        status, out, _ = ran("formats", places / source, home=places / "home", prefix=NOBODY)
        assert status == 0
        assert out.startswith("runs: 6 runs read, 2 left out")
        assert out.count("Permission denied") == 2
        if source == "runs":
            asked = ("index", places / "runs", "-o", places / "open")
            assert ran(*asked, home=places / "home", prefix=NOBODY)[0] == 0
    (places / "runs" / "r1" / "run.json").chmod(0o644)
    (places / "runs" / "r2").chmod(0o755)
    assert ran(*asked, home=places / "home", prefix=NOBODY)[2] == "2 read, 6 kept, 1 dropped\n"
    assert len(read_collection(places / "open").runs) == 8


@pytest.mark.slow
@pytest.mark.parametrize(("name", "code"), REFUSALS)
def test_a_file_system_without_locks_or_settling_does(places, name, code):
    refusing = REFUSING.format(name=name, code=code)
    options = {"home": places / "open", "code": refusing}
    runs = places / "runs"
    assert ran("page", runs, "-o", places / "open" / "p", **options)[::2] == (0, "")
    for said in ("8 read, 0 kept, 0 dropped\n", "0 read, 8 kept, 0 dropped\n"):
        assert ran("index", runs, "-o", places / "open" / "i", **options)[::2] == (0, said)
    assert len(read_collection(places / "open" / "i").runs) == 8
    assert ran("check", runs, runs, "--json", places / "open" / "c.json", **options)[::2] == (0, "")
    assert ran("site", places / "open", **options)[::2] == (0, "")
    assert not list(places.rglob("*.tmp"))


@pytest.mark.slow
def test_on_a_slow_file_system_each_file_is_opened_once(places, monkeypatch):
    (places / "open" / "sitecustomize.py").write_text(SLOW)
    monkeypatch.setenv("SLOW", str(places / "runs"))
    monkeypatch.setenv("CALLS", str(places / "open" / "calls"))
    monkeypatch.setattr(sys.modules[__name__], "LIBRARY", f"{ROOT / 'lib'}:{places / 'open'}")
    index = places / "open" / "index"
    commands = {
        "page": ("page", places / "runs", "-o", places / "open" / "page"),
        "formats": ("formats", places / "runs"),
        "index": ("index", places / "runs", "-o", index),
        "refresh": ("index", places / "runs", "-o", index),
    }
    calls_file = places / "open" / "calls"
    for name, command in commands.items():
        calls_file.write_text("")
        status, _, said = ran(*command, home=places / "open")
        assert status == 0, said
        calls = Counter(calls_file.read_text().split())
        opened = {path: n for path, n in calls.items() if path.endswith("run.json")}
        assert set(opened.values()) == (set() if name == "refresh" else {1}), name
        # What no reader opened, formats looks for in a second listing; a refresh asks for states alone.
        assert max(calls.values(), default=0) == {"formats": 2, "refresh": 0}.get(name, 1), name


def test_a_disk_that_fails_is_told(tmp_path, monkeypatch):
    def failing(_):
        raise OSError(5, "Input/output error")

    folder = folders.at(tmp_path)
    (tmp_path / "a").write_text("old")
    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(ValueError, match="cannot be written: Input/output error"), folders.told(folder):
        folder.publish({"a": b"new"})
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "old")]


def test_a_writer_without_end_is_waited_for_only_so_long(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "PATIENCE_S", 0.2)
    first, second = folders.at(tmp_path), folders.at(tmp_path)
    with first.locked():
        began = time.monotonic()
        with (
            pytest.raises(ValueError, match=r"another process has been writing to it for 0\.2 s"),
            folders.told(second),
            second.locked(),
        ):
            pass
        assert time.monotonic() - began < 5
    with second.locked():
        second.publish({"a": b"1"})


def test_an_output_that_is_no_path_is_refused(places):
    with pytest.raises(ValueError, match="`output` must be a path or URL, got 3"):
        publish.page(places / "runs", output=3)
