"""What lies among runs and is none is named with one true sentence."""

import cProfile
import json
import pickle

import pytest
from conftest import REFERENCE

from traincost.reading.formats import other

FOREIGN = REFERENCE / "formats"


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return str(path)


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("a.json", {"machine_info": {}, "benchmarks": [{"stats": {"mean": 1}}]}, other.PYTEST),
        ("a.json", {"commit_hash": "a", "date": 1, "params": {}, "results": {"b": None}}, other.ASV),
        ("a.json", b'{"commit_hash": "a", "params": {}, "results": {"b": NaN}}', other.ASV),
        (
            "benchmarks.json",
            {"b": {"code": "", "name": "b", "type": "time", "unit": "s"}},
            other.ASV_BENCHMARKS,
        ),
        ("a.json", {"start_time": 1, "sample_count": 2, "root_frame": {}}, other.PYINSTRUMENT),
        ("a.json", {"session": {}, "frame_tree": {}}, other.PYINSTRUMENT),
        ("a.json", {"$schema": "https://www.speedscope.app/file-format-schema.json"}, other.SPEEDSCOPE),
        ("a.json", {"elapsed_time_sec": 1.5, "files": {}}, other.SCALENE),
        ("a.txt", b"noise\n------ DeepSpeed Flops Profiler ------------\nProfile", other.FLOPS),
        ("a.txt", b"notes", ""),
        ("a.json", {"epoch": 1}, ""),
        ("a.json", b"{", ""),
        ("a.json", b"", ""),
        ("a.json", [1], ""),
    ],
)
def test_each_kind_has_its_sentence(tmp_path, name, content, what):
    assert other.recognise(write(tmp_path / name, content)) == what


def test_asv_results_that_are_none_are_told_by_their_neighbours(tmp_path):
    write(tmp_path / "machine.json", {"arch": "x", "cpu": "y", "machine": "z", "os": "l", "ram": "1"})
    assert other.recognise(str(tmp_path / "machine.json")) == other.ASV_MACHINE
    assert other.recognise(write(tmp_path / "a.json", b"{")) == other.ASV_BROKEN
    assert other.recognise(write(tmp_path / "b.json", {"version": 1})) == other.ASV_STRAY


def test_a_large_file_is_told_by_its_first_keys(tmp_path):
    content = {"sample_count": 2, "root_frame": {"padding": "x" * 5 * 2**20}}
    assert other.recognise(write(tmp_path / "a.json", content)) == other.PYINSTRUMENT


class Trap:
    """An object whose unpickling would fail the test."""

    def __reduce__(self):
        return (pytest.fail, ("unpickled",))


def test_pickled_and_marshalled_files_are_named_and_not_opened(tmp_path):
    profile = cProfile.Profile()
    profile.runcall(sorted, [1])
    profile.dump_stats(tmp_path / "a.pstats")
    (tmp_path / "unnamed").write_bytes((tmp_path / "a.pstats").read_bytes())
    assert other.recognise(str(tmp_path / "a.pstats")) == other.PSTATS
    assert other.recognise(str(tmp_path / "unnamed")) == other.PSTATS
    for name in ("model.pt", "a.pkl", "last.ckpt", "training_args.bin"):
        assert other.recognise(write(tmp_path / name, pickle.dumps(Trap()))) == other.PICKLE


def test_what_cannot_be_opened_has_no_sentence(tmp_path):
    assert other.recognise(str(tmp_path / "absent.json")) == ""
    assert other.recognise(str(tmp_path)) == ""


@pytest.mark.reference
def test_every_reference_file_of_these_kinds_has_its_sentence():
    found = {
        path: other.recognise(str(path))
        for folder in ("benchmarks", "profilers", "deepspeed")
        for path in sorted((FOREIGN / folder).rglob("*"))
        if path.is_file()
    }
    without = [path.name for path, what in found.items() if not what]
    # These are trace events, which the reader of traces reads or refuses.
    assert without == [
        "simple-hermes.json",
        "simple-object.json",
        "simple-partial-trailing-comma.json",
        "simple-partial-whitespace.json",
        "simple-partial.json",
        "simple-with-samples.json",
        "simple.json",
    ]
    by_folder = {
        "deepspeed": {other.FLOPS},
        "pytest_benchmark": {other.PYTEST},
        "pyinstrument": {other.PYINSTRUMENT},
    }
    for name, sentences in by_folder.items():
        assert {what for path, what in found.items() if name in path.parts} == sentences
    names = {path.name: what for path, what in found.items()}
    assert names["toy.pyinstrument.pstats"] == names["toy.pstats"] == other.PSTATS
    assert names["toy.speedscope.json"] == other.SPEEDSCOPE
    assert names["aaaaaaaa-py2.7-Cython-numpy1.8.json"] == other.ASV_BROKEN
    assert names["bbbbbbbb-py2.7-Cython-numpy1.8.json"] == other.ASV_STRAY
    assert names["22b920c6-py2.7-Cython-numpy1.8.json"] == other.ASV
