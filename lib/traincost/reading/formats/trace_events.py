"""Trace events of one file, streamed: what a gigabyte of them says, in little memory.

The Trace Event Format is a JSON list of events, or an object with such a list under
``traceEvents`` and facts about the recording beside it. ``ts`` and ``dur`` are microseconds,
whatever ``displayTimeUnit`` says: that is for viewers. A list may lack its closing bracket; an
object that does was cut short.
"""

import gzip
import re
import zlib
from array import array
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from math import inf

import orjson

from traincost.columns import finite
from traincost.reading.formats.files import Unreadable, opened, shortened

MAX_TRACE_MIB = 4096  # of JSON, unpacked
MAX_RATIO = 100  # of unpacked to packed size; traces reach about 30
MAX_TOKEN_MIB = 8  # one text or number
MAX_HEAD_MIB = 4  # before the first event
MAX_ANNOTATIONS = 1_000_000
MAX_NAMES = 5_000  # of annotations, and of threads
MAX_NAME = 200  # characters
MAX_FACTS = 64  # devices that are looked at
_CHUNK = 2**16
_PIECE = 2**19  # of whole events that are parsed together
_TRIES = 8  # ends of events that are tried: most are those of their arguments
_BEGIN = re.compile(rb'"traceEvents"\s*:\s*\[\s*(?=\{)|\A\s*\[\s*(?=\{)')
_BETWEEN = re.compile(rb"\}\s*,\s*\{")
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_EVENT_KEYS = frozenset({"ph", "cat", "name", "ts", "dur", "pid", "tid"})
_STARTS, _ENDS = ("start_map", "start_array"), ("end_map", "end_array")
# Annotations by name where the category is that of an operator or missing, as older traces have it.
_ANNOTATIONS = ("ProfilerStep#", "Optimizer.step#", "Optimizer.zero_grad#")
_OPERATORS = ("cpu_op", "Operator", "")
_MAY_ANNOTATE = ("user_annotation", *_OPERATORS)
_COUNTER = re.compile(r"#\d+$")
_FACTS = {
    ("distributedInfo", "rank"): "rank",
    ("distributedInfo", "world_size"): "world_size",
    ("distributedInfo", "backend"): "backend",
    ("deviceProperties", None, "name"): "device",
    ("deviceProperties", None, "totalGlobalMem"): "device_bytes",
    ("baseTimeNanoseconds",): "base_ns",
    ("record_shapes",): "record_shapes",
    ("profile_memory",): "profile_memory",
    ("with_stack",): "with_stack",
    ("with_flops",): "with_flops",
    ("with_modules",): "with_modules",
}


@dataclass
class Trace:
    """What is kept of one file; the arrays have one item per annotation."""

    facts: dict = field(default_factory=dict)  # name (`_FACTS`) to the values found outside the events
    n_events: int = 0  # with a time
    n_unusable: int = 0  # without a usable one
    first_us: float = inf  # when the first event began
    last_us: float = -inf  # when the last one ended
    starts_us: array = field(default_factory=lambda: array("d"))
    durations_us: array = field(default_factory=lambda: array("d"))
    labels: array = field(default_factory=lambda: array("l"))  # indices into `names`
    threads: array = field(default_factory=lambda: array("l"))
    names: list = field(default_factory=list)  # without the number of a step
    notes: list = field(default_factory=list)
    cut_short: str = ""  # why the file was not read to its end

    @property
    def span_s(self):
        """Seconds from the first event's begin to the last one's end, or None."""
        return (self.last_us - self.first_us) / 1e6 if self.n_events else None


def read_trace(path):
    """Return the `Trace` in a file, or None where it holds no trace events. Raises `Unreadable`."""
    with _chunks(path) as chunks:
        head = _head(chunks)
        if not _looks_like_events(head):
            return None
        scanner = _Scanner()
        try:
            _scan(scanner, head, chunks)
        except Unreadable as problem:
            if not scanner.trace.n_events:
                raise
            scanner.trace.cut_short = str(problem)
    return scanner.trace if scanner.is_trace else None


def looks_like_trace(path):
    """Say whether a file begins as trace events do."""
    try:
        with _chunks(path) as chunks:
            return _looks_like_events(_head(chunks))
    except Unreadable:
        return False


def read_facts(path):
    """Return what stands before the first event of a file (`Trace.facts`); empty if nothing does."""
    scanner = _Scanner()
    try:
        with _chunks(path) as chunks:
            head = _head(chunks)
            if _looks_like_events(head):
                _scan(scanner, head, ())
    except Unreadable:
        pass  # no more is known
    return scanner.trace.facts


# -- bytes ---------------------------------------------------------------------------------


@contextmanager
def _chunks(path):
    """Yield an iterator of the bytes of a file, unpacked where it is gzip."""
    with opened(path, MAX_TRACE_MIB) as file:
        packed = file.read(2) == _GZIP
        size = file.seek(0, 2)
        file.seek(0)
        limit = min(MAX_TRACE_MIB * 2**20, max(64 * 2**20, MAX_RATIO * size))
        plain = iter(lambda: file.read(_CHUNK), b"")
        yield _unpacked(gzip.GzipFile(fileobj=file), limit) if packed else plain


def _unpacked(file, limit):
    total = 0
    try:
        while chunk := file.read(_CHUNK):
            total += len(chunk)
            if total > limit:
                raise Unreadable(
                    f"unpacks to more than {limit // 2**20} MiB: over {MAX_RATIO} times its size, "
                    f"or over {MAX_TRACE_MIB} MiB"
                )
            yield chunk
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise Unreadable(f"is cut short or damaged gzip: {shortened(problem, 80)}") from None


def _head(chunks):
    """Return the bytes up to where the events begin, at most `MAX_HEAD_MIB`."""
    head = b""
    for chunk in chunks:
        head = (head + chunk).removeprefix(_BOM)
        start = head.lstrip()[:1]
        if (start and start != b"{") or b'"traceEvents"' in head or len(head) > MAX_HEAD_MIB * 2**20:
            break
    return head


def _looks_like_events(head):
    start = head.lstrip()[:1]
    return (start == b"{" and b'"traceEvents"' in head) or (start == b"[" and b'"ph"' in head)


# -- tokens --------------------------------------------------------------------------------


def _scan(scanner, head, chunks):
    """Feed the bytes to a parser and its tokens to the scanner, a little at a time."""
    try:
        import ijson
    except ImportError:
        raise Unreadable("needs ijson to be read: pip install 'traincost[formats]'") from None
    tokens = ijson.sendable_list()
    parser = ijson.basic_parse_coro(tokens, use_float=True)
    silent = 0
    begin = _BEGIN.search(head)
    parts = (head[i : i + _CHUNK] for i in range(0, len(head), _CHUNK))
    if begin and chunks != ():
        before, after = head[: begin.end()], head[begin.end() :]
        parts = (before[i : i + _CHUNK] for i in range(0, len(before), _CHUNK))
        chunks = _without_whole_events(scanner, chain([after], chunks))
    try:
        for chunk in chain(parts, chunks):
            parser.send(chunk)
            silent = 0 if tokens else silent + len(chunk)
            if silent > MAX_TOKEN_MIB * 2**20:
                raise Unreadable(f"holds a text or number longer than {MAX_TOKEN_MIB} MiB")
            scanner.take(tokens)
            tokens.clear()
            if scanner.gave_up:
                return
    except (ijson.JSONError, ValueError, OverflowError) as problem:
        scanner.take(tokens)
        raise Unreadable(
            f"is damaged after {scanner.trace.n_events} events: {shortened(_first_line(problem), 80)}"
        ) from None
    if chunks == ():
        return
    try:
        parser.close()
    except (ijson.JSONError, ValueError):
        scanner.ended_early()


def _without_whole_events(scanner, chunks):
    """Give the scanner whole events, many at a time, and yield the bytes that are left for the parser.

    Where an event ends and the next one begins (``}, {``), what lies before is a list of whole events if
    it parses as one: within a text or a deeper list it does not. What is no such list, and all that
    follows, is left to the parser, which needs no event to be whole.
    """
    buffer = b""
    for chunk in chunks:
        buffer += chunk
        if len(buffer) < _PIECE:
            continue
        if not scanner.is_between_events:
            break
        rest = _taken(scanner, buffer)
        if rest is None:
            break
        buffer = rest
        if scanner.gave_up:
            return
    yield from (buffer[i : i + _CHUNK] for i in range(0, len(buffer), _CHUNK))
    yield from chunks


def _taken(scanner, buffer):
    """Return what is left of a buffer of events without those that are whole; None where none is."""
    end = len(buffer)
    for _ in range(_TRIES):
        between = None
        while between is None and (end := buffer.rfind(b"}", 0, end)) >= 0:
            between = _BETWEEN.match(buffer, end)
        if between is None:
            return None
        try:
            events = orjson.loads(b"[" + buffer[: end + 1] + b"]")
        except orjson.JSONDecodeError:
            continue
        if not all(event.__class__ is dict for event in events):
            return None
        scanner.take_events(events)
        return buffer[between.end() - 1 :]
    return None


def _first_line(problem):
    text = problem.args[0] if problem.args else ""
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    return text.strip().split("\n")[0]


class _Scanner:
    """A state machine over the tokens of a document: events are looked at and let go."""

    def __init__(self):
        self.trace = Trace()
        self.is_trace = self.gave_up = self.is_list = False
        self._depth, self._events_depth = 0, None
        self._event, self._name, self._inner = None, "", 0
        self._keys = [None] * 5  # the key, or None for a list, at each depth outside the events
        self._label_of, self._thread_of = {}, {}

    def take(self, tokens):
        """Go through some tokens; the state is kept for the next ones."""
        inner = self._inner  # most tokens are arguments of an event: these are passed over here
        for kind, value in tokens:
            if inner:
                if kind in _STARTS:
                    inner += 1
                elif kind in _ENDS:
                    inner -= 1
            elif kind == "map_key":
                self._key(value)
            elif self._event is not None and kind in _STARTS:
                inner = 1
            elif kind in _STARTS:
                self._start(kind)
            elif kind in _ENDS:
                self._end()
            elif self._event is None:
                self._fact(value)
            elif self._name in _EVENT_KEYS:
                self._event[self._name] = value
        self._inner = inner

    @property
    def is_between_events(self):
        """Whether the next thing to come is an event, or the end of their list."""
        return self._event is None and self._events_depth is not None and self._depth == self._events_depth

    def take_events(self, events):
        """Go through whole events; what is nested is no time, as in `take`."""
        trace, numbers = self.trace, (int, float)
        for event in events:
            start, duration = event.get("ts"), event.get("dur", 0)
            # Nearly all are plain: they are told here, without a call.
            is_plain = event.get("ph") == "X" and start.__class__ in numbers and duration.__class__ in numbers
            if is_plain and start - start == 0 and 0 <= duration < inf:
                self.is_trace = True
                trace.n_events += 1
                if start < trace.first_us:
                    trace.first_us = start
                if start + duration > trace.last_us:
                    trace.last_us = start + duration
                if event.get("cat", "") in _MAY_ANNOTATE and _is_annotation(event):
                    self._annotate(event, start, duration)
                continue
            if duration.__class__ in (dict, list):
                del event["dur"]
            self._take_event(event)

    def ended_early(self):
        """Note that the document has no end; only an object must have one."""
        if self.is_list:
            self.trace.notes.append("the list of events has no closing bracket: read as far as it goes")
        else:
            self.trace.cut_short = f"is cut short after {self.trace.n_events} events"

    def _key(self, name):
        if self._event is not None:
            self._name = name
        elif self._depth < 5:
            self._keys[self._depth] = name

    def _start(self, kind):
        if self._depth == self._events_depth and kind == "start_map":
            self._event, self._name = {}, ""
        elif self._events_depth is None and kind == "start_array":
            self.is_list = self._depth == 0
            if self.is_list or (self._depth == 1 and self._keys[1] == "traceEvents"):
                self._events_depth = self._depth + 1
                self.is_trace = not self.is_list  # a list becomes one by its first event
        self._depth += 1
        if self._depth < 5:
            self._keys[self._depth] = None

    def _end(self):
        self._depth -= 1
        if self._event is not None and self._depth == self._events_depth:
            event, self._event = self._event, None
            self._take_event(event)
        elif self._events_depth is not None and self._depth < self._events_depth:
            self._events_depth = None

    def _fact(self, value):
        name = _FACTS.get(tuple(self._keys[1 : self._depth + 1])) if self._depth < 4 else None
        if name:
            values = self.trace.facts.setdefault(name, [])
            if len(values) < MAX_FACTS:
                values.append(value)

    def _take_event(self, event):
        phase, start, duration = event.get("ph"), event.get("ts"), event.get("dur", 0)
        if not isinstance(phase, str):
            self.gave_up = not self.is_trace
            return
        self.is_trace = True
        if phase not in ("X", "B", "E"):
            return
        if not (finite(start) and finite(duration) and duration >= 0):
            self.trace.n_unusable += 1
            return
        trace = self.trace
        trace.n_events += 1
        trace.first_us = min(trace.first_us, start)
        trace.last_us = max(trace.last_us, start + duration)
        if phase == "X" and _is_annotation(event):
            self._annotate(event, start, duration)

    def _annotate(self, event, start, duration):
        trace = self.trace
        name = shortened(_COUNTER.sub("", event["name"]), MAX_NAME)
        label = _index(self._label_of, name)
        thread = _index(self._thread_of, shortened((event.get("pid"), event.get("tid")), MAX_NAME))
        if label is None or thread is None or len(trace.starts_us) >= MAX_ANNOTATIONS:
            note = f"annotations beyond {MAX_ANNOTATIONS}, or {MAX_NAMES} names or threads, are left out"
            if note not in trace.notes:
                trace.notes.append(note)
            return
        if label == len(trace.names):
            trace.names.append(name)
        trace.starts_us.append(start)
        trace.durations_us.append(duration)
        trace.labels.append(label)
        trace.threads.append(thread)


def _is_annotation(event):
    category, name = event.get("cat", ""), event.get("name")
    if not isinstance(name, str) or not name.strip():
        return False
    return category == "user_annotation" or (category in _OPERATORS and name.startswith(_ANNOTATIONS))


def _index(indices, key):
    """Return the index of a key, given out in order; None beyond `MAX_NAMES`."""
    if key not in indices and len(indices) >= MAX_NAMES:
        return None
    return indices.setdefault(key, len(indices))
