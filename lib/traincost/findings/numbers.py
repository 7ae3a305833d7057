"""How the numbers of the findings are named and printed in prose."""

import hashlib
import math

from traincost.columns import count, percent
from traincost.prose import Name, Number

LEAST_SHARE = 0.00005  # of the runtime: what a sentence about sections still names
LARGE_REST = 0.2  # of the runtime: an unattributed part that a reader must be warned of
N_LISTED = 5  # factors listed where nothing is said of each
N_NAMED = 3  # levels, sections or factors that a sentence names


MAX_KEY_PART = 120  # characters of a name in a key; a longer one is cut, and told apart by a hash


def key(*parts):
    """Return the key of a number: parts joined by dots, dots in a name from a run escaped."""
    return ".".join(_key_part(str(part)) for part in parts)


def _key_part(part):
    if len(part) > MAX_KEY_PART:
        digest = hashlib.blake2b(part.encode("utf-8", "replace"), digest_size=8).hexdigest()
        part = f"{part[:MAX_KEY_PART]}…{digest}"
    return part.replace("\\", "\\\\").replace(".", "\\.")


def share(key, value):
    """Return a share of runtime, printed in percent."""
    return Number(key, float(value), percent(value))


def eta(key, value):
    """Return an effect size or a correlation, printed with two decimals."""
    return Number(key, float(value), f"{value:.2f}")


def number_of(key, value):
    """Return a count of things."""
    return Number(key, int(value), count(value))


def rounded(value, low, high):
    """Return three shares in percent, with no more decimals than their interval can carry.

    >>> rounded(0.3142, 0.2811, 0.3437), rounded(0.0123, 0.0099, 0.0147)
    (('31 %', '28 %', '34 %'), ('1.2 %', '1.0 %', '1.5 %'))
    """
    half = 100 * (high - low) / 2
    decimals = 2 if not half > 0 else min(2, max(0, math.ceil(-math.log10(half))))
    return tuple(percent(end, decimals).replace("-", "−") for end in (value, low, high))


def names(texts):
    """Return several names from runs."""
    return [Name(text) for text in texts]


def plural(n, one, many=None):
    """Return the noun for `n` things."""
    return one if n == 1 else many or f"{one}s"
