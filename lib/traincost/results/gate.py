"""Print the outcome of the gate (`analysis.gate`): one line, JSON, JUnit XML, Markdown."""

import json
from dataclasses import asdict
from xml.etree import ElementTree

import numpy as np

from traincost.analysis.comparison import EXACT, SAME
from traincost.analysis.gate import SLOWER, UNCLEAR, WITHIN
from traincost.columns import percent
from traincost.results.markup import markdown_text

FORMAT = "traincost/check/1"
_SAID = {
    WITHIN: "within the limit of {}",
    SLOWER: "slower beyond the limit of {}",
    UNCLEAR: "too few runs to tell whether the limit of {} is kept",
}


def line(check):
    """Return the result as one readable line."""
    said = _SAID[check.outcome].format(percent(check.max_slowdown, 1))
    pairs = f"{check.n_pairs} pairs of runs in {check.n_configurations} configurations"
    return f"{said}: {_change(check)}; {pairs}"


def _change(check):
    """Return the change with its bounds."""
    way = "slower" if check.change > 0 else "faster"
    text = f"{percent(abs(check.change), 1)} {way}" if abs(check.change) > EXACT else SAME
    if np.isnan(check.low):
        return f"{text}, how much of it is chance is not known"
    low, high = (f"{100 * value:+.1f} %" for value in (check.low, check.high))
    return f"{text} (between {low} and {high})"


def as_json(check):
    """Return the result as JSON text; what is not known is null."""
    values = {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in asdict(check).items()}
    values = {"format": FORMAT, "exit_status": check.status, **values}
    return json.dumps(values, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def as_junit(check):
    """Return the result as JUnit XML: one test case, failed, skipped (too few runs) or passed."""
    counts = {"tests": "1", "failures": str(int(check.outcome == SLOWER)), "errors": "0"}
    counts["skipped"] = str(int(check.outcome == UNCLEAR))
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", name="traincost check", **counts)
    name = _xml(f"{check.after} against {check.before}")
    case = ElementTree.SubElement(suite, "testcase", classname="traincost.check", name=name)
    if check.outcome != WITHIN:
        tag = "failure" if check.outcome == SLOWER else "skipped"
        ElementTree.SubElement(case, tag, message=line(check))
    output = ElementTree.SubElement(case, "system-out")
    output.text = _xml("\n".join([line(check), *check.changed]))
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text):
    """Return text without the characters that XML cannot hold."""
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in text)


def as_markdown(check):
    """Return a summary in Markdown; names from runs are literal in it."""
    names = f"{markdown_text(check.after)} against {markdown_text(check.before)}"
    rows = [
        ("change of runtime", _change(check)),
        ("limit", percent(check.max_slowdown, 1)),
        ("pairs of runs", str(check.n_pairs)),
        ("configurations", str(check.n_configurations)),
        ("runs without a pair", str(check.n_unpaired)),
    ]
    body = "".join(f"| {name} | {value} |\n" for name, value in rows)
    changed = "".join(f"- changed setting {markdown_text(text)}\n" for text in check.changed)
    head = f"### traincost check: {line(check).partition(':')[0]}\n\n{names}\n\n"
    return f"{head}| what | result |\n| --- | --- |\n{body}{changed and chr(10) + changed}"
