"""Parameters and FLOP of decoders and of mixtures of experts, by family.

Contract: a configuration in, a `Model` out (`architectures` chooses the family).
"""

from functools import partial

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


def _decoder(family, c, layers, tied, norm, scores=None, table=0, extra=0, notes=(), context=None):
    """Return a decoder: embeddings, layers, a final norm and a head.

    `layers` is their sum, `scores` those of its attention (if left out, of all heads to all tokens), `table`
    the parameters of learned positions, `extra` of other vectors.
    """
    scores = scores or [Scores(c.layers, 4 * c.h * c.hd)]
    head = c.v * c.d
    body = layers + vectors(norm + extra)
    embedding = c.v * c.d * (1 if tied else 2) + table

    def forward(tokens):
        full, needed = (sum(getattr(s, which)(tokens) for s in scores) for which in ("full", "needed"))
        return Flop(2 * (layers.multiplying + head) * tokens, full, needed, tokens)

    context = context or context_of(c, "n_positions")
    total, active = body.total + embedding, body.active + embedding
    return Model(family, total, active, body.total, "token", forward, context, tuple(notes))


def _plain_layers(c, f, bias=True, norms=4, kv=None):
    """Return layers of attention, a feed-forward block of width `f`, and norms of so many widths."""
    attention = attention_projections(c.d, c.h, c.h if kv is None else kv, c.hd, bias, bias)
    return (attention + plain_mlp(c.d, f, bias) + vectors(norms * c.d)).times(c.layers)


def _windows(c):
    """Return the scores of layers with and without a sliding window."""
    per_key, kinds = 4 * c.h * c.hd, c.given.get("layer_types")
    window = c.count("sliding_window", limit="vocabulary", default=0, least=0)
    if isinstance(kinds, list) and len(kinds) == c.layers:
        n = sum(kind == "sliding_attention" for kind in kinds)
    else:
        n = c.sliding_layers if window else 0
    return [s for s in (Scores(n, per_key, window or None), Scores(c.layers - n, per_key)) if s.layers]


def _llama(given, family):
    c = read(given)
    c.hd, kv = head_dim(c, 128 if family == "qwen3" else None), kv_heads(c)
    f = c.count("intermediate_size")
    bias = c.flag("attention_bias") or family == "qwen2"
    out_bias = c.flag("attention_bias") and family != "qwen2"
    layer = attention_projections(c.d, c.h, kv, c.hd, bias, out_bias) + gated_mlp(c.d, f, c.flag("mlp_bias"))
    layer = layer + vectors(2 * c.d + (2 * c.hd if family == "qwen3" else 0))
    c.sliding_layers = c.layers if family == "mistral" else 0
    if family in ("qwen2", "qwen3") and c.flag("use_sliding_window"):
        first = c.count("max_window_layers", default=c.layers, limit="layers", least=0)
        c.sliding_layers = max(0, c.layers - first)
    return _decoder(family, c, layer.times(c.layers), is_tied(c, False), c.d, _windows(c))


def _gemma(given, family):
    c = read(given)
    c.hd, kv, f = head_dim(c, 256), kv_heads(c), c.count("intermediate_size")
    norms = (2 if family == "gemma" else 4) * c.d + (2 * c.hd if family == "gemma3" else 0)
    bias = c.flag("attention_bias")
    layer = attention_projections(c.d, c.h, kv, c.hd, bias, bias) + gated_mlp(c.d, f) + vectors(norms)
    pattern = c.count("sliding_window_pattern", default=6, limit="layers")
    every = {"gemma": 0, "gemma2": 2, "gemma3": pattern}[family]
    # Of gemma2 every second layer, of gemma3 all but every sixth, sees a window.
    c.sliding_layers = 0 if not every else c.layers - c.layers // every
    return _decoder(family, c, layer.times(c.layers), is_tied(c, True), c.d, _windows(c))


def _gpt2(given):
    c = read(given)
    f = c.count("n_inner", default=4 * c.d)
    c.hd = head_dim(c)
    positions = c.count("n_positions", "max_position_embeddings", default=1024, limit="vocabulary")
    return _decoder("gpt2", c, _plain_layers(c, f), is_tied(c, True), 2 * c.d, table=positions * c.d)


def _gpt_neox(given):
    c = read(given)
    c.hd, f, bias = head_dim(c), c.count("intermediate_size"), c.flag("attention_bias", True)
    layer = attention_projections(c.d, c.h, c.h, c.hd, bias, bias) + plain_mlp(c.d, f) + vectors(4 * c.d)
    return _decoder("gpt_neox", c, layer.times(c.layers), is_tied(c, False), 2 * c.d)


def _falcon(given):
    c = read(given)
    c.hd, bias, f = head_dim(c), c.flag("bias"), c.count("ffn_hidden_size", default=4 * c.d)
    if c.flag("new_decoder_architecture"):
        kv = c.count("num_kv_heads", default=c.h, limit="heads")
        norms = c.count("num_ln_in_parallel_attn", default=2)
    else:
        kv = 1 if c.flag("multi_query", True) else c.h
        norms = 1 if c.flag("parallel_attn", True) else 2
    layers = _plain_layers(c, f, bias, 2 * norms, kv)
    return _decoder("falcon", c, layers, is_tied(c, True), 2 * c.d)


def _opt(given):
    c = read(given)
    f, c.hd = c.count("ffn_dim", default=4 * c.d), head_dim(c)
    inner = c.count("word_embed_proj_dim", default=c.d)
    layers = _plain_layers(c, f, c.flag("enable_bias", True))
    if inner != c.d:
        raise ParameterError(
            f"`word_embed_proj_dim` ({inner}) that differs from the width is not counted yet"
        )
    positions = c.count("max_position_embeddings", default=2048, limit="vocabulary")
    final = 2 * c.d * c.flag("do_layer_norm_before", True) * (not c.flag("_remove_final_layer_norm"))
    return _decoder("opt", c, layers, is_tied(c, True), final, table=(positions + 2) * c.d)


def _bloom(given):
    c = read(given)
    c.hd = head_dim(c)
    layers, tied = _plain_layers(c, 4 * c.d), is_tied(c, True)
    context = c.count("seq_length", default=DEFAULT_CONTEXT, limit="vocabulary")
    return _decoder("bloom", c, layers, tied, 2 * c.d, extra=2 * c.d, context=context)


def _chosen(c, n):
    k = c.count("num_experts_per_tok", limit="experts")
    if k > n:
        raise ParameterError(f"`num_experts_per_tok` ({k}) exceeds the number of experts ({n})")
    return k


def _mixtral(given):
    c = read(given)
    c.hd, kv, f = head_dim(c), kv_heads(c), c.count("intermediate_size")
    n = c.count("num_local_experts", limit="experts")
    moe = experts(n, _chosen(c, n), gated_mlp(c.d, f), weights(c.d * n))
    layer = attention_projections(c.d, c.h, kv, c.hd) + moe + vectors(2 * c.d)
    c.sliding_layers = c.layers
    return _decoder("mixtral", c, layer.times(c.layers), is_tied(c, False), c.d, _windows(c))


def _qwen_moe(given, family):
    c = read(given)
    shared = family == "qwen2_moe"
    c.hd, kv = head_dim(c, None if shared else 128), kv_heads(c)
    n = c.count("num_experts", default=60 if shared else 128, limit="experts")
    each = gated_mlp(c.d, c.count("moe_intermediate_size"))
    always = [weights(c.d * n)]
    if shared:
        always += [gated_mlp(c.d, c.count("shared_expert_intermediate_size")), weights(c.d)]
    moe = experts(n, _chosen(c, n), each, *always)
    dense = gated_mlp(c.d, c.count("intermediate_size", default=0, least=0))
    step = c.count("decoder_sparse_step", default=1, limit="layers")
    only = c.given.get("mlp_only_layers") or []
    n_moe = sum(i not in only and (i + 1) % step == 0 for i in range(c.layers))
    bias, out_bias = shared and c.flag("qkv_bias", True), c.flag("attention_bias")
    norms = vectors(2 * c.d + (0 if shared else 2 * c.hd))
    attention = attention_projections(c.d, c.h, kv, c.hd, bias or out_bias, not shared and out_bias)
    layers = (attention + norms).times(c.layers) + moe.times(n_moe) + dense.times(c.layers - n_moe)
    return _decoder(family, c, layers, is_tied(c, False), c.d)


def _deepseek(given, family):
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
    layers = (attention + vectors(2 * c.d)).times(c.layers)
    layers = layers + dense.times(n_dense) + moe.times(c.layers - n_dense)
    scores = [Scores(c.layers, 2 * c.h * (nope + rope + value))]
    notes = ()
    if c.count("num_nextn_predict_layers", default=0, limit="layers", least=0):
        notes = ("the multi-token prediction module is trained, too, and is not in these numbers",)
    return _decoder(family, c, layers, is_tied(c, False), c.d, scores, notes=notes)


# How each `model_type` is counted.
DECODERS = {name: partial(_llama, family=name) for name in ("llama", "mistral", "qwen2", "qwen3")}
DECODERS |= {name: partial(_gemma, family=name) for name in ("gemma", "gemma2", "gemma3")}
DECODERS |= {"gemma3_text": partial(_gemma, family="gemma3"), "gpt2": _gpt2, "gpt_neox": _gpt_neox}
DECODERS |= {"falcon": _falcon, "opt": _opt, "bloom": _bloom, "mixtral": _mixtral}
DECODERS |= {name: partial(_qwen_moe, family=name) for name in ("qwen2_moe", "qwen3_moe")}
DECODERS |= {name: partial(_deepseek, family=name) for name in ("deepseek_v2", "deepseek_v3")}
