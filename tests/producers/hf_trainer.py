"""Make a small collection of Hugging Face Trainer runs: ``hf_trainer.py OUT_DIR``.

Six runs over learning rate and batch size, evaluated on schedule and once more at the end; one
that is killed in the middle; and one that was killed and resumed from its last checkpoint. The
model is tiny and random, and nothing is downloaded. Each run is a process, forked so that the
libraries are imported once.
"""

import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "TOKENIZERS_PARALLELISM": "false"}

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

N_EXAMPLES, N_TOKENS = 128, 16
DEADLINE_S = 120


class Examples(torch.utils.data.Dataset):
    """Random tokens; the label says whether the first is even."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        self.tokens = torch.randint(0, 64, (N_EXAMPLES, N_TOKENS), generator=generator)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return {"input_ids": self.tokens[i], "labels": self.tokens[i][0] % 2}


class Slow(TrainerCallback):
    """Make each step last long enough for a run to be killed between two checkpoints."""

    def on_step_end(self, args, state, control, **kwargs):
        """Sleep."""
        time.sleep(0.1)


def train(out_dir, lr, batch_size, slow=False, resume=False):
    """Be one run: train, save what the Trainer's own example scripts save, and evaluate."""
    torch.set_num_threads(1)
    config = BertConfig(
        vocab_size=64, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    torch.manual_seed(0)
    args = TrainingArguments(
        output_dir=str(out_dir),
        learning_rate=lr,
        per_device_train_batch_size=batch_size,
        num_train_epochs=2,
        eval_strategy="steps",
        eval_steps=8,
        logging_steps=4,
        save_steps=8,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = Trainer(
        BertForSequenceClassification(config),
        args,
        train_dataset=Examples(0),
        eval_dataset=Examples(1),
        callbacks=[Slow()] if slow else [],
    )
    result = trainer.train(resume_from_checkpoint=resume)
    trainer.save_metrics("train", result.metrics)
    trainer.save_state()
    trainer.save_metrics("eval", trainer.evaluate())


def kill_after_checkpoint(process, out_dir):
    """Kill the run once its second checkpoint is whole, and some steps were made after it."""
    end = time.monotonic() + DEADLINE_S
    while not (out_dir / "checkpoint-16" / "trainer_state.json").is_file():
        if time.monotonic() > end or not process.is_alive():
            raise RuntimeError(f"{out_dir} came to no second checkpoint")
        time.sleep(0.02)
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def main(out_dir):
    """Write the collection to `out_dir`, with the settings in the paths."""
    fork = multiprocessing.get_context("fork")

    def start(*args, **kwargs):
        process = fork.Process(target=train, args=args, kwargs=kwargs)
        process.start()
        return process

    for lr in (1e-3, 1e-4):
        for batch_size in (4, 8, 16):
            run = start(out_dir / f"lr_{lr:g}/batch_{batch_size}", lr, batch_size)
            run.join()
            if run.exitcode:
                raise SystemExit(f"a run failed with status {run.exitcode}")
    for name in ("killed", "resumed"):
        folder = out_dir / "lr_0.01" / f"batch_4_{name}"
        kill_after_checkpoint(start(folder, 1e-2, 4, slow=True), folder)
    start(folder, 1e-2, 4, resume=True).join()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
