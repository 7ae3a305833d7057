"""Make a small collection of TensorBoard logs with torch's writer: ``summary_writer.py OUT_DIR``.

Six runs over learning rate and batch size, whose hyper-parameters are logged at the end; one of
them is stopped after half of its epochs and resumed after a pause; a seventh is killed in the
middle.
"""

import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

SETTINGS = [(lr, batch_size) for lr in ("0.1", "0.01") for batch_size in (8, 16, 32)]
RESUMED, ENDLESS = SETTINGS[0], ("0.1", 64)
PAUSE_S = 2.0
DEADLINE_S = 120


def train(folder, lr, batch_size, epochs, ends):
    """Be one process of a run: every epoch takes longer where the batches are smaller."""
    warnings.simplefilter("ignore")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(folder, flush_secs=1) as writer:
        for epoch in epochs:
            time.sleep(2 / batch_size)
            writer.add_scalar("loss", 1 / (1 + epoch), epoch)
            writer.add_scalars("accuracy", {"train": 0.9, "test": 0.8}, epoch)
        if ends:
            writer.add_hparams({"lr": lr, "batch_size": batch_size, "opt": "sgd"}, {"hparam/f1": 0.5})


def start(folder, setting, first, last, ends=True):
    """Start a process that trains from one epoch up to another."""
    command = [sys.executable, __file__, "--train", folder, *setting, first, last, int(ends)]
    return subprocess.Popen([*map(str, command)], stderr=subprocess.DEVNULL)


def name(setting):
    """Return the name of a run's directory."""
    return "lr{}_b{}".format(*setting)


def main(out_dir):
    """Write the collection to `out_dir`."""
    processes = [start(out_dir / name(s), s, 0, 6) for s in SETTINGS if s != RESUMED]
    processes.append(start(out_dir / name(RESUMED), RESUMED, 0, 3, ends=False))
    codes = [process.wait() for process in processes]
    if any(codes):
        raise SystemExit("a run failed")
    time.sleep(PAUSE_S)
    if start(out_dir / name(RESUMED), RESUMED, 3, 6).wait() != 0:
        raise SystemExit("the run could not be resumed")
    killed, end = start(out_dir / name(ENDLESS), ENDLESS, 0, 1_000_000), time.monotonic() + DEADLINE_S
    while not any(log.stat().st_size > 2000 for log in (out_dir / name(ENDLESS)).glob("events.*")):
        if time.monotonic() > end or killed.poll() is not None:
            raise SystemExit("the run that is to be killed logged nothing")
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()


if __name__ == "__main__":
    if sys.argv[1] == "--train":
        folder, lr, batch_size, first, last, ends = sys.argv[2:]
        train(folder, float(lr), int(batch_size), range(int(first), int(last)), ends == "1")
    else:
        main(Path(sys.argv[1]).resolve())
