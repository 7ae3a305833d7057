"""Keep secrets, persons and machines out of everything that is made of runs.

What a reader returns passes here before anything else sees it (`Redactor`). Withheld text becomes
a mark: its kind and a digest, equal where the text was, so that batches read apart agree. The key
of the digest is random: without it, not even a host or user of a known list can be found by trial.
An index keeps the key beside it, for its owner alone, so that a refresh goes on with the same
marks. Once a collection is put together, marks become "host 1", "user 2", "withheld 3", in the
order of their first appearance (`numbered`).
"""

import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from traincost.reading import bounds, sensitive
from traincost.reading.sensitive import HOST, SECRET, USER, vocabulary
from traincost.reading.tables import TEXTS, changed, coded, entries

HOME = "home"
KEY_BYTES = 16
MAX_CACHED = 50_000  # texts and settings of which a decision is kept
_MARK = re.compile(r"‹(withheld|user|host|home):([0-9a-f]{16})›")
_SIGN, _ESCAPED = "‹", r"\u2039"
# One of these is in a path of which something is withheld, or a long name.
_SIGNS = ("@", "=", ":", "~", "\\", "--", "/home", "/user", "/Users", "/root")
# Short, and without a sign that a path, an address or a pair has.
_PLAIN = re.compile(r"[\w .,+-]{0,18}|[\d:T.+Z-]*")
# Accounts that many have: their names stand in paths that tell of no one.
_NO_ONE = vocabulary(
    "root user users ubuntu admin runner jovyan vscode app work workspace data home shared public default "
    "hadoop test guest ec2-user"
)


@dataclass(frozen=True)
class Rule:
    """How a collection is redacted."""

    key: bytes = field(default_factory=lambda: os.urandom(KEY_BYTES))  # of the digests
    show: tuple = ()  # settings that are let through: a dotted path, or the last part of one

    def shows(self, name):
        """Say whether a setting is let through."""
        return name in self.show or name.rpartition(".")[2] in self.show


class Redactor:
    """Redacts runs, and remembers what it decided: a name or value that comes again costs nothing.

    `longest` is the length of the longest text that it put in the place of another.
    """

    def __init__(self, rule):
        self._rule, self.longest = rule, 0
        self._names, self._settings, self._changed, self._digests, self._plain = {}, {}, {}, {}, set()

    def __call__(self, runs, held):
        """Take what is to be withheld out of a batch of runs, which hold what is `held` (`bounds.Held`).

        Their dicts are replaced, not changed.
        """
        # What all of them share is looked at once, and most batches are done with that.
        withheld = self._withheld(held.settings)
        has_texts = any(self.text(text) != text for text in (held.names | held.texts) - self._plain)
        for run in runs if withheld else ():
            run.config = self._without(run.config, withheld)
        for run in runs if has_texts else ():
            self._redact_texts(run)
        for run in runs:
            if run.host or run.job or run.fingerprint or run.notes or run.compute:
                self._redact_own(run)

    def _redact_texts(self, run):
        for name in bounds.TEXTS:
            setattr(run, name, self.text(getattr(run, name)))
        for name in bounds.MAPPINGS:
            setattr(run, name, self._renamed(getattr(run, name)))

    def _redact_own(self, run):
        """Redact what hardly two runs share, or what stands for one machine or job."""
        if run.notes:
            run.notes = list(map(self.text, run.notes))
        if run.host:
            run.host = self._host(run.host)
        if run.job:
            run.job = self._digest(run.job)
        if run.fingerprint:
            run.fingerprint = self._digest(run.fingerprint)
        if run.compute:
            shown = within(run.compute, self.text)
            if shown != run.compute:
                self._long(repr(shown))
            run.compute = shown

    def _host(self, host):
        """Return what stands for a machine; each of several names has a mark of its own."""
        if self._rule.shows("host"):
            return self.text(host)
        names = host.split(", ")
        return self._long(", ".join(self._mark(HOST, n) if sensitive.is_host(n) else n for n in names))

    def config(self, config):
        """Return flat settings without what is to be withheld; a number stays one."""
        return self._renamed(self._without(config, self._withheld(config.items())))

    def _withheld(self, settings):
        """Return settings, (name, value), that are not shown, to what stands there and the persons in it."""
        found = {setting: self._setting(*setting) for setting in settings if setting[1].__class__ is str}
        return {setting: (shown, persons) for setting, (shown, persons) in found.items() if shown is not None}

    def _without(self, config, withheld):
        """Return settings without the `withheld` among them, and without their persons in other paths."""
        own = withheld.keys() & config.items()
        if not own:
            return config
        config = {**config, **{setting[0]: withheld[setting][0] for setting in own}}
        # The longest first: the name of one may begin that of another.
        persons = {person for setting in own for person in withheld[setting][1]}
        persons = sorted(persons, key=lambda person: (-len(person), person))
        return self._without_persons(config, _as_directory(*persons)) if persons else config

    def text(self, text):
        """Return a text without what has the shape of something to be withheld."""
        if text in self._plain:
            return text
        found = text if _PLAIN.fullmatch(text) else self._changed.get(text) or self._shaped(text)
        if found != text:
            return self._long(_kept(self._changed, text, found))
        if len(self._plain) >= MAX_CACHED:
            self._plain.clear()
        self._plain.add(text)
        return text

    def paths(self, paths):
        """Return a list of paths without what has such a shape."""
        together = "\n".join(paths)
        has_sign = any(sign in together for sign in _SIGNS) or sensitive.may_hold_token(together)
        return list(map(self._path, paths)) if has_sign else paths

    def _path(self, path):
        # The directory by itself, as in the name of a run that has no other.
        directory, slash, name = path.rpartition("/")
        return self.text(path) if path.startswith("/") else self.text(directory) + slash + self.text(name)

    def _setting(self, name, value):
        """Return what stands in the place of a setting, None for itself, and the persons it named."""
        if (found := self._settings.get((name, value))) is not None:
            return found
        found = (None, ())
        if not self._rule.shows(name):
            named = self._names.get(name) or _kept(self._names, name, sensitive.named(name))
            if sensitive.is_withheld(named, value):
                persons = (value,) if named.kind == USER and value not in _NO_ONE else ()
                found = (self._mark(named.kind or SECRET, value), persons)
            elif (shown := self.text(value)) != value:
                found = (shown, tuple(set(_persons(value)) - _NO_ONE))
        return _kept(self._settings, (name, value), found)

    def _without_persons(self, config, person):
        """Return settings in whose paths the persons that others named are withheld too."""
        paths = [name for name, v in config.items() if v.__class__ is str and ("/" in v or "\\" in v)]
        paths = [name for name in paths if not self._rule.shows(name)]
        shown = {name: self._long(person.sub(self._marked(USER), config[name])) for name in paths}
        return {**config, **shown}

    def _long(self, text):
        self.longest = max(self.longest, len(text))
        return text

    def _renamed(self, mapping):
        """Return a mapping whose names are redacted."""
        if self._plain.issuperset(mapping):
            return mapping
        # A home is a person here: `~` could make one name of two.
        return {self.text(name).replace(f"‹{HOME}:", f"‹{USER}:"): value for name, value in mapping.items()}

    # -- shapes ----------------------------------------------------------------------------

    def _shaped(self, text):
        if sensitive.may_hold_token(text):
            text = sensitive.TOKEN.sub(self._marked(SECRET), text)
        if "tfevents." in text or ".trace.json" in text:
            text = sensitive.HOST_FILE.sub(self._without_host, text)
        if "://" in text and "@" in text:
            text = sensitive.USERINFO.sub(self._marked(SECRET), text)
        if "=" in text or ":" in text or "--" in text:
            text = self._without_pairs(text)
        if "@" in text:
            text = sensitive.EMAIL.sub(self._marked(USER), text)
            text = sensitive.LOGIN.sub(lambda m: f"{self._mark(USER, m[1])}@{self._mark(HOST, m[2])}", text)
        if "/" in text or "\\" in text:
            text = sensitive.HOME.sub(lambda m: self._mark(HOME, _person(m)), text)
            text = sensitive.DEEP_HOME.sub(lambda m: m[1] + self._mark(USER, m[2]), text)
        return text

    def _without_host(self, match):
        before, host = filter(None, match.groups()) if match[1] else ("", match[4])
        return before + self._mark(HOST, host) if sensitive.is_host(host) else match[0]

    def _without_pairs(self, text):
        """Return a text without the values that stand beside the name of a secret, person or host."""
        parts, at = [], 0
        for pair in sensitive.PAIR.finditer(text):
            value = sensitive.VALUE.match(text, pair.end()) if pair.start() >= at else None
            if value and self._is_withheld_pair(pair, value[value.lastindex]):
                start, end = value.span(value.lastindex)
                end = sensitive.REST.match(text, end).end()
                kind = sensitive.named(pair[1] or pair[3]).kind or SECRET
                parts += [text[at:start], self._mark(kind, text[start:end])]
                at = end
        return "".join([*parts, text[at:]])

    def _is_withheld_pair(self, pair, value):
        name = sensitive.named(pair[1] or pair[3])
        if value.startswith(_SIGN) or not (name.kind or name.is_wandbs):
            return False
        # "user: hello" may be talk; user=anna and "user": "anna" are not.
        is_talk = name.kind != SECRET and pair[2] and "=" not in pair[2] and not set("\"'") & set(pair[2])
        return not is_talk and sensitive.is_withheld(name, value)

    def _marked(self, kind):
        return lambda match: self._mark(kind, match[0])

    def _mark(self, kind, text):
        return f"‹{kind}:{self._digest(text)}›"

    def _digest(self, text):
        if (found := self._digests.get(text)) is not None:
            return found
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), key=self._rule.key, digest_size=8)
        return _kept(self._digests, text, digest.hexdigest())


def _kept(cache, key, value):
    if len(cache) >= MAX_CACHED:
        cache.clear()
    cache[key] = value
    return value


@lru_cache(maxsize=1_000)
def _as_directory(*persons):
    """Return a pattern of the names of persons where they are a whole part of a path."""
    return re.compile(rf"(?<=[/\\])(?:{'|'.join(map(re.escape, persons))})(?=[/\\]|$)")


def _persons(text):
    homes = map(_person, sensitive.HOME.finditer(text))
    return [*homes, *(match[2] for match in sensitive.DEEP_HOME.finditer(text))]


def _person(match):
    return next(filter(None, match.groups()))


def within(value, shown):
    """Return a JSON value with `shown` of each text in it, names too."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {shown(name): within(inner, shown) for name, inner in value.items()}
    return [within(inner, shown) for inner in value] if isinstance(value, list) else value


# -- numbers for marks ---------------------------------------------------------------------


class Numbering:
    """Numbers marks of one kind in the order in which they are shown to it."""

    def __init__(self):
        self._numbers = {}

    def __call__(self, text):
        """Return a text with words in the place of its marks."""
        return _MARK.sub(self._word, text) if _SIGN in text else text

    def all(self, texts):
        """Return a list of texts with words in the place of their marks."""
        return list(map(self, texts)) if any(_SIGN in text for text in texts) else list(texts)

    def _word(self, mark):
        kind, digest = mark.groups()
        numbers = self._numbers.setdefault(kind, {})
        return "~" if kind == HOME else f"{kind} {numbers.setdefault(digest, len(numbers) + 1)}"


def numbered(runs, shown):
    """Return runs with words (a `Numbering`) in the place of marks, and a note of each field that had one.

    A column without a mark stays as it is: of many runs, a copy of each would take as much again.
    """
    withheld, columns = {}, {}
    for name in filter(lambda name: _has_marks(runs[name]), TEXTS):
        columns[name], marked = _numbered(_whole(runs[name]), shown)
        for row in np.flatnonzero(marked).tolist() if name != "host" else ():
            withheld.setdefault(row, {})[name] = None
    for name in ("config", "cost", "scores", "sections"):
        has_texts = name == "config"  # their values are JSON texts
        names, values, *_ = pc.list_flatten(runs[name]).flatten()
        if _has_marks(names) or (has_texts and _has_marks(values, in_json=True)):
            columns[name], marked = _numbered_entries(runs[name], shown, has_texts)
            for row, setting in marked:
                withheld.setdefault(row, {})[setting if has_texts else name] = None
    if _has_marks(runs["compute"], in_json=True):
        columns["compute"] = _numbered(_whole(runs["compute"]), shown, in_json=True)[0]
    if withheld or _has_marks(pc.list_flatten(runs["notes"])):
        columns["notes"] = notes = [list(map(shown, own)) for own in runs["notes"].to_pylist()]
        for row, names in withheld.items():
            notes[row] += [f"withheld: `{name}`" for name in names]
    return changed(runs, **columns)


def _numbered_entries(column, shown, has_texts):
    """Return a column of lists with words in the place of marks, and (row, name) of each that had one."""
    rows, *fields = entries(column)
    names, *values = (_whole(field) for field in fields)
    names, marked = _numbered(names, shown)
    if has_texts:
        values[0], marked_values = _numbered(values[0], shown, in_json=True)
        marked = marked | marked_values
    at = np.flatnonzero(marked)
    ends = np.searchsorted(rows, np.arange(len(column) + 1)).astype(np.int32)
    types = list(column.type.value_type)
    made = pa.ListArray.from_arrays(ends, pa.StructArray.from_arrays([names, *values], fields=types))
    return made, list(zip(rows[at].tolist(), names.take(pa.array(at)).to_pylist(), strict=True))


def _whole(column):
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _has_marks(texts, in_json=False):
    signs = (_SIGN, _ESCAPED) if in_json else (_SIGN,)
    return any(pc.any(pc.match_substring(texts, sign)).as_py() for sign in signs)


def _numbered(texts, shown, in_json=False):
    """Return an array of texts with words in the place of marks, and which of them had one."""
    if not _has_marks(texts, in_json):
        return texts, np.zeros(len(texts), dtype=bool)
    levels, codes = coded(texts)
    words = list(levels)
    for i, level in enumerate(levels):
        if level is not None and (_SIGN in level or (in_json and _ESCAPED in level)):
            words[i] = json.dumps(within(json.loads(level), shown)) if in_json else shown(level)
    marked = np.array([word != level for word, level in zip(words, levels, strict=True)], dtype=bool)
    return pa.array(words, pa.string()).take(pa.array(codes)), marked[codes]
