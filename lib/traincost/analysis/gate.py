"""The gate for continuous integration: is a change slower than it may be?

A one-sided paired test on log runtime, with the configuration as unit (`comparisons`). With the
95 % lower and upper bounds of the change, each one-sided:

- *slower*: the lower bound is above the limit; a slowdown beyond it cannot be chance.
- *within*: the upper bound is at or below the limit.
- *too few runs*: the bounds enclose the limit, so that either may be true, or a single pair
  leaves nothing to estimate chance from. More runs would draw the bounds together.

Contract: two collections and their pairing in, a `Check` out; the texts of it are made here too.
"""

import json
import re
from dataclasses import asdict, dataclass
from xml.etree import ElementTree

import numpy as np
from scipy import stats

from traincost.analysis import comparison
from traincost.analysis.comparison import SAME
from traincost.analysis.verdicts import ALPHA
from traincost.columns import percent
from traincost.errors import ParameterError
from traincost.results.markup import markdown_text

WITHIN, SLOWER, UNCLEAR = "within", "slower", "too few runs"
STATUS = {WITHIN: 0, SLOWER: 3, UNCLEAR: 4}
FORMAT = "traincost/check/1"
_PERCENTAGE = re.compile(r"\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*%\s*")


@dataclass(frozen=True)
class Check:
    """What the gate found.

    Attributes
    ----------
    before, after : str
        Names of the collections.
    outcome : str
        `WITHIN`, `SLOWER` or `UNCLEAR`.
    max_slowdown, change : float
        Relative: 0.05 is 5 % slower.
    low, high : float
        One-sided 95 % bounds of the change; NaN where chance cannot be estimated.
    p : float
        One-sided, that the change is within the limit.
    n_pairs, n_configurations, n_unpaired : int
    changed : tuple of str
        Shared settings that differ, as text.
    """

    before: str
    after: str
    outcome: str
    max_slowdown: float
    change: float
    low: float
    high: float
    p: float
    n_pairs: int
    n_configurations: int
    n_unpaired: int
    changed: tuple

    @property
    def status(self):
        """Exit status of the command: 0, 3 or 4."""
        return STATUS[self.outcome]


def limit(text):
    """Return a limit given in percent as a fraction.

    Raises
    ------
    ParameterError
        `text` is no percentage.

    >>> limit("5%")
    0.05
    """
    found = _PERCENTAGE.fullmatch(text)
    if not found:
        raise ParameterError(f"`--max-slowdown` must be a percentage like 5%, got {text!r}")
    return float(found.group(1)) / 100


def check(before, after, pairing, max_slowdown):
    """Decide whether `after` is slower than `before` beyond a limit.

    Parameters
    ----------
    before, after : Collection
    pairing : Pairing
    max_slowdown : float
        As a fraction of runtime, at least 0.

    Returns
    -------
    Check
    """
    overall = comparison.overall_change(before, after, pairing)
    mean, se, df = overall["log_ratio"], overall["se"], overall["df"]
    half = stats.t.ppf(1 - ALPHA, df) * se if df else np.nan
    beyond = mean - np.log1p(max_slowdown)
    return Check(
        before=before.name,
        after=after.name,
        outcome=_outcome(beyond, half),
        max_slowdown=float(max_slowdown),
        change=float(np.expm1(mean)),
        low=float(np.expm1(mean - half)),
        high=float(np.expm1(mean + half)),
        p=float(comparison.tail(beyond, se, df)),
        n_pairs=int(overall["n_pairs"]),
        n_configurations=int(overall["n_configurations"]),
        n_unpaired=len(pairing.unpaired),
        changed=tuple(f"{row.setting}: {row.before} -> {row.after}" for row in pairing.changed.itertuples()),
    )


def _outcome(beyond, half):
    if np.isnan(half):
        return UNCLEAR
    if beyond - half > comparison.EXACT:
        return SLOWER
    return WITHIN if beyond + half <= comparison.EXACT else UNCLEAR


# -- texts ---------------------------------------------------------------------------------


_SAID = {
    WITHIN: "within the limit of {}",
    SLOWER: "slower beyond the limit of {}",
    UNCLEAR: "too few runs to tell whether the limit of {} is kept",
}


def line(check):
    """Return the result as one readable line."""
    said = _SAID[check.outcome].format(percent(check.max_slowdown, 1))
    pairs = f"{check.n_pairs} pairs of runs in {check.n_configurations} configurations"
    return f"{said}: {change_text(check)}; {pairs}"


def change_text(check):
    """Return the change with its bounds, as words."""
    way = "slower" if check.change > 0 else "faster"
    text = f"{percent(abs(check.change), 1)} {way}" if abs(check.change) > comparison.EXACT else SAME
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
        ("change of runtime", change_text(check)),
        ("limit", percent(check.max_slowdown, 1)),
        ("pairs of runs", str(check.n_pairs)),
        ("configurations", str(check.n_configurations)),
        ("runs without a pair", str(check.n_unpaired)),
    ]
    body = "".join(f"| {name} | {value} |\n" for name, value in rows)
    changed = "".join(f"- changed setting {markdown_text(text)}\n" for text in check.changed)
    head = f"### traincost check: {line(check).partition(':')[0]}\n\n{names}\n\n"
    return f"{head}| what | result |\n| --- | --- |\n{body}{changed and chr(10) + changed}"
