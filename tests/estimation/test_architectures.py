"""Parameters and FLOP by config.json: published sizes to the last parameter."""

import json

import pytest
from conftest import DATA

from traincost.errors import ParameterError
from traincost.estimation.architectures import FAMILIES, count, train


def llama(d, layers, h, kv, f, v, **more):
    return {
        "model_type": "llama",
        "hidden_size": d,
        "num_hidden_layers": layers,
        "num_attention_heads": h,
        "num_key_value_heads": kv,
        "intermediate_size": f,
        "vocab_size": v,
        **more,
    }


def t5(d, layers, h, dk, f, proj="relu", tied=True):
    config = {"model_type": "t5", "d_model": d, "num_layers": layers, "num_heads": h, "d_kv": dk, "d_ff": f}
    return {**config, "vocab_size": 32128, "feed_forward_proj": proj, "tie_word_embeddings": tied}


def bert(d, layers, h, f, of="BertForMaskedLM"):
    config = {"model_type": "bert", "hidden_size": d, "num_hidden_layers": layers, "num_attention_heads": h}
    return {**config, "intermediate_size": f, "vocab_size": 30522, "architectures": [of]}


def vit(d, layers, h, f, patch):
    config = {"model_type": "vit", "hidden_size": d, "num_hidden_layers": layers, "num_attention_heads": h}
    return {**config, "intermediate_size": f, "patch_size": patch, "image_size": 224, "num_labels": 1000}


def whisper(d, layers, h):
    sides = {f"{s}_{k}": x for s in ("encoder", "decoder") for k, x in
             (("layers", layers), ("attention_heads", h), ("ffn_dim", 4 * d))}  # fmt: skip
    return {"model_type": "whisper", "d_model": d, "vocab_size": 51865, **sides}


def falcon(d, layers, h, kv):
    config = {"model_type": "falcon", "hidden_size": d, "num_hidden_layers": layers, "num_attention_heads": h}
    config |= {"vocab_size": 65024, "bias": False, "parallel_attn": True}
    return (
        {**config, "new_decoder_architecture": True, "num_kv_heads": kv}
        if kv > 1
        else {**config, "multi_query": True}
    )


def deepseek(family, d, layers, h, f, v, experts, k, shared, inner, dense):
    config = llama(d, layers, h, h, f, v, model_type=family, n_routed_experts=experts, num_experts_per_tok=k)
    config |= {"n_shared_experts": shared, "moe_intermediate_size": inner, "first_k_dense_replace": dense}
    return config | {
        "q_lora_rank": 1536,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
    }


NEOX = {"model_type": "gpt_neox"}
MODELS = {  # configuration, parameters, active, non-embedding
    name: (entry["config"], entry["parameters"], entry["active"], entry["non_embedding"])
    for name, entry in json.loads((DATA / "configurations.json").read_text()).items()
}


@pytest.mark.parametrize("name", MODELS)
def test_parameters_to_the_last_one(name):
    config, parameters, active, non_embedding = MODELS[name]
    model = count(config)
    assert model.parameters == parameters
    assert model.active_parameters == (active or parameters)
    if non_embedding:
        assert model.non_embedding_parameters == non_embedding


def test_a_bert_without_its_head_has_a_pooler():
    assert count(bert(768, 12, 12, 3072, "BertModel")).parameters == 109_482_240


def test_the_conventions_for_one_model():
    """Llama 2 7B at 4096 tokens, and Llama 3.2 1B at 8192: what each convention makes of them."""
    found = train(count(MODELS["Llama 2 7B"][0]), context=4096)
    assert found.flop_6n_non_embedding == pytest.approx(3.886e10, rel=1e-3)
    assert found.flop_6n == pytest.approx(4.043e10, rel=1e-3)
    assert 3 * found.linear_flop_per_token == pytest.approx(3.964e10, rel=1e-3)
    assert 3 * found.attention_full_flop_per_token == 12 * 32 * 32 * 128 * 4096
    assert 3 * found.attention_causal_flop_per_token == pytest.approx(3.22e9, rel=2e-3)
    assert found.flop == 3 * (found.linear_flop_per_token + found.attention_full_flop_per_token)
    assert found.flop_recomputed == pytest.approx(4 / 3 * found.flop)
    small = train(count(MODELS["Llama 3.2 1B"][0]), context=8192)
    assert 3 * small.linear_flop_per_token == pytest.approx(7.41e9, rel=1e-3)
    assert small.flop_6n_non_embedding == pytest.approx(5.84e9, rel=1e-3)
    assert small.weights_bytes == 2 * 1_235_814_400


def test_tokens_multiply_and_windows_leave_out():
    model = count(MODELS["Mistral 7B"][0] | {"sliding_window": 4096})
    one, many = train(model, context=8192), train(model, 2e12, 8192)
    assert many.flop == pytest.approx(2e12 * one.flop)
    whole = train(count(MODELS["Mistral 7B"][0]), context=8192)
    assert one.attention_full_flop_per_token == whole.attention_full_flop_per_token
    assert one.attention_causal_flop_per_token < whole.attention_causal_flop_per_token
    keys = (4096 * 4097 / 2 + 4096 * 4096) / 8192
    assert one.attention_causal_flop_per_token == pytest.approx(32 * 4 * 32 * 128 * keys)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "rwkv"}, "`model_type` must be one of bert, bloom.*got 'rwkv'"),
        ({"model_type": None}, "has no `model_type`"),
        (
            {"num_hidden_layers": 10**9},
            "`num_hidden_layers` must be a whole number from 1 to 10,000, got 1000000000",
        ),
        ({"hidden_size": -1}, "`hidden_size` must be a whole number from 1"),
        ({"hidden_size": 4095}, "no multiple of `num_attention_heads`"),
        ({"hidden_size": "4096"}, "got '4096'"),
        ({"hidden_size": None}, "has no `hidden_size`"),
        ({"num_key_value_heads": 5}, "must be a multiple of `num_key_value_heads`, got 5"),
        ({"vocab_size": 1.5}, "`vocab_size` must be a whole number"),
        ({"tie_word_embeddings": "yes"}, "must be true or false, got 'yes'"),
    ],
)
def test_a_configuration_that_lies_is_refused(changes, message):
    with pytest.raises(ParameterError, match=message):
        count(MODELS["Llama 2 7B"][0] | changes)


@pytest.mark.parametrize("given", [None, [], "x", {}, {"model_type": 3}])
def test_what_is_no_configuration_is_refused(given):
    with pytest.raises(ParameterError, match="has no `model_type`"):
        count(given)


def test_more_experts_chosen_than_there_are_is_refused():
    with pytest.raises(ParameterError, match=r"`num_experts_per_tok` \(9\) exceeds"):
        count(MODELS["Mixtral 8x7B"][0] | {"num_experts_per_tok": 9})


# -- against transformers' own models ------------------------------------------------------------------


def on_meta(config):
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    auto = {
        "t5": transformers.AutoModelForSeq2SeqLM,
        "bert": transformers.AutoModelForMaskedLM,
        "vit": transformers.AutoModelForImageClassification,
        "whisper": transformers.AutoModelForSpeechSeq2Seq,
    }.get(config["model_type"], transformers.AutoModelForCausalLM)
    of = transformers.CONFIG_MAPPING[config["model_type"]]
    with torch.device("meta"):
        return auto.from_config(of(**{k: v for k, v in config.items() if k != "model_type"}))


SMALL = {
    "llama": llama(64, 2, 4, 2, 96, 300),
    "mistral": llama(64, 2, 4, 2, 96, 300, model_type="mistral"),
    "qwen2": llama(64, 2, 4, 2, 96, 300, model_type="qwen2"),
    "qwen3": llama(64, 2, 4, 2, 96, 300, model_type="qwen3", head_dim=32),
    "gemma": llama(64, 2, 4, 1, 96, 300, model_type="gemma", head_dim=32),
    "gemma2": llama(64, 4, 4, 2, 96, 300, model_type="gemma2", head_dim=32),
    "gemma3_text": llama(64, 6, 4, 2, 96, 300, model_type="gemma3_text", head_dim=32),
    "gpt2": {"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 300},
    "gpt_neox": llama(64, 2, 4, None, 96, 300, **NEOX),
    "falcon": falcon(64, 2, 4, 2) | {"vocab_size": 300},
    "opt": llama(64, 2, 4, None, 1, 300, model_type="opt", ffn_dim=96, word_embed_proj_dim=64),
    "bloom": {"model_type": "bloom", "hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": 300},
    "mixtral": llama(64, 2, 4, 2, 96, 300, model_type="mixtral", num_local_experts=4, num_experts_per_tok=2),
    "qwen2_moe": llama(64, 3, 4, 2, 96, 300, model_type="qwen2_moe", num_experts=4, num_experts_per_tok=2)
    | {"moe_intermediate_size": 32, "shared_expert_intermediate_size": 48, "mlp_only_layers": [1]},
    "qwen3_moe": llama(
        64, 3, 4, 2, 96, 300, model_type="qwen3_moe", num_experts=4, num_experts_per_tok=2, head_dim=32
    )
    | {"moe_intermediate_size": 32, "mlp_only_layers": [0]},
    "deepseek_v3": deepseek("deepseek_v3", 64, 3, 4, 96, 300, 4, 2, 1, 32, 1)
    | {"n_group": 1, "topk_group": 1},
    "t5": t5(64, 2, 4, 16, 96),
    "bert": bert(64, 2, 4, 96) | {"vocab_size": 300},
    "vit": vit(64, 2, 4, 96, 56),
    "whisper": whisper(64, 2, 4),
}


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", SMALL)
def test_small_models_of_each_family_have_as_many_parameters(family):
    model = on_meta(SMALL[family])
    assert count(SMALL[family]).parameters == sum(p.numel() for p in model.parameters())


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [name for name in MODELS if name != "T5 v1.1 XXL"]
)  # transformers 5 ties its head
def test_published_models_have_as_many_parameters_on_meta(name):
    assert sum(p.numel() for p in on_meta(MODELS[name][0]).parameters()) == MODELS[name][1]


def test_every_family_is_tested():
    tested = {config["model_type"] for config, *_ in MODELS.values()} | set(SMALL)
    assert set(FAMILIES) - tested <= {"mt5", "umt5", "gemma3"}  # as T5 and gemma3_text
