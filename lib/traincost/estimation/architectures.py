"""Parameters and FLOP of a transformer from its Hugging Face ``config.json``, by formula.

A multiply-add is two FLOP; only matrix products and convolutions count (norms, softmax, activations, biases
and rotary embeddings are below a percent from a width of 2048 on). FLOP of a forward pass are
2 × (weights that multiply a token) + those of its attention scores; the input embedding is a look-up, and the
head counts once, tied or not. Training is three forward passes, four where activations are recomputed.

Contract: a mapping in, a `Model` out; no file, no torch.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from traincost.columns import finite
from traincost.errors import ParameterError

FORWARD_BACKWARD, WITH_RECOMPUTATION = 3, 4
BYTES_OF_WEIGHTS = 2  # bf16
BYTES_OF_GRADIENTS = 2
BYTES_OF_ADAM = 12  # fp32 weights and two moments
# Beyond these a file does not describe a model that anybody could build.
LIMITS = {
    "layers": 10_000,
    "width": 1_000_000,
    "vocabulary": 100_000_000,
    "heads": 100_000,
    "experts": 100_000,
}
DEFAULT_CONTEXT = 2048


@dataclass(frozen=True)
class Part:
    """A stack of like layers, or what stands before or after them.

    Attributes
    ----------
    total, active : int
        Parameters, and those that one token uses.
    multiplying : int
        Weights that multiply each token.
    """

    total: int = 0
    active: int = 0
    multiplying: int = 0

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
    """Attention scores of some layers: keys a query sees, and FLOP for each.

    Attributes
    ----------
    layers : int
    flop_per_key : int
        2 × heads × (width of a key + width of a value).
    window : int, or None
        Keys that a query sees at most.
    causal : bool
        Whether a query sees earlier keys alone.
    """

    layers: int
    flop_per_key: int
    window: int | None = None
    causal: bool = True

    def full(self, queries, keys=None):
        """Return FLOP of a sequence when every score is computed, as plain kernels do."""
        return self.layers * self.flop_per_key * queries * (queries if keys is None else keys)

    def needed(self, queries, keys=None):
        """Return FLOP of a sequence of the scores that are used: a mask and a window leave the others out."""
        keys = queries if keys is None else keys
        if not self.causal:
            return self.full(queries, keys)
        w = min(self.window or queries, queries)
        seen = w * (w + 1) // 2 + (queries - w) * w
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
    """What a configuration says.

    Attributes
    ----------
    family : str
    parameters, active_parameters, non_embedding_parameters : int
    unit : str
        What one pass is of: ``token`` for a language model, ``image``, ``clip``.
    forward : callable
        Context length (tokens of a sequence) to `Flop`.
    context : int
        The context that the file gives, for where none is asked for.
    notes : tuple of str
    """

    family: str
    parameters: int
    active_parameters: int
    non_embedding_parameters: int
    unit: str
    forward: Callable
    context: int
    notes: tuple = field(default=())


# -- reading a configuration -----------------------------------------------------------------------------


class _Config:
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


def _read(given):
    """Return the sizes that most families have under one name."""
    c = _Config(given)
    c.d = c.count("hidden_size", "n_embd", "n_embed", "d_model")
    c.layers = c.count("num_hidden_layers", "n_layer", "num_layers", limit="layers")
    c.h = c.count("num_attention_heads", "n_head", "num_heads", limit="heads")
    c.v = c.count("vocab_size", limit="vocabulary", default=0)
    return c


def _head_dim(c, default=None):
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


def _kv(c):
    kv = c.count("num_key_value_heads", default=c.h, limit="heads")
    if kv > c.h or c.h % kv:
        raise ParameterError(
            f"`num_attention_heads` ({c.h}) must be a multiple of `num_key_value_heads`, got {kv}"
        )
    return kv


def _attention(d, h, kv, hd, qkv_bias=False, out_bias=False):
    biases = (h * hd + 2 * kv * hd) * qkv_bias + d * out_bias
    return weights(d * h * hd + 2 * d * kv * hd + h * hd * d, biases)


def _gated(d, f, bias=False):
    return weights(3 * d * f, (2 * f + d) * bias)


def _plain_mlp(d, f, bias=True):
    return weights(2 * d * f, (f + d) * bias)


def _experts(n, k, each, *always):
    """Return `n` experts of which `k` are used, beside what every token uses."""
    used = Part(n * each.total, k * each.total, k * each.multiplying)
    for part in always:
        used = used + part
    return used


def _tied(c, default):
    return c.flag("tie_word_embeddings", default)


def _context(c, *names):
    return c.count(*names, "max_position_embeddings", default=DEFAULT_CONTEXT, limit="vocabulary")


def _decoder(family, c, layers, scores, tied, norm, table=0, extra=0, notes=(), context=None):
    """Return a decoder: embeddings, layers, a final norm and a head.

    `layers` is their sum, `table` the parameters of learned positions, `extra` of other vectors.
    """
    head = c.v * c.d
    body = layers + vectors(norm + extra)
    embedding = c.v * c.d * (1 if tied else 2) + table

    def forward(tokens):
        return Flop(
            2 * (layers.multiplying + head) * tokens,
            sum(s.full(tokens) for s in scores),
            sum(s.needed(tokens) for s in scores),
            tokens,
        )

    return Model(
        family,
        body.total + embedding,
        body.active + embedding,
        body.total,
        "token",
        forward,
        context or _context(c, "n_positions"),
        tuple(notes),
    )


# -- families: decoders ------------------------------------------------------------------------------------


def _windows(c, per_key):
    """Return the scores of layers with and without a sliding window."""
    kinds = c.given.get("layer_types")
    window = c.count("sliding_window", limit="vocabulary", default=0, least=0)
    if isinstance(kinds, list) and len(kinds) == c.layers:
        n = sum(kind == "sliding_attention" for kind in kinds)
    else:
        n = c.sliding_layers if window else 0
    return [s for s in (Scores(n, per_key, window or None), Scores(c.layers - n, per_key)) if s.layers]


def _llama(given, family="llama"):
    c = _read(given)
    hd, kv = _head_dim(c, 128 if family == "qwen3" else None), _kv(c)
    f = c.count("intermediate_size")
    bias = c.flag("attention_bias") or family == "qwen2"
    out_bias = c.flag("attention_bias") and family != "qwen2"
    layer = _attention(c.d, c.h, kv, hd, bias, out_bias) + _gated(c.d, f, c.flag("mlp_bias"))
    layer = layer + vectors(2 * c.d + (2 * hd if family == "qwen3" else 0))
    c.sliding_layers = c.layers if family == "mistral" else 0
    if family in ("qwen2", "qwen3") and c.flag("use_sliding_window"):
        c.sliding_layers = max(
            0, c.layers - c.count("max_window_layers", default=c.layers, limit="layers", least=0)
        )
    scores = _windows(c, 4 * c.h * hd)
    return _decoder(family, c, layer.times(c.layers), scores, _tied(c, False), c.d)


def _gemma(given, family="gemma"):
    c = _read(given)
    hd, kv, f = _head_dim(c, 256), _kv(c), c.count("intermediate_size")
    norms = (2 if family == "gemma" else 4) * c.d + (2 * hd if family == "gemma3" else 0)
    bias = c.flag("attention_bias")
    layer = _attention(c.d, c.h, kv, hd, bias, bias) + _gated(c.d, f) + vectors(norms)
    every = {"gemma": 0, "gemma2": 2, "gemma3": c.count("sliding_window_pattern", default=6, limit="layers")}[
        family
    ]
    # Of gemma2 every second layer, of gemma3 all but every sixth, sees a window.
    c.sliding_layers = 0 if not every else c.layers - c.layers // every
    scores = _windows(c, 4 * c.h * hd)
    return _decoder(family, c, layer.times(c.layers), scores, _tied(c, True), c.d)


def _gpt2(given):
    c = _read(given)
    f = c.count("n_inner", default=4 * c.d)
    hd = _head_dim(c)
    layer = _attention(c.d, c.h, c.h, hd, True, True) + _plain_mlp(c.d, f) + vectors(4 * c.d)
    positions = c.count("n_positions", "max_position_embeddings", default=1024, limit="vocabulary")
    scores = [Scores(c.layers, 4 * c.h * hd)]
    return _decoder("gpt2", c, layer.times(c.layers), scores, _tied(c, True), 2 * c.d, positions * c.d)


def _gpt_neox(given):
    c = _read(given)
    hd, f, bias = _head_dim(c), c.count("intermediate_size"), c.flag("attention_bias", True)
    layer = _attention(c.d, c.h, c.h, hd, bias, bias) + _plain_mlp(c.d, f) + vectors(4 * c.d)
    return _decoder(
        "gpt_neox", c, layer.times(c.layers), [Scores(c.layers, 4 * c.h * hd)], _tied(c, False), 2 * c.d
    )


def _falcon(given):
    c = _read(given)
    hd, new, bias = _head_dim(c), c.flag("new_decoder_architecture"), c.flag("bias")
    kv = (
        c.count("num_kv_heads", default=c.h, limit="heads")
        if new
        else 1
        if c.flag("multi_query", True)
        else c.h
    )
    f = c.count("ffn_hidden_size", default=4 * c.d)
    norms = 1 if c.flag("parallel_attn", True) and not new else 2
    if new:
        norms = c.count("num_ln_in_parallel_attn", default=2)
    layer = _attention(c.d, c.h, kv, hd, bias, bias) + _plain_mlp(c.d, f, bias) + vectors(norms * 2 * c.d)
    scores = [Scores(c.layers, 4 * c.h * hd)]
    return _decoder("falcon", c, layer.times(c.layers), scores, _tied(c, True), 2 * c.d)


def _opt(given):
    c = _read(given)
    f, hd = c.count("ffn_dim", default=4 * c.d), _head_dim(c)
    inner = c.count("word_embed_proj_dim", default=c.d)
    bias = c.flag("enable_bias", True)
    layer = _attention(c.d, c.h, c.h, hd, bias, bias) + _plain_mlp(c.d, f, bias) + vectors(4 * c.d)
    if inner != c.d:
        raise ParameterError(
            f"`word_embed_proj_dim` ({inner}) that differs from the width is not counted yet"
        )
    positions = c.count("max_position_embeddings", default=2048, limit="vocabulary")
    final = 2 * c.d * c.flag("do_layer_norm_before", True) * (not c.flag("_remove_final_layer_norm"))
    scores = [Scores(c.layers, 4 * c.h * hd)]
    return _decoder("opt", c, layer.times(c.layers), scores, _tied(c, True), final, (positions + 2) * c.d)


def _bloom(given):
    c = _read(given)
    hd = _head_dim(c)
    layer = _attention(c.d, c.h, c.h, hd, True, True) + _plain_mlp(c.d, 4 * c.d) + vectors(4 * c.d)
    scores = [Scores(c.layers, 4 * c.h * hd)]
    context = c.count("seq_length", default=DEFAULT_CONTEXT, limit="vocabulary")
    return _decoder(
        "bloom", c, layer.times(c.layers), scores, _tied(c, True), 2 * c.d, extra=2 * c.d, context=context
    )


# -- families: mixtures of experts ---------------------------------------------------------------------


def _chosen(c, n):
    k = c.count("num_experts_per_tok", limit="experts")
    if k > n:
        raise ParameterError(f"`num_experts_per_tok` ({k}) exceeds the number of experts ({n})")
    return k


def _mixtral(given):
    c = _read(given)
    hd, kv, f = _head_dim(c), _kv(c), c.count("intermediate_size")
    n = c.count("num_local_experts", limit="experts")
    moe = _experts(n, _chosen(c, n), _gated(c.d, f), weights(c.d * n))
    layer = _attention(c.d, c.h, kv, hd) + moe + vectors(2 * c.d)
    c.sliding_layers = c.layers
    scores = _windows(c, 4 * c.h * hd)
    return _decoder("mixtral", c, layer.times(c.layers), scores, _tied(c, False), c.d)


def _qwen_moe(given, family="qwen2_moe"):
    c = _read(given)
    shared = family == "qwen2_moe"
    hd, kv = _head_dim(c, None if shared else 128), _kv(c)
    n = c.count("num_experts", default=60 if shared else 128, limit="experts")
    each = _gated(c.d, c.count("moe_intermediate_size"))
    always = [weights(c.d * n)]
    if shared:
        always += [_gated(c.d, c.count("shared_expert_intermediate_size")), weights(c.d)]
    moe, dense = (
        _experts(n, _chosen(c, n), each, *always),
        _gated(c.d, c.count("intermediate_size", default=0, least=0)),
    )
    step = c.count("decoder_sparse_step", default=1, limit="layers")
    only = c.given.get("mlp_only_layers") or []
    n_moe = sum(i not in only and (i + 1) % step == 0 for i in range(c.layers))
    bias = shared and c.flag("qkv_bias", True)
    norms = vectors(2 * c.d + (0 if shared else 2 * hd))
    attention = _attention(
        c.d, c.h, kv, hd, bias or c.flag("attention_bias"), not shared and c.flag("attention_bias")
    )
    layers = (attention + norms).times(c.layers) + moe.times(n_moe) + dense.times(c.layers - n_moe)
    scores = [Scores(c.layers, 4 * c.h * hd)]
    return _decoder(family, c, layers, scores, _tied(c, False), c.d)


def _deepseek(given, family="deepseek_v3"):
    c = _read(given)
    nope, rope = c.count("qk_nope_head_dim"), c.count("qk_rope_head_dim")
    value, kv_rank = c.count("v_head_dim"), c.count("kv_lora_rank")
    bias = c.flag("attention_bias")
    if c.has("q_lora_rank"):
        rank = c.count("q_lora_rank")
        query = weights(c.d * rank + rank * c.h * (nope + rope), rank * bias) + vectors(rank)
    else:
        query = weights(c.d * c.h * (nope + rope))
    keys = weights(c.d * (kv_rank + rope) + kv_rank * c.h * (nope + value), (kv_rank + rope) * bias)
    attention = query + keys + weights(c.h * value * c.d, c.d * bias) + vectors(kv_rank)
    n = c.count("n_routed_experts", limit="experts")
    inner = c.count("moe_intermediate_size")
    shared = c.count("n_shared_experts", default=0, limit="experts", least=0)
    moe = _experts(n, _chosen(c, n), _gated(c.d, inner), weights(c.d * n), _gated(c.d, shared * inner))
    dense = _gated(c.d, c.count("intermediate_size"))
    n_dense = min(c.layers, c.count("first_k_dense_replace", default=0, limit="layers", least=0))
    layers = (
        (attention + vectors(2 * c.d)).times(c.layers) + dense.times(n_dense) + moe.times(c.layers - n_dense)
    )
    scores = [Scores(c.layers, 2 * c.h * (nope + rope + value))]
    notes = ()
    if c.count("num_nextn_predict_layers", default=0, limit="layers", least=0):
        notes = ("the multi-token prediction module is trained, too, and is not in these numbers",)
    return _decoder(family, c, layers, scores, _tied(c, False), c.d, notes=notes)


# -- families: encoders, and encoders with decoders ------------------------------------------------------


def _bert(given):
    c = _read(given)
    f, hd = c.count("intermediate_size"), _head_dim(c)
    positions = c.count("max_position_embeddings", default=512, limit="vocabulary")
    types = c.count("type_vocab_size", default=2)
    layer = _attention(c.d, c.h, c.h, hd, True, True) + _plain_mlp(c.d, f) + vectors(4 * c.d)
    body = layer.times(c.layers) + vectors(2 * c.d)
    names = given.get("architectures") or []
    masked = any("MaskedLM" in str(name) or "PreTraining" in str(name) for name in names) or not names
    embedding = (c.v + positions + types) * c.d
    head = weights(c.d**2 + c.v * c.d, c.d + 2 * c.d + c.v) if masked else Part()
    pooler = Part() if masked else weights(c.d**2, c.d)
    tied = c.v * c.d if masked else 0  # the head's table is the embedding's
    scores = Scores(c.layers, 4 * c.h * hd, causal=False)

    def forward(tokens):
        linear = 2 * ((layer.multiplying * c.layers + head.multiplying) * tokens + pooler.multiplying)
        return Flop(linear, scores.full(tokens), scores.needed(tokens), tokens)

    total = body.total + embedding + head.total - tied + pooler.total
    notes = (f"with its {'masked-language head' if masked else 'pooler'}",)
    return Model("bert", total, total, total - embedding, "token", forward, min(512, positions), notes)


def _vit(given):
    c = _read(given)
    f, hd = c.count("intermediate_size"), _head_dim(c)
    image, patch = c.count("image_size", default=224), c.count("patch_size", default=16)
    channels = c.count("num_channels", default=3)
    if image < patch:
        raise ParameterError(f"`image_size` ({image}) is smaller than `patch_size` ({patch})")
    n = (image // patch) ** 2
    labels = given.get("id2label") or {}
    names = given.get("architectures") or []
    classes = c.count("num_labels", default=len(labels) or (1000 if not names else 2), limit="vocabulary")
    classifies = any("Classification" in str(name) for name in names) or not names
    embed = weights(channels * patch**2 * c.d, c.d)
    qkv = c.flag("qkv_bias", True)
    layer = _attention(c.d, c.h, c.h, hd, qkv, True) + _plain_mlp(c.d, f) + vectors(4 * c.d)
    head = weights(c.d * classes, classes) if classifies else weights(c.d**2, c.d)
    tables = c.d + (n + 1) * c.d
    total = embed.total + tables + layer.total * c.layers + 2 * c.d + head.total
    scores = Scores(c.layers, 4 * c.h * hd, causal=False)

    def forward(_=None):
        linear = 2 * (embed.multiplying * n + layer.multiplying * c.layers * (n + 1) + head.multiplying)
        return Flop(linear, scores.full(n + 1), scores.needed(n + 1), n + 1)

    notes = (f"with {'a classifier of ' + str(classes) + ' classes' if classifies else 'its pooler'}",)
    return Model("vit", total, total, total - tables, "image", forward, n + 1, notes)


def _t5(given):
    c = _read(given)
    inner = c.h * c.count("d_kv", default=64)
    f = c.count("d_ff")
    n_decoder = c.count("num_decoder_layers", default=c.layers, limit="layers")
    gated = str(given.get("feed_forward_proj", "relu")).startswith("gated")
    buckets = c.count("relative_attention_num_buckets", default=32)
    mlp = weights((3 if gated else 2) * c.d * f)
    attention = weights(4 * c.d * inner)
    encoder = (attention + mlp + vectors(2 * c.d)).times(c.layers)
    decoder = (attention + attention + mlp + vectors(3 * c.d)).times(n_decoder)
    tied = _tied(c, True)
    embedding = c.v * c.d * (1 if tied else 2)
    total = embedding + encoder.total + decoder.total + 2 * c.d + 2 * buckets * c.h
    per_key = 4 * inner
    own, mine, cross = (
        Scores(c.layers, per_key, causal=False),
        Scores(n_decoder, per_key),
        n_decoder * per_key,
    )

    def forward(tokens, decoder_tokens=None):
        td = tokens if decoder_tokens is None else decoder_tokens
        # Cross-attention makes keys and values of the encoder's tokens, queries and outputs of the decoder's.
        crossed = n_decoder * 2 * c.d * inner
        linear = (
            2 * (encoder.multiplying + crossed) * tokens
            + 2 * (decoder.multiplying - crossed + c.v * c.d) * td
        )
        between = cross * td * tokens
        return Flop(
            linear,
            own.full(tokens) + mine.full(td) + between,
            own.full(tokens) + mine.needed(td) + between,
            tokens,
        )

    notes = ("as many tokens of the decoder as of the encoder",)
    if not tied:
        notes += ("head and embedding are apart, as the checkpoints have them; transformers 5 ties them",)
    return Model(
        "t5", total, total, total - embedding, "token", forward, c.count("n_positions", default=512), notes
    )


def _whisper(given):
    c = _Config(given)
    d, v = c.count("d_model"), c.count("vocab_size", limit="vocabulary")
    le, ld = (c.count(f"{side}_layers", limit="layers") for side in ("encoder", "decoder"))
    he, hd_ = (c.count(f"{side}_attention_heads", limit="heads") for side in ("encoder", "decoder"))
    fe, fd = (c.count(f"{side}_ffn_dim") for side in ("encoder", "decoder"))
    mels, te = c.count("num_mel_bins", default=80), c.count("max_source_positions", default=1500)
    positions = c.count("max_target_positions", default=448)
    attention = weights(4 * d * d, 3 * d)  # keys have no bias
    encoder = (attention + _plain_mlp(d, fe) + vectors(4 * d)).times(le)
    decoder = (attention + attention + _plain_mlp(d, fd) + vectors(6 * d)).times(ld)
    convolutions = weights(mels * 3 * d, d), weights(3 * d * d, d)
    tables = te * d + v * d + positions * d
    total = sum(part.total for part in (*convolutions, encoder, decoder)) + tables + 4 * d
    heads = he * (d // he), hd_ * (d // hd_)
    own, mine = Scores(le, 4 * heads[0], causal=False), Scores(ld, 4 * heads[1])

    def forward(tokens):
        crossed = ld * 2 * d * d
        linear = 2 * (2 * te * convolutions[0].multiplying + te * convolutions[1].multiplying)
        linear += (
            2 * (encoder.multiplying + crossed) * te + 2 * (decoder.multiplying - crossed + v * d) * tokens
        )
        between = ld * 4 * heads[1] * tokens * te
        full = own.full(te) + mine.full(tokens) + between
        return Flop(linear, full, own.full(te) + mine.needed(tokens) + between, tokens)

    return Model(
        "whisper", total, total, total - tables, "clip", forward, positions, ("a clip of 30 seconds",)
    )


_FAMILIES = {
    "llama": _llama,
    "mistral": lambda given: _llama(given, "mistral"),
    "qwen2": lambda given: _llama(given, "qwen2"),
    "qwen3": lambda given: _llama(given, "qwen3"),
    "gemma": _gemma,
    "gemma2": lambda given: _gemma(given, "gemma2"),
    "gemma3": lambda given: _gemma(given, "gemma3"),
    "gemma3_text": lambda given: _gemma(given, "gemma3"),
    "gpt2": _gpt2,
    "gpt_neox": _gpt_neox,
    "falcon": _falcon,
    "opt": _opt,
    "bloom": _bloom,
    "mixtral": _mixtral,
    "qwen2_moe": _qwen_moe,
    "qwen3_moe": lambda given: _qwen_moe(given, "qwen3_moe"),
    "deepseek_v2": lambda given: _deepseek(given, "deepseek_v2"),
    "deepseek_v3": _deepseek,
    "t5": _t5,
    "mt5": _t5,
    "umt5": _t5,
    "bert": _bert,
    "vit": _vit,
    "whisper": _whisper,
}
FAMILIES = tuple(sorted(_FAMILIES))


def count(config):
    """Count a model by its configuration.

    Parameters
    ----------
    config : mapping
        What a ``config.json`` of Hugging Face holds.

    Returns
    -------
    Model

    Raises
    ------
    ParameterError
        It is no configuration, of a family that is not known, or has a value that cannot be.
    """
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise ParameterError("the configuration has no `model_type`: is it a config.json of Hugging Face?")
    family = config["model_type"]
    if family not in _FAMILIES:
        raise ParameterError(f"`model_type` must be one of {', '.join(FAMILIES)}, got {family!r:.60}")
    text = config.get("text_config")
    if isinstance(text, dict):
        model = _FAMILIES[family]({**config, **text})
        return Model(
            **{
                **vars(model),
                "notes": (*model.notes, "the text model alone; what sees images is not counted"),
            }
        )
    return _FAMILIES[family](config)


@dataclass(frozen=True)
class Training:
    """FLOP and memory of a training.

    Attributes
    ----------
    tokens, context : int
    linear_flop_per_token, attention_full_flop_per_token, attention_causal_flop_per_token : float
        Of a forward pass.
    flop, flop_causal, flop_recomputed : float
        Of the training: with all scores (the convention of PaLM and Megatron), with those that a causal mask
        leaves, and as executed where all activations are recomputed.
    flop_6n, flop_6n_active, flop_6n_non_embedding : float
        6 N D with all, with the active, and with the active parameters that are no embeddings.
    weights_bytes, gradients_bytes, optimizer_bytes : int
        In bf16, with Adam in fp32.
    """

    tokens: float
    context: int
    linear_flop_per_token: float
    attention_full_flop_per_token: float
    attention_causal_flop_per_token: float
    flop: float
    flop_causal: float
    flop_recomputed: float
    flop_6n: float
    flop_6n_active: float
    flop_6n_non_embedding: float
    weights_bytes: int
    gradients_bytes: int
    optimizer_bytes: int


def train(model, tokens=None, context=None):
    """Say what training a model takes.

    Parameters
    ----------
    model : Model
    tokens : float, optional
        Processed in the whole training (images or clips for models of these); one if left out.
    context : int, optional
        Tokens of a sequence; that of the configuration if left out.

    Returns
    -------
    Training
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
