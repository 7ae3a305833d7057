"""Make a small collection of profiled runs: ``torch_profiler.py OUT_DIR``.

Six runs over batch size and hidden size, which stand in the directory names only, and one that is
killed while its profiler writes the trace. One of the six has two ranks.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

GRID = [(batch_size, hidden) for batch_size in (8, 32) for hidden in (16, 64, 256)]
TWO_RANKS = GRID[0]
KILLED = (64, 16)
DEADLINE_S = 120


def train(path, batch_size, hidden, n_steps):
    """Be one process of a run: train, and write the trace of all but the first two steps to `path`."""
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function, schedule

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=n_steps - 2, repeat=1),
        on_trace_ready=lambda p: p.export_chrome_trace(path),
        record_shapes=True,
    ) as profiler:
        for _ in range(n_steps):
            with record_function("data"):
                inputs = torch.randn(batch_size, 8)
            with record_function("forward"):
                loss = model(inputs).square().mean()
            with record_function("backward"):
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()


def start(path, setting, n_steps):
    """Start a process of a run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, "--train", path, *setting, n_steps]
    return subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kill_while_it_writes(process, folder):
    """Kill a process with SIGKILL as soon as there is a beginning of its trace in `folder`."""
    end = time.monotonic() + DEADLINE_S
    while not any(file.stat().st_size > 0 for file in folder.iterdir()):
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError("the run ended before it could be killed")
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def main(out_dir):
    """Make the collection in `out_dir`."""
    for setting in GRID:
        folder = Path(out_dir, "batch_size_{}/hidden_{}".format(*setting))
        names = ["rank_0.json.gz", "rank_1.json.gz"] if setting == TWO_RANKS else ["trace.json.gz"]
        processes = [start(folder / name, setting, 5 + i) for i, name in enumerate(names)]
        if any(process.wait(DEADLINE_S) for process in processes):
            raise RuntimeError(f"a run of {setting} failed")
    folder = Path(out_dir, "batch_size_{}/hidden_{}".format(*KILLED))
    kill_while_it_writes(start(folder / "trace.json", KILLED, 4_000), folder)


if __name__ == "__main__":
    if sys.argv[1] == "--train":
        train(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        main(sys.argv[1])
