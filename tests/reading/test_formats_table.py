"""A table of runs: columns by name, units, text that stays text, and a second table of sections."""

import contextlib
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import DATA, REFERENCE
from hypothesis import given, settings
from hypothesis import strategies as st

from traincost.analysis import effects, fields
from traincost.errors import NothingToReport, ParameterError
from traincost.pages import publish
from traincost.reading.collection import read_collection
from traincost.reading.formats import table_files
from traincost.reading.formats.table import Table

SELECTIVE = REFERENCE / "formats" / "hf_selectiveft" / "all_runs_flat.csv"
SELECTIVE_PARAMETERS = {
    "runtime_column": ["forward_time", "backward_time"],
    "runtime_unit": "min",
    "factor_columns": ["dataset", "method", "layers", "batch_size", "lr"],
    "cost_columns": {"peak_mem": "MB", "grad_mem": "MB"},
    "score_columns": ["eval_loss"],
    "path_column": "path",
}
# `seed_40` is a level and not a number, so that a seed's effect is that of twenty levels.
SELECTIVE_PATTERN = "meta-llama/{model}/{seed}/…/{task}/lr_*"
SELECTIVE_ETA_SQUARED = {"method": 0.1957, "dataset": 0.3722, "task": 0.3744, "seed": 0.1309}


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_our_own_names_need_no_parameters(tmp_path):
    path = write(
        tmp_path / "runs.csv",
        "run_id,runtime_s,status,started_at,lr,cost_memory_mib,score.f1\n"
        "a,10,completed,2026-01-01,1e-3,512,0.5\nb,20,failed,2026-01-02,0.001,256,\n",
    )
    found = read_collection(path)
    assert found.name == "runs"
    assert found.runs.loc[
        0, ["run_id", "runtime_s", "config.lr", "cost_memory_mib", "score.f1"]
    ].tolist() == [
        "a",
        10.0,
        0.001,
        512.0,
        0.5,
    ]
    assert found.excluded[["run_id", "status", "runtime_s", "reason"]].values.tolist() == [
        ["b", "failed", 20.0, "status is failed"]
    ]


def test_a_frame_of_runs_reads_back(tmp_path, golden):
    columns = [name for name in golden.runs if not golden.runs[name].isna().all()]
    for name, writer in (("runs.csv", "to_csv"), ("runs.parquet", "to_parquet")):
        getattr(golden.runs[columns], writer)(tmp_path / name, index=False)
        again = read_collection(tmp_path / name)
        assert not len(again.excluded)
        assert sorted(again.factors) == sorted(golden.factors)
        np.testing.assert_allclose(again.runs["runtime_s"], golden.runs["runtime_s"])
        for column in columns:
            assert again.runs[column].astype(str).nunique() == golden.runs[column].astype(str).nunique()


def test_a_runs_hash_that_looks_like_a_number_stays_text(tmp_path):
    path = write(
        tmp_path / "t.csv",
        "runtime_s,commit,zeros,digits,lr,na\n"
        "1,1e10,007,12345678901234567890,1e-3,NA\n2,abc,07,12345678901234567891,0.001,nan\n3,1e10,7,1,.5,\n",
    )
    runs = read_collection(path).runs
    assert runs["config.commit"].tolist() == ["1e10", "abc", "1e10"]
    assert runs["config.zeros"].tolist() == ["007", "07", "7"]
    assert runs["config.digits"].tolist() == ["12345678901234567890", "12345678901234567891", "1"]
    assert runs["config.na"].tolist()[:2] == ["NA", "nan"]
    assert pd.isna(runs["config.na"][2])


@pytest.mark.parametrize(
    ("unit", "seconds"), [("s", 1), ("ms", 1e-3), ("us", 1e-6), ("min", 60), ("h", 3600)]
)
def test_the_unit_of_the_runtime_is_as_named(tmp_path, unit, seconds):
    path = write(tmp_path / "t.csv", "a,b,x\n1,2,u\n3,0,v\n")
    found = read_collection(path, table=Table(runtime_column=["a", "b"], runtime_unit=unit))
    assert found.runs["runtime_s"].tolist() == pytest.approx([3 * seconds, 3 * seconds])
    assert found.factors == ["x"]


@pytest.mark.parametrize(
    ("column", "unit", "ours", "value"),
    [
        ("peak_mem", "MB", "cost_peak_mem_mib", 1e6 / 2**20),
        ("peak_mem", "MiB", "cost_peak_mem_mib", 1.0),
        ("peak_mem", "GiB", "cost_peak_mem_mib", 1024.0),
        ("peak_mem", "GB", "cost_peak_mem_mib", 1e9 / 2**20),
        ("peak_mem", "kB", "cost_peak_mem_mib", 1e3 / 2**20),
        ("peak_mem", "KiB", "cost_peak_mem_mib", 2**-10),
        ("peak_mem", "B", "cost_peak_mem_mib", 2**-20),
        ("memory_gb", "GB", "cost_memory_mib", 1e9 / 2**20),
        ("setup_min", "min", "cost_setup_s", 60.0),
        ("steps", "count", "cost_steps_count", 1.0),
        ("energy", "", "cost_energy", 1.0),
        ("cost_memory_mib", "MiB", "cost_memory_mib", 1.0),
    ],
)
def test_cost_columns_are_converted_to_our_units(tmp_path, column, unit, ours, value):
    path = write(tmp_path / "t.csv", f"runtime_s,{column}\n1,1\n2,-1\n")
    found = read_collection(path, table=Table(cost_columns={column: unit}))
    assert found.runs[ours].tolist()[0] == pytest.approx(value)
    assert np.isnan(found.runs[ours][1])
    assert "no usable number (-1.0)" in found.notes["note"][0]


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("", "runtime_s is missing or null"),
        ("nan", "runtime_s is not finite (nan)"),
        ("inf", "runtime_s is not finite (inf)"),
        ("-3", "runtime_s must be above zero, got -3"),
        ("0", "runtime_s must be above zero, got 0"),
        ("1 x", "runtime_s must be a number, got '1 x'"),
        ("1_000", "runtime_s must be a number, got '1_000'"),
        ("1e999", "runtime_s is not finite (inf)"),
    ],
)
def test_a_runtime_that_cannot_be_used_leaves_the_row_out(tmp_path, cell, reason):
    found = read_collection(write(tmp_path / "t.csv", f"runtime_s,lr\n{cell},1\n5,2\n"))
    assert found.runs["runtime_s"].tolist() == [5.0]
    assert found.excluded[["path", "reason"]].values.tolist() == [["row 1", reason]]


def test_copies_repeated_ids_and_ragged_rows_are_left_out(tmp_path):
    path = write(tmp_path / "t.csv", "run_id,runtime_s,lr\na,1,2\na,1,2\na,3,2\nb,4\nc,4,5,6\nd,2,1\n\n")
    found = read_collection(path)
    assert found.runs["run_id"].tolist() == ["a", "d"]
    assert found.excluded[["status", "reason"]].values.tolist() == [
        ["duplicate", "has the run_id of row 1"],
        ["duplicate", "has the run_id of row 1"],
        ["unreadable", "has 2 cells under 3 columns"],
        ["unreadable", "has 4 cells under 3 columns"],
    ]


def test_equal_rows_of_another_column_are_no_copies(tmp_path):
    found = read_collection(write(tmp_path / "t.csv", "runtime_s,lr,loss\n1,2,3\n1,2,4\n"))
    assert len(found.runs) == 2


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("FINISHED", ""),
        ("ok", ""),
        ("crashed", "failed"),
        ("killed", "killed"),
        ("running", "running"),
        ("?", "failed"),
    ],
)
def test_words_for_a_status(tmp_path, word, status):
    path = write(tmp_path / "t.csv", f"runtime_s,state\n1,{word}\n2,done\n")
    found = read_collection(path, table=Table(status_column="state"))
    assert found.excluded["status"].tolist() == ([status] if status else [])


def test_json_lines_and_parquet_have_the_same_rows_as_csv(tmp_path):
    rows = [
        {"runtime_s": 1.5, "optim": {"lr": 0.1}, "task": "a"},
        {"runtime_s": 2, "optim": {"lr": 1e-3}, "task": "b"},
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\nnot json\n[1]\n")
    pd.DataFrame(rows).to_parquet(tmp_path / "t.parquet")
    write(tmp_path / "t.csv", "runtime_s,optim.lr,task\n1.5,0.1,a\n2,0.001,b\n")
    for ending in ("jsonl", "parquet", "csv"):
        found = read_collection(tmp_path / f"t.{ending}")
        assert found.runs["config.optim.lr"].tolist() == [0.1, 0.001]
        assert found.runs["runtime_s"].tolist() == [1.5, 2.0]
        assert found.factors == ["optim.lr", "task"]
    reasons = read_collection(tmp_path / "t.jsonl").excluded["reason"].tolist()
    assert reasons[0].startswith("is not whole JSON")
    assert reasons[1] == "is a JSON list, not an object"


def test_settings_from_a_column_of_paths(tmp_path):
    path = write(
        tmp_path / "t.csv", "runtime_s,where\n1,/data/x/lr_0.1/seed_1\n2,/data/x/lr_0.2/seed_2/log.txt\n"
    )
    found = read_collection(path, table=Table(path_column="where"), path_pattern="lr_{lr}/seed_{seed}")
    assert found.runs["config.lr"].tolist() == [0.1, 0.2]
    assert found.runs["config.seed"].tolist() == [1, 2]
    assert found.runs["path"].tolist()[0] == "data/x/lr_0.1/seed_1"


def test_a_second_table_gives_the_sections(tmp_path):
    path = write(tmp_path / "t.csv", "run_id,runtime_s\na,100\nb,200\n")
    sections = write(
        tmp_path / "s.csv",
        "job,part,minutes,n\na,epoch,1,2\na,epoch/train,0.5,4\na,epoch,0.25,1\nb,epoch,0,1\nb,x,-1,1\nc,epoch,1,1\n",
    )
    columns = {"run": "job", "section": "part", "seconds": "minutes", "count": "n"}
    table = Table(sections_table=str(sections), sections_columns=columns, sections_unit="min")
    found = read_collection(path, table=table)
    assert found.sections[["run", "section", "seconds", "count"]].values.tolist() == [
        [0, "epoch", 75.0, 3.0],
        [0, "epoch/train", 30.0, 4.0],
        [1, "epoch", 0.0, 1.0],
    ]
    notes = " ".join(found.notes["note"])
    assert "1 rows of the sections are of runs that the table does not have, the first 'c'" in notes
    assert "section 'x': minutes must be above zero, got -1: left out" in notes


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"runtime_column": "time"}, "`runtime_column` names 'time'; the table has run, secs, lr"),
        ({}, "`runtime_column` must name the column of the run times, and .*; there are run, secs, lr"),
        (
            {"runtime_column": "secs", "factor_columns": ["x"]},
            "`factor_columns` names 'x'; the table has run",
        ),
        ({"runtime_column": "secs", "cost_columns": {"x": "MB"}}, "`cost_columns` names 'x'"),
        ({"runtime_column": "secs", "score_columns": ["x"]}, "`score_columns` names 'x'"),
        ({"runtime_column": "secs", "run_column": "x"}, "`run_column` names 'x'"),
        ({"runtime_column": "secs", "status_column": "x"}, "`status_column` names 'x'"),
        ({"runtime_column": "secs", "path_column": "x"}, "`path_column` names 'x'"),
        ({"runtime_column": "secs", "sections_table": "absent.csv"}, "`sections_table` cannot be opened"),
    ],
)
def test_an_absent_column_is_refused_with_those_there_are(tmp_path, table, message):
    path = write(tmp_path / "t.csv", "run,secs,lr\na,1,2\n")
    with pytest.raises(ParameterError, match=message):
        read_collection(path, table=Table(**table))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"runtime_unit": "sec"}, "`runtime_unit` must be one of s, ms, us, min, h; got 'sec'"),
        ({"sections_unit": "MB"}, "`sections_unit` must be one of s"),
        (
            {"cost_columns": {"m": "mb"}},
            "`cost_columns`: 'm' must be one of s, ms, us, min, h, B, kB, MB, GB, KiB",
        ),
        ({"cost_columns": {"m": ["MB"]}}, "`cost_columns`: 'm' must be one of"),
        ({"sections_columns": {"time": "t"}}, "a key of `sections_columns` must be one of run, section"),
    ],
)
def test_a_unit_that_is_not_known_is_refused(table, message):
    with pytest.raises(ParameterError, match=message):
        Table(**table)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,a\n1,2\n", "has two columns 'a'"),
        ("t.csv", b"a,b\n1,\xff\n", "is not UTF-8"),
        ("t.csv", b'a,b\n"1,2\n', "is no whole CSV"),
        ("t.parquet", b"PAR1PAR1", "is no Parquet that can be read"),
        ("t.parquet", b"", "is no Parquet that can be read"),
        ("t.jsonl", b"\n", "is empty"),
        ("t.txt", b"a", "is a file; it must be the directory of the runs, or a table of them"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(NothingToReport, match=message):
        read_collection(tmp_path / name)


def test_limits_are_named(tmp_path, monkeypatch):
    path = write(tmp_path / "t.csv", "runtime_s,b\n" + "1,2\n" * 5)
    monkeypatch.setattr(table_files, "MAX_ROWS", 4)
    with pytest.raises(NothingToReport, match="holds more than 4 rows"):
        read_collection(path)
    monkeypatch.undo()
    monkeypatch.setattr(table_files, "MAX_CELLS", 9)
    with pytest.raises(NothingToReport, match="holds more than 9 cells"):
        read_collection(path)
    pd.DataFrame({"runtime_s": [1.0] * 10}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(NothingToReport, match="holds more than 9 cells"):
        read_collection(tmp_path / "t.parquet")


def test_column_parameters_are_refused_for_a_directory():
    with pytest.raises(
        ParameterError, match="`runtime_column` is for a table of runs; `runs_dir` is a directory"
    ):
        read_collection(DATA / "continuous-v2", table=Table(runtime_column="x"))
    assert len(read_collection(DATA / "continuous-v2", table=Table()).runs) == 36


def test_a_semicolon_or_a_tab_may_part_the_cells(tmp_path):
    for separator in ";\t":
        path = write(tmp_path / "t.csv", "\ufeffruntime_s,lr\r\n1,2\r\n3,4\r\n".replace(",", separator))
        assert read_collection(path).runs["runtime_s"].tolist() == [1, 3]


@given(st.binary(max_size=60))
@settings(max_examples=50, deadline=None)
def test_any_bytes_are_read_or_refused(content):
    with tempfile.TemporaryDirectory() as folder:
        for ending in table_files.ENDINGS:
            for start in (b"", b"runtime_s,lr\n", b'{"runtime_s": 1}\n'):
                path = Path(folder, f"t{ending}")
                path.write_bytes(start + content)
                with contextlib.suppress(NothingToReport, ParameterError):
                    read_collection(path)


# -- known answers ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def selective():
    """Real runs whose settings stand in columns and in paths, with times in minutes."""
    return read_collection(SELECTIVE, table=Table(**SELECTIVE_PARAMETERS), path_pattern=SELECTIVE_PATTERN)


def eta_squared(runtime, by):
    """Return SS between over SS total, in plain pandas."""
    means = runtime.groupby(by, dropna=False).transform("mean")
    return ((means - runtime.mean()) ** 2).sum() / ((runtime - runtime.mean()) ** 2).sum()


@pytest.mark.reference
def test_the_runs_of_selectiveft_give_the_known_effects(selective):
    assert len(selective.runs) == 344
    sheet = pd.read_csv(SELECTIVE)
    minutes = sheet["forward_time"] + sheet["backward_time"]
    np.testing.assert_allclose(selective.runs["runtime_s"], minutes * 60)
    described = fields.describe(selective.runs, replicates=())
    found = effects.effect_sizes(selective.runs["runtime_s"], described).set_index("factor")["eta_squared"]
    for factor, value in SELECTIVE_ETA_SQUARED.items():
        assert found[factor] == pytest.approx(value, abs=5e-5)
    assert found["method"] == pytest.approx(eta_squared(minutes, sheet["method"]))


@pytest.mark.reference
@pytest.mark.slow
def test_a_page_of_selectiveft_says_what_clears_chance(tmp_path):
    parameters = {**SELECTIVE_PARAMETERS, "path_pattern": SELECTIVE_PATTERN, "replicates": []}
    page = publish.page(SELECTIVE, tmp_path, **parameters)
    report = json.loads((tmp_path / "profiling.json").read_text())
    assert report["parameters"]["runs_dir"] == "all_runs_flat"
    assert report["n_runs"] == 344
    rows = report["tables"]["effects"]["rows"]
    found = {row["factor"]: row["eta_squared"] for row in rows}
    assert {name: round(found[name], 4) for name in SELECTIVE_ETA_SQUARED} == SELECTIVE_ETA_SQUARED
    verdicts = {row["factor"]: row["verdict"] for row in rows}
    for factor in ("task", "method", "model"):
        assert verdicts[factor] == "depends on it"
    assert verdicts["dataset"] == "too few runs to tell"  # seven tasks fix it, of six levels
    assert verdicts["seed"] == "replicate: shown, not tested"
    for factor in ("layers", "lr"):
        assert verdicts[factor] == "cannot be told from chance"
    assert verdicts["batch_size"].startswith("goes with it")
    assert str(SELECTIVE.parent) not in page.read_text()


@pytest.mark.reference
def test_memory_below_zero_is_no_cost(selective):
    sheet = pd.read_csv(SELECTIVE)
    memory = selective.runs["cost_grad_mem_mib"].to_numpy()
    assert np.isnan(memory[sheet["grad_mem"] < 0]).all()
    kept = sheet["grad_mem"].to_numpy() >= 0
    np.testing.assert_allclose(memory[kept], sheet["grad_mem"][kept] * 1e6 / 2**20)


def test_a_separator_around_a_number_is_no_part_of_it(tmp_path):
    """The control characters U+001C to U+001F, which Python strips as white space."""
    path = write(tmp_path / "runs.csv", "run_id,runtime_s,lr\na,\x1c5,1\nb,7\x1f,2\n")
    write(tmp_path / "sections.csv", "run,section,seconds,count\na,epoch,\x1c4,2\n")
    found = read_collection(path, table=Table(sections_table=str(tmp_path / "sections.csv")))
    assert list(found.runs["runtime_s"]) == [5, 7]
    assert list(found.sections["seconds"]) == [4]


# -- tables as people have them ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "runtimes"),
    [
        ("runtime_s;lr\n3,5;0,1\n4,25;0,2\n", [3.5, 4.25]),
        ('runtime_s,lr\n"1,886.8",1\n559.5,2\n', [1886.8, 559.5]),
        ("runtime_s,lr\n1'886.8,1\n559.5,2\n", [1886.8, 559.5]),
        ("sep=|\nruntime_s|lr\n1|2\n", [1.0]),
        (",runtime_s,Unnamed: 0.1\n0,3,0\n1,4,1\n", [3.0, 4.0]),
        ("start,end,lr\n2026-01-01 00:00:00,2026-01-01 00:01:00,1\n", [60.0]),
        ("elapsed,lr\n00:01:00,1\n1 day 00:00:01,2\n", [60.0, 86401.0]),
    ],
)
def test_numbers_and_times_in_many_spellings(tmp_path, text, runtimes):
    found = read_collection(write(tmp_path / "t.csv", text))
    assert found.runs["runtime_s"].tolist() == runtimes


def test_a_runtime_of_two_conventions_is_refused(tmp_path):
    path = write(tmp_path / "t.csv", 'runtime_s,lr\n"1,88",1\n559.5,2\n')
    with pytest.raises(ParameterError, match="written in more than one way, such as '1,88' beside"):
        read_collection(path)


def test_what_follows_from_the_runtime_or_counts_is_no_setting(tmp_path):
    rows = [(100 + 17 * i + i % 3, i, 5_940_815 + 3 * i, 2 ** (i % 3)) for i in range(9)]
    lines = [
        f"{t},{t / 3600},{i},{job},{n},2026-01-01T0{i}:00:00,{'done' if i else 'failed'}"
        for t, i, job, n in rows
    ]
    path = write(
        tmp_path / "t.csv", "runtime_s,hours,row,job_id,width,begun,outcome\n" + "\n".join(lines) + "\n"
    )
    found = read_collection(path)
    assert found.factors == ["width"]
    assert found.excluded["status"].tolist() == ["failed"]


def test_equal_rows_without_an_id_are_repeats(tmp_path):
    found = read_collection(write(tmp_path / "t.csv", "runtime_s,lr\n1.1,2\n1.1,2\n1.1,2\n"))
    assert (len(found.runs), len(found.excluded)) == (3, 0)


SACCT = (
    "JobID|JobName|AllocTRES|NodeList|Start|Elapsed|State\n"
    "1|fit|cpu=2,gres/gpu:a100=4,gres/gpu=4|n1|2026-01-01T00:00:00|1-00:00:01|COMPLETED\n"
    "1.batch|batch|cpu=2|n1|2026-01-01T00:00:00|1-00:00:01|COMPLETED\n"
    "2|fit|cpu=2|n2|Unknown|00:00:00|PENDING\n"
    "3_1|fit|cpu=2|n2|2026-01-01T00:00:00|00:10:00|CANCELLED by 1000\n"
)
FIXED = (
    "JobID           JobName    Elapsed      State \n"
    "------------ ---------- ---------- ---------- \n"
    "1                   fit   00:01:00  COMPLETED \n"
    "1.batch           batch   00:01:00  COMPLETED \n"
)


def test_slurms_accounting_by_bars_and_by_width(tmp_path):
    found = read_collection(write(tmp_path / "sacct.txt", SACCT))
    assert found.runs[["run_id", "runtime_s", "devices", "device", "host"]].values.tolist() == [
        ["1", 86401.0, 4.0, "a100", "host 1"]
    ]
    assert found.excluded["status"].tolist() == ["queued", "killed"]
    fixed = read_collection(write(tmp_path / "fixed.txt", FIXED))
    assert fixed.runs[["run_id", "runtime_s"]].values.tolist() == [["1", 60.0]]


def test_a_search_of_mlflow_and_trials_of_optuna_as_tables(tmp_path):
    path = write(
        tmp_path / "runs.csv",
        "run_id,experiment_id,status,start_time,end_time,params.lr,metrics.acc,tags.mlflow.user\n"
        "a,0,FINISHED,2026-01-01 00:00:00+00:00,2026-01-01 00:01:00+00:00,0.1,0.5,anna\n",
    )
    found = read_collection(path)
    assert found.runs[["runtime_s", "config.lr", "score.acc"]].values.tolist() == [[60.0, 0.1, 0.5]]
    assert "anna" not in found.runs.to_csv()
    path = write(
        tmp_path / "trials.csv",
        "number,value,duration,params_lr,state\n0,0.5,0 days 00:01:00,0.1,COMPLETE\n"
        "1,,0 days 00:00:09,0.2,PRUNED\n",
    )
    found = read_collection(path)
    assert found.runs[["runtime_s", "config.lr", "score.value"]].values.tolist() == [[60.0, 0.1, 0.5]]
    assert found.excluded[["status", "runtime_s"]].values.tolist() == [["pruned", 9.0]]


def test_one_spelling_for_truth_and_for_numbers_of_32_bits(tmp_path):
    rows = "1,true,0.10000000149011612\n2,True,0.1\n3,FALSE,0.1\n4,false,0.2\n"
    found = read_collection(write(tmp_path / "t.csv", "runtime_s,amp,lr\n" + rows))
    assert found.runs["config.amp"].tolist() == ["True", "True", "False", "False"]
    assert found.runs["config.lr"].tolist() == [0.1, 0.1, 0.1, 0.2]
