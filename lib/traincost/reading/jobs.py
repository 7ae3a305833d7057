"""Give runs the settings of the job they ran in and those in their paths."""

from dataclasses import replace

from traincost.reading.batch import upwards
from traincost.reading.formats import JOBS
from traincost.reading.formats import table as _table
from traincost.reading.formats.run import flat
from traincost.reading.formats.statuses import COMPLETED, FAILED, FILES, UNKNOWN, UNREADABLE
from traincost.reading.tables import changed, configs, settings


def describe(batches, sources, pattern, redactor):
    """Change the runs of batches, in place of these in the list.

    A job in whose directory runs were found is no run beside them: it is dropped, and returned
    as (position, path of the first of its runs).
    """
    jobs, replaced = _jobs(batches, sources), {}
    if jobs:
        for i, batch in enumerate(batches):
            if not _is_of_jobs(batch, sources):
                batches[i] = replace(batch, runs=_with_jobs(batch.runs, sources, jobs, replaced))
        for i, batch in enumerate(batches):
            if _is_of_jobs(batch, sources):
                batch = replace(batch, runs=_without_result(batch, sources, replaced))
            batches[i] = batch.only([n for n, place in enumerate(batch.places) if place not in replaced])
    if pattern:
        batches[:] = [replace(b, runs=_with_path_fields(b.runs, sources, pattern, redactor)) for b in batches]
    return [(place, sources[first][0]) for place, first in sorted(replaced.items())]


def _is_of_jobs(batch, sources):
    return bool(batch.places) and sources[batch.places[0]][1] in JOBS


def _jobs(batches, sources):
    """Return the directory of each job to its (position, config, why its settings are not known)."""
    jobs = {}
    for batch in batches:
        if _is_of_jobs(batch, sources):
            columns = (batch.runs[name].to_pylist() for name in ("place", "status", "reason"))
            for config, place, status, reason in zip(configs(batch.runs), *columns, strict=True):
                unknown = reason if status == UNREADABLE else ""
                jobs[_directory(sources, place)] = (place, config, unknown)
    return jobs


def _with_jobs(runs, sources, jobs, replaced):
    """Return runs with the settings of their jobs, and note what these stand for."""
    described, notes = configs(runs), runs["notes"].to_pylist()
    places, statuses = (runs[name].to_pylist() for name in ("place", "status"))
    for i, (place, status) in enumerate(zip(places, statuses, strict=True)):
        if status == UNREADABLE:
            continue
        job = next((d for d in upwards(_directory(sources, place)) if d in jobs), None)
        if job is not None:
            job_place, config, unknown = jobs[job]
            described[i] = {**config, **described[i]}
            replaced[job_place] = min(place, replaced.get(job_place, place))
            if unknown:
                notes[i].append(f"lacks the settings of its job: the directory of the job {unknown}")
    return changed(runs, config=settings(described), notes=notes)


def _without_result(batch, sources, replaced):
    """Refuse a job without a result where another of its name and directory left one.

    The log of a job that was killed ends like that of any other; its missing result tells.
    """
    names = ("place", "report", "status", "reason", "evidence")
    places, reports, statuses, reasons, evidence = (batch.runs[name].to_pylist() for name in names)
    groups = [
        (_directory(sources, place).rpartition("/")[0], report)
        for place, report in zip(places, reports, strict=True)
    ]
    parts = dict(zip(batch.places, batch.parts, strict=True))
    has_result = [bool(parts[place]) or place in replaced for place in places]
    left_one = {group for group, has in zip(groups, has_result, strict=True) if has}
    for i, status in enumerate(statuses):
        if groups[i] in left_one and not has_result[i] and status in (COMPLETED, UNKNOWN):
            statuses[i], evidence[i] = FAILED, FILES
            reasons[i] = "left no result, as other jobs beside it did: it failed, was killed or is at work"
    return changed(batch.runs, status=statuses, reason=reasons, evidence=evidence)


def matches(batches, sources, pattern):
    """Say whether the path of any run matches a pattern; of no run, it does."""
    places = [place for batch in batches for place in batch.runs["place"].to_pylist()]
    return not places or any(_path_fields(sources[place], pattern) for place in places)


def _path_fields(source, pattern):
    path, reader = source
    # What a table says of a run may be the path of its directory.
    return pattern.fields(path if reader == _table.NAME else path.rpartition("/")[0])


def _with_path_fields(runs, sources, pattern, redactor):
    """Return runs with the settings that stand in their paths."""
    described, notes = configs(runs), runs["notes"].to_pylist()
    for i, place in enumerate(runs["place"].to_pylist()):
        found = _path_fields(sources[place], pattern)
        described[i].update(redactor.config(flat(found, notes[i])))
        if not found:
            notes[i].append("its path does not match `path_pattern`: those settings are not set")
    return changed(runs, config=settings(described), notes=notes)


def _directory(sources, place):
    return sources[place][0].rpartition("/")[0]
