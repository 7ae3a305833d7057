"""Keep names, texts and numbers of runs within limits, whichever reader they come from.

A text that is too long is shortened, with a digest of the whole, so that texts that differ stay
different and equal ones equal, in other collections too. It is shortened twice: to what is
reasonable to search for something to be withheld, and after that search to what is kept, so that a
secret is never cut before it is recognised. A number that no clock or counter can have shown is
the run's fault, and left out.
"""

import hashlib
import re
from functools import partial
from itertools import chain
from operator import attrgetter

from traincost.columns import finite

MAX_NAME = 300  # characters of the name of a setting, score or column, and of one level of a section's
MAX_VALUE = 1_000  # characters of a setting
MAX_TEXT = 2_000  # characters of any other text
SEARCHED = 20  # times as much is searched for what is to be withheld
MAX_DIGITS = 40  # of an integer
_EDGE = 10**MAX_DIGITS
_FIGURE = re.compile(rf"\d{{{MAX_DIGITS + 1},}}", re.ASCII)
MAX_SECONDS = 1e15  # 30 million years
MAX_COMPUTE = 100_000  # characters of a record's compute block
MAX_DEPTH = 100  # of lists and mappings in it
MAX_HOSTS = 100  # machines of a run that are named
MAX_NUMBER = 1e30  # of a count, a cost or a score
TEXTS = (
    *("run_id", "status", "started_at", "task", "report", "process", "reason"),
    *("evidence", "device", "step"),
)
_texts = attrgetter(*TEXTS)
MAPPINGS = ("config", "cost", "scores", "sections", "extents")
_mappings = attrgetter(*MAPPINGS)


def short(text, limit):
    """Return a text of at most `limit` characters: its beginning, a digest of the whole, its end.

    >>> short("a" * 50, 40)
    'aaaaaaaaaaa…c7257302c0ef0133…aaaaaaaaaaa'
    """
    if len(text) <= limit:
        return text
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    rest = limit - len(digest) - 2
    return f"{text[: rest - rest // 2]}…{digest}…{text[len(text) - rest // 2 :]}"


class Held:
    """The names, settings and texts that a batch of runs holds, each once: runs of a sweep share most."""

    def __init__(self, runs):
        self.names = set().union(*chain.from_iterable(map(_mappings, runs)))
        self.settings = set().union(*(run.config.items() for run in runs))
        self.texts = set().union(*map(_texts, runs))
        self._others = {run.host for run in runs}.union(*(run.notes for run in runs))
        self._computes = [run.compute for run in runs if run.compute]

    def is_short(self):
        """Say whether all of it is within limits."""
        return (
            max(map(len, self.names), default=0) <= MAX_NAME
            and max(map(len, self.texts | self._others), default=0) <= MAX_TEXT
            and not any(_is_long(value) or _hides_a_long_one(value) for _, value in self.settings)
            and not any(map(_is_too_long, self._computes))
        )


def searchable(run):
    """Cut what of a `Run` would take long to search; its dicts are replaced, not changed."""
    return _without_long_compute(_shortened(run, SEARCHED))


def bounded(run):
    """Return a `Run` within all limits; its dicts are replaced, not changed."""
    return _counted(_shortened(run, 1))


def _is_long(value):
    if value.__class__ is not str:
        return not _is_short(value)
    return len(value) > MAX_VALUE or (len(value) > MAX_DIGITS and bool(_FIGURE.search(value)))


def _hides_a_long_one(value):
    """Say whether an integer with too many digits may equal this float, and so not be among what is held."""
    return value.__class__ is float and abs(value) >= _EDGE


def are_counted(runs):
    """Say whether the numbers of a batch, settings aside, are within limits."""
    for run in runs:
        # This looks at all sections of every run: a loop costs less than as many calls.
        for seconds, count in run.sections.values():
            if not seconds <= MAX_SECONDS or (count is not None and not count <= MAX_SECONDS):
                return False
        for value in (*run.cost.values(), *run.scores.values()):
            if not abs(value) <= MAX_NUMBER:
                return False
        if run.runtime_s is not None and not run.runtime_s <= MAX_SECONDS:
            return False
    return True


def _is_too_long(compute):
    inside = [compute]
    for _ in range(MAX_DEPTH):
        inside = [each for value in inside if (of := _entries(value)) for each in of]
        if not inside:
            return len(repr(compute)) > MAX_COMPUTE
    return True


def _entries(value):
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _counted(run):
    """Return a `Run` without what is beyond the limits of numbers, and of the compute block."""
    if run.runtime_s is not None and not run.runtime_s <= MAX_SECONDS:
        run.reason = run.reason or f"the runtime of {run.runtime_s:.3g} s is beyond {MAX_SECONDS:.0e} s"
        run.runtime_s = None
    for what in ("cost", "scores"):
        found = getattr(run, what)
        kept = {name: value for name, value in found.items() if abs(value) <= MAX_NUMBER}
        run.notes = [*run.notes, *_noted(found, kept, f"is beyond {MAX_NUMBER:.0e}: taken as missing")]
        setattr(run, what, kept)
    kept = {name: timed for name, timed in run.sections.items() if _is_timed(*timed)}
    run.notes = [*run.notes, *_noted(run.sections, kept, f"has more than {MAX_SECONDS:.0e} s: left out")]
    run.sections = kept
    return _without_long_compute(run)


def _without_long_compute(run):
    if run.compute and _is_too_long(run.compute):
        limits = f"{MAX_COMPUTE:,} characters or {MAX_DEPTH} levels"
        run.notes = [*run.notes, f"the compute block has more than {limits}: left out"]
        run.compute = {}
    return run


def _is_timed(seconds, count):
    return seconds <= MAX_SECONDS and (count is None or count <= MAX_SECONDS)


def _noted(found, kept, why):
    return [f"{name!r} {why}" for name in found if name not in kept]


def _shortened(run, times):
    run.config = {name: _value(value, times) for name, value in _named(run.config, times).items()}
    run.cost, run.scores = _named(run.cost, times), _named(run.scores, times)
    # Each level of a section's path is shortened, so that it stays below its parent.
    run.sections, run.extents = _named(run.sections, times, "/"), _named(run.extents, times, "/")
    for name in TEXTS:
        setattr(run, name, short(getattr(run, name), times * MAX_TEXT))
    run.host = _hosts(run.host, times) if len(run.host) > MAX_TEXT else run.host
    run.notes = [short(note, times * MAX_TEXT) for note in run.notes]
    return run


def _hosts(text, times):
    """Return the first machines of a list; a name, or the mark in its place, is not cut."""
    names = text.split(", ")
    kept = [short(name, times * MAX_NAME) for name in names[: times * MAX_HOSTS]]
    more = len(names) - len(kept)
    return ", ".join([*kept, f"and {more:,} others"] if more else kept)


def _is_short(value):
    return value.__class__ is float or -_EDGE < value < _EDGE


def _value(value, times):
    if isinstance(value, str):
        return short(_FIGURE.sub(lambda figure: short(figure[0], MAX_DIGITS), value), times * MAX_VALUE)
    if _is_short(value):
        return value
    if finite(value):
        return short(str(value), MAX_DIGITS)
    # Python refuses to print an integer of thousands of digits.
    digest = hashlib.blake2b(str(hash(value)).encode(), digest_size=8).hexdigest()
    return f"an integer of {value.bit_length()} bits, {digest}"


def _named(mapping, times, between=None):
    """Return a mapping with shorter names; of two that are then equal, the last stays.

    Names of several levels have a sign `between` them.
    """
    if not mapping or max(map(len, mapping)) <= MAX_NAME:
        return mapping
    shorter = partial(short, limit=times * MAX_NAME)
    if between:
        return {between.join(map(shorter, name.split(between))): value for name, value in mapping.items()}
    return {shorter(name): value for name, value in mapping.items()}
