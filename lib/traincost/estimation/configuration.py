"""The sizes that a Hugging Face ``config.json`` gives, each checked as it is asked for.

Contract: a mapping in, whole numbers and truth values out; `ParameterError` for a value that cannot be.
"""

from traincost.columns import finite
from traincost.errors import ParameterError

# Beyond these a file does not describe a model that anybody could build.
LIMITS = {"layers": 10_000, "width": 1_000_000, "vocabulary": 100_000_000}
LIMITS |= {"heads": 100_000, "experts": 100_000}
DEFAULT_CONTEXT = 2048


class Config:
    """A configuration whose values are checked as they are asked for."""

    def __init__(self, given):
        self.given = given

    def count(self, *names, default=None, limit="width", least=1):
        """Return the first that is given of several names of one whole number."""
        for name in names:
            value = self.given.get(name)
            if value is None:
                continue
            if not finite(value) or value != int(value) or not least <= value <= LIMITS[limit]:
                raise ParameterError(
                    f"`{name}` must be a whole number from {least} to {LIMITS[limit]:,}, got {value!r:.60}"
                )
            return int(value)
        if default is None:
            raise ParameterError(f"the configuration has no {' or '.join(f'`{name}`' for name in names)}")
        return default

    def flag(self, name, default=False):
        value = self.given.get(name, default)
        if not isinstance(value, bool | type(None)):
            raise ParameterError(f"`{name}` must be true or false, got {value!r:.60}")
        return default if value is None else value

    def has(self, name):
        return self.given.get(name) is not None


def read(given):
    """Return the sizes that most families have under one name."""
    c = Config(given)
    c.d = c.count("hidden_size", "n_embd", "n_embed", "d_model")
    c.layers = c.count("num_hidden_layers", "n_layer", "num_layers", limit="layers")
    c.h = c.count("num_attention_heads", "n_head", "num_heads", limit="heads")
    c.v = c.count("vocab_size", limit="vocabulary", default=0)
    return c


def head_dim(c, default=None):
    """Return the width of a head: as given, the family's own, or the width over the heads."""
    if c.has("head_dim"):
        return c.count("head_dim")
    if default:
        return default
    if c.d % c.h:
        raise ParameterError(
            f"`hidden_size` ({c.d}) is no multiple of `num_attention_heads` ({c.h}), and there is no "
            "`head_dim`"
        )
    return c.d // c.h


def kv_heads(c):
    """Return the number of heads of keys and values."""
    kv = c.count("num_key_value_heads", default=c.h, limit="heads")
    if kv > c.h or c.h % kv:
        raise ParameterError(
            f"`num_attention_heads` ({c.h}) must be a multiple of `num_key_value_heads`, got {kv}"
        )
    return kv


def is_tied(c, default):
    """Say whether the head is the table of the input embedding."""
    return c.flag("tie_word_embeddings", default)


def context_of(c, *names):
    """Return the tokens of a sequence that the file gives, under one of several names."""
    return c.count(*names, "max_position_embeddings", default=DEFAULT_CONTEXT, limit="vocabulary")
