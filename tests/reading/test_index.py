"""The index: what a directory holds, read anew only where it changed, and never half."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, record, write_run

from traincost.__main__ import main
from traincost.errors import NothingToReport, ParameterError
from traincost.pages import publish
from traincost.reading import batch as reading
from traincost.reading import index, listing, refreshing
from traincost.reading.collection import read_collection
from traincost.reading.formats.table import Table

FRAMES = ("runs", "sections", "excluded", "notes", "parts")


def assert_same(one, other):
    """The two collections hold the same, in the same order and of the same types."""
    for name in FRAMES:
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True)
    assert one.name == other.name
    assert one.compute == other.compute


def odd_collection(root):
    """Write runs of every kind: usable, duplicate, damaged, unfinished, with notes, of two formats."""
    for i in range(12):
        config = {"task": "ab"[i % 2], "lr": ["0.1", 0.1, 1e22, 10**22][i % 4], "n": i, "null": None}
        extent = {"first_s": 1.0, "min_s": 0.0, "max_s": 1.5, "synchronised": False} if i % 2 else {}
        sections = {"eval": {"seconds": 2.0 + i, "count": 4, **extent}, "x/é": {"seconds": 1, "count": None}}
        scores = {"f1": i / 7, "bad": float("nan")}
        compute = {"processors": 1, "x": float("inf"), "z": None}
        found = record(f"r{i}", config=config, sections=sections, scores=scores, compute=compute)
        write_run(
            root / f"r{i}", {**found, "cost": {"models": i + 1, "memory_mib": 0.5}, "runtime_s": 9.0 + i}
        )
    write_run(root / "copy", record("r3"))
    write_run(root / "failed", record("f", status="failed", config={"late": [1, 2]}))
    write_run(root / "broken", "{")
    write_run(root / "lone", json.dumps(record("surrogate\ud800", config={"": "漢\x00"})))
    odd = os.path.join(os.fsencode(root), b"odd\xff")
    os.mkdir(odd)
    with open(os.path.join(odd, b"run.json"), "w") as file:
        json.dump(record("odd"), file)
    for name in ("one", "two"):  # equal but for where they lie: a copy, told by its content
        (root / "tree" / name).mkdir(parents=True)
        results = {
            "name": "t",
            "seeds": [1, 2, 3],
            "completed": [1, 2],
            "runs": [{"cost_runtime_s": 5.0, "f1": 0.5}] * 2,
        }
        (root / "tree" / name / "results.json").write_text(json.dumps(results))
        manifest = {"settings": {"lr": 1}, "started": "2026-01-01T08-00-00"}
        (root / "tree" / name / "manifest.json").write_text(json.dumps(manifest))
    return root


def read_sources(monkeypatch):
    """Return a list that gets the path of every source that is read from now on."""
    read, paths = reading._read, []

    def noting(root, task, path, reader):
        paths.append(path)
        return read(root, task, path, reader)

    monkeypatch.setattr(reading, "_read", noting)
    return paths


def refreshed(root, folder, **more):
    """Refresh an index and check that it equals its directory; return the counts."""
    counts = refreshing.refresh(root, folder, **more)
    assert_same(read_collection(root), read_collection(folder))
    return counts


@pytest.mark.parametrize("batch", [1, 3, 1000])
def test_an_index_holds_what_its_directory_holds(tmp_path, monkeypatch, batch):
    monkeypatch.setattr(reading, "BATCH", batch)
    root = odd_collection(tmp_path / "runs")
    assert refreshed(root, tmp_path / "index") == {"read": 19, "kept": 0, "dropped": 0}
    assert refreshed(root, tmp_path / "index") == {"read": 0, "kept": 19, "dropped": 0}


def test_path_patterns_and_formats_work_on_an_index(tmp_path):
    root = odd_collection(tmp_path / "runs")
    refreshing.refresh(root, tmp_path / "index")
    for options in ({"path_pattern": "r{number}"}, {"format": "traincost"}, {"format": "pyhighlights"}):
        assert_same(read_collection(root, **options), read_collection(tmp_path / "index", **options))
    refreshing.refresh(root, tmp_path / "one", format="traincost")
    with pytest.raises(ParameterError, match="`format` must be 'traincost', with which the index was made"):
        read_collection(tmp_path / "one")


def test_a_refresh_reads_changes_and_drops_what_is_gone(tmp_path, monkeypatch):
    root, folder = odd_collection(tmp_path / "runs"), tmp_path / "index"
    refreshed(root, folder)
    write_run(root / "new", record("new", config={"task": "c", "added": 1}))
    write_run(root / "r5", record("r5", runtime_s=1234.5))
    (root / "r6" / "run.json").unlink()
    (root / "tree" / "two" / "manifest.json").write_text("{}")
    paths = read_sources(monkeypatch)
    counts = refreshing.refresh(root, folder)
    assert sorted(paths) == ["new/run.json", "r5/run.json", "tree/two/results.json"]
    assert counts == {"read": 3, "kept": 16, "dropped": 3}
    assert_same(read_collection(root), read_collection(folder))


def test_a_change_of_content_alone_is_seen(tmp_path):
    folder = tmp_path / "index"
    path = write_run(tmp_path / "runs" / "a", record("a", runtime_s=100.0))
    os.utime(path, ns=(10**18, 10**18))
    refreshed(tmp_path / "runs", folder)
    status = path.stat()
    path.write_text(path.read_text().replace("100.0", "200.0"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    assert refreshed(tmp_path / "runs", folder)["read"] == 1
    os.utime(path, ns=(10**18, 10**18))  # changed in nothing but the time of its change
    assert refreshed(tmp_path / "runs", folder) == {"read": 0, "kept": 1, "dropped": 0}


def test_a_file_that_was_missed_and_appears_is_noticed(tmp_path):
    folder = tmp_path / "runs" / "t"
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps({"runs": [{"cost_runtime_s": 5.0}], "completed": [1]}))
    refreshed(tmp_path / "runs", tmp_path / "index")
    (folder / "manifest.json").write_text(json.dumps({"settings": {"lr": 1}}))
    assert refreshed(tmp_path / "runs", tmp_path / "index")["read"] == 1


def test_a_name_alone_makes_no_part_of_an_index(tmp_path):
    write_run(tmp_path / "runs" / "a", record("a"))
    (tmp_path / "runs" / "a" / "search.json").write_text('{"best": 1}')
    (tmp_path / "runs" / "a" / "trace.json").write_text('{"traceEvents": []}')
    refreshed(tmp_path / "runs", tmp_path / "index")
    assert list(read_collection(tmp_path / "index").parts["path"]) == ["a/trace.json"]


def listed_directories(monkeypatch):
    """Return a list that gets the name of every directory that is listed from now on."""
    scandir, listed = os.scandir, []

    def noting(path):
        listed.append(os.path.basename(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", noting)
    return listed


def test_only_directories_that_changed_are_listed_again(tmp_path, monkeypatch):
    monkeypatch.setattr(listing, "RACY_NS", -(10**12))  # or all would have changed just now
    root, folder = tmp_path / "runs", tmp_path / "index"
    for i in range(60):
        write_run(root / f"{i % 3}" / f"r{i}", record(f"r{i}"))
    refreshing.refresh(root, folder)
    time.sleep(0.05)  # a tick of the file system's clock
    found = listed_directories(monkeypatch)
    assert refreshing.refresh(root, folder) == {"read": 0, "kept": 60, "dropped": 0}
    assert found == ["runs"]  # whether it can be read at all
    write_run(root / "1" / "new", record("new"))
    (root / "2" / "r2" / "run.json").unlink()
    write_run(root / "2" / "r5", record("r5", runtime_s=7.0))
    found.clear()
    assert refreshing.refresh(root, folder) == {"read": 2, "kept": 58, "dropped": 2}
    assert sorted(found) == ["1", "new", "r2", "runs"]
    assert_same(read_collection(root), read_collection(folder))
    (root / "1" / "r1").rename(root / "1" / "renamed")
    (root / "0").rename(root / "moved")
    refreshed(root, folder)


def test_a_directory_is_listed_again_where_times_are_unsure(tmp_path, monkeypatch):
    root, folder = tmp_path / "runs", tmp_path / "index"
    write_run(root / "a" / "now", record("now"))
    assert listing.listed(root, known={}).seen == {}  # changed just now
    monkeypatch.setattr(listing, "RACY_NS", -(10**12))
    (tmp_path / "elsewhere").mkdir()
    (root / "b").mkdir()
    (root / "b" / "link").symlink_to(tmp_path / "elsewhere")
    assert set(listing.listed(root, known={}).seen) == {"", "a", "a/now", "b/link"}
    refreshing.refresh(root, folder)
    write_run(tmp_path / "elsewhere" / "deep", record("deep"))
    assert refreshed(root, folder)["read"] == 1
    (root / "b" / "link").unlink()
    assert refreshed(root, folder)["dropped"] == 1


def test_what_another_version_listed_is_listed_again(tmp_path, monkeypatch):
    monkeypatch.setattr(listing, "RACY_NS", -(10**12))
    write_run(tmp_path / "runs" / "a", record("a"))
    refreshing.refresh(tmp_path / "runs", tmp_path / "index")
    monkeypatch.setattr(index, "__version__", "0")
    found = listed_directories(monkeypatch)
    refreshing.refresh(tmp_path / "runs", tmp_path / "index")
    assert "a" in found


def test_many_small_refreshes_do_not_leave_many_small_parts(tmp_path):
    for i in range(12):
        write_run(tmp_path / "runs" / f"r{i}", record(f"r{i}"))
        refreshed(tmp_path / "runs", tmp_path / "index")
    assert len(index.opened(tmp_path / "index").parts) <= refreshing.MAX_SMALL
    refreshing.refresh(tmp_path / "runs", tmp_path / "index")  # removes what the last one replaced
    assert len(list((tmp_path / "index").glob("runs-*"))) <= refreshing.MAX_SMALL


def test_large_collections_are_written_in_several_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(refreshing, "PART_SOURCES", 4)
    monkeypatch.setattr(reading, "BATCH", 2)
    refreshed(odd_collection(tmp_path / "runs"), tmp_path / "index")
    assert len(index.opened(tmp_path / "index").parts) == 6


@pytest.mark.slow
def test_the_page_of_an_index_is_that_of_its_directory(tmp_path, capsys):
    runs = odd_collection(tmp_path / "runs")
    index = tmp_path / "index/runs"  # a page names its source by the last part of its path
    assert main(["index", str(runs), "-o", str(index)]) == 0
    assert capsys.readouterr().err == "19 read, 0 kept, 0 dropped\n"
    publish.page(runs, tmp_path / "a")
    publish.page(index, tmp_path / "b")
    for name in ("profiling.html", "profiling.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_an_index_of_another_format_is_refused_in_one_line(tmp_path, capsys):
    write_run(tmp_path / "runs" / "a", record())
    refreshing.refresh(tmp_path / "runs", tmp_path / "index")
    pointer = tmp_path / "index" / index.POINTER
    pointer.write_text(pointer.read_text().replace(index.FORMAT, "traincost/index/9"))
    with pytest.raises(
        NothingToReport, match=r"has the format 'traincost/index/9'; this .*: update traincost"
    ):
        read_collection(tmp_path / "index")
    assert main(["index", str(tmp_path / "runs"), "-o", str(tmp_path / "index")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    pointer.write_text(pointer.read_text().replace("traincost/index/9", index.OLD_FORMATS[0]))
    with pytest.raises(NothingToReport, match=r"'traincost/index/1'; .*: refresh it with `traincost index`"):
        read_collection(tmp_path / "index")
    pointer.write_text("{")
    with pytest.raises(NothingToReport, match="is damaged"):
        read_collection(tmp_path / "index")


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    write_run(tmp_path / "runs" / "a", record())
    with pytest.raises(ParameterError, match="holds something else than an index"):
        refreshing.refresh(tmp_path / "runs", tmp_path / "runs")
    assert not (tmp_path / "runs" / index.POINTER).exists()


def test_a_lost_part_is_told_in_one_line(tmp_path):
    write_run(tmp_path / "runs" / "a", record())
    refreshing.refresh(tmp_path / "runs", tmp_path / "index")
    next((tmp_path / "index").glob("runs-*")).unlink()
    with pytest.raises(NothingToReport, match=r"is damaged \(runs-.*: does not exist\): refresh it"):
        read_collection(tmp_path / "index")


# -- damage --------------------------------------------------------------------------------


def two_parts(tmp_path):
    """Return a directory of runs, its index of two parts, and the content of each file of that."""
    root, folder = tmp_path / "runs", tmp_path / "index"
    for i in range(3):
        config = {"lr": i, "host": f"gpu{i}.example.org", "api_key": f"sk-live-{i}9f8e7d6c5b4a3f2e1d"}
        write_run(root / f"r{i}", record(f"r{i}", config=config))
    (root / "r0" / "trace.json").write_text('{"traceEvents": []}')
    refreshing.refresh(root, folder)
    write_run(root / "late", record("late", config={"lr": 9}))
    refreshing.refresh(root, folder)
    assert len(index.opened(folder).parts) == 2
    names = {index.POINTER, index.KEY, *refreshing._files(index.opened(folder))}
    files = {name: (folder / name).read_bytes() for name in names}
    return root, folder, files


def restored(folder, files):
    for path in folder.iterdir():
        path.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def faults(content, every):
    """Yield the content with each byte flipped, and cut at each, in turn; only `every` so many."""
    for i in range(0, len(content), every):
        yield content[:i] + bytes([content[i] ^ (1 << i % 8)]) + content[i + 1 :]
        yield content[:i]
    yield content + b"\0"


def read_or_told(folder, right):
    """Read an index: what it says is right, or one line says what to do; return whether it was told."""
    try:
        found, told = read_collection(folder), ""
    except NothingToReport as problem:
        found, told = None, str(problem)
    if told:
        assert "refresh it with `traincost index`" in told or "update traincost" in told
        assert "\n" not in told
    else:
        assert_same(found, right)
    return bool(told)


@pytest.mark.slow
def test_every_byte_that_is_flipped_or_cut_is_found(tmp_path):
    root, folder, files = two_parts(tmp_path)
    right = read_collection(root)
    held = SimpleNamespace(shown="index", content=b"")  # thousands of files take a slow disk minutes
    held.read = lambda name: held.content
    opened = replace(index.opened(folder), folder=held)
    for part in [*opened.parts, opened.left_alone]:
        for table in part.files:
            for held.content in faults(files[index.file_name(table, part)], 1):
                with pytest.raises(index.Damaged):
                    opened._content(part, table)
    for damaged in faults(files[index.POINTER], 1):
        with pytest.raises(NothingToReport, match=r"refresh it with|update traincost"):
            index.of_pointer(held, damaged)
    for held.content in faults(files[index.KEY], 1):
        if held.content:  # an empty key is none
            with pytest.raises(index.Damaged):
                opened.rule(())
    for name, content in files.items():
        for damaged in faults(content, 1 + len(content) // 5):
            (folder / name).write_bytes(damaged)
            read_or_told(folder, right)
        restored(folder, files)


def test_a_damaged_index_is_told_and_repaired(tmp_path, monkeypatch):
    root, folder, files = two_parts(tmp_path)
    right, late = read_collection(root), index.opened(folder).parts[1]
    paths = read_sources(monkeypatch)
    for name, content in files.items():
        for damaged in (None, b"", content[:-1], content[:-9] + b"?" + content[-8:]):
            restored(folder, files)
            if damaged is None:
                (folder / name).unlink()
            else:
                (folder / name).write_bytes(damaged)
            assert read_or_told(folder, right) or name.startswith("directories") or name == index.KEY
            paths.clear()
            assert refreshing.refresh(root, folder)["dropped"] == 0
            assert_same(read_collection(folder), right)
            if late.id in name:
                assert paths == ["late/run.json"]
            if name.startswith(("sources", "directories")) and late.id not in name:
                assert "late/run.json" not in paths


def test_files_that_were_swapped_are_found(tmp_path):
    root, folder, files = two_parts(tmp_path)
    for table in ("sources", "runs"):
        one, other = (folder / index.file_name(table, part) for part in index.opened(folder).parts)
        one.write_bytes(files[other.name])
        other.write_bytes(files[one.name])
        assert read_or_told(folder, None)
        assert refreshed(root, folder) == {"read": 4, "kept": 0, "dropped": 0}
        restored(folder, files)


@pytest.mark.parametrize(
    "wild",
    [
        {"n_sources": 2**60},
        {"n_sources": -1},
        {"dead": [2**60]},
        {"dead": ["x"]},
        {"id": "../../etc/passwd"},
        {"reader": "none"},
        {"files": 3},
        {"n_sources": 2},
    ],
)
def test_wild_values_in_the_pointer_are_found(tmp_path, wild):
    root, folder, files = two_parts(tmp_path)
    pointer = json.loads(files[index.POINTER])
    del pointer["checksum"]
    pointer["parts"][0].update(wild)
    (folder / index.POINTER).write_bytes(refreshing._sealed(pointer))
    assert read_or_told(folder, None)
    refreshed(root, folder)


# -- faults --------------------------------------------------------------------------------

REFRESH = "import sys; from traincost.reading import refreshing; refreshing.refresh(*sys.argv[1:3])"


def start(code, *arguments, **more):
    """Start Python on `code` in a process of its own."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT / "lib")}, **more)


@pytest.mark.slow
def test_killed_at_any_moment_the_old_index_stays_whole(tmp_path):
    """A refresh is killed where it has got to after ever more time; each leaves the old index or the new."""
    root, folder = tmp_path / "runs", tmp_path / "index"
    for i in range(40):
        write_run(root / f"r{i}", record(f"r{i}"))
    refreshing.refresh(root, folder)
    old = read_collection(folder)
    for i in range(3_000):
        write_run(root / f"new{i}", record(f"new{i}"))
    new = read_collection(root)
    # It stops, and tells where, before each step that leaves a trace.
    stops = """
import os, signal, sys
from traincost.reading import folders, index, refreshing
steps = iter(range(10**6))
def stopping(function):
    def run(*arguments, **named):
        if next(steps) == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **named)
    return run
folders.Here.create = stopping(folders.Here.create)
refreshing._Parts.add = stopping(refreshing._Parts.add)
refreshing._Parts._finish = stopping(refreshing._Parts._finish)
os.fsync, os.replace = stopping(os.fsync), stopping(os.replace)
refreshing.refresh(*sys.argv[1:3])
"""
    codes = []
    for step in (0, 2, 4, 6, 8, 9, 10, 20):
        codes.append(start(stops, root, folder, step).wait())
        assert_same(read_collection(folder), new if codes[-1] == 0 else old)
    # How many steps there are depends on how long ago the directories were written.
    n_killed = codes.count(-signal.SIGKILL)
    assert codes == [-signal.SIGKILL] * n_killed + [0] * (len(codes) - n_killed)
    assert 4 <= n_killed < len(codes)
    refreshed(root, folder)
    named = refreshing._files(index.opened(folder))
    assert {name for name in os.listdir(folder) if name.endswith(".parquet")} == named


def test_refreshes_at_once_do_not_corrupt_it(tmp_path):
    root, folder = tmp_path / "runs", tmp_path / "index"
    for i in range(200):
        write_run(root / f"r{i}", record(f"r{i}"))
    processes = [start(REFRESH, root, folder) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert refreshed(root, folder) == {"read": 0, "kept": 200, "dropped": 0}


def test_a_full_disk_leaves_the_old_index_and_says_so(tmp_path):
    """The limit on the size of a file stands for the disk; its message is the system's."""
    root, folder = tmp_path / "runs", tmp_path / "index"
    write_run(root / "a", record("a"))
    refreshing.refresh(root, folder)
    old, files = read_collection(folder), sorted(os.listdir(folder))
    rng = np.random.default_rng(0)
    for i in range(300):
        write_run(root / f"r{i}", record(f"r{i}-{rng.bytes(400).hex()}"))

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))

    process = start(REFRESH, root, folder, preexec_fn=limit, stderr=subprocess.PIPE, text=True)
    error = process.communicate()[1]
    assert process.returncode != 0
    assert error.splitlines()[-1].endswith(
        "cannot be written: File too large: a limit on the size of files (ulimit -f)"
    )
    assert_same(read_collection(folder), old)
    assert sorted(os.listdir(folder)) == files
    refreshed(root, folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
def test_a_disk_that_is_full_indeed(tmp_path, capsys):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], capture_output=True
    ).returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        rng = np.random.default_rng(0)
        for i in range(200):
            write_run(tmp_path / "runs" / f"r{i}", record(f"r{i}-{rng.bytes(400).hex()}"))
        assert main(["index", str(tmp_path / "runs"), "-o", str(small / "index")]) == 2
        assert "cannot be written: No space left on device" in capsys.readouterr().err
        (small / "out").mkdir()
        (small / "out" / "profiling.html").write_text("the old page")
        assert main(["page", str(tmp_path / "runs"), "-o", str(small / "out")]) == 2
        assert "cannot be written: No space left on device" in capsys.readouterr().err
        assert [p.name for p in (small / "out").iterdir()] == ["profiling.html"]
        assert (small / "out" / "profiling.html").read_text() == "the old page"
    finally:
        subprocess.run(["umount", small], check=True)


def test_an_output_that_cannot_be_written(tmp_path, capsys):
    write_run(tmp_path / "runs" / "a", record())
    (tmp_path / "file").write_text("")
    for output in (tmp_path / "file", "/proc/nowhere"):
        assert main(["index", str(tmp_path / "runs"), "-o", str(output)]) == 2
        error = capsys.readouterr().err
        assert "cannot be written: " in error
        assert error.count("\n") == 1


def test_a_file_changed_during_reading_is_read_again(tmp_path, monkeypatch):
    from traincost.reading.formats import files

    path = write_run(tmp_path / "runs" / "a", record("a", runtime_s=100.0))
    os.utime(path, ns=(10**18, 10**18))
    read = files._all_of

    def changing(descriptor, size):
        found = read(descriptor, size)
        write_run(tmp_path / "runs" / "a", record("a", runtime_s=200.0))
        return found

    monkeypatch.setattr(files, "_all_of", changing)
    refreshing.refresh(tmp_path / "runs", tmp_path / "index")
    monkeypatch.undo()
    assert list(read_collection(tmp_path / "index").runs["runtime_s"]) == [100.0]
    assert refreshed(tmp_path / "runs", tmp_path / "index")["read"] == 1


@pytest.mark.slow
def test_adding_a_hundredth_takes_under_a_third_of_building(tmp_path):
    root, folder = tmp_path / "runs", tmp_path / "index"
    sections = {f"s{i}": {"seconds": 1.0, "count": 3} for i in range(12)}
    for i in range(20_000):
        write_run(root / f"{i // 1000}" / f"r{i}", record(f"r{i}", sections=sections))
    time.sleep(2)  # or their times would be too late to trust
    started = time.process_time()
    refreshing.refresh(root, folder)
    full = time.process_time() - started
    took = []
    for repetition in range(3):  # of which the quickest: what else the machine does slows one of them
        for i in range(200):
            name = f"new{repetition}-{i}"
            write_run(root / "new" / name, record(name, sections=sections))
        started = time.process_time()
        assert refreshing.refresh(root, folder)["read"] == 200
        took.append(time.process_time() - started)
    assert min(took) < full / 3


# -- tables ----------------------------------------------------------------------------------


def test_the_index_of_a_table_gives_what_the_table_gives(tmp_path):
    path, folder = tmp_path / "jobs.csv", tmp_path / "index"
    columns = Table(runtime_column=["elapsed"], runtime_unit="min")
    path.write_text("run,model,host,elapsed\n" + "".join(f"r{i},m{i % 3},node7,{i + 1}\n" for i in range(9)))
    refreshing.refresh(path, folder, table=columns)
    assert_same(read_collection(folder), read_collection(path, table=columns))
    path.write_text("run,model,elapsed\nr0,m0,5\nr1,m1,6\n")
    assert refreshing.refresh(path, folder, table=columns)["read"] == 2
    assert read_collection(folder).runs["runtime_s"].tolist() == [300.0, 360.0]
    with pytest.raises(ParameterError, match="`runtime_column` must name"):
        refreshing.refresh(path, folder)
    assert len(read_collection(folder).runs) == 2
    write_run(tmp_path / "runs" / "a", record("a"))
    refreshing.refresh(tmp_path / "runs", folder)
    assert_same(read_collection(folder), read_collection(tmp_path / "runs"))
