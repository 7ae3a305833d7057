"""How much of its hardware each run used: FLOP/s that were achieved, and the share of the dense peak (MFU).

Operations are of the run's compute block: counted, by its stages, or by the configuration of its model and
its tokens. The time is the whole runtime of the run, so that evaluation and set-up lower the utilisation.

Contract: a collection in, frames out.
"""

import numpy as np
import pandas as pd

from traincost.analysis import fields
from traincost.columns import PREFIX, finite, settings
from traincost.errors import ParameterError
from traincost.estimation import accelerators, architectures, compute

# An MFU below it is named: of 25 published models with both hours and tokens, a tenth have less than 0.097.
LOW = 0.1
N_PUBLISHED = 25  # models that this is of
# Settings that say what a run ran on, by the last part of their name.
_DEVICE_SETTINGS = ("gpu", "gpu_type", "gpu_name", "device_name", "accelerator_type", "processor")


def operations_of(block):
    """Return the FLOP of a compute block, forward and backward.

    ValueError, which says why, where a stage, or the configuration in `model`, cannot be used.
    """
    if isinstance(block.get("model"), dict):
        tokens = block.get("tokens")
        if not finite(tokens) or tokens <= 0:
            raise ValueError(f"`tokens` must be above zero beside `model`, got {tokens!r:.60}")
        context = block.get("context")
        if context is not None and (not isinstance(context, int) or context < 1):
            raise ValueError(f"`context` must be a whole number above zero, got {context!r:.60}")
        return architectures.train(architectures.count(block["model"]), tokens, context).flop
    return compute.network_operations(block.get("stages") or [])


def by_run(collection, processor="", precision="", processors=None):
    """Return what each completed run achieved.

    `processor` (`ParameterError` where it has no rate), `precision` and `processors`, how many, are of runs
    whose record does not say.

    Returns
    -------
    DataFrame
        A row per run, in the order of ``collection.runs``: ``run_id``; ``operations_flop``; ``device_s``;
        ``achieved_flop_per_s`` of one device; ``peak_flop_per_s``, dense; ``mfu``; ``rate_note``;
        ``problem``, what is missing or wrong.
    """
    if processor and accelerators.rate_of(processor, precision) is None:
        raise ParameterError(f"`processor`: {accelerators.why_unknown(processor)}")
    named = _named_devices(collection.runs)
    rows = []
    runs = collection.runs.reindex(columns=["run_id", "runtime_s", "device", "devices"])
    for i, run in enumerate(runs.itertuples(index=False)):
        block = collection.compute.get(i) or {}
        rows.append(_run(run, block, named[i] or processor, precision, processors))
    return pd.DataFrame(rows)


def _named_devices(runs):
    """Return what the settings of each run name as its device, or an empty text."""
    found = [""] * len(runs)
    for name in settings(runs).values():
        if name.rpartition(".")[2].lower() not in _DEVICE_SETTINGS:
            continue
        for i, value in enumerate(runs[name]):
            if not found[i] and isinstance(value, str) and accelerators.rate_of(value) is not None:
                found[i] = value
    return found


def _run(run, block, processor, precision, processors):
    problem, operations = "", np.nan
    try:
        operations = operations_of(block) if block else np.nan
        problem = "" if block else "no compute block"
    except (TypeError, ValueError, AttributeError) as refused:
        problem = str(refused)
    n = block.get("processors", run.devices if run.devices > 0 else processors)
    n = n if finite(n) and n > 0 else np.nan
    rate, note = block.get("rate_flops_per_s"), "as given"
    if not finite(rate) or rate <= 0:
        device = run.device if isinstance(run.device, str) and run.device else ""
        device = device if device and accelerators.rate_of(device) else processor
        rate, note, why = _rate(block.get("processor") or device, block.get("precision") or precision)
        problem = problem or why
    if not problem and not n > 0:
        problem = "the number of its processors is not known"
    device_s = n * run.runtime_s
    achieved = operations / device_s if device_s > 0 else np.nan
    return {
        "run_id": run.run_id,
        "operations_flop": operations,
        "device_s": device_s,
        "achieved_flop_per_s": achieved,
        "peak_flop_per_s": rate,
        "mfu": achieved / rate,
        "rate_note": note,
        "problem": problem,
    }


def _rate(processor, precision):
    if not processor:
        return np.nan, "", "what it ran on is not known"
    precision = str(precision).lower() if str(precision).lower() in accelerators.PRECISIONS else ""
    rate = accelerators.rate_of(str(processor), precision)
    if rate is None:
        return np.nan, "", accelerators.why_unknown(str(processor))
    return rate.flop_per_s, rate.note, ""


def by_level(collection, achieved, by=None):
    """Return what the runs of each level of a setting achieved together, a total alone where there is none.

    Returns
    -------
    DataFrame
        A row per level and `fields.ALL_RUNS` last: ``level``, ``n_runs``, ``n_known`` (with both operations
        and a peak), ``operations_flop``, ``device_hours``, ``achieved_flop_per_s`` of one device, ``mfu``
        (the operations over the peak of all their time), ``mfu_lowest``, ``mfu_highest``, ``low`` (`LOW`).
    """
    rows = []
    if by and PREFIX + by in collection.runs:
        codes, labels, _ = fields.levels(collection.runs[PREFIX + by])
        rows = [_level(label, achieved[codes == k]) for k, label in enumerate(labels)]
    return pd.DataFrame([*rows, _level(fields.ALL_RUNS, achieved)])


def _level(level, rows):
    known = rows[rows["mfu"].gt(0)]
    device_s = known["device_s"].sum()
    peak = (known["device_s"] * known["peak_flop_per_s"]).sum()
    mfu = known["operations_flop"].sum() / peak if peak > 0 else np.nan
    return {
        "level": level,
        "n_runs": len(rows),
        "n_known": len(known),
        "operations_flop": known["operations_flop"].sum() if len(known) else np.nan,
        "device_hours": device_s / 3600 if len(known) else np.nan,
        "achieved_flop_per_s": known["operations_flop"].sum() / device_s if device_s > 0 else np.nan,
        "mfu": mfu,
        "mfu_lowest": known["mfu"].min(),
        "mfu_highest": known["mfu"].max(),
        "low": bool(mfu < LOW),
    }
