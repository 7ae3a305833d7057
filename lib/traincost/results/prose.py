"""Sentences made of words, numbers and names, kept apart until they are written.

A number carries its key in the report and the text it is printed as; a name is text that
came from a run or a parameter. Neither can be mistaken for words, so nothing that a run
contains is ever read as HTML, and every number on a page can be traced.
"""

import hashlib
import string
from dataclasses import dataclass

from traincost.printing import plain

MAX_KEY_PART = 120  # characters of a name in a key; a longer one is cut, and told apart by a hash


@dataclass(frozen=True)
class Number:
    """A number in prose: its key among the report's numbers, its value, and how it reads."""

    key: str
    value: object
    text: str


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


def say(template, **parts):
    """Fill the fields of `template` with parts.

    Parameters
    ----------
    template : str
        Words, with ``{field}`` for each part.
    **parts : Number, Name, When, Sentence, str, or a list of these
        A list is joined with commas and "and".

    >>> say("{a} costs {b}.", a=Name("x"), b=Number("k", 2.0, "2 s")).plain()
    'x costs 2 s.'
    """
    filled = []
    for words, field, _, _ in string.Formatter().parse(template):
        if words:
            filled.append(words)
        if field is not None:
            filled.extend(_flat(parts[field]))
    return Sentence(tuple(filled))


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
