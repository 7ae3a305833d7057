"""Parameters and FLOP of a transformer from its Hugging Face ``config.json``, by formula.

A multiply-add is two FLOP; only matrix products and convolutions count (norms, softmax, activations, biases
and rotary embeddings are below a percent from a width of 2048 on). FLOP of a forward pass are
2 × (weights that multiply a token) + those of its attention scores; the input embedding is a look-up, and the
head counts once, tied or not. Training is three forward passes, four where activations are recomputed.

Contract: a mapping in, a `Model` out; no file, no torch.
"""

from dataclasses import dataclass, replace

from traincost.errors import ParameterError
from traincost.estimation.decoders import DECODERS
from traincost.estimation.encoders import ENCODERS

FORWARD_BACKWARD, WITH_RECOMPUTATION = 3, 4
BYTES_OF_WEIGHTS = 2  # bf16
BYTES_OF_GRADIENTS = 2
BYTES_OF_ADAM = 12  # fp32 weights and two moments
_FAMILIES = DECODERS | ENCODERS
FAMILIES = tuple(sorted(_FAMILIES))


def count(config):
    """Count a model by its configuration, what a ``config.json`` of Hugging Face holds.

    `ParameterError` where it is none, of a family that is not known, or has a value that cannot be.
    """
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise ParameterError("the configuration has no `model_type`: is it a config.json of Hugging Face?")
    family = config["model_type"]
    if family not in _FAMILIES:
        raise ParameterError(f"`model_type` must be one of {', '.join(FAMILIES)}, got {family!r:.60}")
    text = config.get("text_config")
    if isinstance(text, dict):
        model = _FAMILIES[family]({**config, **text})
        note = "the text model alone; what sees images is not counted"
        return replace(model, notes=(*model.notes, note))
    return _FAMILIES[family](config)


@dataclass(frozen=True)
class Training:
    """FLOP and memory of a training, with weights in bf16 and Adam in fp32."""

    tokens: float
    context: int
    linear_flop_per_token: float  # of a forward pass, as the next two
    attention_full_flop_per_token: float
    attention_causal_flop_per_token: float
    flop: float  # of the training, with all scores (the convention of PaLM and Megatron)
    flop_causal: float  # with those scores that a causal mask leaves
    flop_recomputed: float  # as executed where all activations are recomputed
    flop_6n: float  # 6 N D with all parameters
    flop_6n_active: float  # with the active ones
    flop_6n_non_embedding: float  # with the active ones that are no embeddings
    weights_bytes: int
    gradients_bytes: int
    optimizer_bytes: int


def train(model, tokens=None, context=None):
    """Say what training a model takes.

    `tokens` are those processed in the whole training (images or clips for models of these), one if left out;
    `context` are those of a sequence, as in the configuration if left out.
    """
    context = context or model.context
    units = 1 if tokens is None else tokens
    flop = model.forward(context)
    per = flop.tokens if model.unit == "token" else 1
    linear, full, needed = (part / per for part in (flop.linear, flop.attention_full, flop.attention_needed))
    return Training(
        units,
        context,
        linear,
        full,
        needed,
        FORWARD_BACKWARD * (linear + full) * units,
        FORWARD_BACKWARD * (linear + needed) * units,
        WITH_RECOMPUTATION * (linear + full) * units,
        6 * model.parameters * units,
        6 * model.active_parameters * units,
        6 * (model.active_parameters - model.parameters + model.non_embedding_parameters) * units,
        BYTES_OF_WEIGHTS * model.parameters,
        BYTES_OF_GRADIENTS * model.parameters,
        BYTES_OF_ADAM * model.parameters,
    )
