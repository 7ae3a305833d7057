"""What recording, reading, computing and building cost, against the floor and the peers: ``make bench``.

``--benchmarks=small`` runs every case at a small size, to see that it runs; its ratios say nothing.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import growth
import harness
import nbformat
import numpy as np
import orjson
import pandas as pd
import pytest
import synthetic
from conftest import ROOT
from encoding import event_file, scalar, version
from harness import installed

from traincost import Recorder
from traincost.analysis import effects, fields
from traincost.estimation import trends
from traincost.reading.collection import read_collection
from traincost.reading.formats import tensorboard
from traincost.reading.listing import collector_paused

pytestmark = pytest.mark.filterwarnings("ignore")
RESULTS = ROOT / "build/bench/results.json"
# `traincost page`, of any notebook: papermill, then the exporter.
BUILD = """
import sys; from pathlib import Path; from traincost.pages import publish; from traincost.__main__ import main
if sys.argv[1]: publish.notebook_path = lambda kind: Path(sys.argv[1])
sys.exit(main(["page", sys.argv[2], "-o", sys.argv[3]]))
"""
YDATA = """
import sys, pandas, ydata_profiling
report = ydata_profiling.ProfileReport(pandas.read_csv(sys.argv[1]), title="Runs", progress_bar=False)
report.to_file(sys.argv[2])
"""


@pytest.fixture(scope="module")
def results(request):
    """Collect what the cases measure; print and write it at the end."""
    size = request.config.getoption("--benchmarks")
    if not size:
        pytest.skip("benchmarks run with --benchmarks (make bench)")
    found = harness.Results(size)
    yield found
    print("\n\n" + "\n".join(found.table()))
    found.write(RESULTS if size == "full" else RESULTS.with_name("small.json"))


@pytest.fixture(scope="module")
def sized(results):
    """Return a function that chooses between the sizes of the full and of the small benchmark."""
    return lambda full, small: full if results.size == "full" else small


@pytest.fixture(scope="module")
def many_runs(tmp_path_factory, sized):
    """10,000 run records."""
    return synthetic.write(tmp_path_factory.mktemp("many") / "runs", sized(10_000, 100))


@pytest.fixture
def check(results):
    """Return a function that fails where a target is missed; a small size misses none."""

    def check(entries):
        missed = [entry for entry in entries if entry.met is False]
        assert results.size == "small" or not missed, missed

    return check


def parsed(files):
    """Open, read and parse files, without what becomes of them: the floor of reading."""
    kept = []
    with collector_paused():  # as ours is: how often it runs depends on what else the process holds
        for path in files:
            with open(path, "rb") as file:
                kept.append(orjson.loads(file.read()))


def test_reading_records(results, many_runs, check):
    files = sorted(map(str, many_runs.rglob("run.json")))

    def normalized():
        records = []
        for path in files:
            with open(path, encoding="utf-8") as file:
                records.append(json.load(file))
        pd.json_normalize(records)

    def walked():
        parsed(os.path.join(folder, "run.json") for folder, _, names in os.walk(many_runs) if names)

    works = {
        "ours": lambda: read_collection(many_runs),
        "floor": lambda: parsed(files),
        "walked": walked,
        "pandas": normalized,
    }
    if installed("duckdb"):
        import duckdb

        works["duckdb"] = lambda: duckdb.sql(f"from read_json('{many_runs}/*/*/run.json')").df()
    took = results.timed(works)
    entries = results.compare(
        f"read {len(files):,} run records",
        took["ours"],
        [
            ("open, read and parse with orjson", took["floor"], 2.0),
            ("the same of files that os.walk finds", took["walked"], None),
        ],
        [
            ("json and pandas.json_normalize", took["pandas"], 2.0),
            ("DuckDB read_json", took.get("duckdb"), 8.0),
        ],
    )
    check(entries)


def test_reading_records_that_tell_all_they_can(results, sized, tmp_path, check):
    """As the recorder writes them on a cluster: every run has something that is withheld."""
    runs = synthetic.write(tmp_path / "runs", sized(10_000, 100), more=synthetic.told)
    files = sorted(map(str, runs.rglob("run.json")))
    took = results.timed({"ours": lambda: read_collection(runs), "floor": lambda: parsed(files)})
    work = f"read {len(files):,} run records with machine, person and occurrences"
    check(results.compare(work, took["ours"], [("open, read and parse with orjson", took["floor"], 4.0)], []))


def test_reading_event_files(results, sized, tmp_path, check):
    pytest.importorskip("tensorboard", reason="needs the producers extra")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    path = str(tmp_path / "events.out.tfevents.1770000000.host.1.0")
    n = sized(100_000, 100)
    events = (scalar(1.77e9 + i, f"train/{'loss' if i % 2 else 'acc'}", 1.0 / (i + 1)) for i in range(n))
    Path(path).write_bytes(event_file(version(1.77e9), *events))
    works = {
        "ours": lambda: tensorboard.read(path, "x"),
        "loader": lambda: sum(1 for _ in EventFileLoader(path).Load()),
        "accumulator": lambda: EventAccumulator(path, size_guidance={"scalars": 0}).Reload(),
    }
    took = results.timed(works)
    peers = [
        ("tensorboard's EventFileLoader", took["loader"], 3.0),
        ("its EventAccumulator", took["accumulator"], 3.0),
    ]
    check(results.compare("read an event file", took["ours"], peers=peers))


def test_reading_a_store_of_mlflows(results, sized, tmp_path, monkeypatch, check):
    mlflow = pytest.importorskip("mlflow", reason="needs the producers extra")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    store = synthetic.mlruns(tmp_path / "mlruns", sized(2_000, 20))
    mlflow.set_tracking_uri(store.as_uri())
    works = {
        "ours": lambda: read_collection(store),
        "search": lambda: mlflow.search_runs(search_all_experiments=True, max_results=50_000),
    }
    took = results.timed(works)
    peers = [("mlflow.search_runs", took["search"], 2.0)]
    check(results.compare("read a store of MLflow's files", took["ours"], peers=peers))


def test_reading_a_trace(results, sized, tmp_path, check):
    pytest.importorskip("ijson", reason="needs the formats extra")
    path = synthetic.trace(tmp_path, sized(300_000, 300))

    def framed():
        pd.DataFrame(json.loads(path.read_bytes())["traceEvents"])

    took = results.timed({"ours": lambda: read_collection(tmp_path), "json": framed})
    peers = [("json and pandas", took["json"], 3.0)]
    check(results.compare("read a trace of the PyTorch profiler", took["ours"], peers=peers))


def test_effect_sizes(results, sized, check):
    collection = synthetic.table(sized(100_000, 1_000))
    names = [f"config.f{i}" for i in range(5)]
    frame = collection.runs.rename(columns=lambda name: name.removeprefix("config."))
    response = collection.runs["runtime_s"].to_numpy()

    def floor():
        for name in names:
            np.bincount(pd.factorize(collection.runs[name])[0], response)

    def ours():
        effects.effect_sizes(response, fields.describe(collection.runs))

    works = {"ours": ours, "floor": floor}
    import statsmodels.api as sm
    import statsmodels.formula.api as smf

    model = f"runtime_s ~ {' + '.join(f'C(f{i})' for i in range(5))}"
    works["statsmodels"] = lambda: sm.stats.anova_lm(smf.ols(model, frame).fit(), typ=2)
    if installed("pingouin"):
        import pingouin

        works["pingouin"] = lambda: [
            pingouin.anova(frame, dv="runtime_s", between=f"f{i}", effsize="n2") for i in range(5)
        ]
    took = results.timed(works)
    entries = results.compare(
        f"effects of 5 factors, {len(frame):,} runs",
        took["ours"],
        [("pandas.factorize and numpy.bincount", took["floor"], 2.5)],
        [
            ("statsmodels anova_lm, type II", took["statsmodels"], 15.0),
            ("pingouin anova of each factor", took.get("pingouin"), 1.5),
        ],
    )
    check(entries)


def test_verdicts(results, sized, check):
    from scipy import stats

    n_permutations = sized(9_999, 99)
    collection = synthetic.table(36)
    log = np.log(collection.runs["runtime_s"].to_numpy())
    levels = [collection.runs[f"config.f{i}"] for i in range(5)]
    samples = [[log[(column == level).to_numpy()] for level in column.unique()] for column in levels]

    def scipy(statistic):
        rng = np.random.default_rng(0)
        for groups in samples:
            stats.permutation_test(
                groups, statistic, n_resamples=n_permutations, alternative="greater", rng=rng
            )

    def plain(*groups):
        return stats.f_oneway(*groups).statistic

    def vectorised(*groups, axis):
        return stats.f_oneway(*groups, axis=axis).statistic

    def ours():
        described = fields.describe(collection.runs)
        effects.main_effects(collection.runs["runtime_s"], described, n_permutations=n_permutations)

    works = {"ours": ours, "plain": lambda: scipy(plain), "vectorised": lambda: scipy(vectorised)}
    took = results.timed(works)
    entries = results.compare(
        f"verdicts, {n_permutations:,} permutations",
        took["ours"],
        peers=[
            ("scipy permutation_test of f_oneway", took["plain"], 20.0),
            # A statistic that takes an axis; of each factor alone, where ours also holds the others.
            ("the same, vectorised, half of the tests", took["vectorised"], None),
        ],
    )
    check(entries)


def test_a_bootstrapped_trend(results, sized, check):
    """Draws over the group sizes of the 2022 table, on the same kind of data."""
    n_draws = sized(1_000, 20)
    rng = np.random.default_rng(0)
    groups = [(np.sort(rng.uniform(0, 5000, n)), rng.normal(20, 1, n)) for n in (19, 20, 60, 19)]

    def ours():
        for x, y in groups:
            trends.bootstrap_slopes(x, y, n_draws, np.random.default_rng(1))

    def loop(fit):
        for x, y in groups:
            for _ in range(n_draws):
                drawn = rng.integers(0, len(x), len(x))
                fit(x[drawn], trends.perturbed_draw(y[drawn], rng))

    works = {"ours": ours, "polyfit": lambda: loop(lambda x, y: np.polyfit(x, y, 1))}
    if installed("sklearn"):
        from sklearn.linear_model import LinearRegression

        works["sklearn"] = lambda: loop(lambda x, y: LinearRegression().fit(x[:, None], y))
    took = results.timed(works)
    entries = results.compare(
        f"bootstrapped trend, {n_draws:,} draws",
        took["ours"],
        peers=[
            ("loop over scikit-learn fits", took.get("sklearn"), 500.0),
            ("loop over numpy.polyfit", took["polyfit"], 40.0),
        ],
    )
    check(entries)


def test_entering_and_leaving_a_section(results, sized, tmp_path, check):
    n = sized(100_000, 1_000)

    def turns(enter):
        started = time.perf_counter()
        for _ in range(n):
            with enter("a"):
                pass
        return (time.perf_counter() - started) / n

    def clock():
        started = time.perf_counter()
        for _ in range(n):
            time.perf_counter()
            time.perf_counter()
        return (time.perf_counter() - started) / n

    with Recorder(tmp_path) as run:
        works = {"ours": lambda: turns(run.section), "clock": clock}
        if installed("lightning"):
            from lightning.pytorch.profilers import SimpleProfiler

            simple = SimpleProfiler()
            works["lightning"] = lambda: turns(simple.profile)
        if installed("torch"):
            from torch.profiler import record_function

            works["torch"] = lambda: turns(record_function)
        took = results.timed(works)
    entries = results.compare(
        "enter and leave a section",
        took["ours"],
        [("two readings of the clock", took["clock"], None)],
        [
            ("Lightning SimpleProfiler", took.get("lightning"), 1 / 0.7),
            ("torch record_function", took.get("torch"), 3.0),
        ],
    )
    check(entries)


def test_what_starts_fast(results, check):
    def python(*arguments):
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)

    took = results.timed(
        {
            "help": lambda: python("-m", "traincost", "--help"),
            "recorder": lambda: python("-c", "from traincost import Recorder"),
            "nothing": lambda: python("-c", "pass"),
        }
    )
    imported_s = took["recorder"] - took["nothing"]
    started = results.limit("traincost --help", took["help"], "s", 0.3)
    check(started + results.limit("import the recorder", imported_s, "s", 0.05))


def page(notebook, runs, output):
    """Build a page in a process of its own."""
    command = [sys.executable, "-c", BUILD, notebook, runs, output]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def bare_notebook(path):
    """Write a notebook that only imports what an analysis would."""
    nb = nbformat.read(ROOT / "notebooks/profiling.ipynb", as_version=4)
    bare = "from pathlib import Path\n\nimport pandas, seaborn, statsmodels.api\n\nprint('imported')"
    parameters = next(c for c in nb.cells if "parameters" in c.metadata.tags)
    parameters.source = f"from pathlib import Path\n{parameters.source}"
    nb.cells = [parameters, nbformat.v4.new_code_cell(bare, metadata={"tags": []})]
    nbformat.write(nb, path)
    return path


def test_pages(results, many_runs, tmp_path, check):
    """Each in processes of its own, what is read and imported included."""

    def build(runs, notebook=""):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        page(notebook, runs, tmp_path / "out")

    few_runs = ROOT / "notebooks/runs/demo-sweep"
    bare = bare_notebook(tmp_path / "bare.ipynb")
    works = {
        "few": lambda: build(few_runs),
        "bare": lambda: build(few_runs, bare),
        "many": lambda: build(many_runs),
    }
    took = results.timed(works)
    small, large = "page of 36 runs", f"page of {len(read_collection(many_runs).runs):,} runs"
    entries = results.compare(small, took["few"], [("a notebook that only imports", took["bare"], 1.5)])
    check(entries + results.compare(large, took["many"], [(small, took["few"], 2.0)]))


def test_a_large_page_against_ydata_profiling(request, results, many_runs, tmp_path, check):
    """On the table of the runs, in an environment of its own: it needs an older pandas."""
    folder = request.config.getoption("--peers-venv")
    if not folder:
        pytest.skip("--peers-venv names no folder for the environment of ydata-profiling")
    python = peers_python(Path(folder).absolute())
    table = read_collection(many_runs).runs
    table.to_csv(tmp_path / "runs.csv", index=False)

    def build():
        page("", many_runs, tmp_path / "out")

    def ydata():
        command = [python, "-W", "ignore", "-c", YDATA, tmp_path / "runs.csv", tmp_path / "ydata.html"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    took = results.timed({"ours": build, "ydata": ydata})
    peer = ("ydata-profiling of the table of runs", took["ydata"], 5.0)
    check(results.compare(f"page of {len(table):,} runs", took["ours"], peers=[peer]))


def peers_python(folder):
    """Return the Python of an environment with ydata-profiling, made in `folder` where there is none."""
    python = folder / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        # Its pandas imports pkg_resources, which newer setuptools lack.
        needed = ["ydata-profiling", "setuptools<81"]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *needed], check=True)
    return python


def test_growth(results, sized, tmp_path, many_runs, check):
    """Time by its exponent through three sizes, memory by what a run adds to the peak beyond the frames."""
    sizes = sized((1_000, 10_000, 100_000), (50, 100, 200))
    folders = {n: synthetic.write(tmp_path / str(n), n) for n in sizes if n != sizes[1]}
    folders[sizes[1]] = many_runs
    found = {n: [] for n in sizes}

    def measured(n):
        command = [sys.executable, growth.__file__, folders[n]]
        found[n].append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
        return found[n][-1]["seconds"]

    works = {n: lambda n=n: measured(n) for n in sizes}
    took = results.timed(works)
    exponent = np.polyfit(np.log(sizes), np.log([took[n] for n in sizes]), 1)[0]
    beyond = [np.median([x["peak_kib"] - x["frames_kib"] for x in found[n]]) for n in (sizes[0], sizes[-1])]
    work = f"growth to {sizes[-1]:,} runs"
    time_entry = results.limit(f"{work}: exponent", float(exponent), "", 1.05)
    added = float((beyond[1] - beyond[0]) / (sizes[-1] - sizes[0]))
    check(time_entry + results.limit(f"{work}: memory", added, "KiB a run", 2.0))
