"""One small reader per kind of run directory, and the register that recognises them.

A reader is a module with

``NAME``
    What ``format=`` calls it.
``TITLE``
    What a person calls it.
``NAMES``
    A pattern that all names match in full which the reader may ever take for a source.
``sources(directory, names)``
    Of the sorted names in a directory, those that this reader may read, told by their names alone
    (`by_name` has the two for the simple cases).
``read(path, run_id)``
    The runs in one such file or folder: a list of `Run`; one that cannot be used has its
    ``reason``. Empty where it turns out to be something else. `run_id` is the path of the
    directory in the collection, for runs without a name.

A reader whose names are those of much else may have ``recognises(path)``, which tells by the first
bytes whether a file is one of its kind: what it does not recognise is listed as no run's part.

A reader never raises for what a file contains: it returns what it could read and why not more.
It opens and lists through `files`, which holds the limits, and never writes.

The order of the register is the order of claims. What a reader of `LOGS` finds in or below the
directory of a run of an earlier reader is a part of that run, not one of its own; several runs of
one reader may lie in one directory. A source of `STORES` holds many runs, which took place anywhere:
it claims only what they name. `JOBS` readers describe the run that took place in a directory: where
other readers find runs in it, these get the settings of the job, and the job is no run beside them.
"""

from traincost.reading.formats import (
    codecarbon,
    console,
    detectron2,
    dvclive,
    huggingface,
    hydra,
    keras_csv,
    kineto,
    lightning,
    lightning_table,
    mlflow,
    openmmlab,
    optuna,
    pyhighlights,
    ray_tune,
    run_record,
    sacred,
    stable_baselines3,
    tensorboard,
    ultralytics,
    wandb,
)
from traincost.reading.formats.run import Run

READERS = {
    reader.NAME: reader
    for reader in (
        run_record,
        pyhighlights,
        mlflow,
        optuna,
        sacred,
        ray_tune,
        wandb,
        huggingface,
        ultralytics,
        openmmlab,
        detectron2,
        stable_baselines3,
        lightning,
        lightning_table,
        tensorboard,
        kineto,
        dvclive,
        codecarbon,
        keras_csv,
        hydra,
        console,
    )
}
LOGS = ("lightning", "lightning-table", "tensorboard", "kineto", "keras", "console")
STORES = ("mlflow", "optuna", "codecarbon")
JOBS = ("hydra",)
RESUMABLE = ("wandb",)  # readers whose runs keep their id when they are resumed in another folder

__all__ = ["JOBS", "LOGS", "READERS", "RESUMABLE", "STORES", "Run"]
