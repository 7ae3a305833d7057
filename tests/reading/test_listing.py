"""What is listed, in which order, and whom the names are shown to."""

import itertools
import random

import pytest
from conftest import DATA, record, write_run

from traincost.reading import listing
from traincost.reading.formats import READERS
from traincost.reading.listing import listed, ordered

NAMES = [
    "run.json",
    "results.json",
    "run-x.wandb",
    "wandb-summary.json",
    "wandb-metadata.json",
    "config.yaml",
    "meta.yaml",
    "mlflow.db",
    "a.sqlite",
    "a.sqlite3",
    "trainer_state.json",
    "all_results.json",
    "metrics.json",
    "checkpoint-10",
    "hparams.yaml",
    "metrics.csv",
    "events.out.tfevents.1.host",
    "x.tfevents.y",
    "fit-a.txt",
    "predict.txt",
    "command.txt",
    "a.log",
    ".hydra",
    "trace.json",
    "trace.json.gz",
    "a.json.tmp",
    "notes.md",
    "r0000001",
    ".txt",
    "a\nb.json",
    "a\nb.db",
    "a\nb.txt",
    "a\nb.log",
    *("config.json", "cout.txt", "result.json", "params.json", "error.txt", "args.yaml", "opt.yaml"),
    *("results.csv", "20260401_081005", "20260401_081005.log.json", "None.log.json", "last_checkpoint"),
    *("monitor.csv", "0.monitor.csv", "x_monitor.csv", "a\nmonitor.csv", "progress.csv", "progress.txt"),
    *("dvclive.json", "plots", "emissions.csv", "study.log", "x_journal", "optuna\n.log", "journal.jsonl"),
    *("training.log", "history.csv", "a\ntrain.csv", "slurm-1.out", "a\nb.out", "train\n.txt", "x.err"),
]
DIRECTORIES = ("a", "a/version_3", "a/m-1", "wandb/run-20260101_000000-x/files", "a/checkpoint-10")


@pytest.mark.parametrize("name", READERS)
def test_a_reader_is_asked_wherever_it_may_find_a_source(name):
    reader, found = READERS[name], set()
    for directory, names in itertools.product(DIRECTORIES, [[n] for n in NAMES] + [sorted(NAMES)]):
        found.update(reader.sources(directory, names))
    assert found
    assert all(map(reader.NAMES.fullmatch, found))


@pytest.mark.parametrize("name", [*NAMES, "HISTORY.csv", "a\nb.log", "Study.JSONL", "my-journal", "study"])
def test_one_pattern_knows_the_sources_of_all_readers(name):
    known = any(reader.NAMES.fullmatch(name) for reader in READERS.values())
    assert bool(listing._any_source().fullmatch(name)) == known


@pytest.mark.parametrize("many", [0, 10**6])
def test_what_is_found_does_not_depend_on_who_is_asked(monkeypatch, many):
    plain = listed(DATA).sources
    monkeypatch.setattr(listing, "MANY_NAMES", many)
    assert listed(DATA).sources == plain


def test_sources_come_in_natural_order_of_their_whole_paths(tmp_path):
    rng = random.Random(0)
    parts = ["a", "a-b", "a b", "a0", "a00", "a1", "a01", "a10", "a2", "é", "1", "01", "10", "2", "z.json"]
    for i in range(300):
        folder = tmp_path.joinpath(*rng.choices(parts, k=rng.randint(1, 4)))
        if not any(parent.is_file() for parent in [folder, *folder.parents]):
            write_run(folder, record(f"r{i}"))
            (folder / "results.json").write_text("{}")
    found = listed(tmp_path).sources
    assert len(found) > 300
    shuffled = found.copy()
    rng.shuffle(shuffled)
    assert ordered(sorted(shuffled, key=lambda source: list(READERS).index(source[1]))) == found
