"""Parameters and FLOP of encoders, and of encoders with decoders, by family.

Contract: a configuration in, a `Model` out (`architectures` chooses the family).
"""

from traincost.errors import ParameterError
from traincost.estimation.configuration import Config, head_dim, is_tied, read
from traincost.estimation.layers import (
    Flop,
    Model,
    Part,
    Scores,
    attention_projections,
    plain_mlp,
    vectors,
    weights,
)


def _bert(given):
    c = read(given)
    f, hd = c.count("intermediate_size"), head_dim(c)
    positions = c.count("max_position_embeddings", default=512, limit="vocabulary")
    types = c.count("type_vocab_size", default=2)
    layer = attention_projections(c.d, c.h, c.h, hd, True, True) + plain_mlp(c.d, f) + vectors(4 * c.d)
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
    c = read(given)
    f, hd = c.count("intermediate_size"), head_dim(c)
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
    layer = attention_projections(c.d, c.h, c.h, hd, qkv, True) + plain_mlp(c.d, f) + vectors(4 * c.d)
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
    c = read(given)
    inner = c.h * c.count("d_kv", default=64)
    f = c.count("d_ff")
    n_decoder = c.count("num_decoder_layers", default=c.layers, limit="layers")
    gated = str(given.get("feed_forward_proj", "relu")).startswith("gated")
    buckets = c.count("relative_attention_num_buckets", default=32)
    mlp = weights((3 if gated else 2) * c.d * f)
    attention = weights(4 * c.d * inner)
    encoder = (attention + mlp + vectors(2 * c.d)).times(c.layers)
    decoder = (attention + attention + mlp + vectors(3 * c.d)).times(n_decoder)
    tied = is_tied(c, True)
    embedding = c.v * c.d * (1 if tied else 2)
    total = embedding + encoder.total + decoder.total + 2 * c.d + 2 * buckets * c.h
    per_key = 4 * inner
    own, mine = Scores(c.layers, per_key, causal=False), Scores(n_decoder, per_key)

    def forward(tokens, decoder_tokens=None):
        td = tokens if decoder_tokens is None else decoder_tokens
        # Cross-attention makes keys and values of the encoder's tokens, queries and outputs of the decoder's.
        crossed = n_decoder * 2 * c.d * inner
        linear = (encoder.multiplying + crossed) * tokens + (decoder.multiplying - crossed + c.v * c.d) * td
        between = own.full(tokens) + n_decoder * per_key * td * tokens
        return Flop(2 * linear, mine.full(td) + between, mine.needed(td) + between, tokens)

    notes = ("as many tokens of the decoder as of the encoder",)
    if not tied:
        notes += ("head and embedding are apart, as the checkpoints have them; transformers 5 ties them",)
    context = c.count("n_positions", default=512)
    return Model("t5", total, total, total - embedding, "token", forward, context, notes)


def _whisper(given):
    c = Config(given)
    d, v = c.count("d_model"), c.count("vocab_size", limit="vocabulary")
    le, ld = (c.count(f"{side}_layers", limit="layers") for side in ("encoder", "decoder"))
    he, hd_ = (c.count(f"{side}_attention_heads", limit="heads") for side in ("encoder", "decoder"))
    fe, fd = (c.count(f"{side}_ffn_dim") for side in ("encoder", "decoder"))
    mels, te = c.count("num_mel_bins", default=80), c.count("max_source_positions", default=1500)
    positions = c.count("max_target_positions", default=448)
    attention = weights(4 * d * d, 3 * d)  # keys have no bias
    encoder = (attention + plain_mlp(d, fe) + vectors(4 * d)).times(le)
    decoder = (attention + attention + plain_mlp(d, fd) + vectors(6 * d)).times(ld)
    convolutions = weights(mels * 3 * d, d), weights(3 * d * d, d)
    tables = te * d + v * d + positions * d
    total = sum(part.total for part in (*convolutions, encoder, decoder)) + tables + 4 * d
    heads = he * (d // he), hd_ * (d // hd_)
    own, mine = Scores(le, 4 * heads[0], causal=False), Scores(ld, 4 * heads[1])

    def forward(tokens):
        crossed = ld * 2 * d * d
        linear = (2 * convolutions[0].multiplying + convolutions[1].multiplying) * te
        linear += (encoder.multiplying + crossed) * te + (decoder.multiplying - crossed + v * d) * tokens
        between = own.full(te) + ld * 4 * heads[1] * tokens * te
        return Flop(2 * linear, mine.full(tokens) + between, mine.needed(tokens) + between, tokens)

    notes = ("a clip of 30 seconds",)
    return Model("whisper", total, total, total - tables, "clip", forward, positions, notes)


# How each `model_type` is counted.
ENCODERS = {"t5": _t5, "mt5": _t5, "umt5": _t5, "bert": _bert, "vit": _vit, "whisper": _whisper}
