"""Parameters and FLOP of the parts of a transformer: projections, experts, attention scores.

Contract: sizes in, sums out; nothing here knows a family or a name of a setting.
"""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Part:
    """A stack of like layers, or what stands before or after them."""

    total: int = 0  # parameters
    active: int = 0  # those that one token uses
    multiplying: int = 0  # weights that multiply each token

    def __add__(self, other):
        return Part(
            self.total + other.total, self.active + other.active, self.multiplying + other.multiplying
        )

    def times(self, n):
        """Return `n` such parts."""
        return Part(n * self.total, n * self.active, n * self.multiplying)


def weights(n, biases=0):
    """Return weights that multiply every token, and biases that do not."""
    return Part(n + biases, n + biases, n)


def vectors(n):
    """Return parameters that multiply nothing: norms, biases, tables."""
    return Part(n, n, 0)


@dataclass(frozen=True)
class Scores:
    """Attention scores of some layers: keys a query sees, and FLOP for each."""

    layers: int
    flop_per_key: int  # 2 × heads × (width of a key + width of a value)
    window: int | None = None  # keys that a query sees at most
    causal: bool = True  # whether a query sees earlier keys alone

    def full(self, tokens):
        """Return FLOP of a sequence when every score is computed, as plain kernels do."""
        return self.layers * self.flop_per_key * tokens * tokens

    def needed(self, tokens):
        """Return FLOP of a sequence of the scores that are used: a mask and a window leave the others out."""
        if not self.causal:
            return self.full(tokens)
        w = min(self.window or tokens, tokens)
        seen = w * (w + 1) // 2 + (tokens - w) * w
        return self.layers * self.flop_per_key * seen


@dataclass(frozen=True)
class Flop:
    """FLOP of one forward pass of one sequence (or image)."""

    linear: int
    attention_full: int
    attention_needed: int
    tokens: int


@dataclass(frozen=True, eq=False)
class Model:
    """What a configuration says."""

    family: str
    parameters: int
    active_parameters: int
    non_embedding_parameters: int
    unit: str  # what one pass is of: ``token`` for a language model, ``image``, ``clip``
    forward: Callable  # context length (tokens of a sequence) to `Flop`
    context: int  # that the file gives, for where none is asked for
    notes: tuple = field(default=())


def attention_projections(d, h, kv, hd, qkv_bias=False, out_bias=False):
    """Return the projections of `h` heads of width `hd`, with `kv` heads of keys and values."""
    biases = (h * hd + 2 * kv * hd) * qkv_bias + d * out_bias
    return weights(d * h * hd + 2 * d * kv * hd + h * hd * d, biases)


def gated_mlp(d, f, bias=False):
    """Return a feed-forward block of width `f` whose inner values are gated: three matrices."""
    return weights(3 * d * f, (2 * f + d) * bias)


def plain_mlp(d, f, bias=True):
    """Return a feed-forward block of width `f`: two matrices."""
    return weights(2 * d * f, (f + d) * bias)


def experts(n, k, each, *always):
    """Return `n` experts of which `k` are used, beside what every token uses."""
    used = Part(n * each.total, k * each.total, k * each.multiplying)
    for part in always:
        used = used + part
    return used
