"""Tables of Lightning's SimpleProfiler, in every layout it has had, and of tools that print the same.

A table has a row per action: its mean duration, in most layouts the number of calls, its total, and in
most a percentage. Columns are parted by ``|``, with or without one at either end, and padded by
tabs, spaces or both. A row ``Total``, where there is one, holds the seconds since the profiler was
made. A line ``FIT Profiler Report`` above names the stage; a file may hold several reports.

One profiler that serves several stages goes on counting: its later reports repeat the earlier.
`elapsed` takes what is repeated away, so that each second is counted once.
"""

import math
import os
import re
from dataclasses import dataclass, field, replace

from traincost.reading.formats.files import Unreadable, read_bytes, read_head

HEAD_KIB = 64  # of a text in which its first report must begin
MAX_REPORT_MIB = 16
MAX_ACTIONS = 5_000  # of one report
MAX_REPORTS = 200  # of one run
ROUNDING = 1e-4  # relative: five significant digits are printed
_TITLE = re.compile(r"(?:\b(FIT|VALIDATE|TEST|PREDICT|TUNE) )?Profiler Report\s*$")
_TITLED = re.compile(_TITLE.pattern, re.MULTILINE)
_STAGED = re.compile(r"(fit|validate|test|predict|tune)(-|\.)")
_RANK = re.compile(r"(.*)-([0-9]{1,6})(\.\w+)", re.DOTALL)
_HEADER = ("Mean duration (s)", "Total time (s)")
_COUNT = re.compile(r"[0-9]{1,15}")
_SECONDS = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?(e[+-]?[0-9]{1,3})?")
_OTHERS = {"Self CPU": "PyTorchProfiler", "function calls": "AdvancedProfiler"}


@dataclass(frozen=True)
class Report:
    """One table of one file."""

    stage: str = ""  # fit, validate, test, predict, tune, or empty where no line says
    source: str = ""  # name of the file
    total_s: float | None = None  # of the row Total
    rows: dict = field(default_factory=dict)  # action to (seconds, calls); calls None where not given

    @property
    def seconds(self):
        """Those of all rows."""
        return sum(seconds for seconds, _ in self.rows.values())


def read_reports(folder, names):
    """Return the reports in the texts among the `names` in a folder, and notes on those not read.

    Of the files that the ranks of one run wrote (``fit-x-0.txt``, ``fit-x-1.txt``), the first is read.
    """
    reports, notes = [], []
    for name in names:
        if not name.endswith((".txt", ".log")):
            continue
        rank = _RANK.fullmatch(name)
        if rank and rank[2] != "0" and f"{rank[1]}-0{rank[3]}" in names:
            continue
        try:
            found, note = _read(os.path.join(folder, name), name)
        except Unreadable as problem:
            found, note = [], f"{name} {problem}" if _STAGED.match(name) else ""
        reports += found
        notes += [note] if note else []
    return reports, notes


def _read(path, name):
    head = read_head(path, HEAD_KIB * 1024).decode("utf-8", "replace")
    if not _TITLED.search(head) and not all(column in head for column in _HEADER):
        return [], ""
    other = other_profiler(head)
    if other:
        return [], f"{name} is a report of {other}, which is not read: only SimpleProfiler's are"
    return parse(read_bytes(path, MAX_REPORT_MIB).decode("utf-8", "replace"), name), ""


def parse(text, source=""):
    """Return the reports in `text`, in their order; none where it holds no table."""
    reports, stage, n_columns, in_rows = [], "", 0, False
    for line in _whole_lines(text):
        title = _TITLE.search(line) if "Profiler Report" in line else None
        if title:
            stage, in_rows = (title[1] or "").lower(), False
        elif all(name in line for name in _HEADER):
            if len(reports) == MAX_REPORTS:
                break
            reports.append(Report(stage, source))
            stage, n_columns, in_rows = "", len(_cells(line, -1)) - 1, True
        elif in_rows and "|" in line:
            reports[-1] = _with_row(reports[-1], _cells(line, n_columns), n_columns)
        elif in_rows and line.strip("- \t"):
            in_rows = False
    return reports


def _whole_lines(text):
    """Return the lines; a last one that was cut off inside a row would give a wrong number."""
    lines = text.splitlines()
    if lines and not text.endswith(("\n", "\r", "|")):
        lines.pop()
    return lines


def _cells(line, n_columns):
    # From the right, since an action's name may hold the separator.
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").rsplit("|", n_columns)]


def _with_row(report, cells, n_columns):
    """Return the report with one more row; one that does not read as a row is left out."""
    if len(cells) != n_columns + 1 or n_columns not in (2, 4) or len(report.rows) >= MAX_ACTIONS:
        return report
    seconds = _number(cells[2 if n_columns == 2 else 3])
    if seconds is None:
        return report
    if cells[0] == "Total" and _number(cells[1]) is None and report.total_s is None:
        return replace(report, total_s=seconds)
    count = cells[2] if n_columns == 4 else ""
    report.rows.setdefault(cells[0], (seconds, int(count) if _COUNT.fullmatch(count) else None))
    return report


def _number(text):
    value = float(text) if _SECONDS.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def other_profiler(text):
    """Return the name of another profiler of Lightning whose report `text` begins, or empty."""
    if "Profile stats for:" not in text:
        return ""
    return next((name for mark, name in _OTHERS.items() if mark in text), "another profiler")


def elapsed(reports):
    """Return what each report adds to the one before it of the same profiler: a list per profiler.

    Reports may come in any order, and copies among them. Rows and `total_s` hold the time since the
    report before; rows that were not called since are left out.
    """
    chains = []
    for report in sorted(_distinct(reports), key=lambda report: (report.total_s or 0.0, report.seconds)):
        chain = next((chain for chain in chains if _continues(chain[-1], report)), None)
        if chain is None:
            chains.append([report])
        else:
            chain.append(report)
    nothing = Report(total_s=0.0)
    return [
        [_since(before, report) for before, report in zip([nothing, *chain], chain, strict=False)]
        for chain in chains
    ]


def _distinct(reports):
    kept = []
    for report in reports[:MAX_REPORTS]:
        if not any(replace(report, source=other.source) == other for other in kept):
            kept.append(report)
    return kept


def _continues(before, report):
    """Say whether one profiler wrote both: no row is lacking or less, and work was added.

    Two runs of one program have the same actions, and the longer could pass for the
    continuation of the shorter; but each entry point calls ``setup`` once more.
    """
    for name, (seconds, count) in before.rows.items():
        later_s, later = report.rows.get(name, (-1.0, None))
        if later_s < seconds * (1 - ROUNDING) or (count is not None and (later is None or later < count)):
            return False
        if name.rpartition(".")[2] == "setup" and count == later:
            return False
    return _calls(report) > _calls(before) and bool(before.rows)


def _calls(report):
    """Return how much was called; seconds, where calls are not given."""
    return sum(seconds if count is None else count for seconds, count in report.rows.values())


def _since(before, report):
    rows = {}
    for name, (seconds, count) in report.rows.items():
        earlier_s, earlier = before.rows.get(name, (0.0, 0))
        if name not in before.rows:
            rows[name] = (seconds, count)
        elif count is None or earlier is None:
            if seconds > earlier_s:
                rows[name] = (seconds - earlier_s, None)
        elif count > earlier:
            rows[name] = (max(seconds - earlier_s, 0.0), count - earlier)
    total_s = None if report.total_s is None or before.total_s is None else report.total_s - before.total_s
    return replace(report, rows=rows, total_s=total_s)
