"""What a command is given that nobody thinks of: odd names, locales, pipes, limits and planted modules."""

import os
import resource
import signal
import subprocess
import sys
import time

import psutil
import pytest
from conftest import ROOT, record, write_run

from traincost.__main__ import main
from traincost.pages import plain_yaml, publish, site
from traincost.reading.collection import read_collection
from traincost.results import checks

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "lib")}
PLAIN = {**ENVIRONMENT, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
COMMAND = [sys.executable, "-m", "traincost"]


def small(root, n=4):
    for i in range(n):
        config = {"task": "ab"[i % 2], "seed": i // 2, "amp": "on" if i % 2 else "off"}
        write_run(root / f"lr_{i % 2}" / f"r{i}", record(f"r{i}", config=config, runtime_s=60.0 + i))
    return root


def ran(*arguments, **more):
    more = {"env": ENVIRONMENT, "capture_output": True, **more}
    return subprocess.run([*COMMAND, *map(os.fsencode, arguments)], **more)


# -- YAML ----------------------------------------------------------------------------------


def test_yaml_has_the_numbers_and_words_that_were_written():
    text = "[1e-3, 1.5E+3, 1_000, 0, 0.5, .inf, on, no, 01000, 1:30, 0x10, 2026-01-01, '1', true, ~]"
    expected = [1e-3, 1500.0, 1000, 0, 0.5, float("inf"), "on", "no", "01000", "1:30", "0x10", "2026-01-01"]
    assert plain_yaml.read(text) == [*expected, "1", True, None]


@pytest.mark.parametrize(
    "text", ["rows: a\nrows: b", "levels: {lr: [1], lr: [2]}", "a: " + "[" * 2_000, "{a: 1, a: 1}"]
)
def test_yaml_that_says_two_things_is_refused_in_one_line(tmp_path, capsys, text):
    (tmp_path / "p.yaml").write_text(text)
    assert main(["page", str(small(tmp_path / "runs")), "-f", str(tmp_path / "p.yaml")]) == 2
    said = capsys.readouterr().err
    assert "twice" in said or "too deep" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("levels", [("off", "on"), (False, True)])
def test_a_plan_counts_a_level_once_however_it_is_written(tmp_path, capsys, levels):
    for i in range(6):
        config = {"amp": levels[i % 2], "lr": 0.001, "seed": i // 2}
        write_run(tmp_path / "runs" / f"{i}", record(f"{i}", config=config, runtime_s=60.0 + i))
    said = []
    for asked in ("[on]", "[on, on]"):
        (tmp_path / "p.yaml").write_text(f"levels: {{amp: {asked}}}")
        assert main(["plan", str(tmp_path / "runs"), "-f", str(tmp_path / "p.yaml")]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]


@pytest.mark.slow
def test_parameters_may_come_through_a_pipe(tmp_path):
    runs = small(tmp_path / "runs")
    done = subprocess.run(
        ["bash", "-c", '"$0" -m traincost plan "$1" -f <(echo "{seeds: 0}")', sys.executable, runs],
        env=ENVIRONMENT,
        capture_output=True,
    )
    assert b"`seeds` must be above zero, got 0" in done.stderr


@pytest.mark.slow
def test_a_path_in_a_parameter_file_may_lie_beside_it(tmp_path, monkeypatch, capsys):
    (tmp_path / "params").mkdir()
    (tmp_path / "params" / "claims.yaml").write_text("claims: 3")
    (tmp_path / "params" / "p.yaml").write_text("claims: claims.yaml")
    monkeypatch.chdir(tmp_path)
    assert main(["estimate", str(small(tmp_path / "runs")), "-f", "params/p.yaml"]) == 2
    assert "claims.yaml" in (said := capsys.readouterr().err)
    assert "does not exist" not in said


# -- patterns, links, folders --------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("rl_{lr}", "matches the path of no run"),
        ("lr_{lr}/{", "has a brace without its other"),
        ("lr_{lr}}", "has a brace without its other"),
        ("lr_", "must hold fields in braces"),
    ],
)
def test_a_pattern_that_is_malformed_or_matches_nothing_is_refused(tmp_path, capsys, pattern, said):
    assert main(["formats", str(small(tmp_path / "runs")), "--path-pattern", pattern]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("address", ["//host/x", " //host", "\\\\host\\x", "/\\host"])
def test_a_link_to_a_host_without_a_scheme_is_refused(address):
    with pytest.raises(ValueError, match="names a host"):
        checks.check(links={"text": address})
    checks.check(links={"text": "../other/x.html", "more": "https://example.org//x"})


def test_the_folder_of_one_report_differs_from_that_of_all(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "profiling.json").write_text('{"format": "traincost/report/1"}')
    with pytest.raises(ValueError, match="is the folder of a report; give the one that holds it"):
        site.build(tmp_path / "one")
    assert site.build(tmp_path)


# -- names, locales ------------------------------------------------------------------------


@pytest.mark.slow
def test_names_not_utf8_make_a_page_at_every_level(tmp_path):
    odd = os.path.join(os.fsencode(tmp_path), b"r\xffn")
    small(tmp_path / "runs")
    os.rename(tmp_path / "runs" / "lr_0", os.path.join(os.fsencode(tmp_path), b"runs", b"l\xfer"))
    os.rename(tmp_path / "runs", odd)
    out = os.path.join(os.fsencode(tmp_path), b"o\xff")
    for environment in (ENVIRONMENT, PLAIN):
        for arguments in ((b"page", odd, b"-o", out), (b"index", odd, b"-o", out + b"i")):
            done = ran(*arguments, env=environment)
            assert (done.returncode, done.stderr.count(b"Error")) == (0, 0), done.stderr
    assert os.path.isfile(os.path.join(out, b"profiling.html"))
    assert len(read_collection(os.fsdecode(out + b"i")).runs) == 4


@pytest.mark.parametrize("environment", [ENVIRONMENT, PLAIN], ids=["utf-8", "ascii"])
@pytest.mark.slow
def test_names_beyond_ascii_are_printed_in_any_locale(tmp_path, environment):
    small(tmp_path / "läufe")
    done = ran("formats", tmp_path / "läufe", env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"4 runs read" in done.stdout


# -- pipes, signals, limits ----------------------------------------------------------------


@pytest.mark.slow
def test_a_closed_pipe_ends_a_command_quietly(tmp_path):
    for i in range(30):
        write_run(tmp_path / "runs" / f"r{i}", "{")
    small(tmp_path / "runs")
    script = '"$0" -m traincost formats "$1" | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}'
    done = subprocess.run(
        ["bash", "-c", script, sys.executable, tmp_path / "runs"], env=ENVIRONMENT, capture_output=True
    )
    assert done.stderr == b""
    assert done.returncode in (0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("later_s", [0.0, 0.3, 1.0])
def test_an_interrupt_during_a_build_is_one_line_and_130(tmp_path, later_s):
    """The kernel, too, gets it: while it starts, or while it runs a cell."""
    command = [*COMMAND, "page", str(small(tmp_path / "runs")), "-o", str(tmp_path / "out")]
    process = subprocess.Popen(
        command, env=ENVIRONMENT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    while not psutil.Process(process.pid).children():
        time.sleep(0.01)
    time.sleep(later_s)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.strip()) == (130, b"", b"traincost: interrupted")
    assert not (tmp_path / "out").exists()


def test_an_interrupt_like_a_dead_kernel_ends_the_build():
    """As nbclient does, which cancels its task and takes the kernel for dead."""
    starts = []

    def execute():
        starts.append(True)
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise RuntimeError("Kernel died before replying to kernel_info") from None

    with pytest.raises(KeyboardInterrupt):
        publish._with_a_kernel(execute)
    assert len(starts) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    ("limit", "size", "said"),
    [
        (resource.RLIMIT_FSIZE, 20_000, b"a limit on the size of files (ulimit -f)"),
        (resource.RLIMIT_NOFILE, 20, b"a limit on open files (ulimit -n)"),
    ],
)
@pytest.mark.slow
def test_a_limit_of_the_system_is_named(tmp_path, limit, size, said):
    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(limit, (size, size))

    done = ran("page", small(tmp_path / "runs"), "-o", tmp_path / "out", preexec_fn=limited)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert not list(tmp_path.glob("out/*.html"))


# -- planted modules -----------------------------------------------------------------------


@pytest.mark.slow
def test_modules_planted_where_a_command_is_started_are_not_imported(tmp_path):
    small(tmp_path / "runs")
    for name in ("tqdm", "traincost", "numpy", "sitecustomize", "IPython"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'planted')!r}, 'a').write('{name} ')")
    (tmp_path / "bin").mkdir()
    entry = tmp_path / "bin" / "traincost"  # as pip writes it
    entry.write_text(
        "import sys\nfrom traincost.__main__ import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
    )
    for arguments in (["page", "runs"], ["index", "runs", "-o", "i", "--workers", "2"], ["formats", "runs"]):
        done = subprocess.run(
            [sys.executable, entry, *arguments], cwd=tmp_path, env=ENVIRONMENT, capture_output=True
        )
        assert done.returncode == 0, done.stderr
    assert not (tmp_path / "planted").exists()
