"""Make a small collection of W&B runs without a server: ``wandb_offline.py OUT_DIR``.

``OUT_DIR/wandb`` holds six runs over learning rate and batch size, one that raises, and one that
is killed in the middle. Each is a process of its own. W&B is told not to look at the machine.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SETTINGS = [(lr, batch_size) for lr in ("0.1", "0.01") for batch_size in (8, 16, 32)]
FAILING, ENDLESS = ("0.01", 64), ("0.1", 512)
DEADLINE_S = 120


def train(out_dir, lr, batch_size, n_epochs):
    """Be one run: every epoch takes longer where the batches are smaller."""
    import wandb

    settings = wandb.Settings(
        console="off",
        disable_git=True,
        host="host",
        run_id=f"lr{lr}b{batch_size}".replace(".", "p"),
        silent=True,
        x_disable_machine_info=True,
        x_disable_meta=True,
        x_disable_stats=True,
        x_save_requirements=False,
    )
    config = {"lr": float(lr), "data": {"batch_size": batch_size, "shape": [8, 8]}}
    with wandb.init(project="grid", mode="offline", dir=out_dir, config=config, settings=settings) as run:
        for epoch in range(n_epochs):
            time.sleep(8 / batch_size)
            run.log({"loss": 1 / (1 + epoch), "val": {"f1": 0.5}})
        if (lr, batch_size) == FAILING:
            raise RuntimeError("the loss is not finite")


def start(out_dir, setting, n_epochs=3):
    """Start a run."""
    command = [sys.executable, __file__, "--train", out_dir, *setting, n_epochs]
    environment = os.environ | {"WANDB_ERROR_REPORTING": "false"}
    return subprocess.Popen([*map(str, command)], env=environment, stderr=subprocess.DEVNULL)


def main(out_dir):
    """Write the collection to `out_dir`."""
    out_dir.mkdir(parents=True, exist_ok=True)
    for setting in SETTINGS:
        if start(out_dir, setting).wait() != 0:
            raise SystemExit(f"the run of {setting} failed")
    if start(out_dir, FAILING).wait() == 0:
        raise SystemExit("the run that should fail did not")
    killed, end = start(out_dir, ENDLESS, n_epochs=1_000_000), time.monotonic() + DEADLINE_S
    # W&B writes its log in blocks of 32 KiB, and at the end: before that there are 7 bytes.
    while not any(log.stat().st_size > 7 for log in out_dir.glob("wandb/*/run-lr0p1b512.wandb")):
        if time.monotonic() > end or killed.poll() is not None:
            raise SystemExit("the run that is to be killed logged nothing")
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.wait()


if __name__ == "__main__":
    if sys.argv[1] == "--train":
        train(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    else:
        main(Path(sys.argv[1]).resolve())
