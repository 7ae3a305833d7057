"""What recording and building cost, as ratios taken in one run: ``make bench``."""

import shutil
import statistics
import subprocess
import sys
import time

import nbformat
import pytest
from conftest import ROOT

from traincost.report import MIME

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def only_on_request(request):
    if not request.config.getoption("--benchmarks"):
        pytest.skip("benchmarks run with --benchmarks (make bench)")


def report(what, ours, theirs, peer, target):
    ratio = ours / theirs
    print(f"\n{what}: {ratio:.2f} x {peer} (target at most {target})")
    return ratio


def per_turn(enter, n=100_000):
    """Median over repetitions of the seconds that one turn takes."""
    times = []
    for _ in range(7):
        started = time.perf_counter()
        for _ in range(n):
            with enter():
                pass
        times.append((time.perf_counter() - started) / n)
    return statistics.median(times)


def test_a_section_against_lightnings_simple_profiler(tmp_path):
    profilers = pytest.importorskip("lightning.pytorch.profilers", reason="needs the torch extra")
    from traincost import Recorder

    simple = profilers.SimpleProfiler()
    with Recorder(tmp_path) as run:
        ours = per_turn(lambda: run.section("a"))
        theirs = per_turn(lambda: simple.profile("a"))
    ratio = report("entering and leaving a section", ours, theirs, "SimpleProfiler.profile()", 0.7)
    assert ratio <= 0.7


def test_importing_the_recorder(tmp_path):
    def seconds(code):
        times = []
        for _ in range(9):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - started)
        return statistics.median(times)

    extra = seconds("from traincost import Recorder") - seconds("pass")
    print(f"\nimporting the recorder: {1000 * extra:.0f} ms (target at most 50 ms)")
    assert extra < 0.05


def test_a_page_against_a_notebook_that_only_imports(tmp_path):
    """Both executed and converted by the same command: papermill, then nbconvert's exporter."""
    nb = nbformat.read(ROOT / "notebooks/profiling.ipynb", as_version=4)
    imports = "import pandas, seaborn, statsmodels.api\n"
    bare = f"display({{{MIME!r}: {{'kind': 'profiling', 'title': 'bare'}}}}, raw=True)"
    parameters = next(c for c in nb.cells if "parameters" in c.metadata.tags)
    nb.cells = [
        parameters,
        nbformat.v4.new_code_cell(imports + bare, metadata={"tags": []}),
    ]
    nbformat.write(nb, tmp_path / "bare.ipynb")
    build = (
        "import sys; from pathlib import Path; from traincost import publish\n"
        "if sys.argv[1]: publish.notebook_path = lambda kind: Path(sys.argv[1])\n"
        "publish.page(sys.argv[2], sys.argv[3])"
    )
    runs = ROOT / "notebooks/runs/demo-sweep"
    times = {"": [], str(tmp_path / "bare.ipynb"): []}
    for _ in range(6):
        for notebook, taken in times.items():
            shutil.rmtree(tmp_path / "out", ignore_errors=True)
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", build, notebook, runs, tmp_path / "out"], check=True)
            taken.append(time.perf_counter() - started)
    # The first of each pair warms caches.
    ours, bare = (statistics.median(taken[1:]) for taken in times.values())
    print(f"\nmedians: page {ours:.2f} s, bare notebook {bare:.2f} s")
    assert report("the page of 36 runs", ours, bare, "a notebook that only imports", 1.5) <= 1.5


def test_a_bootstrapped_trend_against_loops():
    """1,000 draws over the group sizes of the 2022 table, on the same kind of data."""
    numpy = pytest.importorskip("numpy")
    linear = pytest.importorskip("sklearn.linear_model", reason="needs the peers extra")
    from traincost import trends

    rng = numpy.random.default_rng(0)
    groups = [(numpy.sort(rng.uniform(0, 5000, n)), rng.normal(20, 1, n)) for n in (19, 20, 60, 19)]

    def ours():
        for x, y in groups:
            trends.bootstrap_slopes(x, y, 1000, numpy.random.default_rng(1))

    def loop(fit):
        for x, y in groups:
            for _ in range(1000):
                drawn = rng.integers(0, len(x), len(x))
                fit(x[drawn], trends.perturbed_draw(y[drawn], rng))

    def seconds(work, repetitions):
        times = []
        for _ in range(repetitions):
            started = time.perf_counter()
            work()
            times.append(time.perf_counter() - started)
        return statistics.median(times)

    vectorised = seconds(ours, 9)
    sklearn = seconds(lambda: loop(lambda x, y: linear.LinearRegression().fit(x[:, None], y)), 3)
    polyfit = seconds(lambda: loop(lambda x, y: numpy.polyfit(x, y, 1)), 3)
    print(f"\nbootstrap: {sklearn / vectorised:.0f} x faster than a scikit-learn loop (target at least 500)")
    print(f"bootstrap: {polyfit / vectorised:.0f} x faster than a polyfit loop (target at least 40)")
    assert sklearn / vectorised >= 500
    assert polyfit / vectorised >= 40
