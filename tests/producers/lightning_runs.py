"""Train seven small runs with Lightning: six over two factors, and one that is killed at work.

    python tests/producers/lightning_runs.py OUT_DIR

Each is a process of its own, logs with CSVLogger, and is fitted, validated and tested under one
SimpleProfiler, whose later reports therefore repeat the earlier ones. Needs the torch extra.
"""

import argparse
import itertools
import signal
import subprocess
import sys
import time
from pathlib import Path

WIDTHS, BATCH_SIZES, EPOCHS = (8, 64, 256), (16, 64), 3
FOR_EVER = 1_000_000
PATIENCE_S = 120


def train(directory, width, batch_size, epochs, seed):
    """Fit, validate and test one model; called in the run's own process."""
    import lightning
    import torch
    from lightning.pytorch.loggers import CSVLogger
    from lightning.pytorch.profilers import SimpleProfiler

    class Regression(lightning.LightningModule):
        def __init__(self, width, batch_size, seed):
            super().__init__()
            self.save_hyperparameters()
            self.net = torch.nn.Sequential(
                torch.nn.Linear(16, width), torch.nn.Tanh(), torch.nn.Linear(width, 1)
            )

        def loss(self, batch, name):
            x, y = batch
            loss = torch.nn.functional.mse_loss(self.net(x), y)
            self.log(f"{name}_loss", loss, on_step=False, on_epoch=True)
            return loss

        def training_step(self, batch, batch_idx):
            return self.loss(batch, "train")

        def validation_step(self, batch, batch_idx):
            return self.loss(batch, "val")

        def test_step(self, batch, batch_idx):
            return self.loss(batch, "test")

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    torch.set_num_threads(1)
    lightning.seed_everything(seed, verbose=False)
    x = torch.randn(512, 16)
    data = torch.utils.data.TensorDataset(x, x.sum(dim=1, keepdim=True))
    loader = torch.utils.data.DataLoader(data, batch_size=batch_size)
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_epochs=epochs,
        logger=CSVLogger(directory),
        profiler=SimpleProfiler(filename="perf_logs"),
        log_every_n_steps=1,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model = Regression(width, batch_size, seed)
    trainer.fit(model, loader, loader)
    trainer.validate(model, loader, verbose=False)
    trainer.test(model, loader, verbose=False)


def start(directory, width, batch_size, epochs, seed):
    """Start a run as a process."""
    values = (width, batch_size, epochs, seed)
    return subprocess.Popen([sys.executable, __file__, directory, "--run", *map(str, values)])


def kill_at_work(process, directory):
    """Kill a run once it has written the metrics of an epoch."""
    until = time.monotonic() + PATIENCE_S
    while not any(path.stat().st_size for path in directory.glob("*/metrics.csv")):
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError("the run to be killed ended, or never began")
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--run", nargs=4, type=int, help="width, batch size, epochs and seed of one run")
    arguments = parser.parse_args()
    if arguments.run:
        train(arguments.directory, *arguments.run)
        return
    logs = Path(arguments.directory) / "lightning_logs"
    # First, so that its metrics are the only ones there.
    kill_at_work(start(arguments.directory, WIDTHS[0], BATCH_SIZES[0], FOR_EVER, 1), logs)
    for width, batch_size in itertools.product(WIDTHS, BATCH_SIZES):
        if start(arguments.directory, width, batch_size, EPOCHS, 0).wait():
            raise RuntimeError(f"the run of width {width} and batch size {batch_size} failed")


if __name__ == "__main__":
    main()
