"""The gate is rarely wrong on noise, catches a slowdown, and says when it cannot tell."""

import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import ROOT, collection_of, grid, record, write_run

from traincost.__main__ import main
from traincost.analysis import comparison, gate, pairs
from traincost.analysis.gate import SLOWER, UNCLEAR, WITHIN
from traincost.errors import ParameterError
from traincost.results.gate import as_json, line

CONFIG = grid(task=list("abcd"), loss=list("xyz"), seed=[0, 1, 2])


PAIRED = pairs.pair(*[collection_of(CONFIG, np.ones(len(CONFIG)))] * 2)


CLAIMS = (comparison.SLOWER, comparison.FASTER)


def made(seconds):
    return SimpleNamespace(
        name="made", runs=pd.DataFrame({"runtime_s": seconds}), excluded=pd.DataFrame({"status": []})
    )


def checked(before_s, after_s, limit=0.0):
    return gate.check(made(before_s), made(after_s), PAIRED, limit)


def noise(rng, sigma=0.3):
    return np.exp(rng.normal(3.0, sigma, len(CONFIG)))


def test_the_outcome_is_where_the_bounds_of_the_change_lie():
    rng = np.random.default_rng(0)
    before = noise(rng)
    steady = before * np.exp(rng.normal(0, 0.01, len(before)))
    assert checked(before, steady, 0.05).outcome == WITHIN
    assert checked(before, steady * 1.2, 0.05).outcome == SLOWER
    assert checked(before, steady * 1.05, 0.05).outcome == UNCLEAR
    assert checked(before, steady * 0.5, 0.0).outcome == WITHIN
    assert checked(noise(rng), noise(rng), 0.05).outcome == UNCLEAR
    assert checked(before, before, 0.0).outcome == WITHIN
    assert checked(before, before * 1.05, 0.05).outcome == WITHIN
    assert checked(before, before * 1.0501, 0.05).outcome == SLOWER


def test_a_single_pair_cannot_tell():
    one, other = (collection_of(CONFIG.head(1), [seconds]) for seconds in (10.0, 20.0))
    found = gate.check(one, other, pairs.pair(one, other), 0.05)
    assert found.outcome == UNCLEAR
    assert found.status == 4
    assert "too few runs to tell whether the limit of 5.0 % is kept" in line(found)
    assert json.loads(as_json(found))["p"] is None
    assert json.loads(as_json(found))["reasons"] == [line(found).rpartition("; ")[2]]
    assert "a single pair has no scatter" in line(found)


def test_what_lacks_is_said_where_it_cannot_tell():
    rng = np.random.default_rng(3)
    unclear = checked(noise(rng), noise(rng), 0.05)
    assert unclear.outcome == UNCLEAR
    text = line(unclear)
    assert f"about {unclear.n_needed} configurations such as these would tell" in text
    assert f"scatters by {100 * np.expm1(unclear.spread):.1f} % between configurations" in text
    assert "degrees of freedom" not in text
    assert json.loads(as_json(unclear))["n_needed"] == unclear.n_needed
    assert checked(noise(rng), 2 * noise(rng)).outcome == SLOWER
    assert "reasons" in as_json(checked(noise(rng), 2 * noise(rng)))
    sides = [collection_of(CONFIG.iloc[[0, 9]], s) for s in ([10.0, 12.0], [10.0, 14.0])]
    few = gate.check(*sides, pairs.pair(*sides), 0.0)
    assert "1 degree of freedom, so that the bounds are wide" in line(few)


def test_as_many_configurations_as_are_asked_for_tell():
    rng, config = np.random.default_rng(4), grid(task=list("abcdef"))
    change = 0.08 + rng.normal(0, 0.1, 6)
    sides = [collection_of(config, np.ones(6)), collection_of(config, np.exp(change))]
    found = gate.check(*sides, pairs.pair(*sides), 0.0)
    assert found.outcome == UNCLEAR
    more = grid(task=range(found.n_needed + 2))
    again = np.resize(change, len(more))
    sides = [collection_of(more, np.ones(len(more))), collection_of(more, np.exp(again))]
    assert gate.check(*sides, pairs.pair(*sides), 0.0).outcome == SLOWER


@pytest.mark.slow
def test_noise_and_a_true_slowdown():
    """Counted over so many draws that the limits are not met by luck: they are 4.9 % and 80.5 %."""
    rng, n = np.random.default_rng(0), 4_000
    wrong = sum(checked(noise(rng), noise(rng)).status == 3 for _ in range(n))
    caught = sum(checked(noise(rng), 1.2 * noise(rng)).status == 3 for _ in range(n))
    assert wrong <= 0.05 * n
    assert caught >= 0.8 * n


@pytest.mark.slow
def test_the_gate_and_the_comparison_never_disagree():
    """Idle runs, and runs that take 3 % more: of these a test among all levels found 30 %."""
    rng, n = np.random.default_rng(2), 2_000
    agrees = {SLOWER: (comparison.SLOWER,), UNCLEAR: (comparison.APART,)}
    agrees[WITHIN] = (comparison.FASTER, comparison.NOT_SLOWER, comparison.SAME)
    said, levels, anything = {1.0: [], 1.028: []}, 0, 0
    for factor, found in said.items():
        for _ in range(n):
            sides = [made(noise(rng, 0.05)), made(factor * noise(rng, 0.05))]
            changes = comparison.runtime_change(*sides, PAIRED)
            whole, outcome = changes["verdict"].iloc[0], gate.check(*sides, PAIRED, 0.0).outcome
            assert whole in agrees[outcome]
            found.append(whole)
            levels += factor == 1.0 and changes["verdict"].iloc[1:].isin(CLAIMS).any()
            anything += factor == 1.0 and changes["verdict"].isin(CLAIMS).any()
    idle, slowed = (np.array(found) for found in said.values())
    assert (idle == comparison.SLOWER).mean() <= 0.06
    assert np.isin(idle, CLAIMS).mean() <= 0.085
    assert levels <= 0.065 * n
    assert anything <= 0.086 * n
    assert (slowed == comparison.SLOWER).mean() >= 0.70


@pytest.mark.slow
def test_configurations_that_change_unlike_are_not_taken_for_repetitions():
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(400):
        unlike = np.exp(rng.normal(0, 1.0, len(CONFIG) // 3)).repeat(3)
        wrong += checked(noise(rng, 0.1), unlike * noise(rng, 0.1)).status == 3
    # A test on runs would be wrong about one time in five here.
    assert wrong <= 0.08 * 400


@pytest.mark.parametrize(("text", "value"), [("5%", 0.05), ("0%", 0.0), (" 12.5 % ", 0.125)])
def test_a_limit_is_a_percentage(text, value):
    assert gate.limit(text) == value


@pytest.mark.parametrize("text", ["5", "0.05", "-1%", "%", "1e3%", "nan%", "5 %%", "٥%"])
def test_another_limit_is_refused(text):
    with pytest.raises(ParameterError, match="must be a percentage like 5%"):
        gate.limit(text)


HOSTILE = "a<b>&\"'|`$x$`\n## x\x1b[2J"


def written(tmp_path, factor, n=6, **config):
    for i in range(n):
        for side, by in (("before", 1.0), ("after", factor)):
            settings = {"task": f"t{i}", "which": f"{side}{HOSTILE}", **config}
            seconds = (60.0 + 10 * i) * by * (1 + 0.001 * (i % 3) * (by != 1))
            write_run(tmp_path / side / f"{i}", record(f"{i}", config=settings, runtime_s=seconds))
    return str(tmp_path / "before"), str(tmp_path / "after")


@pytest.mark.parametrize(("factor", "n", "status"), [(1.01, 6, 0), (1.5, 6, 3), (1.5, 1, 4)])
def test_the_command_ends_with_its_outcome_and_writes_files(tmp_path, capsys, factor, n, status):
    sides = written(tmp_path, factor, n)
    files = [str(tmp_path / name) for name in ("out.json", "out.xml", "out.md")]
    asked = [x for pair in zip(("--json", "--junit", "--markdown"), files, strict=True) for x in pair]
    assert main(["check", *sides, "--max-slowdown", "5%", *asked]) == status
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    data = json.loads((tmp_path / "out.json").read_text())
    assert data["exit_status"] == status
    assert data["n_pairs"] == n
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()[0]
    assert suite.get("tests") == "1"
    assert (suite.get("failures"), suite.get("skipped")) == (str(int(status == 3)), str(int(status == 4)))
    assert "which" in suite[0].find("system-out").text
    summary = (tmp_path / "out.md").read_text()
    assert "\n## x" not in summary
    assert "<b>" not in summary
    assert "\x1b" not in summary + out


def test_parameters_are_set_one_by_one(tmp_path, capsys):
    sides = written(tmp_path, 1.0, 6)
    assert main(["check", *sides, "-p", "where", "{task: [t0, t1, t2]}"]) == 0
    assert "3 pairs of runs in 3 configurations" in capsys.readouterr().out


def test_settings_of_one_side_are_said_to_be_averaged_over(tmp_path, capsys):
    for i in range(6):
        arch, depth = {"arch": f"a{i % 3}"}, {"\x1b[31mdepth": i // 3}
        write_run(tmp_path / "before" / f"{i}", record(f"{i}", config=arch | depth, runtime_s=60.0 + i))
        write_run(tmp_path / "after" / f"{i}", record(f"{i}", config=arch, runtime_s=61.0 + i))
    sides = [str(tmp_path / side) for side in ("before", "after")]
    files = [str(tmp_path / name) for name in ("out.json", "out.md")]
    main(["check", *sides, "--max-slowdown", "5%", "--json", files[0], "--markdown", files[1]])
    out = capsys.readouterr().out
    assert "averaged over 1 setting that only one side has: " in out
    assert "depth" in out
    assert json.loads((tmp_path / "out.json").read_text())["averaged"] == ["\x1b[31mdepth"]
    assert "| averaged over |" in (tmp_path / "out.md").read_text()
    assert "\x1b" not in out + (tmp_path / "out.md").read_text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--max-slowdown", "5"], "must be a percentage like 5%"),
        (["-f", "bad.yaml"], "'pair' is not a parameter; did you mean 'pair_by'"),
        (["-f", "renamed.yaml"], "`renamed`: task has no level 'q'"),
        (None, "holds no runs that traincost understands"),
    ],
)
def test_unusable_input_is_one_line_and_status_2(tmp_path, monkeypatch, capsys, change, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.yaml").write_text("pair: [task]")
    (tmp_path / "renamed.yaml").write_text("renamed: {task: {q: t0}}")
    before, after = written(tmp_path, 1.0, 2)
    if change is None:
        for i in range(2):
            (tmp_path / "after" / f"{i}" / "run.json").unlink()
    assert main(["check", before, after, *(change or [])]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.startswith("traincost: ")
    assert err.count("\n") == 1


# -- what was lost -------------------------------------------------------------------------


def half_lost(tmp_path, how, n=6):
    """Write two collections of one runtime, and lose the second half of the one after."""
    sides = written(tmp_path, 1.0, n)
    for i in range(n // 2, n):
        path = tmp_path / "after" / f"{i}" / "run.json"
        if how == "missing":
            path.unlink()
        elif how == "torn":
            path.write_bytes(path.read_bytes()[:40])
        else:
            path.write_text(path.read_text().replace("completed", how))
    return sides


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("failed", "3 runs did not complete (3 failed); 3 of 6 configurations lost"),
        ("running", "3 runs did not complete (3 running); 3 of 6 configurations lost"),
        ("torn", "3 runs did not complete (3 unreadable); 3 of 6 configurations lost"),
        ("missing", "runs were lost: 3 of 6 configurations lost (3 runs before, not one after)"),
    ],
)
def test_survivors_do_not_pass_for_the_whole(tmp_path, capsys, how, said):
    sides = half_lost(tmp_path, how)
    files = [str(tmp_path / name) for name in ("out.json", "out.xml", "out.md")]
    asked = [x for pair in zip(("--json", "--junit", "--markdown"), files, strict=True) for x in pair]
    assert main(["check", *sides, *asked]) == 5
    line = capsys.readouterr().out
    assert said in line
    assert "of the rest: within the limit of 5.0 %" in line
    data = json.loads((tmp_path / "out.json").read_text())
    assert (data["exit_status"], data["outcome"], data["of_pairs"]) == (5, "lost", "within")
    assert (data["n_lost"], data["n_before"], data["n_lost_runs"]) == (3, 6, 3)
    assert data["n_failed"] == sum(data["failed"].values()) == (0 if how == "missing" else 3)
    assert data["lost"] == ["task=t3", "task=t4", "task=t5"]
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()[0]
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "0")
    assert said.removeprefix("runs were lost: ") in suite[0].find("failure").get("message")
    assert float(suite.get("time")) == float(suite[0].get("time")) > 0
    summary = (tmp_path / "out.md").read_text()
    assert summary.startswith("### traincost check: runs were lost\n")
    assert "| configurations lost | 3 of 6 |" in summary
    assert "- lost: task=t3" in summary


def test_so_many_may_be_lost_as_are_allowed(tmp_path, capsys):
    sides = half_lost(tmp_path, "failed")
    assert main(["check", *sides, "--max-lost", "2"]) == 5
    assert "more runs were lost than the 2 allowed: 3 runs" in capsys.readouterr().out
    assert main(["check", *sides, "--max-lost", "3"]) == 0
    assert "3 of 6 configurations lost" in capsys.readouterr().out


def test_a_failed_repetition_is_lost_though_its_configuration_is_not(tmp_path, capsys):
    sides = written(tmp_path, 1.0)
    write_run(tmp_path / "after" / "again", record("again", status="failed", config={"task": "t0"}))
    assert main(["check", *sides]) == 5
    assert "runs were lost: 1 run did not complete (1 failed); of the rest" in capsys.readouterr().out


def test_copies_are_not_lost(tmp_path, capsys):
    sides = written(tmp_path, 1.0)
    write_run(tmp_path / "after" / "copy", (tmp_path / "after/0/run.json").read_bytes())
    assert main(["check", *sides]) == 0


def test_where_no_run_completed_all_is_lost(tmp_path, capsys):
    sides = half_lost(tmp_path, "failed")
    for i in range(3):
        write_run(tmp_path / "after" / f"{i}", record(f"{i}", status="failed"))
    out = tmp_path / "out.json"
    assert main(["check", *sides, "--json", str(out)]) == 5
    assert "6 of 6 configurations lost" in capsys.readouterr().out
    assert json.loads(out.read_text())["change"] is None
    assert main(["check", *sides, "--max-lost", "6"]) == 4
    assert "is kept: no run after completed" in capsys.readouterr().out


@pytest.mark.parametrize(("how", "status"), [("failed", 5), ("completed", 0)])
def test_the_documented_recipe_fails_on_lost_runs(tmp_path, how, status):
    half_lost(tmp_path, how)
    blocks = re.findall(r"```yaml\n(- name.*?)```", (ROOT / "docs/pages.md").read_text(), re.DOTALL)
    step = yaml.safe_load(blocks[0])[1]
    (tmp_path / "traincost").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m traincost "$@"\n')
    (tmp_path / "traincost").chmod(0o700)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    done = subprocess.run([step["shell"], "-e", "-c", step["run"]], cwd=tmp_path, env=environment)
    assert done.returncode == status
    assert (tmp_path / "summary.md").read_text().startswith("### traincost check: ")
