"""What is said of a model that is counted: text, JSON, a small card, and a torch module."""

import json

import pytest
from conftest import DATA

from traincost.__main__ import main
from traincost.errors import NothingToReport, ParameterError
from traincost.results.count import as_json, count, lines

CONFIGS = json.loads((DATA / "configurations.json").read_text())
LLAMA, EXPERTS = CONFIGS["Llama 2 7B"]["config"], CONFIGS["DeepSeek-V3"]["config"]


def value(found, quantity):
    return found.frame.set_index("quantity")["value"][quantity]


def test_a_configuration_is_counted_in_every_convention():
    found = count(LLAMA, tokens="2T", context=4096)
    assert value(found, "parameters") == 6_738_415_616
    assert value(found, "6 N D") == pytest.approx(8.086e22, rel=1e-3)
    assert value(found, "training") == pytest.approx(2e12 * (3.964e10 + 6.44e9), rel=1e-3)
    assert value(found, "training, all activations recomputed") == pytest.approx(
        4 / 3 * value(found, "training")
    )
    assert "Attention adds 16 % to the linear layers at 4,096 tokens of context." in str(found)
    assert not found.frame["quantity"].str.contains("active").any()


def test_active_parameters_of_experts_are_told_from_all():
    found = count(EXPERTS | {"num_nextn_predict_layers": 1}, tokens=14.8e12)
    assert "671,026,404,352 parameters, 37,552,282,624 of them active." in str(found)
    assert value(found, "6 N D, N active") == pytest.approx(3.335e24, rel=1e-3)
    assert found.frame["note"].str.contains("multi-token prediction").any()


def test_six_n_d_is_said_of_tokens_alone():
    image = {
        "model_type": "vit", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 128, "image_size": 32, "patch_size": 8, "num_channels": 3, "num_labels": 10,
    }  # fmt: skip
    found = count(image, tokens="1M")
    assert "training" in set(found.frame["quantity"])
    assert not found.frame["quantity"].str.startswith("6 N D").any()
    assert count(LLAMA, tokens="1M").frame["quantity"].str.startswith("6 N D").any()


def test_text_and_json_hold_the_same():
    found = count(LLAMA)
    content = json.loads(as_json(found))
    assert content["quantities"][0]["value"] == 6_738_415_616
    assert len(lines(found)) == len(content["quantities"])
    assert "6,738,415,616" in lines(found)[0]


def test_the_command_prints_and_writes_a_card(tmp_path, capsys):
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, "_name_or_path": "<b>x</b>"}))
    card, data = tmp_path / "card.html", tmp_path / "count.json"
    command = ["count", str(tmp_path), "--tokens", "2T", "--json", str(data), "--card", str(card)]
    assert main(command) == 0
    assert "6,738,415,616" in capsys.readouterr().out
    assert json.loads(data.read_text())["format"] == "traincost/count/1"
    page = card.read_text()
    assert "Content-Security-Policy" in page
    assert "6,738,415,616" in page
    assert "<script" not in page
    assert len(page) < 20_000


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tokens": "many"}, "`tokens` must be a number, got 'many'"),
        ({"tokens": 0}, "`tokens` must be above zero"),
        ({"tokens": -1}, "`tokens` must be"),
        ({"context": 0}, "`context` must be a whole number"),
        ({"context": 1.5}, "`context` must be a whole number"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        count(LLAMA, **given)


def test_files_that_are_no_configuration_are_refused(tmp_path):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(NothingToReport, match=r"config\.json' "):
        count(tmp_path)
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(ParameterError, match="has no `model_type`"):
        count(tmp_path / "config.json")


@pytest.mark.torch
def test_a_module_is_counted_as_it_runs():
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    found = count(module, inputs=(torch.ones(5, 8),), tokens=100)
    assert value(found, "forward, per example") == 2 * (32 + 8)
    assert value(found, "training") == 3 * 100 * 2 * (32 + 8)
    module[0].weight.requires_grad_(False)
    assert "32 parameters are frozen" in count(module, inputs=(torch.ones(5, 8),)).frame["note"].str.cat()
    tokens = torch.zeros(2, 3, dtype=torch.long)
    embedded = torch.nn.Sequential(torch.nn.Embedding(5, 8), torch.nn.Linear(8, 5))
    assert value(count(embedded, inputs=(tokens,)), "forward, per token") == 2 * 40
    with pytest.raises(ParameterError, match="`inputs` must hold what the module takes"):
        count(module)
