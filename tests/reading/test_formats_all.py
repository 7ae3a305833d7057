"""What holds for all readers: none hides another's runs, and no tree ends the reading."""

import os
import random
import shutil
import socket
import time

import pytest
from conftest import DATA
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from traincost.reading.collection import read_collection
from traincost.reading.formats import READERS
from traincost.results import inventory

WITHOUT_TIME = ("keras",)  # what these read never has a runtime
KINDS = sorted(set(READERS) - set(WITHOUT_TIME))
# A name by which each reader is asked.
NAMES = [
    "run.json", "results.json", "manifest.json", "mlflow.db", "meta.yaml", "run-a1b2c3d4.wandb",
    "config.yaml", "wandb-summary.json", "all_results.json", "train_results.json", "trainer_state.json",
    "hparams.yaml", "metrics.csv", "fit-perf_logs.txt", "profile.txt",
    "events.out.tfevents.1700000000.host.1.0",
    "trace.json", "trace.json.gz", "rank_0.pt.trace.json", ".hydra", "multirun.yaml", "checkpoint-8",
    "version_0", "mlruns", "wandb", "latest-run", "models", "files", "args.yaml", "opt.yaml", "results.csv",
    "monitor.csv", "progress.csv", "progress.txt", "study.db", "journal.log", "result.json", "params.json",
    "metrics.json", "20260401_081005", "20260401_081005.log.json", "dvclive.json", "emissions.csv",
    "training.log", "train.out",
]  # fmt: skip


def counts(root):
    """Return how many runs of each kind were read under a directory, and how many were left out."""
    found = read_collection(root, require_runs=False)
    return found.runs["format"].value_counts().to_dict(), found.excluded["format"].value_counts().to_dict()


def test_every_reader_has_a_sample_and_reads_it():
    for kind in KINDS:
        read, _ = counts(DATA / kind)
        assert read.get(kind), kind
        assert set(read) == {kind}


def test_what_has_no_time_is_listed_with_what_to_do():
    for kind in WITHOUT_TIME:
        read, left_out = counts(DATA / kind)
        assert (read, left_out) == ({}, {kind: 1})


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_of_one_unreadable_file_nothing_else_is_lost(tmp_path, kind):
    whole = read_collection(DATA / kind, require_runs=False).runs
    files = [path for path in sorted((DATA / kind).rglob("*")) if path.is_file()]
    for i, path in enumerate(files):
        name = path.relative_to(DATA / kind)
        broken = shutil.copytree(DATA / kind, tmp_path / str(i)) / name
        broken.unlink()
        broken.mkdir()
        found = read_collection(tmp_path / str(i), require_runs=False)
        # A reader that meets what it does not expect is named with the exception's type.
        assert not found.excluded["reason"].str.match(r"cannot be read: [A-Z]\w+:").any(), name
        in_file = whole["path"].str.startswith(name.as_posix()).sum()  # a store holds many
        assert len(found.runs) >= len(whole) - max(1, in_file), name


def test_kinds_in_one_tree_do_not_hide_each_other(tmp_path):
    for kind in KINDS:
        shutil.copytree(DATA / kind, tmp_path / "all" / kind)
    read, left_out = counts(tmp_path / "all")
    for kind in KINDS:
        expected_read, expected_left_out = counts(DATA / kind)
        assert read[kind] == expected_read[kind]
        assert left_out.get(kind, 0) == expected_left_out.get(kind, 0)


def test_kinds_within_each_other_do_not_hide_each_other(tmp_path):
    place = tmp_path / "all"
    for kind in KINDS:
        shutil.copytree(DATA / kind, place)
        place = place / "more"
    read, _ = counts(tmp_path / "all")
    assert read == {kind: counts(DATA / kind)[0][kind] for kind in KINDS}


def test_one_reader_by_name_reads_its_own_alone(tmp_path):
    for kind in ("lightning", "wandb", "mlflow"):
        shutil.copytree(DATA / kind, tmp_path / "all" / kind)
    found = read_collection(tmp_path / "all", format="wandb")
    assert set(found.runs["format"]) == {"wandb"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_copy_of_a_collection_adds_no_run(tmp_path, kind):
    for name in ("first", "second"):
        shutil.copytree(DATA / kind, tmp_path / "all" / name)
    read, left_out = counts(tmp_path / "all")
    once, once_left_out = counts(DATA / kind)
    if kind in ("pyhighlights", "kineto"):  # two runs of one setting may be alike in what these keep
        assert read[kind] >= once[kind]
    else:
        assert read == once
    assert sum(read.values()) + sum(left_out.values()) == 2 * (
        sum(once.values()) + sum(once_left_out.values())
    )


def test_pipes_and_devices_are_not_waited_for(tmp_path):
    root = tmp_path / "all"
    shutil.copytree(DATA / "traincost", root)
    for i, name in enumerate(NAMES):
        for make in (pipe, directory, dangling, loop, a_socket):
            folder = root / f"{make.__name__}{i}"
            folder.mkdir()
            make(folder / name)
    started = time.monotonic()
    read, _ = counts(root)
    assert read == {"traincost": 1}
    assert time.monotonic() - started < 30
    assert inventory.lines(root)


def pipe(path):
    os.mkfifo(path)


def directory(path):
    path.mkdir()


def dangling(path):
    path.symlink_to("nowhere")


def loop(path):
    path.symlink_to(path.name)


def a_socket(path):
    # Its address may not be longer than a hundred characters.
    here = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def test_names_that_no_text_can_hold(tmp_path):
    for name in (b"line\nbreak", b"\xff\xfe", b"tab\tand \x1b[31m", "rtl\u202e".encode(), b"-p", b"..x"):
        for kind in KINDS:
            shutil.copytree(
                os.fsencode(DATA / kind), os.path.join(os.fsencode(tmp_path), b"all", name, kind.encode())
            )
    found = read_collection(tmp_path / "all")
    assert set(found.runs["format"]) == set(KINDS)
    for frame in (found.runs, found.excluded, found.notes, found.parts):
        assert all(path.encode("utf-8") for path in frame["path"])
    assert inventory.lines(tmp_path / "all")


@pytest.mark.slow
def test_a_hundred_thousand_empty_directories(tmp_path):
    shutil.copytree(DATA / "traincost", tmp_path / "all")
    for i in range(100_000):
        (tmp_path / "all" / f"{i // 1000}" / f"{i}").mkdir(parents=True)
    started = time.monotonic()
    assert counts(tmp_path / "all") == ({"traincost": 1}, {})
    assert time.monotonic() - started < 60


CONTENTS = sorted(path.read_bytes() for kind in KINDS for path in (DATA / kind).rglob("*") if path.is_file())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), n_files=st.integers(1, 25))
def test_any_tree_gives_runs_or_reasons(tmp_path_factory, seed, n_files):
    """Files of all kinds under each other's names, whole, cut or with bits turned, in any folders."""
    rng, root = random.Random(seed), tmp_path_factory.mktemp("tree")
    for _ in range(n_files):
        folder = root.joinpath(*rng.choices([*NAMES, "a", "b"], k=rng.randrange(3)))
        content = bytearray(rng.choice(CONTENTS)[:100_000])
        if content and rng.random() < 0.5:
            content = content[: rng.randrange(len(content))]
        for _ in range(rng.choice([0, 0, 3])):
            if content:
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / rng.choice(NAMES)).write_bytes(content)
        except OSError:  # a file is where a folder should be, or the other way round
            continue
    found = read_collection(root, require_runs=False)
    assert (found.runs["runtime_s"] > 0).all()
    assert all(found.excluded["reason"])
    # How `reading` words what no reader foresaw.
    assert not found.excluded["reason"].str.contains(r"^cannot be read: [A-Z]\w*: ").any()
    assert inventory.lines(root)
