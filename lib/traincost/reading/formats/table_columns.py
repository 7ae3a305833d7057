"""What columns without names of ours are: a runtime, a pair of times, a status, a score, or no setting."""

import re

import numpy as np

from traincost.columns import finite
from traincost.reading.formats import durations
from traincost.reading.formats.csv_rows import number
from traincost.reading.formats.run import seconds_of
from traincost.reading.formats.statuses import is_status

MIN_ROWS = 5  # from which on a column is held against the runtime, or is a counter
MIN_VALUES = 4  # of a score: what has fewer may be a setting
EXACT = 1e-3  # of a column's range, by which a function of the runtime may be off
_DURATION = re.compile(
    r"(run_?time|duration|elapsed(_?time)?|wall_?(clock_?)?time|train(ing)?_?(run_?)?time|time_?total)"
    r"([_ .(\[]{1,2}[a-z]{1,12}[)\]]?)?|train(ing)?_(hours|hrs|minutes|mins|seconds|secs)",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"(?:.*[^a-z])?(?:(?P<us>us|microseconds?)|(?P<ms>ms|millis|milliseconds?)|(?P<s>s|secs?|seconds?)|"
    r"(?P<min>m|mins?|minutes?)|(?P<h>h|hrs?|hours?))[)\]]?",
    re.IGNORECASE,
)
_PAIRS = (
    *(("started_at", "ended_at"), ("started_at", "finished_at"), ("start_time", "end_time")),
    *(("start", "end"), ("started", "ended"), ("started", "finished"), ("start_time", "stop_time")),
    ("begin", "end"),
    *(("datetime_start", "datetime_complete"), ("start_date", "end_date"), ("start_ts", "end_ts")),
    *(("created_at", "finished_at"), ("created_at", "completed_at"), ("start", "stop"), ("start", "finish")),
)
_COUNTER = re.compile(
    r"(^|_|\b)(id|ids|index|idx|trial|number|num|job|run|row|counter|no|nr|jobid|job_id|uid|uuid|pid|port)$",
    re.IGNORECASE,
)
_REMARK = re.compile(r"(notes?|comments?|remarks?|description)", re.IGNORECASE)
SEED = re.compile(r"seed|fold|rep(licate|eat)?s?$", re.IGNORECASE)
METRICS = (
    "loss|acc|accuracy|auc|auroc|f1|f_?score|recall|rmse|mse|mae|r2|bleu|rouge|perplexity|ppl|m?ap|m?iou|psnr|ssim|"
    "fid|reward|return|wer|cer|score|error|err"
)
# A name that ends in a metric's: ``loss_weight`` is a setting, and so is a metric that is aimed at.
_SCORE = re.compile(
    rf"(.*[^a-z])?({METRICS})[^a-z]*(train|val|valid|validation|eval|test|mean|avg|best|last|final)?[^a-z]*",
    re.IGNORECASE,
)
_AIMED_AT = re.compile(r"target|goal|thresh|limit|tol", re.IGNORECASE)
_WHOLE = re.compile(r"\d{1,15}")


def of_statuses(columns, rows):
    """Return the one column whose cells are all words for a status, or empty text."""
    found = []
    for name in columns:
        words = {str(row[name]).strip() for row, _ in rows if isinstance(row.get(name), str)}
        if words and all(map(is_status, words)):
            is_named = re.search(r"stat(e|us)|outcome", name, re.IGNORECASE)
            found += [name] if is_named or len(words) > 1 else []
    return found[0] if len(found) == 1 else ""


def unit_of(name):
    """Return the unit of time that a column's name ends in, as `table.TIME_UNITS` has it, or empty text.

    >>> unit_of("train_hours"), unit_of("time (min)"), unit_of("hours"), unit_of("arch")
    ('h', 'min', 'h', '')
    """
    match = _UNIT.fullmatch(name)
    return match.lastgroup if match else ""


def of_durations(columns, rows):
    """Return the one column that is named as a duration and says its unit, as a list; else an empty one."""
    found = []
    for name in columns:
        if _DURATION.fullmatch(name):
            cells = [row[name] for row, _ in rows if name in row]
            has_units = bool(cells) and all(
                isinstance(c, str) and durations.seconds(c) is not None for c in cells
            )
            found += [name] if has_units or unit_of(name) else []
    return found if len(found) == 1 else []


def of_start_and_end(columns, rows):
    """Return the names of a pair of columns that hold times of start and end, or two empty texts."""
    lower = {name.lower().replace(" ", "_"): name for name in columns}
    for start, end in _PAIRS:
        if start in lower and end in lower:
            pair = lower[start], lower[end]
            if any(between(row.get(pair[0]), row.get(pair[1])) for row, _ in rows):
                return pair
    return "", ""


def between(start, end):
    """Return the seconds between two times, or None where one of them is none."""
    return less(moment(end), moment(start))


def less(end, start):
    """Return end less start, or None where one of them is not known."""
    return None if end is None or start is None else end - start


def moment(value):
    """Return a time in seconds since 1970: ISO 8601, or a number of s, ms, µs or ns; None for another."""
    if isinstance(value, str):
        at_s = seconds_of(value.strip())
        if at_s is not None:
            return at_s
        value = number(value)
    if isinstance(value, bool) or not finite(value) or value <= 1e8:
        return None
    while value > 1e11:
        value /= 1000
    return float(value)


def of_scores(names, rows):
    """Return the columns that are scores: named as a metric, with fractions of which several differ."""
    found = []
    for name in names:
        if not _SCORE.fullmatch(name) or _AIMED_AT.search(name):
            continue
        values = {_number(row.get(name)) for row, _ in rows} - {None}
        if len(values) >= MIN_VALUES and not all(map(float.is_integer, values)):
            found.append(name)
    return found


def _number(cell):
    return number(cell) if isinstance(cell, str | int | float) else None


def no_settings(names, rows, runtime_s):
    """Return the columns that are no settings, each with the reason.

    Remarks are about a run; times of day, counters and numbers of jobs tell rows apart; and a function of
    the runtime (its hours, its price) would explain all of it.
    """
    found = {name: "it holds remarks" for name in names if _REMARK.fullmatch(name)}
    if len(rows) < MIN_ROWS:
        return found
    for name in names:
        cells = [row.get(name) for row, _ in rows]
        present = [cell for cell in cells if cell is not None]
        if not present:
            continue
        if all(isinstance(cell, str) and ":" in cell and moment(cell) is not None for cell in present):
            found[name] = "it holds times"
        elif _is_counter(name, present, len(rows)):
            found[name] = "it numbers the rows"
        elif _is_function(cells, runtime_s):
            found[name] = "it is a function of the runtime"
    return found


def _is_counter(name, cells, n_rows):
    texts = [str(cell) for cell in cells]
    if len(texts) < n_rows or SEED.search(name) or not all(map(_WHOLE.fullmatch, texts)):
        return False
    values = list(map(int, texts))
    return values == list(range(n_rows)) or (len(set(values)) == n_rows and bool(_COUNTER.search(name)))


def _is_function(cells, runtime_s):
    pairs = []
    for cell, seconds in zip(cells, runtime_s, strict=True):
        try:
            number = float(cell)
        except (TypeError, ValueError):
            if cell is None or seconds is None:
                continue
            return False
        if seconds is not None and np.isfinite(number):
            pairs.append((seconds, number))
    if len(pairs) < MIN_ROWS:
        return False
    x, y = np.array(pairs, dtype=float).T
    if min(len(np.unique(x)), len(np.unique(y))) < MIN_ROWS:
        return False
    return _is_line(x, y) or bool((y > 0).all() and _is_line(np.log(x), np.log(y)))


def _is_line(x, y):
    slope, intercept = np.polyfit(x, y, 1)
    spread = y.max() - y.min()
    return bool(spread > 0 and np.abs(y - slope * x - intercept).max() <= EXACT * spread)
