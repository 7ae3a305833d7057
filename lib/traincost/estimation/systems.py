"""Published systems, or one's own runs, and what was reported of each: sheets and collections to frames.

A row that cannot be used is listed with its name, column and reason, and the others are kept.
`results.systems` reads the files; `lists` has the CSV lists of others.

A *sheet* is YAML with a list ``systems``; each has ``system``, ``date``, ``domain``,
``source`` and ``figures``, what the paper states: a number as written, or a mapping with ``value``,
``at`` (section or table) and ``printed`` (the words as printed); and optionally ``stages``, a list of
mappings with ``name`` and figures of their own, those of the system where a stage states none.
"""

import difflib
import math
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pandas as pd
import yaml

from traincost.columns import finite, settings
from traincost.errors import NothingToReport, ParameterError
from traincost.estimation import compute, utilisation
from traincost.estimation.figures import (
    ALIASES,
    FIGURES,
    NUMERIC,
    STAGES,
    TEXT_FIGURES,
    date,
    dated,
    number,
    percentage,
    read,
)

__all__ = ["Systems", "claims_of", "date", "from_runs", "from_sheet", "number"]

IDENTITY = ("system", "date", "domain", "source")
MAX_SYSTEMS = 20_000
MAX_STAGES = 20


@dataclass(frozen=True, eq=False)
class Systems:
    """Systems and what was reported of each."""

    name: str
    # ``system``, ``date``, ``domain``, ``source`` and `FIGURES`; NaN or empty where not reported;
    # ``burden_time``, what the time of the hardware burden is of: one of `compute.BURDEN_TIMES`;
    # ``energy_is_sampled``, whether ``energy_kwh`` is by the power that a tracker sampled; ``written``,
    # figure to `quantities.Quantity` as it was written; ``stages``, a tuple of rows like this one; ``stage``,
    # empty; ``stated_with_base``, whether a stated total includes the base.
    frame: pd.DataFrame
    # ``system``, ``source``, ``figure``, ``value``, ``at``, ``printed``: where each figure of a sheet stands.
    where: pd.DataFrame
    rejected: pd.DataFrame  # ``row``, ``system``, ``column``, ``reason``: what could not be used
    left_out: pd.DataFrame  # ``system``, ``reason``: what the sheet says was left out of it
    unread: tuple = field(default=())  # columns of a list that are not read


def of_rows(name, rows, where=(), rejected=(), left_out=(), unread=()):
    """Make `Systems` of checked rows; `NothingToReport` where there is none, in words that follow a name."""
    rejected = list(rejected)
    if not rows:
        why = f"; the first problem: {rejected[0][3]}" if rejected else ""
        raise NothingToReport(f"holds no system that can be used{why}")
    rejected += _twice(rows)
    frame = pd.DataFrame([_whole(row) for row in rows])
    frame[list(NUMERIC)] = frame[list(NUMERIC)].astype(float)
    for column in ("domain", "source", "base", *TEXT_FIGURES):
        frame[column] = pd.Series(frame[column], dtype="str")
    frame["date"] = pd.to_datetime(frame["date"], utc=True).dt.tz_localize(None)
    return Systems(
        name,
        frame,
        pd.DataFrame(where, columns=["system", "source", "figure", "value", "at", "printed"]),
        pd.DataFrame(rejected, columns=["row", "system", "column", "reason"]),
        pd.DataFrame(left_out, columns=["system", "reason"]),
        tuple(unread),
    )


_EMPTY = {
    "system": "",
    "date": None,
    "domain": "",
    "source": "",
    **dict.fromkeys(NUMERIC, np.nan),
    **dict.fromkeys(TEXT_FIGURES, ""),
    "burden_time": compute.REPORTED,
    "energy_is_sampled": False,
    "stated_with_base": False,
    "stage": "",
}


def _whole(row):
    given = {name: value for name, value in row.items() if not (value is None or value != value)}
    whole = {**_EMPTY, "written": {}, "stages": (), **given}
    for name in ("domain", "source", *TEXT_FIGURES):
        whole[name] = str(whole[name])
    return whole


def _twice(rows):
    """List the names that several rows have."""
    first, twice = {}, []
    for row in rows:
        name = row["system"]
        if name in first:
            reason = f"is named in row {first[name]}, too; both are kept"
            twice.append((row.get("row", 0), name, "system", reason))
        first.setdefault(name, row.get("row", 0))
    return twice


def checked(row_number, row, rejected, from_list=False):
    """Return a row with its figures as numbers, None of an empty one; what cannot be used is listed."""
    name = str(row.get("system") or "").strip()
    if not name:
        if not any(row.get(figure) for figure in FIGURES):
            rejected.append((row_number, "", "system", "the row names no system and reports nothing"))
            return None
        name = f"(unnamed, row {row_number})"
        rejected.append((row_number, name, "system", "the row names no system; its figures are used"))
    found = {"system": name, "row": row_number, "domain": row.get("domain"), "source": row.get("source")}
    try:
        found["date"] = dated(row.get("date"))
    except ValueError as problem:
        rejected.append((row_number, name, "date", str(problem)))
    return found | _figures(row_number, name, row, rejected, from_list)


def _figures(row_number, name, row, rejected, from_list=False):
    """Return the figures of a system or stage, and how they were written."""
    found, written = {}, {}
    for figure in FIGURES:
        if figure not in row:
            continue
        try:
            found[figure], as_written = read(figure, row[figure], from_list)
        except ValueError as problem:
            rejected.append((row_number, name, figure, str(problem)))
            continue
        if as_written is not None:
            written[figure] = as_written
            if question := percentage(figure, found[figure]):
                rejected.append((row_number, name, figure, question))
    return {**found, "written": written}


# -- sheets --------------------------------------------------------------------------------


class _TextDates(yaml.SafeLoader):
    """The safe loader that leaves dates as text: an impossible one would be an error of the whole file."""


_TextDates.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _parsed(text):
    try:
        return _TextDates(text).get_single_data()
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        raise NothingToReport(f"is no YAML: {' '.join(str(problem).split()):.300}") from None


def from_sheet(text, name, problems=()):
    """Return the `Systems` of a sheet; `NothingToReport` where there is none, in words that follow its name.

    `problems` are rows of `Systems.rejected` that reading the text gave.
    """
    sheet = _parsed(text)
    entries = sheet.get("systems") if isinstance(sheet, dict) else None
    if not isinstance(entries, list):
        raise NothingToReport("is no sheet of systems: it has no list `systems`")
    rows, where, rejected = [], [], list(problems)
    for i, entry in enumerate(entries[:MAX_SYSTEMS], start=1):
        if not isinstance(entry, dict) or not isinstance(entry.get("figures"), dict):
            system = entry.get("system", "") if isinstance(entry, dict) else ""
            rejected.append((i, str(system), "figures", "must be a mapping of what the paper states"))
            continue
        row = {key: entry.get(key) for key in IDENTITY}
        named = str(row["system"] or "")
        rejected += [(i, named, str(key), _unread(key)) for key in entry if key not in _OF_AN_ENTRY]
        where += _stated(i, row, row, entry["figures"], rejected)
        made = checked(i, row, rejected)
        if made and entry.get("stages"):
            made["stages"] = tuple(_stages(i, row, made, entry["stages"], rejected, where))
        rows.append(made)
    if len(entries) > MAX_SYSTEMS:
        rejected.append((MAX_SYSTEMS + 1, "", "", f"systems beyond the first {MAX_SYSTEMS} are not read"))
    rows = list(filter(None, rows))
    rejected += _without_base(rows)
    return of_rows(name, rows, where, rejected, _left_out(sheet.get("left_out")))


def plain_name(name):
    """Return a system's name without what spellings differ in."""
    return "".join(c for c in name.lower() if c.isalnum())


def _without_base(rows):
    """List the bases that a sheet has no system of."""
    known = {plain_name(row["system"]) for row in rows}
    return [
        (
            row["row"],
            row["system"],
            "base",
            f"no system is called {str(row['base'])!r:.80}: what it took is not added",
        )
        for row in rows
        if row.get("base") and plain_name(str(row["base"])) not in known
    ]


def _unread(key):
    """Return why a key of an entry is not read."""
    if ALIASES.get(key, key) in FIGURES:
        return "is a figure: it stands under `figures`"
    return f"is not read{_near(key, _OF_AN_ENTRY)}; an entry has {', '.join(_OF_AN_ENTRY)}"


def _near(name, known):
    near = difflib.get_close_matches(str(name)[:60], known, 1)
    return f" (did you mean {near[0]}?)" if near else ""


def _stated(i, row, into, figures, rejected, stage=""):
    """Put the figures that a sheet states into a row or stage; return where each stands."""
    where, (system, source) = [], (str(row[key] or "") for key in ("system", "source"))
    for name, stated in figures.items():
        figure = ALIASES.get(name, name)
        if figure not in FIGURES:
            reason = f"is no figure that is known{_near(name, FIGURES)}; the figures are {', '.join(FIGURES)}"
            rejected.append((i, system, str(name), reason))
            continue
        parts = stated if isinstance(stated, dict) else {"value": stated}
        into[figure] = parts.get("value")
        places = (str(parts.get(key) or "") for key in ("at", "printed"))
        shown = f"{figure} ({stage})" if stage else figure
        where.append((system, source, shown, _as_stated(into[figure]), *places))
    return where


_OF_AN_ENTRY = (*IDENTITY, "figures", "stages")
# Figures that a stage does not have of its system.
_OF_THE_SYSTEM = (
    "stated_compute_flop", "finetune_compute_flop", "operations_flop", "burden_flop", "base", "error",
    "third_party_compute_flop", "energy_kwh", "tokens", "dataset_tokens", "words", "examples",
    "epochs", "steps", "time_s", "processor_hours", "generated_tokens", "teacher_parameters",
)  # fmt: skip


def _stages(i, row, system, entries, rejected, where):
    """Yield the stages of a sheet's system as rows: what a stage does not state is that of the system."""
    name = system["system"]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        rejected.append((i, name, "stages", "must be a list of mappings with name and figures"))
        return
    if len(entries) > MAX_STAGES:
        rejected.append((i, name, "stages", f"stages beyond the first {MAX_STAGES} are not read"))
    shared = {figure: v for figure, v in system.items() if figure not in _OF_THE_SYSTEM}
    for n, entry in enumerate(entries[:MAX_STAGES], start=1):
        figures = {key: value for key, value in entry.items() if key != "name"}
        stage = str(entry.get("name") or f"stage {n}")
        if stage not in STAGES:
            reason = f"is no stage that is known, got {stage!r:.60}; the stages are {', '.join(STAGES)}"
            rejected.append((i, name, "stages", reason))
        own = {}
        where += _stated(i, row, own, figures, rejected, stage)
        own = _figures(i, name, own, rejected)
        written = {**shared["written"], **own["written"]}
        yield SimpleNamespace(**_whole({**shared, **own, "written": written, "stage": f"{stage} {n}"}))


def _as_stated(value):
    """Write a figure with the digits it has; from a million, as a power of ten."""
    if not finite(value):
        return str(value)
    if abs(value) < 1e6:
        return f"{value:.12g}"
    digits, _, exponent = f"{value:.11e}".partition("e")
    return f"{digits.rstrip('0').rstrip('.')}e{exponent}"


def _left_out(entries):
    """Return what a sheet lists as left out: a name, or a mapping of ``system`` and ``reason``."""
    if not isinstance(entries, list):
        return []
    entries = [entry if isinstance(entry, dict) else {"system": entry} for entry in entries[:MAX_SYSTEMS]]
    return [tuple(str(entry.get(name) or "") for name in ("system", "reason")) for entry in entries]


# -- runs -----------------------------------------------------------------------------------


def from_runs(collection):
    """Return the runs of a collection as `Systems`, by the compute blocks of their records.

    `NothingToReport`, in words that follow the directory's name, where no run has one.
    """
    rows, rejected = [], []
    of_runs = settings(collection.runs).items()
    image = {name: collection.runs[c] for name, c in of_runs if name.rpartition(".")[2] in _OF_IMAGES}
    for i, run in enumerate(collection.runs.itertuples()):
        block = collection.compute.get(i)
        if block is None:
            rejected.append((i, run.run_id, "compute", "has no compute block"))
            continue
        of_images = {name: values.iloc[i] for name, values in image.items() if pd.notna(values.iloc[i])}
        rows.append(_run(i, run, block, rejected, of_images))
    for run in collection.excluded.itertuples():
        rejected.append((0, run.run_id, "", f"is not counted: {run.reason}"))
    if not rows:
        raise NothingToReport(
            "holds no run with a compute block; Recorder.compute takes stages, processors and "
            "rate_flops_per_s"
        )
    return of_rows(collection.name, rows, rejected=rejected)


def _run(i, run, block, rejected, of_images):
    row = {"system": run.run_id, "domain": "", "source": run.path, "date": run.started_at or None}
    row |= {"processors": block.get("processors"), "rate_flop_per_s": block.get("rate_flops_per_s")}
    row |= {"time_s": run.runtime_s, "processor": block.get("processor")}
    row["energy_kwh"] = getattr(run, "cost_energy_kwh", None)
    try:
        if block.get("model"):
            row["operations_flop"] = utilisation.operations_of(block)
            row["operations_note"] = "by the configuration of its model, 3 × a forward pass"
        else:
            row |= _by_stages(block.get("stages") or [])
    except (TypeError, ValueError, AttributeError) as problem:
        rejected.append((i, run.run_id, "stages", str(problem)))
    made = checked(i, row, rejected)
    if of_images and run.format == "huggingface" and block.get("stages"):
        share, said = _of_patches(of_images)
        rejected.append((i, run.run_id, "operations_flop", said))
        operations = made.pop("operations_flop", None)
        if share and operations:
            made |= {"operations_flop": operations * share, "operations_note": said}
    # Without a time and a rate of each stage, the time is the run's own, evaluation included.
    whole = not made.get("burden_flop", np.nan) > 0
    made["burden_time"] = compute.WHOLE_RUN if whole else compute.STAGES
    sampled_kwh = getattr(run, "cost_energy_gpu_sampled_kwh", None)
    return {**made, "energy_is_sampled": sampled_kwh == row["energy_kwh"] is not None}


# Settings that models of images have, and of language models only those that see images.
_OF_IMAGES = ("image_size", "patch_size", "num_channels", "image_mean", "pixel_values")


def _of_patches(of_images):
    """Return the part of a trainer's count that a model of images is, and what is said of it.

    The Trainer of transformers takes 6 × parameters × elements of the main input: of pictures, every pixel
    value for a token. A model that cuts them in patches works on these, and one token for the whole. None
    where the sizes are not known.
    """
    sizes = {name.rpartition(".")[2]: value for name, value in of_images.items()}
    start = f"total_flos of a model of images ({next(iter(of_images))}) takes every pixel value for a token"
    try:
        image, patch, channels = (int(sizes[n]) for n in ("image_size", "patch_size", "num_channels"))
        tokens, elements = (image // patch) ** 2 + 1, channels * image**2
        share = tokens / elements
    except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError):
        share = math.nan
    if not 0 < share < 1:
        return None, f"{start}, so it is not used; count the model with traincost count"
    return share, f"{start}: counted for its {tokens:,} patches in place of {elements:,} values"


def _by_stages(entries):
    """Return what a compute block's stages give: operations, and burden where they state it."""
    stages = [compute.Stage.of(entry) for entry in entries]
    found = {
        "operations_flop": compute.network_operations(stages),
        "operations_note": _operations_note(stages),
    }
    if all(stage.rate_flops_per_s is not None and stage.time_s is not None for stage in stages):
        found["burden_flop"] = compute.hardware_burden(stages)
        found["rate_flop_per_s"] = stages[0].rate_flops_per_s
    return found


def _operations_note(stages):
    factors = sorted({stage.forward_backward for stage in stages if stage.counted_flop is None})
    worth = ", ".join(f"{factor:g}" for factor in factors)
    notes = [f"eq. 1, a training step = {worth} × a forward pass"] if factors else []
    if any(stage.counted_flop is not None for stage in stages):
        notes.append("counted while training, forward and backward")
    return "; ".join(notes)


# -- claims ---------------------------------------------------------------------------------


def claims_of(text):
    """Return the printed claims in a YAML text, a list of mappings.

    `NothingToReport`, in words that follow the file's name, where it has no list ``claims``; `ParameterError`
    where a claim lacks something, or its value is no number above zero.
    """
    content = _parsed(text)
    if not isinstance(content, dict) or not isinstance(content.get("claims"), list):
        raise NothingToReport("must have a list `claims`")
    for claim in content["claims"]:
        value = claim.get("value") if isinstance(claim, dict) else None
        if not finite(value) or value <= 0 or not claim.get("about") or not claim.get("where"):
            raise ParameterError(
                f"`claims`: each must have about, a value above zero, and where; got {claim!r:.300}"
            )
    return content["claims"]
