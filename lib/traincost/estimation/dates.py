"""Dates of a column as people write them, in ISO: the order of day and month is that of the column, or none.

``2/14/2019`` is told by one date of its column whose second number is above twelve; ``14.02.2019`` has
the day first; months by name have no order. Where no date of a column with slashes tells, none is guessed.
"""

import re

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
AMBIGUOUS = (
    "is ambiguous, day or month first, and no date of its column tells: write it as YYYY-MM-DD, got {!r:.60}"
)
CONTRADICTORY = "has day and month in another order than others: write it as YYYY-MM-DD, got {!r:.60}"
_NUMBERS = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})")
_NAMED = re.compile(
    r"(?:(\d{1,2})(?:st|nd|rd|th)?[ .-]+)?([A-Za-z]{3,9})\.?"
    r"(?:[ -]+(\d{1,2})(?:st|nd|rd|th)?,)?,?[ -]+(\d{4})"
)


def in_iso(texts):
    """Return the dates of a column as ISO texts, and position to reason of those whose order cannot be told.

    A date of another form stays as it is.

    >>> in_iso(["2/14/2019", "6/11/2020", "Feb 2021", "2022-01-02"])
    (['2019-02-14', '2020-06-11', '2021-02', '2022-01-02'], {})
    >>> in_iso(["4/5/2020"])[1][0][:12]
    'is ambiguous'
    """
    parsed = [_NUMBERS.fullmatch(text.strip()) for text in texts]
    slashed = [(int(m[1]), int(m[3])) for m in parsed if m and m[2] != "."]
    day_first, month_first = any(a > 12 for a, _ in slashed), any(b > 12 for _, b in slashed)
    found, problems = [], {}
    for i, (text, match) in enumerate(zip(texts, parsed, strict=True)):
        if not match:
            found.append(_named(text))
            continue
        first, second, year = int(match[1]), int(match[3]), match[4]
        is_day_first = match[2] == "." or day_first
        if match[2] != "." and first != second:
            if day_first and month_first:
                problems[i] = CONTRADICTORY.format(text)
            elif not (day_first or month_first):
                problems[i] = AMBIGUOUS.format(text)
        day, month = (first, second) if is_day_first else (second, first)
        found.append(f"{year}-{month:02}-{day:02}")
    return found, problems


def _named(text):
    """Return a date with the month's name in ISO, to the month where it has no day; any other as it is."""
    match = _NAMED.fullmatch(text.strip())
    month = match[2][:3].lower() if match else ""
    if month not in MONTHS:
        return text
    day = match[1] or match[3]
    return f"{match[4]}-{MONTHS.index(month) + 1:02}" + (f"-{int(day):02}" if day else "")
