"""Print the outcome of the gate (`analysis.gate`): one line, JSON, JUnit XML, Markdown."""

import json
from dataclasses import asdict
from xml.etree import ElementTree

import numpy as np

from traincost.analysis.comparison import EXACT, SAME
from traincost.analysis.gate import SLOWER, UNCLEAR, WITHIN
from traincost.printing import change_text, plain, share_text, two
from traincost.results.markup import markdown_text
from traincost.results.numbers import plural

FORMAT = "traincost/check/1"
FEW_DF = 5  # degrees of freedom: with fewer, the quantile of t alone makes the bounds a quarter wider or more
_SAID = {
    WITHIN: "within the limit of {}",
    SLOWER: "slower beyond the limit of {}",
    UNCLEAR: "too few runs to tell whether the limit of {} is kept",
}


def line(check):
    """Return the result as one readable line."""
    said = _SAID[check.outcome].format(share_text(check.max_slowdown))
    n = check.n_pairs
    k = check.n_configurations
    pairs = f"{n} {plural(n, 'pair')} of runs in {k} {plural(k, 'configuration')}"
    return plain("; ".join([f"{said}: {_change(check)}", pairs, *reasons(check), *_drift(check)]))


def reasons(check):
    """Return what lacks, where there are too few runs to tell: a list of phrases."""
    if check.outcome != UNCLEAR:
        return []
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
    """Return the change with its bounds."""
    way = "slower" if check.change > 0 else "faster"
    text = f"{share_text(abs(check.change))} {way}" if abs(check.change) > EXACT else SAME
    if np.isnan(check.low):
        return f"{text}, how much of it is chance is not known"
    return f"{text} (between {change_text(check.low)} and {change_text(check.high)})"


def as_json(check):
    """Return the result as JSON text; what is not known is null."""
    values = {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in asdict(check).items()}
    values = {"format": FORMAT, "exit_status": check.status, **values, "reasons": reasons(check)}
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
        ("change of runtime", plain(_change(check))),
        ("limit", plain(share_text(check.max_slowdown))),
        ("pairs of runs", str(check.n_pairs)),
        ("configurations", str(check.n_configurations)),
        ("runs without a pair", str(check.n_unpaired)),
    ]
    rows += [("what lacks", text) for text in reasons(check)] + [("drift", text) for text in _drift(check)]
    body = "".join(f"| {name} | {value} |\n" for name, value in rows)
    changed = "".join(f"- changed setting {markdown_text(text)}\n" for text in check.changed)
    head = f"### traincost check: {line(check).partition(':')[0]}\n\n{names}\n\n"
    return f"{head}| what | result |\n| --- | --- |\n{body}{changed and chr(10) + changed}"
