"""Intervals by Monte Carlo: seeded draws of what is uncertain, one stream for each input by its name.

An input has the same draws wherever it stands, so what two terms share (the parameters of all stages, the
rate of a chip) varies together, and the interval of a system does not depend on which others are estimated.
The draws of an input are the middles of equal parts of its distribution in a random order: its own quantiles
are exact, and only what several inputs do together is sampled.
"""

import functools
import hashlib

import numpy as np
from scipy import special

from traincost.estimation.quantities import ABOUT, EXACT, WITHIN

N_DRAWS = 4_000
LEVEL = 0.90  # of the intervals
SEED = 20_220_211
_Z = float(special.ndtri((1 + LEVEL) / 2))
# Share of a range's draws beyond each of its ends: "2–3 weeks" is no hard limit.
BEYOND = (1 - LEVEL) / 2


@functools.lru_cache(maxsize=256)
def uniforms(name):
    """Return the draws of an input between 0 and 1."""
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    rng = np.random.default_rng([SEED, int.from_bytes(digest)])
    drawn = (rng.permutation(N_DRAWS) + 0.5) / N_DRAWS
    drawn.setflags(write=False)
    return drawn


@functools.lru_cache(maxsize=256)
def normals(name):
    """Return the draws of an input as standard normal ones."""
    drawn = special.ndtri(uniforms(name))
    drawn.setflags(write=False)
    return drawn


def of_quantity(quantity, name):
    """Return draws of a `quantities.Quantity`, or its value where it is exact."""
    if quantity.shape == EXACT or quantity.low == quantity.high:
        return quantity.value
    if quantity.shape == WITHIN:
        return quantity.low + (quantity.high - quantity.low) * uniforms(name)
    if quantity.shape == ABOUT:
        spread = (quantity.high - quantity.low) / 2 / _Z
        return np.maximum(quantity.value + spread * normals(name), quantity.value / 100)
    low, high = np.log(quantity.low), np.log(quantity.high)
    return np.exp(low + (high - low) * ((uniforms(name) - BEYOND) / LEVEL))


@functools.lru_cache(maxsize=256)
def lognormal(name, median, sigma, limit=None):
    """Return log-normal draws; `sigma` in log10, truncated at `limit`."""
    top = 1.0 if limit is None else special.ndtr(np.log10(limit / median) / sigma)
    return median * 10 ** (sigma * special.ndtri(uniforms(name) * top))


@functools.lru_cache(maxsize=256)
def by_quantiles(name, quantiles):
    """Return draws of a factor whose quantiles are known: linear in log10 between them, and a little beyond.

    These are (probability, factor), ascending, 5 and 95 % the outer ones.
    """
    p = np.array([p for p, _ in quantiles])
    logs = np.log10([factor for _, factor in quantiles])
    # Beyond the outer ones as steep as half of what lies between them: a tail that is not known ends soon.
    reach = (logs[-1] - logs[0]) / 4
    p = np.concatenate([[0.0], p, [1.0]])
    logs = np.concatenate([[logs[0] - reach], logs, [logs[-1] + reach]])
    return 10 ** np.interp(uniforms(name), p, logs)


def either(name, factors):
    """Return draws that are one of several factors, each as often."""
    return np.asarray(factors)[(uniforms(name) * len(factors)).astype(int)]


def interval(draws, value):
    """Return the ends of the 90 % interval; `value` twice where nothing is uncertain."""
    if np.ndim(draws) == 0:
        return value, value
    ordered = np.partition(draws, _ENDS)
    return float(ordered[_ENDS[0]]), float(ordered[_ENDS[1]])


_ENDS = (round((1 - LEVEL) / 2 * N_DRAWS), round((1 + LEVEL) / 2 * N_DRAWS) - 1)


def shares(draws, terms):
    """Say which inputs, as drawn, the spread of a product is from.

    Squared rank correlation of each uncertain input, by its name, the largest first; to first order. An
    input that several parts of a sum share counts once, by its first name.
    """
    if np.ndim(draws) == 0:
        return {}
    outcome, found, seen = _ranks(draws), {}, []
    for name, term in terms.items():
        ranks = _ranks(term) if np.ndim(term) else None
        if ranks is not None and not any(np.array_equal(ranks, other) for other in seen):
            seen.append(ranks)
            found[name] = np.corrcoef(ranks, outcome)[0, 1] ** 2
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def _ranks(draws):
    ranks = np.empty(len(draws))
    ranks[np.argsort(draws, kind="stable")] = np.arange(len(draws))
    return ranks
