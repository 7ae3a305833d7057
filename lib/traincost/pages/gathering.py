"""Put the results of a notebook together: one value for each key, and where on the page it stands."""

import bisect
import math

from traincost.errors import RefusedNotebook
from traincost.results.html import slug
from traincost.results.prose import key

FORMAT = "traincost/report/1"


class Gathered:
    """The results that a notebook displays, in order; `report` is what the JSON beside its page holds."""

    def __init__(self):
        self.report = {
            "format": FORMAT,
            "summary": [],
            "numbers": {},
            "findings": [],
            "figures": {},
            "tables": {},
            "versions": {},
        }
        self._holds, self._captions, self._of, self._shown = {}, {}, {}, {}
        self._said_by = {}  # key of a number to the answer that said it first

    def add(self, result):
        """Take one result in, as `results.result.Result.data` makes it.

        Returns what stands before its keys and ids on the page, and whether it is shown there already. Raises
        `RefusedNotebook` where another result has the same name and other numbers.
        """
        prefix = self._prefix(result)
        if self._says_otherwise(result, prefix):
            prefix = ".".join(filter(None, [result["name"], prefix]))
        place = (result["name"], prefix)
        if place in self._shown:
            if self._shown[place] != result:
                raise RefusedNotebook(
                    f"two different results are called {'.'.join(filter(None, place[::-1]))!r}; give one of "
                    f"them a name of its own, as in {_answer(result)}(…, name='second')"
                )
            return prefix, True
        self._shown[place] = result
        self._numbers(result, prefix)
        self._places(result, prefix)
        self.report["summary"] += result["summary"]
        self.report["findings"] += result["findings"]
        self.report["versions"] = self.report["versions"] or result["versions"]
        self.report |= result["more"]
        return prefix, False

    def _prefix(self, result):
        """Return the prefix of a result: its own, and of a second collection the name of that."""
        first = self._of.setdefault((result["name"], result["prefix"]), result["of"])
        return (
            result["prefix"]
            if first == result["of"]
            else ".".join(filter(None, [result["of"], result["prefix"]]))
        )

    def _says_otherwise(self, result, prefix):
        """Say whether another answer has a number of this one's with another value."""
        numbers, own = self.report["numbers"], _answer(result)
        return any(
            self._said_by.get(name, own) != own and not _is_one(numbers[name], value)
            for name, value in _named(result["numbers"], prefix)
        )

    def _numbers(self, result, prefix):
        for name, value in _named(result["numbers"], prefix):
            first = self.report["numbers"].setdefault(name, value)
            self._said_by.setdefault(name, _answer(result))
            if not _is_one(first, value):
                raise RefusedNotebook(
                    f"the number {name!r} is {first!r} and {value!r} on one page; give one of the results a "
                    f"name of its own, as in {_answer(result)}(…, name='second')"
                )

    def _places(self, result, prefix):
        stem = f"{slug(prefix)}-" if prefix else ""
        before = f"{key(prefix)}." if prefix else ""
        for kind in ("figures", "tables"):
            for name, content in result[kind].items():
                self.report[kind][stem + name] = content
                place = f"{kind[:-1]}-{stem}{name}"
                values = sorted(abs(value) for row in content["rows"] for value in _values(row))
                for start in result["holds"].get(name, [name]) if kind == "tables" else [name]:
                    self._holds.setdefault(before + start, []).append((place, values))
        for name, place in result["captions"].items():
            kind, _, rest = place.partition("-")
            self._captions.setdefault(before + name, f"{kind}-{stem}{rest}")

    def anchors(self, places, numbers):
        """Return key of a number to the id of the table or figure that holds its value, if one does.

        Tables and figures say what the keys begin with of the numbers that are read off them; the
        longest such beginning comes first. Of a table, the page prints some columns and rows alone: it
        must print the number, too. A number that none of them holds may stand in a caption.

        `places` and `numbers` say what the page prints (`results.html.printed`).
        """
        found = {}
        for name, value in self.report["numbers"].items():
            beginnings = sorted((b for b in self._holds if name == b or name.startswith(f"{b}.")), key=len)
            held = [entry for b in reversed(beginnings) for entry in self._tables_first(b)]
            held = (place for place, values in held if _holds(values, value) and place in places)
            said = numbers.get(name, set())
            holding = (
                place for place in held if places[place] is None or _prints(places[place], said, value)
            )
            anchor = next(holding, self._captions.get(name))
            if anchor:
                found[name] = anchor
        return found

    def _tables_first(self, beginning):
        return sorted(self._holds[beginning], key=lambda held: held[0].startswith("figure-"))


def _answer(result):
    """Return the name of the answer that a result is, or is a part of."""
    return result["name"].partition(".")[0]


def _named(numbers, prefix):
    """Return (key on the page, value) of the numbers of a result with a prefix."""
    return [(f"{key(prefix)}.{name}" if prefix else name, value) for name, value in numbers.items()]


def _is_one(a, b):
    return a == b or _close(a, b)


def _holds(values, value):
    """Say whether a value is among those of a table or figure, sorted, or near enough to one of them."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # A sentence says of a change of -38 % that it took 38 % less.
    at = bisect.bisect_left(values, abs(value))
    return any(_close(abs(value), near) for near in values[max(0, at - 1) : at + 1])


def _prints(digits, said, value):
    """Say whether a table prints a number: as a sentence does, or in other digits (75 % as 0.75)."""
    is_small_count = float(value).is_integer() and abs(value) < 1000  # which has no others
    return said <= digits or (not is_small_count and any(_rounds_to(abs(value), text) for text in digits))


def _rounds_to(value, text):
    """Say whether a value, or its percentage, is printed as some digits; one digit alone tells nothing."""
    decimals = len(text.partition(".")[2])
    try:
        number = float(text.replace(",", ""))
    except ValueError:  # a version
        return False
    tells = len(text.strip("0.,")) > 1
    return tells and any(abs(v - number) <= 0.5001 * 10**-decimals for v in (value, 100 * value))


def _values(row):
    for value in row.values():
        if isinstance(value, dict):
            yield from _values(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield value


def _close(a, b):
    numbers = (isinstance(v, int | float) and not isinstance(v, bool) for v in (a, b))
    return all(numbers) and math.isclose(a, b, rel_tol=1e-9)
