"""Parameters and FLOP of decoders and of mixtures of experts, by family.

Contract: a configuration in, a `Model` out (`architectures` chooses the family).
"""

from traincost.errors import ParameterError
from traincost.estimation.configuration import DEFAULT_CONTEXT, context_of, head_dim, is_tied, kv_heads, read
from traincost.estimation.layers import (
    Flop,
    Model,
    Scores,
    attention_projections,
    experts,
    gated_mlp,
    plain_mlp,
    vectors,
    weights,
)


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
        context or context_of(c, "n_positions"),
        tuple(notes),
    )


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
    c = read(given)
    hd, kv = head_dim(c, 128 if family == "qwen3" else None), kv_heads(c)
    f = c.count("intermediate_size")
    bias = c.flag("attention_bias") or family == "qwen2"
    out_bias = c.flag("attention_bias") and family != "qwen2"
    layer = attention_projections(c.d, c.h, kv, hd, bias, out_bias) + gated_mlp(c.d, f, c.flag("mlp_bias"))
    layer = layer + vectors(2 * c.d + (2 * hd if family == "qwen3" else 0))
    c.sliding_layers = c.layers if family == "mistral" else 0
    if family in ("qwen2", "qwen3") and c.flag("use_sliding_window"):
        c.sliding_layers = max(
            0, c.layers - c.count("max_window_layers", default=c.layers, limit="layers", least=0)
        )
    scores = _windows(c, 4 * c.h * hd)
    return _decoder(family, c, layer.times(c.layers), scores, is_tied(c, False), c.d)


def _gemma(given, family="gemma"):
    c = read(given)
    hd, kv, f = head_dim(c, 256), kv_heads(c), c.count("intermediate_size")
    norms = (2 if family == "gemma" else 4) * c.d + (2 * hd if family == "gemma3" else 0)
    bias = c.flag("attention_bias")
    layer = attention_projections(c.d, c.h, kv, hd, bias, bias) + gated_mlp(c.d, f) + vectors(norms)
    every = {"gemma": 0, "gemma2": 2, "gemma3": c.count("sliding_window_pattern", default=6, limit="layers")}[
        family
    ]
    # Of gemma2 every second layer, of gemma3 all but every sixth, sees a window.
    c.sliding_layers = 0 if not every else c.layers - c.layers // every
    scores = _windows(c, 4 * c.h * hd)
    return _decoder(family, c, layer.times(c.layers), scores, is_tied(c, True), c.d)


def _gpt2(given):
    c = read(given)
    f = c.count("n_inner", default=4 * c.d)
    hd = head_dim(c)
    layer = attention_projections(c.d, c.h, c.h, hd, True, True) + plain_mlp(c.d, f) + vectors(4 * c.d)
    positions = c.count("n_positions", "max_position_embeddings", default=1024, limit="vocabulary")
    scores = [Scores(c.layers, 4 * c.h * hd)]
    return _decoder("gpt2", c, layer.times(c.layers), scores, is_tied(c, True), 2 * c.d, positions * c.d)


def _gpt_neox(given):
    c = read(given)
    hd, f, bias = head_dim(c), c.count("intermediate_size"), c.flag("attention_bias", True)
    layer = attention_projections(c.d, c.h, c.h, hd, bias, bias) + plain_mlp(c.d, f) + vectors(4 * c.d)
    return _decoder(
        "gpt_neox", c, layer.times(c.layers), [Scores(c.layers, 4 * c.h * hd)], is_tied(c, False), 2 * c.d
    )


def _falcon(given):
    c = read(given)
    hd, new, bias = head_dim(c), c.flag("new_decoder_architecture"), c.flag("bias")
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
    layer = (
        attention_projections(c.d, c.h, kv, hd, bias, bias)
        + plain_mlp(c.d, f, bias)
        + vectors(norms * 2 * c.d)
    )
    scores = [Scores(c.layers, 4 * c.h * hd)]
    return _decoder("falcon", c, layer.times(c.layers), scores, is_tied(c, True), 2 * c.d)


def _opt(given):
    c = read(given)
    f, hd = c.count("ffn_dim", default=4 * c.d), head_dim(c)
    inner = c.count("word_embed_proj_dim", default=c.d)
    bias = c.flag("enable_bias", True)
    layer = attention_projections(c.d, c.h, c.h, hd, bias, bias) + plain_mlp(c.d, f, bias) + vectors(4 * c.d)
    if inner != c.d:
        raise ParameterError(
            f"`word_embed_proj_dim` ({inner}) that differs from the width is not counted yet"
        )
    positions = c.count("max_position_embeddings", default=2048, limit="vocabulary")
    final = 2 * c.d * c.flag("do_layer_norm_before", True) * (not c.flag("_remove_final_layer_norm"))
    scores = [Scores(c.layers, 4 * c.h * hd)]
    return _decoder("opt", c, layer.times(c.layers), scores, is_tied(c, True), final, (positions + 2) * c.d)


def _bloom(given):
    c = read(given)
    hd = head_dim(c)
    layer = attention_projections(c.d, c.h, c.h, hd, True, True) + plain_mlp(c.d, 4 * c.d) + vectors(4 * c.d)
    scores = [Scores(c.layers, 4 * c.h * hd)]
    context = c.count("seq_length", default=DEFAULT_CONTEXT, limit="vocabulary")
    return _decoder(
        "bloom", c, layer.times(c.layers), scores, is_tied(c, True), 2 * c.d, extra=2 * c.d, context=context
    )


def _chosen(c, n):
    k = c.count("num_experts_per_tok", limit="experts")
    if k > n:
        raise ParameterError(f"`num_experts_per_tok` ({k}) exceeds the number of experts ({n})")
    return k


def _mixtral(given):
    c = read(given)
    hd, kv, f = head_dim(c), kv_heads(c), c.count("intermediate_size")
    n = c.count("num_local_experts", limit="experts")
    moe = experts(n, _chosen(c, n), gated_mlp(c.d, f), weights(c.d * n))
    layer = attention_projections(c.d, c.h, kv, hd) + moe + vectors(2 * c.d)
    c.sliding_layers = c.layers
    scores = _windows(c, 4 * c.h * hd)
    return _decoder("mixtral", c, layer.times(c.layers), scores, is_tied(c, False), c.d)


def _qwen_moe(given, family="qwen2_moe"):
    c = read(given)
    shared = family == "qwen2_moe"
    hd, kv = head_dim(c, None if shared else 128), kv_heads(c)
    n = c.count("num_experts", default=60 if shared else 128, limit="experts")
    each = gated_mlp(c.d, c.count("moe_intermediate_size"))
    always = [weights(c.d * n)]
    if shared:
        always += [gated_mlp(c.d, c.count("shared_expert_intermediate_size")), weights(c.d)]
    moe, dense = (
        experts(n, _chosen(c, n), each, *always),
        gated_mlp(c.d, c.count("intermediate_size", default=0, least=0)),
    )
    step = c.count("decoder_sparse_step", default=1, limit="layers")
    only = c.given.get("mlp_only_layers") or []
    n_moe = sum(i not in only and (i + 1) % step == 0 for i in range(c.layers))
    bias = shared and c.flag("qkv_bias", True)
    norms = vectors(2 * c.d + (0 if shared else 2 * hd))
    attention = attention_projections(
        c.d, c.h, kv, hd, bias or c.flag("attention_bias"), not shared and c.flag("attention_bias")
    )
    layers = (attention + norms).times(c.layers) + moe.times(n_moe) + dense.times(c.layers - n_moe)
    scores = [Scores(c.layers, 4 * c.h * hd)]
    return _decoder(family, c, layers, scores, is_tied(c, False), c.d)


def _deepseek(given, family="deepseek_v3"):
    c = read(given)
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
    moe = experts(n, _chosen(c, n), gated_mlp(c.d, inner), weights(c.d * n), gated_mlp(c.d, shared * inner))
    dense = gated_mlp(c.d, c.count("intermediate_size"))
    n_dense = min(c.layers, c.count("first_k_dense_replace", default=0, limit="layers", least=0))
    layers = (
        (attention + vectors(2 * c.d)).times(c.layers) + dense.times(n_dense) + moe.times(c.layers - n_dense)
    )
    scores = [Scores(c.layers, 2 * c.h * (nope + rope + value))]
    notes = ()
    if c.count("num_nextn_predict_layers", default=0, limit="layers", least=0):
        notes = ("the multi-token prediction module is trained, too, and is not in these numbers",)
    return _decoder(family, c, layers, scores, is_tied(c, False), c.d, notes=notes)


# How each `model_type` is counted.
DECODERS = {
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
}
