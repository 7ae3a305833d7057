"""Sentences made of words, numbers and names, kept apart until they are written.

A number carries its key in the report and the text it is printed as; a name is text that
came from a run or a parameter. Neither can be mistaken for words, so nothing that a run
contains is ever read as HTML, and every number on a page can be traced.
"""

import hashlib
import re
import string
from dataclasses import dataclass

from traincost.printing import count, plain, share_text, time_text, two

MAX_KEY_PART = 120  # characters of a name in a key; a longer one is cut, and told apart by a hash
N_LISTED = 5  # factors listed where nothing is said of each
N_NAMED = 3  # levels, sections or factors that a sentence names


@dataclass(frozen=True)
class Number:
    """A number in prose: its key among the report's numbers, its value, and how it reads."""

    key: str
    value: object
    text: str

    @classmethod
    def of(cls, key, value, printer):
        """Return a number as `printer` prints it."""
        return cls(key, float(value), printer(value))

    @classmethod
    def several(cls, keys, values, texts):
        """Return numbers whose texts were printed together: an estimate and its interval, say."""
        return [cls(*each) for each in zip(keys, map(float, values), texts, strict=True)]

    @classmethod
    def count(cls, key, value):
        """Return a count of things."""
        return cls(key, int(value), count(value))

    @classmethod
    def share(cls, key, value):
        """Return a share of runtime, printed in percent."""
        return cls.of(key, value, share_text)

    @classmethod
    def time(cls, key, seconds):
        """Return a time in the unit in which it reads best."""
        return cls.of(key, seconds, time_text)

    @classmethod
    def hours(cls, key, value):
        """Return hours in the unit in which they read best."""
        return cls(key, float(value), time_text(3600 * value))

    @classmethod
    def two(cls, key, value):
        """Return an effect size or a correlation, printed with two decimals."""
        return cls.of(key, value, two)


@dataclass(frozen=True)
class Name:
    """Text from a run or a parameter, shown as it is."""

    text: str


@dataclass(frozen=True)
class Phrase:
    """Words from a parameter, set as words and not as a name."""

    text: str


@dataclass(frozen=True)
class When:
    """A date or time."""

    text: str


@dataclass(frozen=True)
class Sentence:
    """A sequence of words (str), `Number`, `Name`, `Phrase` and `When`."""

    parts: tuple

    def numbers(self):
        """Return the numbers of the sentence."""
        return [part for part in self.parts if isinstance(part, Number)]

    def __str__(self):
        return self.plain()

    def __repr__(self):
        return repr(self.plain())

    def plain(self):
        """Return the sentence as text, with an ordinary space before units."""
        return "".join(map(_plain, self.parts))


class Captioned:
    """What has a caption, and may have a note below it."""

    @property
    def said(self):
        """The caption and what stands below, as sentences."""
        return (self.caption, self.note) if self.note else (self.caption,)


def say(template, **parts):
    """Fill the fields of `template` with parts.

    Parameters
    ----------
    template : str
        Words, with ``{field}`` for each part. ``{field:run|runs}`` is the first form where the part is one,
        else the second. What stands in brackets is left out where a part in it is None or an empty list.
    **parts : Number, Name, When, Sentence, str, or a list of these
        A list is joined with commas and "and".

    >>> say("{n} {n:run costs|runs cost} {b}[, {c} more].", n=Number.count("k", 1), b=Name("x"), c=None)
    '1 run costs x.'
    """
    filled = []
    for i, piece in enumerate(re.split(r"[\[\]]", template)):
        fields = list(string.Formatter().parse(piece))
        is_optional = i % 2 == 1
        if is_optional and any(_is_nothing(parts[field]) for _, field, *_ in fields if field):
            continue
        for words, field, forms, _ in fields:
            if words:
                filled.append(words)
            if forms:
                filled.append(plural(getattr(parts[field], "value", parts[field]), *forms.split("|")))
            elif field is not None:
                filled.extend(_flat(parts[field]))
    return Sentence(tuple(filled))


def _is_nothing(part):
    return part is None or (isinstance(part, list) and not part)


def join(sentences, separator=" "):
    """Put sentences one after another as one."""
    parts = []
    for sentence in sentences:
        if parts:
            parts.append(separator)
        parts.extend(sentence.parts)
    return Sentence(tuple(parts))


def _plain(part):
    if isinstance(part, str):
        return part
    return plain(part.text) if isinstance(part, Number) else part.text


def _flat(part):
    if isinstance(part, Sentence):
        return part.parts
    if isinstance(part, list | tuple):
        flat = []
        for i, item in enumerate(part):
            if i:
                flat.append(" and " if i == len(part) - 1 else ", ")
            flat.extend(_flat(item))
        return flat
    return (part,)


def key(*parts):
    """Return the key of a number: parts joined by dots, dots in a name from a run escaped."""
    return ".".join(_key_part(str(part)) for part in parts)


def _key_part(part):
    if len(part) > MAX_KEY_PART:
        digest = hashlib.blake2b(part.encode("utf-8", "replace"), digest_size=8).hexdigest()
        part = f"{part[:MAX_KEY_PART]}…{digest}"
    return part.replace("\\", "\\\\").replace(".", "\\.")


# -- names, and lists of them -----------------------------------------------------------------------


def names(texts):
    """Return several names from runs."""
    return [Name(text) for text in texts]


def plural(n, one, many=None):
    """Return the noun for `n` things."""
    return one if n == 1 else many or f"{one}s"


def first_names(texts, limit=N_LISTED):
    """Return the first few names, and "others" where there are more.

    >>> [name.text for name in first_names(["a", "b"])], first_names(["a", "b"], 1)[1]
    (['a', 'b'], 'others')
    """
    texts = list(texts)
    return names(texts[:limit]) + (["others"] if len(texts) > limit else [])


def with_more(listed, n, name, more="more"):
    """Return what is listed of `n` things, and the number `name` of how many more there are, if any are."""
    n_more = n - len(listed)
    return [*listed, say(f"{{n}} {more}", n=Number.count(name, n_more))] if n_more > 0 else listed
