"""The gate (`analysis.gate`) of two directories, and its outcome in one line, JSON, JUnit XML or Markdown."""

import json
from dataclasses import asdict
from xml.etree import ElementTree

import numpy as np

from traincost.analysis import gate, pairs
from traincost.analysis.comparison import EXACT, SAME
from traincost.analysis.gate import LOST, SLOWER, UNCLEAR, WITHIN
from traincost.analysis.subsets import subset
from traincost.printing import change_text, plain, share_text, two
from traincost.reading.collection import read_collection
from traincost.reading.formats.table import Table
from traincost.results.markup import markdown_text
from traincost.results.prose import plural

FORMAT = "traincost/check/1"
FEW_DF = 5  # degrees of freedom: with fewer, the quantile of t alone makes the bounds a quarter wider or more
_SAID = {
    WITHIN: "within the limit of {}",
    SLOWER: "slower beyond the limit of {}",
    UNCLEAR: "too few runs to tell whether the limit of {} is kept",
}
_NONE = "no run after completed"
MAX_NAMED = 5  # lost configurations that a summary names


def checked(before, after, settings, max_slowdown, max_lost):
    """Return what the gate finds of two directories, under the parameters of a comparison."""
    limit = gate.limit(max_slowdown)
    columns = {name: settings[name] for name in Table.__dataclass_fields__ if name in settings}
    reading = {name: settings[name] for name in ("format", "path_pattern")} | {"table": Table(**columns)}
    first = read_collection(before, **reading)
    second = read_collection(after, **reading, require_runs=False)
    if settings["where"]:
        first, second = (subset(found, settings["where"]) for found in (first, second))
    choices = settings["pair_by"], settings["replicates"]
    if not len(second.runs) and len(second.excluded):
        return gate.nothing_left(first, second, pairs.pair(first, first, *choices), limit, max_lost)
    if not len(second.runs):
        second = read_collection(after, **reading)  # which says what is not there
    paired = pairs.pair(first, second, *choices, settings["renamed"])
    return gate.check(first, second, paired, limit, max_lost)


def line(check):
    """Return the result as one readable line."""
    losses, compared = _losses(check), _compared(check)
    if check.outcome != LOST:
        return plain("; ".join([*compared, *losses]))
    compared[0] = f"of the rest: {compared[0]}"
    return plain(f"{_too_many(check)}: {'; '.join([*losses, *compared])}")


def _too_many(check):
    return f"more runs were lost than the {check.max_lost:,} allowed" if check.max_lost else "runs were lost"


def _losses(check):
    """Return what did not come through: a list of phrases."""
    found = []
    if check.failed:
        by = ", ".join(f"{n:,} {status}" for status, n in check.failed.items())
        found.append(f"{check.n_failed:,} {plural(check.n_failed, 'run')} did not complete ({by})")
    if check.lost:
        found.append(
            f"{check.n_lost:,} of {check.n_before:,} {plural(check.n_before, 'configuration')} lost "
            f"({check.n_lost_runs:,} {plural(check.n_lost_runs, 'run')} before, not one after)"
        )
    return found


def _compared(check):
    """Return what the pairs say: a list of phrases."""
    if not check.n_pairs:
        return [f"{_SAID[UNCLEAR].format(share_text(check.max_slowdown))}: {_NONE}"]
    said = _SAID[check.of_pairs].format(share_text(check.max_slowdown))
    n, k = check.n_pairs, check.n_configurations
    pairs = f"{n} {plural(n, 'pair')} of runs in {k} {plural(k, 'configuration')}"
    return [f"{said}: {_change(check)}", pairs, *_averaged(check), *_lacks(check), *_drift(check)]


def _averaged(check):
    """Say which settings were not compared: where they are many, these may be two sweeps of other things."""
    if not check.averaged:
        return []
    n = len(check.averaged)
    listed = ", ".join([*check.averaged[:MAX_NAMED], *(["others"] if n > MAX_NAMED else [])])
    return [f"averaged over {n} {plural(n, 'setting')} that only one side has: {listed}"]


def reasons(check):
    """Return what was lost, where too much was, and what lacks to tell: a list of phrases."""
    return (_losses(check) if check.outcome == LOST else []) + _lacks(check)


def _lacks(check):
    if check.of_pairs != UNCLEAR:
        return []
    if not check.n_pairs:
        return [_NONE]
    if not check.df:
        return [
            "a single pair has no scatter: another configuration or a repetition on each side would show it"
        ]
    found = []
    if check.df < FEW_DF:
        found.append(f"{check.df} {plural(check.df, 'degree')} of freedom, so that the bounds are wide")
    unit = "configurations" if check.n_configurations > 1 else "pairs"
    found.append(plain(f"the change scatters by {share_text(np.expm1(check.spread))} between {unit}"))
    found.append(
        f"about {check.n_needed:,} {unit} such as these would tell"
        if check.n_needed
        else f"the change is so near the limit that no number of {unit} such as these would tell"
    )
    return found


def _drift(check):
    """Say that the machine may have become slower or faster within a session."""
    if not check.drift_side:
        return []
    side = {"before": "first", "after": "second"}[check.drift_side]
    way = "grows" if check.drift_r > 0 else "falls"
    return [
        f"the slowdown of a pair {way} with the start order of the {side} runs (r {two(check.drift_r)}): "
        "a machine that changed meanwhile would look the same"
    ]


def _change(check):
    way = "slower" if check.change > 0 else "faster"
    text = f"{share_text(abs(check.change))} {way}" if abs(check.change) > EXACT else SAME
    if np.isnan(check.low):
        return f"{text}, how much of it is chance is not known"
    return f"{text} (95 % bounds {change_text(check.low)} and {change_text(check.high)})"


def as_json(check):
    """Return the result as JSON text; what is not known is null."""
    values = {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in asdict(check).items()}
    counts = {"n_lost": check.n_lost, "n_failed": check.n_failed}
    values = {"format": FORMAT, "exit_status": check.status, **values, **counts, "reasons": reasons(check)}
    return json.dumps(values, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def as_junit(check, seconds=0.0):
    """Return the result as JUnit XML: one test case, failed, skipped (too few runs) or passed.

    `seconds` is what the check itself took.
    """
    has_failed, time = check.outcome in (SLOWER, LOST), f"{seconds:.3f}"
    counts = {"tests": "1", "failures": str(int(has_failed)), "errors": "0"}
    counts["skipped"] = str(int(check.outcome == UNCLEAR))
    suites = ElementTree.Element("testsuites", **counts, time=time)
    suite = ElementTree.SubElement(suites, "testsuite", name="traincost check", **counts, time=time)
    name = _xml(f"{check.after} against {check.before}")
    case = ElementTree.SubElement(suite, "testcase", classname="traincost.check", name=name, time=time)
    if check.outcome != WITHIN:
        tag = "failure" if has_failed else "skipped"
        ElementTree.SubElement(case, tag, message=_xml(line(check)))
    output = ElementTree.SubElement(case, "system-out")
    output.text = _xml("\n".join([line(check), *(f"lost: {name}" for name in check.lost), *check.changed]))
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text):
    """Return text without the characters that XML cannot hold."""
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in text)


def as_markdown(check):
    """Return a summary in Markdown; names from runs are literal in it."""
    names = f"{markdown_text(check.after)} against {markdown_text(check.before)}"
    rows = [
        ("change of runtime", plain(_change(check)) if check.n_pairs else _NONE),
        ("limit", plain(share_text(check.max_slowdown))),
        ("pairs of runs", str(check.n_pairs)),
        ("configurations", str(check.n_configurations)),
        ("runs without a pair", str(check.n_unpaired)),
        ("configurations lost", f"{check.n_lost:,} of {check.n_before:,}"),
        ("runs that did not complete", f"{check.n_failed:,}"),
        ("lost at most", f"{check.max_lost:,}"),
    ]
    rows += [("averaged over", ", ".join(map(markdown_text, check.averaged)))] if check.averaged else []
    rows += [("what was lost", text) for text in _losses(check)]
    rows += [("what lacks", text) for text in _lacks(check)] + [("drift", text) for text in _drift(check)]
    body = "".join(f"| {name} | {value} |\n" for name, value in rows)
    named = [*check.lost[:MAX_NAMED], *(["and others"] if check.n_lost > MAX_NAMED else [])]
    listed = "".join(f"- lost: {markdown_text(text)}\n" for text in named)
    listed += "".join(f"- changed setting {markdown_text(text)}\n" for text in check.changed)
    head = f"### traincost check: {line(check).partition(':')[0]}\n\n{names}\n\n"
    return f"{head}| what | result |\n| --- | --- |\n{body}{listed and chr(10) + listed}"
