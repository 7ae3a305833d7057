"""FLOP as torch runs them, where its own counter misses kernels or counts them wrongly."""

import pytest
from test_architectures import MODELS, SMALL, llama, on_meta

from traincost.estimation.architectures import count, train
from traincost.estimation.counting import count_flop, count_forward_flop, count_step_flop

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore"),  # of the libraries, not of ours
]
nn = torch.nn


def total(outcome):
    return outcome.sum()


def test_attention_kernels_of_a_cpu_are_counted():
    q = torch.ones(2, 4, 16, 8, requires_grad=True)
    forward = 2 * 2 * 4 * 16 * 16 * (8 + 8)
    attend = nn.functional.scaled_dot_product_attention
    assert count_flop(lambda: attend(q, q, q))[0] == forward
    assert count_flop(lambda: attend(q, q, q).sum().backward())[0] == 3 * forward


def test_lstm_is_counted_forward_and_backward():
    lstm, x = nn.LSTM(8, 16, num_layers=2, batch_first=True), torch.ones(3, 5, 8, requires_grad=True)
    forward = 2 * 3 * 5 * 4 * 16 * ((8 + 16) + (16 + 16))
    assert count_forward_flop(lstm, x)[0] == forward
    assert count_step_flop(lstm, lambda out: out[0].sum(), x)[0] == 3 * forward


def test_the_fast_path_of_encoders_is_switched_off_and_on():
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    encoder, x = nn.TransformerEncoder(layer, 2).eval(), torch.ones(3, 7, 16)
    forward = 2 * (2 * 3 * 7 * (4 * 16 * 16 + 2 * 16 * 32) + 2 * 3 * 7 * 7 * (16 + 16))
    assert torch.backends.mha.get_fastpath_enabled()
    assert count_forward_flop(encoder, x)[0] == forward
    assert torch.backends.mha.get_fastpath_enabled()
    assert count_forward_flop(encoder.train(), x)[0] == forward


@pytest.mark.parametrize("groups", [1, 4, 16])
def test_the_backward_of_grouped_convolutions_is_twice_the_forward(groups):
    convolution, x = (
        nn.Conv2d(16, 16, 3, padding=1, groups=groups),
        torch.ones(2, 16, 6, 6, requires_grad=True),
    )
    forward = 2 * 2 * 36 * 16 * (16 // groups) * 9
    assert count_forward_flop(convolution, x)[0] == forward
    assert count_step_flop(convolution, total, x)[0] == 3 * forward
    assert count_step_flop(convolution, total, x.detach())[0] == 2 * forward  # no gradient of the input


def test_transposed_convolutions_are_three_times_the_forward():
    convolution, x = nn.ConvTranspose2d(8, 4, 3, stride=2), torch.ones(2, 8, 5, 5, requires_grad=True)
    forward = count_forward_flop(convolution, x)[0]
    assert forward == 2 * 2 * 25 * 8 * 4 * 9
    assert count_step_flop(convolution, total, x)[0] == 3 * forward


def test_products_with_vectors_are_counted():
    m, v = torch.ones(5, 7), torch.ones(7)
    assert count_flop(lambda: m @ v)[0] == 2 * 35
    assert count_flop(lambda: v @ v)[0] == 14
    bilinear = nn.Bilinear(3, 4, 5)
    assert count_forward_flop(bilinear, torch.ones(2, 3), torch.ones(2, 4))[0] == 2 * 2 * 3 * 4 * 5


def test_uncounted_operations_that_may_dominate_are_refused_by_name():
    with pytest.raises(ValueError, match=r"no formula is known for aten\._fft"):
        count_flop(lambda: torch.fft.fft(torch.ones(8)))


def test_less_than_the_layers_take_is_refused():
    class Hidden(nn.Linear):
        def forward(self, x):
            return (x[..., None, :] * self.weight).sum(-1)  # a product that no counter sees

    model = nn.Sequential(Hidden(8, 8), nn.Linear(8, 2))
    with pytest.raises(ValueError, match=r"where linear layers and convolutions alone take"):
        count_forward_flop(model, torch.ones(4, 8))


def test_a_tiny_llama_of_2048_tokens_is_the_formula():
    transformers = pytest.importorskip("transformers")
    config = llama(64, 2, 4, 2, 160, 300, max_position_embeddings=2048)
    of = transformers.LlamaConfig(**{k: v for k, v in config.items() if k != "model_type"})
    model = transformers.LlamaForCausalLM(of)
    tokens = torch.zeros(1, 2048, dtype=torch.long)
    expected = count(config).forward(2048)
    counted, _ = count_forward_flop(model, tokens, use_cache=False)
    assert counted == pytest.approx(expected.linear + expected.attention_full, rel=1e-3)
    step, _ = count_step_flop(model, lambda out: out.logits.sum(), tokens, use_cache=False)
    assert step == pytest.approx(train(count(config), 2048, 2048).flop, rel=1e-3)


@pytest.mark.parametrize("family", [f for f in SMALL if f not in ("vit", "whisper", "t5", "bert")])
def test_small_decoders_count_as_their_formula(family):
    """Mixtures of experts by transformers' own grouped products, and each attention kernel of a CPU."""
    transformers = pytest.importorskip("transformers")
    config = SMALL[family]
    of = transformers.CONFIG_MAPPING[family](**{k: v for k, v in config.items() if k != "model_type"})
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(of)
    tokens = torch.arange(48).remainder(300).reshape(1, 48)
    expected = count(config).forward(48)
    counted, _ = count_forward_flop(model, tokens, use_cache=False)
    assert counted == expected.linear + expected.attention_full


@pytest.mark.parametrize("family", ["vit", "bert", "t5"])
def test_small_encoders_count_as_their_formula(family):
    model, n = on_meta(SMALL[family]), 48
    expected = count(SMALL[family]).forward(n)
    if family == "vit":
        given = {"pixel_values": torch.ones(1, 3, 224, 224, device="meta")}
    else:
        given = {"input_ids": torch.zeros(1, n, dtype=torch.long, device="meta")}
    if family == "t5":
        given |= {"decoder_input_ids": given["input_ids"], "use_cache": False}
    counted, _ = count_forward_flop(model.eval(), **given)
    assert counted == expected.linear + expected.attention_full


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [n for n, (c, *_) in MODELS.items() if c["model_type"] in ("llama", "gpt2", "qwen2")]
)
def test_published_models_count_as_their_formula_on_meta(name):
    model, mask = on_meta(MODELS[name][0]), torch.zeros(1, 1, 64, 64, device="meta")
    tokens = torch.zeros(1, 64, dtype=torch.long, device="meta")
    counted, _ = count_forward_flop(model.eval(), tokens, attention_mask=mask, use_cache=False)
    expected = count(MODELS[name][0]).forward(64)
    assert counted == expected.linear + expected.attention_full
