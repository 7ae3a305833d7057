"""Make a small collection of Hydra jobs: ``hydra_multirun.py OUT_DIR``.

Six jobs over two factors by one ``--multirun``, one that raises and one that is killed in the
middle, each of these by a sweep of its own into the same directory. A job logs its epochs, and
writes ``result.json`` when it has ended.
"""

import json
import logging
import signal
import subprocess
import sys
import time
from pathlib import Path

CONFIG = {
    "config.yaml": "defaults: [{optim: sgd}, _self_]\nbatch_size: 8\nepochs: 3\nt: 1\nT: 2\nfail: false\n",
    "optim/sgd.yaml": "name: sgd\nlr: 1e-2\n",
    "optim/adam.yaml": "name: adam\nlr: 0.001\n",
}
DEADLINE_S = 60


def job():
    """Be the application: Hydra gives the settings, and the directory to write to."""
    import hydra
    from hydra.core.hydra_config import HydraConfig

    @hydra.main(version_base=None, config_path=None, config_name="config")
    def train(cfg):
        log, started = logging.getLogger("train"), time.perf_counter()
        for epoch in range(cfg.epochs):
            time.sleep(0.4 / cfg.batch_size)
            log.info("epoch %d", epoch)
        if cfg.fail:
            raise RuntimeError("the loss is not finite")
        result = {"runtime_s": time.perf_counter() - started}
        (Path(HydraConfig.get().runtime.output_dir) / "result.json").write_text(json.dumps(result))

    train()


def sweep(config_dir, out_dir, *overrides):
    """Start one ``--multirun`` of this file as an application of its own."""
    fixed = [
        "--multirun",
        f"--config-dir={config_dir}",
        f"hydra.sweep.dir={out_dir}",
        "hydra.sweep.subdir=${hydra.job.override_dirname}",
        "hydra.job.name=train",
    ]
    return subprocess.Popen(
        [sys.executable, __file__, "--job", *fixed, *overrides], stderr=subprocess.DEVNULL
    )


def wait_for(path, text):
    """Wait until the file at `path` holds `text`."""
    end = time.monotonic() + DEADLINE_S
    while not (path.is_file() and text in path.read_text()):
        if time.monotonic() > end:
            raise TimeoutError(f"{path} did not come to hold {text!r}")
        time.sleep(0.05)


def main(out_dir):
    """Write the collection to `out_dir`, and the configuration it is composed from beside it."""
    config_dir = out_dir.with_name(f"{out_dir.name}-conf").resolve()
    for name, text in CONFIG.items():
        path = config_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if sweep(config_dir, out_dir, "optim=sgd,adam", "batch_size=8,16,32").wait() != 0:
        raise SystemExit("the sweep failed")
    if sweep(config_dir, out_dir, "optim=sgd", "batch_size=64", "fail=true").wait() == 0:
        raise SystemExit("the job that should fail did not")
    killed = sweep(config_dir, out_dir, "optim=adam", "batch_size=64", "epochs=1000000")
    wait_for(out_dir / "batch_size=64,epochs=1000000,optim=adam" / "train.log", "epoch 20")
    killed.send_signal(signal.SIGKILL)
    killed.wait()


if __name__ == "__main__":
    if "--job" in sys.argv:
        sys.argv.remove("--job")
        job()
    else:
        main(Path(sys.argv[1]))
