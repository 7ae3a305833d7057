"""How the numbers of a sentence are named and printed."""

from traincost.printing import count, share_text, time_text, two
from traincost.results.prose import Name, Number, key  # noqa: F401 - the answers take it from here

LEAST_SHARE = 0.00005  # of the runtime: what a sentence about sections still names
LARGE_REST = 0.2  # of the runtime: an unattributed part that a reader must be warned of
N_LISTED = 5  # factors listed where nothing is said of each
N_NAMED = 3  # levels, sections or factors that a sentence names


def share(name, value):
    """Return a share of runtime, printed in percent."""
    return Number(name, float(value), share_text(value))


def duration(name, seconds):
    """Return a time in the unit in which it reads best."""
    return Number(name, float(seconds), time_text(seconds))


def hours_of(name, value):
    """Return hours in the unit in which they read best."""
    return Number(name, float(value), time_text(3600 * value))


def eta(name, value):
    """Return an effect size or a correlation, printed with two decimals."""
    return Number(name, float(value), two(value))


def number_of(name, value):
    """Return a count of things."""
    return Number(name, int(value), count(value))


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
