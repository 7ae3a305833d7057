"""Result trees of pyhighlights: ``results.json``, with ``manifest.json`` beside it.

One run per completed seed. Its config is the manifest's resolved settings (nested, registry
keys under ``@key``, ``key`` in older ones); its runtime is ``cost_runtime_s``. The summary in
the file is not read: means are made from the runs. A seed's sections are in Lightning's profiler
reports, where it wrote any, in ``seed=N/lightning_logs``.
"""

import os
import re
from dataclasses import replace

from traincost.reading.formats import lightning_actions
from traincost.reading.formats.by_name import first_of
from traincost.reading.formats.files import Folder, Unreadable, mapping_in, parse_json, read_bytes, shortened
from traincost.reading.formats.run import Run, flat, numbers, runtime
from traincost.reading.formats.simple_profiler import elapsed, read_reports
from traincost.reading.formats.statuses import UNFINISHED, UNREADABLE

NAME = "pyhighlights"
TITLE = "pyhighlights results (results.json)"
RESULTS_NAME, MANIFEST_NAME = "results.json", "manifest.json"
LOGS_NAME = "lightning_logs"
# Where the run was put and which seeds were asked for: they identify it, they do not shape it.
_IDENTIFYING = ("save_path", "seeds")
_STAMP = re.compile(r"(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2})(-\d+)?")
NAMES, sources = first_of(RESULTS_NAME)


def read(path, run_id):
    """Return a run per seed of the results at `path`; `run_id` names their directory."""
    folder = Folder(os.path.dirname(path))
    try:
        results = parse_json(read_bytes(path))
    except Unreadable as problem:
        return [Run(run_id, UNREADABLE, reason=str(problem))]
    # Many tools call theirs so.
    has_runs = isinstance(results, dict) and not {"runs", "seeds"}.isdisjoint(results)
    if not has_runs and MANIFEST_NAME not in folder:
        return []
    reason = _not_results(results)
    if reason:
        return [Run(run_id, UNREADABLE, reason=reason)]
    notes, name = [], os.path.basename(folder.path)
    lost = ": the settings are unknown"
    manifest = mapping_in(folder.of(MANIFEST_NAME), parse_json, notes, lost)
    shared = {
        "config": _config(results, manifest, notes),
        "started_at": _started(manifest, name),
        "task": str(results.get("name", "?")),
        "report": str(results.get("run") or name),
    }
    completed = _completed(results, run_id, shared, notes)
    _add_sections(folder, dict(zip(map(str, _completed_seeds(results)), completed, strict=False)))
    return [*completed, *_missing(results, run_id, shared)]


def _not_results(results):
    if not isinstance(results, dict):
        return f"holds a JSON {type(results).__name__} at the top, not an object"
    if not isinstance(results.get("runs"), list):
        return "reports no runs: it has no list `runs`"
    if not _completed_seeds(results) and not _seeds(results, "seeds"):
        return "reports no runs: no seed was completed or asked for"
    return ""


def _seeds(results, name):
    seeds = results.get(name)
    return seeds if isinstance(seeds, list) else []


def _completed_seeds(results):
    """Return the completed seeds; where they are not named, those asked for, as far as runs go."""
    if isinstance(results.get("completed"), list):
        return results["completed"]
    return (_seeds(results, "seeds") or list(range(len(results["runs"]))))[: len(results["runs"])]


def _config(results, manifest, notes):
    settings = manifest.get("settings")
    settings = settings if isinstance(settings, dict) else {}
    kept = {name: _modern(value) for name, value in settings.items() if name not in _IDENTIFYING}
    if "name" in results:
        kept["name"] = str(results["name"])
    return flat(kept, notes)


def _modern(value):
    """Return settings with registry keys under ``@key``, which older manifests call ``key``."""
    if isinstance(value, list):
        return [_modern(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        "@key" if name == "key" and str(item).startswith("name=") else name: _modern(item)
        for name, item in value.items()
    }


def _started(manifest, folder):
    """Return the start as ISO 8601 in local time, from the manifest or the directory's stamp."""
    for text in (manifest.get("started"), folder):
        match = _STAMP.fullmatch(text) if isinstance(text, str) else None
        if match:
            day, *clock = match.groups()[:4]
            return f"{day}T{':'.join(clock)}"
    return ""


def _completed(results, run_id, shared, notes):
    seeds, values = _completed_seeds(results), results["runs"]
    if len(seeds) != len(values):
        notes.append(f"{len(seeds)} completed seeds but {len(values)} runs: paired as far as both go")
    runs = []
    for seed, measured in zip(seeds, values, strict=False):
        run = _run(run_id, seed, shared, notes)
        # Seeds of one file were trained one after another by one process.
        run.process = run_id if len(seeds) > 1 else ""
        runs.append(run)
        if not isinstance(measured, dict):
            run.reason = f"its values must be an object, got {type(measured).__name__}"
            continue
        for name, value in numbers(measured, "value", run.notes).items():
            (run.cost if name.startswith("cost_") else run.scores)[name] = value
        run.runtime_s, run.reason = runtime(measured.get("cost_runtime_s"), "cost_runtime_s")
    return runs


def _missing(results, run_id, shared):
    done = {repr(seed) for seed in _completed_seeds(results)}
    runs = [_run(run_id, seed, shared) for seed in _seeds(results, "seeds") if repr(seed) not in done]
    for run in runs:
        run.end(UNFINISHED, "the seed was requested but not completed")
    return runs


def _run(run_id, seed, shared, notes=()):
    run = Run(f"{run_id}/seed={shortened(seed, 40)}", **shared)
    run.config = {**run.config, **flat({"seed": seed}, run.notes)}
    run.notes += notes
    return run


# -- sections --------------------------------------------------------------------------------


def _add_sections(folder, runs):
    """Give each seed's run (by the seed's name) the sections of its reports, and claim these."""
    reports = []
    for name in folder.names:
        seed = name.removeprefix("seed=")
        if seed == name or seed not in runs:
            continue
        runs[seed].parts = [f"{name}/{LOGS_NAME}"]
        logs = Folder(folder.of(f"{name}/{LOGS_NAME}"))
        for version in map(Folder, map(logs.of, logs.names)):
            found, notes = read_reports(version.path, version.names)
            reports += [replace(report, source=seed) for report in found]
            runs[seed].notes += notes
    of_seed = {}
    for chain in elapsed(reports):
        for seed, parts in _by_seed(chain, list(runs)):
            of_seed.setdefault(seed, []).extend(parts)
    for seed, parts in of_seed.items():
        runs[seed].sections = lightning_actions.merged(parts)


def _by_seed(chain, seeds):
    """Return (seed, its reports) of one profiler's.

    A profiler that served all seeds wrote them all into the first one's directory: each
    training in it is the next seed's.
    """
    trainings = [[]]
    for part in chain:
        if part.stage == "fit" and trainings[-1]:
            trainings.append([])
        trainings[-1].append(part)
    places = [training[0].source for training in trainings]
    if len(set(places)) == 1 and 1 < len(trainings) <= len(seeds):
        places = seeds
    return list(zip(places, trainings, strict=False))
