"""Train the demo's runs, each in a process of its own, each recorded with `Recorder`."""

import json
import multiprocessing
import random
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch
from torch.nn.functional import pad
from tqdm.auto import tqdm

from demo.tasks import END, PAD, TASKS, tokens
from demo.vae import SequenceVAE
from traincost.estimation.compute import FORWARD_BACKWARD, flops_from_multiply_adds
from traincost.measure.meter import InferenceTimer, Meter
from traincost.measure.recorder import RECORD_NAME, Recorder

LOSS_SETTINGS = {
    "beta0_const_w0": {"beta": 0.0, "beta_schedule": "const", "token_weight": 0.0},
    "beta0_const_w1": {"beta": 0.0, "beta_schedule": "const", "token_weight": 1.0},
    "beta01_const_w0": {"beta": 0.1, "beta_schedule": "const", "token_weight": 0.0},
    "beta01_linear_w1": {"beta": 0.1, "beta_schedule": "linear", "token_weight": 1.0},
    "beta1_const_w0": {"beta": 1.0, "beta_schedule": "const", "token_weight": 0.0},
    "beta1_linear_w1": {"beta": 1.0, "beta_schedule": "linear", "token_weight": 1.0},
}
SHARED = {
    "epochs": 4,
    "steps_per_epoch": 80,
    "batch_size": 128,
    "eval_batch_size": 128,
    "n_validation": 1024,
    "n_test": 1024,
    "lr": 0.002,
    "threads": 1,
    "seed": 0,
}


def configurations(tasks, loss_settings, shared):
    """Return a config per run of the grid tasks x loss settings, by run id."""
    return {
        f"{task}-{loss}": {"task_name": task, "loss_setting": loss, **LOSS_SETTINGS[loss], **shared}
        for task in tasks
        for loss in loss_settings
    }


def run_sweep(directory, configs, progress=True):
    """Train what has no completed record under `directory` yet.

    Each run has a fresh process, so that none inherits another's warm-up or memory peak.
    Returns the ids of the runs that were trained now.
    """
    missing = {name: c for name, c in configs.items() if not _completed(Path(directory) / name)}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool:
        for name, config in tqdm(missing.items(), desc="runs", disable=not progress):
            pool.submit(train, Path(directory) / name, config).result()
    return list(missing)


def _completed(directory):
    try:
        return json.loads((directory / RECORD_NAME).read_text())["status"] == "completed"
    except (OSError, ValueError, KeyError):
        return False


def train(directory, config):
    """Train and evaluate one configuration, recorded under `directory`."""
    torch.set_num_threads(config["threads"])
    with Recorder(directory, config, meter=Meter()) as run, tempfile.TemporaryDirectory() as out:
        with run.section("run/setup"):
            torch.manual_seed(config["seed"])
            data = _data(config)
            run.model = model = SequenceVAE()
            optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
            run.compute.update(_compute(config, model, data))
        every = max(1, round(config["val_check_interval"] * config["steps_per_epoch"]))
        for epoch in range(config["epochs"]):
            with run.section("epoch"):
                for steps in _windows(epoch, config["steps_per_epoch"], every):
                    with run.section("train"):
                        _train_window(run, config, model, optimizer, data, epoch, steps)
                    if (epoch * config["steps_per_epoch"] + steps.stop) % every == 0:
                        _scheduled_evaluation(run, config, model, data)
                    with run.section("checkpoint"):
                        torch.save(model.state_dict(), Path(out) / "checkpoint.pt")
        timer = InferenceTimer()
        with run.section("run/final_eval"):
            run.scores["test_accuracy"] = _test_accuracy(config, model, data, timer)
        run.cost.update(timer.columns())
        with run.section("run/write_outputs"):
            (Path(out) / "scores.json").write_text(json.dumps(run.scores))


def _windows(epoch, steps_per_epoch, every):
    """Return the steps of an epoch in parts that end where an evaluation is due, `every` steps of the run."""
    done = epoch * steps_per_epoch
    due = [s - done for s in range(done + 1, done + steps_per_epoch) if s % every == 0]
    ends = [*due, steps_per_epoch]
    return [range(first, last) for first, last in zip([0, *due], ends, strict=True)]


def _compute(config, model, data):
    """Return the record's compute block: what the schedule demands, and what the processor could do."""
    question, answer = data["train"]
    stage = {
        "name": "training",
        "epochs": config["epochs"],
        "flops_per_pass": model.forward_flop(question.shape[1], answer.shape[1]),
        "passes_per_epoch": config["steps_per_epoch"] * config["batch_size"],
        "forward_backward": FORWARD_BACKWARD,
    }
    rate = measured_rate()
    return {"stages": [stage], "processors": config["threads"], "rate_flops_per_s": rate}


def measured_rate(size=1024, repetitions=5):
    """Return the best FLOP/s that a large matrix product reaches here: this processor's peak.

    A data sheet's figure counts on clocks and cores that a shared machine may not give.
    """
    a = torch.rand(size, size)
    best_s = float("inf")
    for _ in range(repetitions):
        started = time.perf_counter()
        a @ a
        best_s = min(best_s, time.perf_counter() - started)
    return flops_from_multiply_adds(size**3) / best_s


def _data(config):
    """Return (question, answer) tensors for training, validation and test, never overlapping."""
    rng = random.Random(config["seed"])
    sizes = {
        "train": config["steps_per_epoch"] * config["batch_size"],
        "validation": config["n_validation"],
        "test": config["n_test"],
    }
    pairs = {}
    while len(pairs) < sum(sizes.values()):
        question, answer = TASKS[config["task_name"]](rng)
        pairs[question] = answer
    questions, answers = _padded(pairs.keys()), _padded(pairs.values())
    split = list(sizes.values())
    return dict(zip(sizes, zip(questions.split(split), answers.split(split), strict=True), strict=True))


def _padded(texts):
    rows = [torch.tensor([*tokens(text), END]) for text in texts]
    length = max(map(len, rows))
    return torch.stack([pad(row, (0, length - len(row)), value=PAD) for row in rows])


def _train_window(run, config, model, optimizer, data, epoch, steps):
    model.train()
    for step in steps:
        with run.section("load"):
            rows = slice(step * config["batch_size"], (step + 1) * config["batch_size"])
            question, answer = data["train"][0][rows], data["train"][1][rows]
        with run.section("forward"):
            reconstruction, divergence = model.losses(question, answer, config["token_weight"])
            done = (epoch * config["steps_per_epoch"] + step) / (config["epochs"] * config["steps_per_epoch"])
            beta = config["beta"] * (done if config["beta_schedule"] == "linear" else 1.0)
            loss = reconstruction + beta * divergence
        with run.section("backward"):
            optimizer.zero_grad()
            loss.backward()
        with run.section("optimizer_step"):
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()


def _scheduled_evaluation(run, config, model, data):
    model.eval()
    question, answer = data["validation"]
    batches = list(zip(*(t.split(config["eval_batch_size"]) for t in (question, answer)), strict=True))
    with run.section("eval_val_loss"), torch.no_grad():
        losses = [model.losses(*batch, config["token_weight"])[0].item() for batch in batches]
        run.scores["val_loss"] = sum(losses) / len(losses)
    with run.section("eval_sampled"):
        n_samples = config["eval_generation_num_samples"] or len(question)
        with run.section("free_generation"):
            correct = sum(
                _n_correct(model, *batch)
                for batch in zip(
                    question[:n_samples].split(config["eval_batch_size"]),
                    answer[:n_samples].split(config["eval_batch_size"]),
                    strict=True,
                )
                for _ in range(config["samples_per_question"])
            )
            run.scores["val_accuracy"] = correct / n_samples / config["samples_per_question"]
        with run.section("posterior_diagnostics"), torch.no_grad():
            means = torch.cat([model.latent_codes(*batch)[0][0] for batch in batches])
            run.scores["val_active_units"] = int((means.var(dim=0) > 0.01).sum())


def _n_correct(model, question, answer):
    generated = model.generate(question, answer.shape[1])
    generated = pad(generated, (0, answer.shape[1] - generated.shape[1]), value=PAD)
    return int((generated == answer).all(dim=1).sum())


def _test_accuracy(config, model, data, timer):
    batches = zip(*(t.split(config["eval_batch_size"]) for t in data["test"]), strict=True)
    with timer:
        correct = sum(_n_correct(model, *batch) for batch in timer.batches(batches))
    return correct / len(data["test"][0])
