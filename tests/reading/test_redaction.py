"""Secrets, persons and hosts are withheld where runs are read; settings are not."""

import json
import shutil
import time

import numpy as np
import pandas as pd
import pytest
from conftest import DATA, record, write_run
from hypothesis import given
from hypothesis import strategies as st
from test_formats_wandb import RECORDS, exit_record, run_record, summary_record, write_files, write_log

from traincost.errors import ParameterError
from traincost.pages import publish
from traincost.reading import index, refreshing, remote
from traincost.reading.collection import read_collection
from traincost.reading.formats.run import flat
from traincost.reading.redaction import Numbering, Redactor, Rule

KEY = "0123456789abcdef0123456789abcdef01234567"
PRIVATE = {
    "wandb_api_key": KEY,
    "user": "annameier",
    "hostname": "gpu03.example.org",
    "data_dir": "/home/annameier/data/cifar",
    "scratch": "/scratch/annameier/tmp",
    "storage": "postgresql://annameier:swordfish@db.example.org/x",
}
LEAKS = (KEY, "annameier", "gpu03", "swordfish")
CORPUS = json.loads(
    (DATA / "settings_corpus.json").read_text(encoding="utf-8").replace("¦", ""),
)["settings"]


def shown(settings, show=()):
    """Return settings as a collection of one run shows them."""
    shown = Numbering()
    found = Redactor(Rule(show=show)).config(flat(settings, []))
    return {shown(name): shown(v) if isinstance(v, str) else v for name, v in found.items()}


def one(name, value):
    ((_, found),) = Redactor(Rule()).config({name: value}).items()
    return found


def level(value):
    return str(value) if value is None or isinstance(value, bool) else value


def text_of(found):
    """Return all text of a collection."""
    frames = (found.runs, found.excluded, found.sections, found.notes, found.parts)
    return found.name + "".join(frame.to_csv() for frame in frames) + json.dumps(found.compute)


# -- what is withheld ----------------------------------------------------------------------


def test_no_secret_of_the_corpus_is_shown():
    leaked = [
        (entry["name"], leak)
        for entry in CORPUS
        for leak in entry["leaks"]
        if leak in one(entry["name"], level(entry["value"]))
    ]
    assert leaked == []
    assert sum(bool(entry["leaks"]) for entry in CORPUS) >= 90


def test_hardly_any_harmless_setting_is_withheld():
    harmless = [(e["name"], level(e["value"])) for e in CORPUS if not e["leaks"]]
    withheld = [(name, value) for name, value in harmless if one(name, value) != value]
    assert len(withheld) <= 0.02 * len(harmless), withheld
    assert len(harmless) >= 100


@pytest.mark.parametrize(
    "name",
    [
        "api_key", "apiKey", "API-KEY", "apikey", "APIKEY", "openai.api.key", "x.accessToken", "auth_token",
        "Secret", "client-secret", "db.password", "dbPassword", "PASSWD", "credentials", "cookie", "token",
        "bearer", "sessionId", "privateKey", "aws_access_key_id", "hf_tokens", "basic_auth", "secrets.a",
    ],
)  # fmt: skip
def test_a_name_tells_a_secret_in_any_joining(name):
    assert one(name, "open sesame").startswith("‹withheld:")


@pytest.mark.parametrize(
    "name",
    [
        "tokenizer", "key_dim", "num_keys", "author_token_count", "token_weighted_reconstruction_weight",
        "max_new_tokens", "monkey", "keyboard", "keypoints", "num_tokens", "pad_token", "primary_key",
        "sort_key", "tokens", "auth_type", "password_length", "secretary", "compass", "author_count",
        "hosting", "node_features", "user_prompt", "api_key_env_var", "forward_pass",
    ],
)  # fmt: skip
def test_a_name_that_only_sounds_alike_tells_nothing(name):
    assert one(name, "plain") == "plain"


@given(
    st.dictionaries(
        st.sampled_from(["password", "api_key", "token", "user", "host", "a", "mlflow.user"]) | st.text(),
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    )
)
def test_numbers_truth_values_and_null_are_never_withheld(settings):
    fields = flat(settings, [])
    assert list(Redactor(Rule()).config(fields).values()) == list(fields.values())


@given(st.text(max_size=200), st.text(max_size=2000))
def test_any_text_is_redacted_without_an_error(name, value):
    redactor = Redactor(Rule(b"k"))
    once = redactor.config({name: value})
    assert redactor.config({name: value}) == once


REPEATED = ("sk-", "a@", "://a:", "-----BEGIN PRIVATE KEY", "eyJ-", "password='", "/home/", "1", "[1, ")
REPEATED += ("--api-key ", "/a", "key=", "C:\\", "Basic a", " ", "Bearer ")


@pytest.mark.parametrize("piece", REPEATED)
def test_a_long_value_takes_no_longer_than_its_length(piece):
    started = time.process_time()
    one("token_path", piece * (100_000 // len(piece)))
    assert time.process_time() - started < 4


# -- what stands in its place --------------------------------------------------------------


def test_a_home_keeps_all_but_the_person():
    found = shown(
        {"a": "/home/anna/data/cifar", "b": r"C:\Users\Anna M\x", "c": "/root/x", "d": "/nfs/home/anna/x"}
    )
    assert found == {"a": "~/data/cifar", "b": r"~\x", "c": "~/x", "d": "/nfs/home/user 1/x"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            "a/events.out.tfevents.1700000000.gpu03.example.org.12.0",
            "a/events.out.tfevents.1700000000.host 1.12.0",
        ),
        ("events.out.tfevents.1700000000.gpu-03.12.0.v2", "events.out.tfevents.1700000000.host 1.12.0.v2"),
        ("events.out.tfevents.1700000000.gpu03", "events.out.tfevents.1700000000.host 1"),
        ("a/gpu03_1234.17000.pt.trace.json", "a/host 1_1234.17000.pt.trace.json"),
    ],
)
def test_the_host_leaves_the_names_of_logs(path, expected):
    (found,) = Redactor(Rule()).paths([path])
    assert Numbering()(found) == expected


def test_a_url_keeps_all_but_the_login():
    assert shown({"a": "postgresql://u:p@ss@db:5432/x"}) == {"a": "postgresql://withheld 1@db:5432/x"}


def test_a_person_who_is_named_leaves_other_paths_too():
    assert shown({"user": "anna", "a": "/scratch/anna/x", "b": "anna"}) == {
        "user": "user 1",
        "a": "/scratch/user 1/x",
        "b": "anna",
    }


@pytest.mark.parametrize("names", [("user", "owner"), ("owner", "user")])
def test_a_person_whose_name_begins_anothers_leaves_nothing_of_it(names):
    config = dict(zip(names, ("team/anna", "team"), strict=True)) | {"path": "/data/team/anna/x"}
    shown = Redactor(Rule(key=b"k")).config(config)
    assert "anna" not in " ".join(shown.values())
    assert shown["path"].endswith("/x")


def test_what_was_equal_stays_equal():
    hosts = ["gpu2", "gpu1", "gpu2"]
    redactors = [Redactor(Rule(b"k")) for _ in hosts]  # as batches that are read apart
    numbering = Numbering()
    found = [numbering(r.config({"host": h})["host"]) for r, h in zip(redactors, hosts, strict=True)]
    assert found == ["host 1", "host 2", "host 1"]


def test_a_digest_tells_nothing_without_its_key():
    marks = [Redactor(Rule()).config({"host": "gpu1"})["host"] for _ in range(2)]
    assert marks[0] != marks[1]


def test_names_of_sections_stay_apart():
    sections = {"/home/anna/a.py": (1.0, 1), "/home/bert/a.py": (2.0, 1)}
    found = Redactor(Rule())._renamed(sections)
    assert list(found.values()) == list(sections.values())
    assert not any("anna" in name or "bert" in name for name in found)


def test_show_lets_one_setting_through():
    assert shown({"host": "gpu1", "user": "anna"}, show=("host",)) == {"host": "gpu1", "user": "user 1"}
    assert shown({"slurm": {"host": "gpu1"}}, show=("host",)) == {"slurm.host": "gpu1"}


# -- collections ---------------------------------------------------------------------------


@pytest.fixture
def runs(tmp_path):
    """Return a folder of twelve runs with private settings, one of them failed."""
    for i in range(12):
        config = {**PRIVATE, "hostname": f"gpu{3 + i % 2:02}.example.org", "lr": 0.1 * (i % 3), "seed": i}
        write_run(tmp_path / "runs" / f"r{i}", record(f"r{i}", config=config, runtime_s=100.0 + i))
    write_run(tmp_path / "runs" / "bad", record("bad", status="failed", config=PRIVATE))
    return tmp_path / "runs"


def test_what_was_withheld_is_listed_by_name_and_count(runs):
    found = read_collection(runs)
    counts = found.notes["note"].value_counts()
    assert counts["withheld: `wandb_api_key`"] == 12
    assert {f"withheld: `{name}`" for name in PRIVATE} == set(counts.index)
    assert list(found.runs["config.hostname"]) == ["host 1", "host 2"] * 6
    assert set(found.runs["config.wandb_api_key"]) == {"withheld 1"}
    assert set(found.runs["config.data_dir"]) == {"~/data/cifar"}
    assert not any(leak in text_of(found) for leak in LEAKS)


def test_workers_agree_on_what_is_equal(runs, monkeypatch):
    alone = read_collection(runs)
    monkeypatch.setattr("traincost.reading.batch.BATCH", 3)
    together = read_collection(runs, workers=2)
    pd.testing.assert_frame_equal(alone.runs, together.runs)
    pd.testing.assert_frame_equal(alone.notes, together.notes)


def test_an_index_holds_no_secret_and_agrees(runs, tmp_path):
    import pyarrow.parquet as pq

    folder = tmp_path / "index"
    refreshing.refresh(runs, folder)
    for i in range(12, 15):
        write_run(runs / f"r{i}", record(f"r{i}", config={**PRIVATE, "seed": i}))
    assert refreshing.refresh(runs, folder) == {"read": 3, "kept": 13, "dropped": 0}
    files = [path for path in folder.iterdir() if path.suffix == ".parquet"]
    held = "".join(str(pq.read_table(path).to_pydict()) for path in files)
    held += (folder / index.POINTER).read_text()
    assert not any(leak in held for leak in LEAKS)
    assert "withheld:" in held
    for got, expected in zip(
        *((c.runs, c.excluded, c.notes) for c in map(read_collection, (folder, runs))), strict=True
    ):
        pd.testing.assert_frame_equal(got, expected)


def test_the_key_of_an_index_is_its_owners_alone(runs, tmp_path):
    folder = tmp_path / "index"
    refreshing.refresh(runs, folder)
    key = folder / index.KEY
    assert key.stat().st_mode & 0o077 == 0
    key.unlink()
    assert list(read_collection(folder).runs["config.hostname"])[:2] == ["host 1", "host 2"]
    assert refreshing.refresh(runs, folder)["read"] == 13  # old marks would not agree with new ones


def test_an_index_that_kept_secrets_is_made_again(runs, tmp_path):
    folder = tmp_path / "index"
    refreshing.refresh(runs, folder)
    pointer = folder / index.POINTER
    pointer.write_text(pointer.read_text().replace(index.FORMAT, index.OLD_FORMATS[0]))
    with pytest.raises(Exception, match="refresh it"):
        read_collection(folder)
    assert refreshing.refresh(runs, folder)["read"] == 13


def test_an_index_cannot_show_what_it_does_not_hold(runs, tmp_path):
    refreshing.refresh(runs, tmp_path / "index")
    with pytest.raises(ParameterError, match="needs the runs themselves"):
        read_collection(tmp_path / "index", show=["hostname"])
    assert "gpu03.example.org" in set(read_collection(runs, show=["hostname"]).runs["config.hostname"])


def test_a_secret_in_a_path_is_in_no_frame(tmp_path):
    for i in range(2):
        write_run(tmp_path / f"lr={i},api_key={KEY}", record(f"r{i}"))
    write_run(tmp_path / f"lr=9,api_key={KEY}" / "cut", "{")
    found = read_collection(tmp_path)
    assert KEY not in text_of(found)
    assert list(found.runs["path"]) == [f"lr={i},api_key=withheld 1/run.json" for i in range(2)]


def test_settings_of_a_path_pattern_are_withheld_alike(tmp_path):
    write_run(tmp_path / "anna" / "r", record())
    found = read_collection(tmp_path, path_pattern="{user}/*")
    assert list(found.runs["config.user"]) == ["user 1"]


# -- tools ---------------------------------------------------------------------------------


def in_wandb(folder):
    for i in range(3):
        write_files(folder / f"run-20231114_23132{i}-abc12{i}", config={**PRIVATE, "lr": i})


def in_wandb_log(folder):
    for i in range(3):
        name = f"run-abc12{i}"
        write_log(
            folder / name, run_record(f"abc12{i}", {**PRIVATE, "lr": i}), *RECORDS[1:], name=f"{name}.wandb"
        )


def in_table(folder):
    frame = pd.DataFrame(
        {"run_id": ["a", "b"], "runtime_s": [1.0, 2.0], **{k: [v, v] for k, v in PRIVATE.items()}}
    )
    folder.mkdir()
    frame.to_csv(folder / "runs.csv", index=False)
    return folder / "runs.csv"


def in_hydra(folder):
    import yaml

    for i in range(2):
        job = folder / f"{i}"
        (job / ".hydra").mkdir(parents=True)
        (job / ".hydra" / "config.yaml").write_text(yaml.safe_dump({**PRIVATE, "lr": i}))
        (job / ".hydra" / "overrides.yaml").write_text(yaml.safe_dump([f"+api_key={KEY}", f"lr={i}"]))
        (job / ".hydra" / "hydra.yaml").write_text(yaml.safe_dump({"hydra": {"job": {"name": "train"}}}))
        (job / "result.json").write_text(json.dumps({"runtime_s": 10 + i}))


def in_huggingface(folder):
    shutil.copytree(DATA / "huggingface", folder)
    for path in folder.rglob("all_results.json"):
        (path.parent / "config.json").write_text(json.dumps(PRIVATE))


def in_mlflow(folder):
    import sqlite3

    shutil.copytree(DATA / "mlflow", folder)
    for path in folder.rglob("mlflow.db"):
        with sqlite3.connect(path) as store:
            ids = [i for (i,) in store.execute("select run_uuid from runs")]
            rows = [(k, v, i) for i in ids for k, v in PRIVATE.items()]
            store.executemany("insert into params (key, value, run_uuid) values (?, ?, ?)", rows)
        store.close()


@pytest.mark.parametrize("made", [in_wandb, in_wandb_log, in_table, in_hydra, in_huggingface, in_mlflow])
def test_no_reader_lets_a_secret_through(made, tmp_path):
    root = made(tmp_path / "runs") or tmp_path / "runs"
    found = read_collection(root)
    assert len(found.runs)
    assert found.notes["note"].str.startswith("withheld: ").any()
    assert not any(leak in text_of(found) for leak in LEAKS)


def test_a_published_page_holds_no_secret(tmp_path):
    rng = np.random.default_rng(0)
    for i in range(12):
        config = {**PRIVATE, "hostname": f"gpu03-{i % 2}", "lr": [0.1, 0.2][i % 2], "width": [1, 2, 3][i % 3]}
        seconds = int(100 + 50 * (i % 2) + rng.integers(20))
        write_log(
            tmp_path / "runs" / f"offline-run-20231114_23132{i % 10}-abc{i:03}",
            run_record(f"abc{i:03}", config),
            summary_record(loss=0.5, _runtime=seconds),
            exit_record(runtime_s=seconds),
            name=f"run-abc{i:03}.wandb",
        )
    publish.page(tmp_path / "runs", tmp_path / "out", rows="hostname")
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    held = "".join(path.read_text(encoding="utf-8") for path in files)
    assert len(files) > 2
    assert "withheld: `wandb_api_key`" in held
    assert "host 1" in held
    assert not any(leak in held for leak in LEAKS)
    assert str(tmp_path) not in held


@pytest.mark.parametrize("login", ["key:swordfish", "key:sword/fish", "key:sword@fish", ":swordfish"])
def test_no_message_shows_the_login_of_a_url(login):
    with pytest.raises(ParameterError) as problem:
        remote.filesystem(f"s3://{login}@bucket/runs")
    assert "fish" not in str(problem.value)
    assert remote.shown(f"s3://{login}@bucket/runs?token=x") == "s3://bucket/runs"
