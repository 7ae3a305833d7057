"""Writers of one folder at once, and writers that are killed: each file is whole, and nothing is left."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import ROOT, record, write_run

from traincost.pages import site
from traincost.pages.exporter import SITE_END, SITE_START
from traincost.pages.gathering import FORMAT
from traincost.reading import folders

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "lib")}
FILES = ("profiling.html", "profiling.json", "profiling-tables/cost.csv")

WRITER = """
import json, sys
from traincost.pages import publish
from traincost.reading import folders
who, place = sys.argv[1:]
whole = 0
for i in range(100):
    mark = f"{who}{i}"
    report = json.dumps({"runs": ["a"], "mark": mark}).encode()
    files = {name: mark.encode() * 20_000 for name in ("profiling.html", "profiling-tables/cost.csv")}
    publish._write("profiling", {**files, "profiling.json": report}, place)
    folder = folders.at(place)
    with folder.locked():
        mark = json.loads(folder.read("profiling.json"))["mark"].encode()
        whole += all(folder.read(name) == mark * 20_000 for name in files)
print(whole)
"""


def started(code, *arguments, **more):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, env=ENVIRONMENT, **more)


def beside(folder):
    return [path.name for path in folder.rglob(".*")]


@pytest.mark.slow
def test_two_writers_of_one_folder_leave_it_whole(tmp_path):
    both = [started(WRITER, who, tmp_path, stdout=subprocess.PIPE, text=True) for who in "ab"]
    assert [process.communicate()[0] for process in both] == ["100\n", "100\n"]
    assert [process.returncode for process in both] == [0, 0]
    assert beside(tmp_path) == []


# It kills itself before each step that leaves a trace, in turn.
STOPPING = """
import os, signal, sys
steps = iter(range(10**6))
def stopping(function):
    def run(*arguments, **named):
        if next(steps) == int(sys.argv[1]):
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **named)
    return run
os.fsync, os.replace = stopping(os.fsync), stopping(os.replace)
"""
PUBLISHING = f"""{STOPPING}
from traincost.pages import publish
publish._write("profiling", dict.fromkeys({FILES}, b"new" * 9999), sys.argv[2])
"""
SITE = f"""{STOPPING}
from traincost.pages import site
site.build(sys.argv[2])
"""


@pytest.mark.slow
def test_a_writer_killed_anywhere_leaves_old_files_or_new(tmp_path):
    codes = []
    for step in range(7):
        folder = tmp_path / f"{step}"
        (folder / "profiling-tables").mkdir(parents=True)
        for name in FILES:
            (folder / name).write_bytes(b"old" * 9999)
        codes.append(started(PUBLISHING, step, folder).wait())
        assert {(folder / name).read_bytes()[:3] for name in FILES} <= {b"old", b"new"}
        assert all((folder / name).stat().st_size == 3 * 9999 for name in FILES)
        assert bool(beside(folder)) == (codes[-1] != 0)
        assert started(PUBLISHING, 99, folder).wait() == 0
        assert beside(folder) == []
        assert {(folder / name).read_bytes()[:3] for name in FILES} == {b"new"}
    assert codes == [-signal.SIGKILL] * 6 + [0]


@pytest.mark.slow
def test_a_site_killed_at_any_step_leaves_whole_pages(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "profiling.json").write_text(json.dumps({"format": FORMAT, "title": name}))
        page = f"<main>\n{SITE_START}{SITE_END}\n</main>\n"
        (tmp_path / name / "profiling.html").write_text(page, encoding="utf-8")
    whole = {}
    for step in (*range(6), 99):
        code = started(SITE, step, tmp_path).wait()
        for path in tmp_path.rglob("*.html"):
            assert path.read_text(encoding="utf-8").rstrip().endswith(("</main>", "</html>"))
        whole[step] = code
    assert whole[0] == -signal.SIGKILL
    assert whole[99] == 0
    site.build(tmp_path)
    assert beside(tmp_path) == []


def test_files_that_others_named_are_not_cleaned_up(tmp_path):
    for name in (".notes.tmp", "profiling.html.tmp", f".x.{'0' * 31}.tmp"):
        (tmp_path / name).write_text("mine")
    folder = folders.at(tmp_path)
    with folder.locked():
        folder.publish({"a": b"1"})
    assert len(list(tmp_path.iterdir())) == 4


def test_without_locks_only_old_leftovers_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "fcntl", None)
    old, new = (tmp_path / f".x.{digit * 32}.tmp" for digit in "01")
    for path in (old, new):
        path.write_text("")
    os.utime(old, (0, 0))
    folder = folders.at(tmp_path)
    with folder.locked():
        folder.publish({"a": b"1"})
    assert sorted(path.name for path in tmp_path.iterdir()) == [new.name, "a"]


def test_the_lock_of_a_killed_writer_is_free(tmp_path):
    holding = "import sys, time; from traincost.reading import folders\n"
    holding += "with folders.at(sys.argv[1]).locked(): print('held', flush=True); time.sleep(600)"
    holder = started(holding, tmp_path, stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    waiting = "import sys; from traincost.reading import folders\n"
    waiting += "with folders.at(sys.argv[1]).locked(): pass"
    waiter = started(waiting, tmp_path)
    with pytest.raises(subprocess.TimeoutExpired):
        waiter.wait(1.5)
    holder.kill()
    holder.communicate()
    assert waiter.wait(20) == 0


def test_a_temporary_folder_of_a_killed_process_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(folders.tempfile, "tempdir", str(tmp_path))
    making = """
import sys, time, tempfile
from traincost.reading import folders
tempfile.tempdir = sys.argv[1]
with folders.scratch() as folder:
    print(folder, flush=True)
    time.sleep(600)
"""
    one, other = (started(making, tmp_path, stdout=subprocess.PIPE, text=True) for _ in range(2))
    left, used = (process.stdout.readline().strip() for process in (one, other))
    one.kill()
    one.communicate()
    for path in (left, used):
        os.utime(path, (0, 0))
    with folders.scratch():
        assert not os.path.exists(left)
        assert os.path.exists(used)
    other.kill()
    other.communicate()


@pytest.mark.slow
def test_a_comparison_killed_at_any_moment_leaves_nothing_running(tmp_path):
    for side, by in (("before", 1.0), ("after", 1.1)):
        for i in range(4):
            config = {"task": "ab"[i % 2], "seed": i // 2}
            write_run(tmp_path / side / f"r{i}", record(f"r{i}", config=config, runtime_s=by * (60.0 + i)))
    out, temporary = tmp_path / "out", tmp_path / "tmp"
    temporary.mkdir()
    environment = {**ENVIRONMENT, "TMPDIR": str(temporary)}
    command = [sys.executable, "-m", "traincost", "compare", "before", "after", "-o", str(out)]
    assert subprocess.run(command, cwd=tmp_path, env=environment).returncode == 0
    old = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    for seconds in (1.5, 3.0, 5.0):
        process = subprocess.Popen(command, cwd=tmp_path, env=environment)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == old
    deadline = time.monotonic() + 30
    while (left := _processes_in(temporary)) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert left == []
    for path in temporary.iterdir():
        os.utime(path, (0, 0))
    assert subprocess.run(command, cwd=tmp_path, env=environment).returncode == 0
    assert list(temporary.glob("traincost-*")) == []


def _processes_in(folder):
    """Return the processes that work in a folder."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                if os.readlink(f"/proc/{entry}/cwd").startswith(str(folder)):
                    found.append(entry)
            except OSError:
                continue
    return found
