"""A page is light, and as light for ten thousand runs as for thirty-six."""

import copy
import gzip
import json
import resource
import subprocess
import sys

import numpy as np
import pytest
from conftest import DATA, write_run

from traincost.pages import publish

KIB = 1024
N_RUNS = 10_000


def gzipped(page):
    return len(gzip.compress(page.read_bytes(), 9, mtime=0))


@pytest.mark.parametrize("name", ["golden", "demo", "demo-card", "milestones"])
def test_a_page_weighs_little(published, name):
    assert published(name).stat().st_size <= (100 if name == "golden" else 250) * KIB
    assert gzipped(published(name)) <= 50 * KIB


def repeated(folder, n, failed_every=None):
    """Write n runs of the golden design: its 36 records over and over, times off by a few per cent."""
    records = [json.loads(path.read_text()) for path in sorted((DATA / "continuous-v2").glob("*/run.json"))]
    rng = np.random.default_rng(0)
    for i in range(n):
        run = copy.deepcopy(records[i % len(records)])
        factor = float(np.exp(rng.normal(0, 0.05)))
        run["run_id"] += f"-{i // len(records)}"
        run["runtime_s"] *= factor
        for section in run["sections"].values():
            section["seconds"] *= factor
        if failed_every and i % failed_every == 0:
            run["status"] = "failed"
        write_run(folder / run["run_id"], run)
    return publish.page(
        folder, folder.with_name("out"), **publish.read_parameters(DATA / "continuous-v2.params.yaml")
    )


@pytest.mark.slow
def test_ten_thousand_runs_weigh_as_much_as_the_golden_ones(published, tmp_path):
    few, many = published("golden"), repeated(tmp_path / "continuous-v2", N_RUNS)
    assert many.stat().st_size <= 1.15 * few.stat().st_size
    assert gzipped(many) <= 1.15 * gzipped(few)
    report = json.loads(many.with_suffix(".json").read_text(encoding="utf-8"))
    assert report["n_runs"] == N_RUNS
    assert len(report["runs"]) == len(report["tables"]["runs"]["rows"]) == 1_000
    assert "<var>980</var> more rows" in many.read_text(encoding="utf-8")


@pytest.mark.slow
def test_thousands_of_runs_left_out_are_cut_with_a_count(tmp_path):
    page = repeated(tmp_path / "continuous-v2", N_RUNS, failed_every=4)
    assert page.stat().st_size <= 250 * KIB
    assert gzipped(page) <= 50 * KIB
    report = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    assert len(report["tables"]["excluded"]["rows"]) == N_RUNS // 4
    assert "<var>2,480</var> more rows" in page.read_text(encoding="utf-8")


def cpu_s_of_a_card(folder, n):
    """Write a list of n systems, build its card, and return the CPU time that all its processes took."""
    rng = np.random.default_rng(0)
    header = "Model,Publication date,Domain,Parameters,Training dataset size (total),Training hardware,"
    header += "Hardware quantity,Training time (hours),Hardware utilization (MFU),Training compute (FLOP)\n"
    rows = []
    for i in range(n):
        size, tokens, hours = 10 ** rng.uniform(7, 12), 10 ** rng.uniform(9, 13), rng.integers(1, 5_000)
        stated = f"{6 * size * tokens:.2g}" if i % 3 == 0 else ""
        used = "0.4" if i % 5 == 0 else ""
        date = f"{2012 + i % 13}-{1 + i % 12:02}-{1 + i % 28:02}"
        rows.append(f"m{i},{date},Language,{size:.3g},{tokens:.3g},NVIDIA A100,64,{hours},{used},{stated}\n")
    path = folder / f"systems-{n}.csv"
    path.write_text(header + "".join(rows))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "traincost", "estimate", str(path), "-o", str(folder / f"out-{n}")]
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.slow
def test_a_card_of_ten_thousand_costs_few_small_ones(tmp_path):
    few_s, many_s = cpu_s_of_a_card(tmp_path, 50), cpu_s_of_a_card(tmp_path, N_RUNS)
    assert many_s <= 4.5 * few_s, (many_s, few_s)
    assert (tmp_path / f"out-{N_RUNS}/estimation.html").stat().st_size <= 400 * KIB
    report = json.loads((tmp_path / f"out-{N_RUNS}/estimation.json").read_text(encoding="utf-8"))
    assert len(report["tables"]["estimates"]["rows"]) == N_RUNS
