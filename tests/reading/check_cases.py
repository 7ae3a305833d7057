"""Hold what traincost makes of the reference's cases against their ``expected.json``.

    python tests/reading/check_cases.py [KIND ...] [--page]

After the reference's own ``check.py``, with today's API and in one process. What is expected otherwise
than there: a host is shown as "host N" (`redaction`), so that its own name must not be; a setting may have
a longer name than the expected one (Hydra's ``forest.max_depth`` for MLflow's ``max_depth``); and `CHANGED`.

Verdicts: pass; incomplete (right runs and hours; settings, scores, status or a message missing); wrong
(other runs or hours than there are, and counted); refused (nothing is counted, and it says so).
"""

import argparse
import contextlib
import html
import io
import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from traincost.__main__ import main as traincost
from traincost.errors import NothingToReport, ParameterError
from traincost.reading.collection import read_collection
from traincost.reading.formats.table import Table

CASES = Path(__file__).resolve().parents[3] / "shared" / "reference" / "cases"
EXECUTED = Path(tempfile.gettempdir(), "traincost-executed-a-config")
CHANGED = {
    # Nothing that a CSVLogger writes says whether training came to its end.
    "lightning-csvlogger": {"completed": "unknown"},
}
# Two settings of two levels are too few configurations for more than the weaker grade.
OTHER_WORDS = {"depends on amp": "between the levels of amp"}
# Settings that stand in the name of a folder alone: `path_pattern` is for that, and nothing is guessed.
IN_PATHS = {"printed-times": {"bs"}}


def kinds():
    """Return the kinds that there are cases of."""
    return sorted(path.parent.name for path in CASES.glob("*/expected.json"))


def expected(kind):
    """Return what is expected of a kind."""
    return json.loads((CASES / kind / "expected.json").read_text(encoding="utf-8"))


def command_line(*arguments):
    """Return the exit status of a command, and what it said."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = traincost(list(map(str, arguments)))
    return status, said.getvalue()


def text_of(page):
    """Return the text of a page."""
    content = Path(page).read_text(encoding="utf-8")
    content = re.sub(r"<(style|script|svg).*?</\1>|<[^>]+>", " ", content, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(content))


def read(path, parameters):
    """Return the collection at a path, read with the parameters of a table."""
    given = dict(parameters)
    if "|" in given.get("runtime_column", ""):
        given["runtime_column"] = _runtime_column(path, given["runtime_column"])
    table = Table(**given) if given and path.is_file() else None
    return read_collection(path, require_runs=False, table=table)


def _runtime_column(path, names):
    return "elapsed" if "duration_" in path.name else names.split("|")[0]


def close(value, wanted, tolerance):
    """Say whether a number is as wanted."""
    return value is not None and abs(value - wanted) <= max(tolerance, 1e-6 * abs(wanted))


def level(value):
    """Return a level as it is compared."""
    text = str(value).strip()
    try:
        return text.lower() if text.lower() in ("true", "false") else repr(float(text))
    except ValueError:
        return text


def match(wanted, rows):
    """Pair expected runs with found ones: by id or path, or a row by its time and settings."""
    left, pairs = list(rows), []
    for run in wanted:
        ids = [str(name).strip("/") for name in (run["id"], *run.get("ids", ()))]
        hit = next((row for name in ids for row in left if name and _is_of(name, row)), None)
        if re.fullmatch(r"row \d+", str(run["id"])):
            near = [r for r in left if close(r["runtime_s"], run["runtime_s"], run.get("tolerance_s", 0.01))]
            hit = max(near, key=lambda row: _n_equal(run, row), default=None)
        if hit is not None:
            left.remove(hit)
        pairs.append((run, hit))
    return pairs


def _is_of(name, row):
    path = row["path"]
    return (
        name in (row["run_id"], path, f"{row.get('task')}/{row['run_id']}")
        or f"/{name}/" in f"/{path}/"
        or f"-{name}/" in f"{path}/"
    )


def _n_equal(run, row):
    return sum(level(row.get(f"config.{name}")) == level(value) for name, value in run["settings"].items())


def column(row, prefix, name):
    """Return the name of the column of a setting or score, or None."""
    last = name.rpartition(".")[2]
    exact = [f"{prefix}{name}", prefix + name.replace(".", "\\."), f"{prefix}{last}"]
    longer = [found for found in row if found.startswith(prefix) and found.endswith(f".{name}")]
    return next((found for found in (*exact, *longer) if row.get(found) is not None), None)


def held(kind, item, page=False):
    """Return the verdict on one input of a kind, and what is missing."""
    spec, path = expected(kind), CASES / kind / item
    _, said = command_line("formats", path)
    try:
        found = read(path, spec["parameters"])
    except (NothingToReport, ParameterError) as problem:
        return "refused", [str(problem)[:300]]
    runs, excluded = (
        [{k: None if v != v else v for k, v in row.items()} for row in frame.to_dict("records")]
        for frame in (found.runs, found.excluded)
    )
    said += " ".join(found.notes["note"])
    wanted = spec["runs"]
    pairs = match(wanted, runs)
    problems = [p for run, row in pairs if row is not None for p in _of_run(kind, run, row, found, runs)]
    hours, right = (sum(row["runtime_s"] for row in rows) / 3600 for rows in (runs, wanted))
    slack = sum(max(run.get("tolerance_s", 0.01), 0.01) for run in wanted) / 3600 + 0.02 * right
    is_wrong = len(runs) != len(wanted) or abs(hours - right) > slack
    if unnamed := sum(row is None for _, row in pairs):
        problems.append(f"{unnamed} runs under other names")
    for run, row in match(spec["left_out"], excluded):
        problems += _of_left_out(kind, run, row)
    if page and runs:
        problems += _of_page(spec, path)
    problems += ["it executed a configuration"] if EXECUTED.exists() else []
    problems += _of_text(spec["messages"], spec["must_not"], said)
    missing = [f"{what} (x{n})" if n > 1 else what for what, n in Counter(problems).items()]
    if not runs and wanted:
        return "refused", [said[:300]]
    counts = f"{len(runs)} of {len(wanted)} runs, {hours:.2f} of {right:.2f} h"
    return ("wrong", [counts, *missing]) if is_wrong else ("incomplete", missing) if missing else ("pass", [])


def _of_run(kind, run, row, found, runs):
    """Yield what is missing of a run that was found."""
    if not close(row["runtime_s"], run["runtime_s"], run.get("tolerance_s", 0.01)):
        yield f"runtime of {run['id']}: {row['runtime_s']} for {run['runtime_s']}"
    for name, value in run["settings"].items():
        at = column(row, "config.", name)
        if name not in IN_PATHS.get(kind, ()) and (at is None or level(row[at]) != level(value)):
            yield f"setting {name} is {row[at] if at else None!r}"
    for name, value in run["scores"].items():
        at = column(row, "score.", name)
        if at is None or (value is not None and not close(float(row[at]), value, 1e-6)):
            yield f"score {name}"
    own = found.sections[found.sections["run"] == runs.index(row)]
    for name, (seconds, _) in run["sections"].items():
        near = [s for n, s in zip(own["section"], own["seconds"], strict=True) if n.split("/")[-1] == name]
        if not any(close(s, seconds, 0.03 * seconds + 0.01) for s in near):
            yield f"section {name}"
    if run.get("host") is not None and not re.fullmatch(r"host \d+", str(row["host"])):
        yield f"host is {row['host']!r}"
    if run.get("gpu") is not None and row["device"] != run["gpu"]:
        yield f"device is {row['device']!r}"
    if run.get("devices") is not None and row["devices"] != run["devices"]:
        yield f"devices are {row['devices']!r}"


def _of_left_out(kind, run, row):
    word = run["status"].split(",")[0]
    word = CHANGED.get(kind, {}).get(word, word)
    if row is None:
        return [f"{word} run not listed"]
    return [f"called {row['status']}, not {word}"] if row["status"] != word else []


def _of_page(spec, path):
    """Return what is missing on the page of a collection."""
    parameters = []
    for name, value in spec["parameters"].items():
        parameters += ["-p", name, _runtime_column(path, value)]
    with tempfile.TemporaryDirectory() as folder:
        status, said = command_line("page", path, "-o", folder, *parameters)
        if status:
            return [f"the page ends with {status}: {said[-300:]}"]
        shown = text_of(Path(folder, "profiling.html"))
    wanted = [OTHER_WORDS.get(words, words) for words in spec.get("page_messages", [])]
    missing = _of_text(wanted, spec.get("page_must_not", []), shown)
    return [f"page: {problem}" for problem in missing]


def _of_text(messages, must_not, said):
    return [
        f"must say /{pattern}/" for pattern in messages if not re.search(pattern, said, re.IGNORECASE)
    ] + [f"must not say /{pattern}/" for pattern in must_not if re.search(pattern, said, re.IGNORECASE)]


# -- other commands ------------------------------------------------------------------------


def held_command(kind, item):
    """Return the verdict on what ``check``, ``plan`` or ``estimate`` says of an input."""
    spec = expected(kind)
    arguments = [CASES / kind / word if word.startswith("in") else word for word in item.split()]
    with tempfile.TemporaryDirectory() as folder:
        more = {"check": ["--max-slowdown", "5%"], "estimate": ["-o", folder]}.get(spec["command"], [])
        status, said = command_line(spec["command"], *arguments, *more)
        if (page := Path(folder, "estimation.html")).exists():
            said += text_of(page)
    wanted = spec.get("exit_status", [0] * len(spec["inputs"]))[spec["inputs"].index(item)]
    missing = [] if str(status) in str(wanted).split(" or ") else [f"exit status {status} for {wanted}"]
    if spec["command"] == "estimate" and "date" in (spec["runs"] or [{}])[0]:
        missing += _of_dates(spec, arguments[0], item, said)
    missing += _of_text(spec["messages"] + spec.get("messages_by_input", {}).get(item, []), [], said)
    return ("pass" if not missing else "wrong"), missing


def _of_dates(spec, path, item, said):
    if "ambiguous" in item:
        return _of_text(["ambiguous|day or month|order of day"], [], said)
    from traincost.results.systems import read_systems

    frame = read_systems(str(path)).frame
    name = next(name for name in ("name", "system", "id") if name in frame)
    dates = dict(zip(frame[name], frame["date"].astype(str), strict=True))
    n = 7 if "month" in item else 10
    bad = [run["id"] for run in spec["runs"] if str(dates.get(run["id"]))[:n] != run["date"][:n]]
    return [f"date of {name}: {dates.get(name)}" for name in bad]


def main():
    """Print a line for each input; exit status 1 where one does not pass."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", help="all if left out")
    parser.add_argument("--page", action="store_true", help="build the page of each too")
    options = parser.parse_args()
    verdicts = Counter()
    for kind in options.kinds or kinds():
        spec = expected(kind)
        for item in spec["inputs"]:
            is_read = spec["command"] == "formats"
            verdict, missing = held(kind, item, options.page) if is_read else held_command(kind, item)
            verdicts[verdict] += 1
            print(f"{kind:25} {item[:42]:42} {verdict:10} {'; '.join(missing)}", flush=True)
    print(", ".join(f"{n} {verdict}" for verdict, n in verdicts.items()))
    sys.exit(set(verdicts) != {"pass"})


if __name__ == "__main__":
    main()
