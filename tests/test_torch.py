"""What needs torch and Lightning: really trained, on a CPU."""

import json
import subprocess
import sys
import textwrap

import nbformat
import pytest
from conftest import ROOT

pytestmark = [
    pytest.mark.torch,
    # Deprecations inside the libraries are not ours to mend.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def test_parameters_count_shared_weights_once(torch):
    from traincost.measure.meter import parameters

    first, second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    second.weight = first.weight
    first.bias.requires_grad_(False)
    model = torch.nn.Sequential(first, second)
    assert parameters(model) == 16 + 4 + 4
    assert parameters(model, trainable=True) == 16 + 4
    assert parameters(model, trainable=False) == 4


def test_lazy_parameters_are_refused_by_name(torch):
    from traincost.measure.meter import parameters

    with pytest.raises(ValueError, match=r"parameter '0\.weight' is lazy"):
        parameters(torch.nn.Sequential(torch.nn.LazyLinear(3)))


def test_cuda_stays_untouched_without_a_device(torch):
    script = """
        import torch
        from traincost.measure.meter import Meter
        with Meter() as meter:
            block = torch.ones(50 * 2**20 // 4)
        columns = meter.columns(torch.nn.Linear(2, 2))
        assert not torch.cuda.is_initialized()
        print(columns["cost_memory_mib"], columns["cost_parameters"])
    """
    out = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], check=True, capture_output=True, text=True
    ).stdout
    memory, parameters = out.split()
    assert float(memory) > 50
    assert parameters == "6"


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_lightning_test_pass(torch, tmp_path):
    lightning = pytest.importorskip("lightning")
    from traincost.measure.meter import InferenceTimer, Meter

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)

        def training_step(self, batch, index):
            return self.layer(batch[0]).mean()

        def test_step(self, batch, index):
            return self.layer(batch[0]).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    data = torch.utils.data.TensorDataset(torch.randn(64, 8))
    loader = torch.utils.data.DataLoader(data, batch_size=16)
    module, timer = Module(), InferenceTimer()
    with Meter() as meter:
        trainer = lightning.Trainer(
            max_epochs=1,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=tmp_path,
            callbacks=[timer],
        )
        trainer.fit(module, loader)
        assert timer.columns() == {}
        trainer.test(module, loader, verbose=False)
    columns = {**meter.columns(module), **timer.columns()}
    assert columns["cost_inference_epoch_s"] >= 4 * columns["cost_inference_batch_s"] > 0
    assert columns["cost_runtime_s"] > columns["cost_inference_epoch_s"]
    assert columns["cost_trainable_parameters"] == 9
    assert isinstance(columns["cost_parameters"], int)


def test_the_sweep_notebook_trains_records_and_resumes(torch, tmp_path):
    from demo import sweep
    from traincost.reading.collection import read_collection

    small = {**sweep.SHARED, "epochs": 1, "steps_per_epoch": 4, "n_validation": 128, "n_test": 128}
    small |= {"val_check_interval": 0.5, "eval_generation_num_samples": 64, "samples_per_question": 1}
    configs = sweep.configurations(["list_summation"], ["beta0_const_w0", "beta1_linear_w1"], small)
    assert sweep.run_sweep(tmp_path, configs, progress=False) == list(configs)
    assert sweep.run_sweep(tmp_path, configs, progress=False) == []  # nothing is trained twice
    collection = read_collection(tmp_path)
    assert set(collection.runs["config.loss_setting"]) == {"beta0_const_w0", "beta1_linear_w1"}
    assert {"epoch/train/backward", "epoch/eval_sampled/free_generation", "run/final_eval"} <= set(
        collection.sections["section"]
    )
    record = json.loads((tmp_path / "list_summation-beta0_const_w0" / "run.json").read_text())
    assert record["sections"]["epoch/eval_sampled"]["count"] == 2
    assert record["cost"]["cost_inference_epoch_s"] > 0
    assert record["cost"]["cost_parameters"] > 50_000
    assert 0 <= record["scores"]["test_accuracy"] <= 1
    (stage,) = record["compute"]["stages"]
    assert stage["flops_per_pass"] > 1e5
    assert record["compute"]["rate_flops_per_s"] > 1e8


def test_every_task_gives_pairs_of_known_characters(torch):
    import random

    from demo.tasks import TASKS, tokens

    rng = random.Random(0)
    for task in TASKS.values():
        for _ in range(50):
            question, answer = task(rng)
            assert tokens(question)
            assert tokens(answer)
    for _ in range(20):
        question, answer = TASKS["linear_equations"](rng)
        a, rest = question.split("x")
        b, c = rest.split("=")
        assert int(a) * int(answer.removeprefix("x=")) + int(b) == int(c)


def test_counting_the_flop_of_a_model(torch):
    from traincost.estimation.counting import count_forward_flop

    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    total, uncounted = count_forward_flop(model, torch.ones(3, 8))
    assert total == 2 * 3 * (8 * 16 + 16 * 4)
    assert any("relu" in name for name in uncounted)


def test_a_model_of_which_nothing_is_counted_is_refused(torch):
    from traincost.estimation.counting import count_forward_flop

    with pytest.raises(ValueError, match=r"found no operation it can count.*embedding"):
        count_forward_flop(torch.nn.Embedding(5, 3), torch.tensor([1, 2]))


def test_the_demo_models_count_agrees_with_torchs(torch):
    from demo.vae import SequenceVAE
    from traincost.estimation.counting import count_forward_flop

    model = SequenceVAE(hidden=24, latent=4)
    question, answer = torch.ones(1, 7, dtype=torch.long), torch.ones(1, 9, dtype=torch.long)

    class Forward(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self):
            return self.model.losses(question, answer, 0.0)

    counted, uncounted = count_forward_flop(Forward())
    own = model.forward_flop(7, 9)
    if any("gru" in name or "mkldnn_rnn" in name for name in uncounted):
        assert counted < own
    else:
        assert counted == pytest.approx(own, rel=0.05)


def test_the_sweep_notebook_runs_under_papermill(torch, tmp_path):
    from traincost.pages import publish

    notebook = nbformat.read(ROOT / "notebooks" / "sweep.ipynb", as_version=4)
    parameters = {
        "runs_dir": str(tmp_path / "runs"),
        "tasks": ["list_summation"],
        "loss_settings": ["beta0_const_w0"],
        "val_check_interval": 1.0,
        "eval_generation_num_samples": 64,
        "samples_per_question": 1,
    }
    publish.execute(notebook, parameters, tmp_path / "failed.ipynb")
    record = json.loads((tmp_path / "runs/list_summation-beta0_const_w0/run.json").read_text())
    assert record["status"] == "completed"
    assert record["config"]["eval_generation_num_samples"] == 64


def test_cuda_counters_of_a_real_device(torch):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device; the path is tested against torch's own API in test_cost.py")
    from traincost.measure.meter import Meter

    torch.ones(200 * 2**20 // 4, device="cuda").sum().item()
    with Meter() as meter:
        torch.ones(50 * 2**20 // 4, device="cuda").sum().item()
    assert 50 <= meter.columns()["cost_memory_mib"] < 200
