"""What needs torch and Lightning: really trained, on a CPU."""

import json
import subprocess
import sys
import textwrap

import pytest

pytestmark = [
    pytest.mark.torch,
    # Deprecations inside the libraries are not ours to mend.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def test_parameters_count_shared_weights_once(torch):
    from traincost.cost import parameters

    first, second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    second.weight = first.weight
    first.bias.requires_grad_(False)
    model = torch.nn.Sequential(first, second)
    assert parameters(model) == 16 + 4 + 4
    assert parameters(model, trainable=True) == 16 + 4
    assert parameters(model, trainable=False) == 4


def test_lazy_parameters_are_refused_by_name(torch):
    from traincost.cost import parameters

    with pytest.raises(ValueError, match=r"parameter '0\.weight' is lazy"):
        parameters(torch.nn.Sequential(torch.nn.LazyLinear(3)))


def test_cuda_stays_untouched_without_a_device(torch):
    script = """
        import torch
        from traincost.cost import Meter
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
    from traincost.cost import InferenceTimer, Meter

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
            callbacks=[timer.callback()],
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
    from traincost import read_collection
    from traincost.demo import sweep

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

    from traincost.demo.tasks import TASKS, tokens

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
