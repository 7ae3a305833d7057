"""One job, one run: put together what several tools, processes or sittings recorded of the same training.

In this order: the *legs* of a resumed run; the *ranks* of a distributed job; the records of different
*tools*; the *steps* of a pipeline. Who joins says so in a note, and in the parts of the collection.

Two tools saw one job where their runs lie in one job's folder, or started within seconds of each other
and overlap, and no setting or score contradicts; each tool counts once. A tool without a clock (a CSV of
metrics) joins where settings and scores leave one partner. Times without a zone are the machine's: one
offset for the whole collection, the one with which most of them have a partner.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import pyarrow as pa

from traincost.reading import merging, tables
from traincost.reading.batch import upwards
from traincost.reading.formats import JOBS, READERS, RESUMABLE
from traincost.reading.formats.statuses import FAILED, KILLED, RUNNING, UNFINISHED, UNKNOWN

NEAR_S = 30.0  # between the starts of two records of one job
ALIKE_S = 5.0  # the same, where no setting is in both
RANKS_S = 15.0  # between the first and the last start of the ranks of one job
LONGER = 0.2  # of the longer of two runtimes, by which two tools may differ
SLACK_S = 60.0
QUARTER_S = 900  # offsets of local time are multiples of it
MAX_OFFSET_S = 14 * 3600
MAX_CLOCKLESS = 2_000  # records without a start that a partner is sought for
_TOOL_FOLDERS = frozenset(
    ("mlruns", "wandb", "lightning_logs", "tb_logs", "tensorboard", "csv_logs", "logs", "runs", ".hydra")
)
_JOINABLE = (FAILED, KILLED, RUNNING, UNKNOWN, UNFINISHED)


@dataclass(eq=False)
class Record:
    """What tells one recorded run from others."""

    row: int  # in the table of runs
    reader: str
    path: str
    run_id: str
    start_s: float | None  # since 1970; local time where not `has_zone`
    has_zone: bool
    runtime_s: float | None
    job: str
    step: str
    task: str
    settings: dict = field(default_factory=dict)  # last part of a setting's name to its values
    scores: dict = field(default_factory=dict)
    home: str = ""

    @property
    def end_s(self):
        """When it ended, or began where its runtime is not known."""
        return None if self.start_s is None else self.start_s + (self.runtime_s or 0.0)


def together(runs, sources):
    """Return runs with those of one job as one, and the (position, path of the run) of what was joined.

    `runs` has the schema `tables.RUNS`; `sources` are (path, reader).
    """
    records = _records(runs, sources)
    if not records or not _may_join(records):
        return runs, []
    _describe(records, runs, sources)
    groups, above = [], {}  # a row to that of the record it was put under
    for rule, groups_in in (("legs", _legs), ("ranks", _ranks), ("tools", _tools), ("steps", _steps)):
        for group in groups_in([record for record in records if record.row not in above]):
            groups.append((rule, group))
            above.update((other.row, group[0].row) for other in group[1:])
    if not groups:
        return runs, []
    touched = list(dict.fromkeys(record.row for _, group in groups for record in group))
    rows = dict(zip(touched, runs.take(touched).to_pylist(), strict=True))
    for rule, group in groups:
        rows[group[0].row] = merging.merged(rule, [(record, rows[record.row]) for record in group])
    kept = [row for row in range(len(runs)) if row not in rows]
    made = [row for row in rows if row not in above]
    order = np.argsort([*kept, *made], kind="stable")
    others = runs.take(pa.array(kept, pa.int64()))
    made_runs = pa.Table.from_pylist([rows[row] for row in made], tables.RUNS)
    changed = pa.concat_tables([others, made_runs]).take(pa.array(order, pa.int64()))
    places = runs["place"].to_pylist()
    staying = {places[row] for row in [*kept, *made]}
    parts = {}
    for row in above:
        owner = row
        while owner in above:
            owner = above[owner]
        if places[row] not in staying:
            parts[places[row]] = sources[places[owner]][0]
    return changed, sorted(parts.items())


# -- records -------------------------------------------------------------------------------


def _records(runs, sources):
    names = ["place", "run_id", "status", "reason", "started_at", "runtime_s", "job", "step", "task"]
    columns = (runs[name].to_pylist() for name in names)
    found = []
    for row, (place, run_id, status, reason, started, runtime_s, job, step, task) in enumerate(
        zip(*columns, strict=True)
    ):
        if reason and status not in _JOINABLE:
            continue
        path, reader = sources[place]
        start_s, has_zone = _moment(started)
        found.append(Record(row, reader, path, run_id, start_s, has_zone, runtime_s, job, step, task))
    return found


def _moment(text):
    """Return an ISO time in seconds since 1970, and whether it has a zone."""
    try:
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=at.tzinfo or UTC).timestamp(), at.tzinfo is not None
    except (ValueError, OverflowError):
        return None, False


def _may_join(records):
    """Say whether there is anything to join at all: most collections are one tool's, run by run."""
    readers = {record.reader for record in records}
    named = [(record.reader, record.run_id) for record in records if record.reader in RESUMABLE]
    jobs = [record.job for record in records if record.job]
    is_repeated = len(set(named)) < len(named) or len(set(jobs)) < len(jobs)
    return len(readers) > 1 or is_repeated or any(record.step for record in records)


def _describe(records, runs, sources):
    """Add settings and scores by the last parts of their names, and the folder of the job."""
    chosen = runs.take(pa.array([record.row for record in records], pa.int64()))
    scores = chosen["scores"].to_pylist()
    jobs = {path.rpartition("/")[0] for path, reader in sources if reader in JOBS}
    for record, config, found in zip(records, tables.configs(chosen), scores, strict=True):
        for name, value in config.items():
            record.settings.setdefault(_leaf(name), set()).add(_plain(value))
        record.scores = {_leaf(entry["name"], "/"): entry["value"] for entry in found}
        record.home = _home(record.path, jobs)


def _leaf(name, sign="."):
    return name.replace("\\", "").rpartition(sign)[2].rpartition(".")[2]


def _plain(value):
    """Return a level as one that tools write alike: a number as such, text in small letters."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value).strip().lower()


def _home(path, jobs):
    """Return the folder of the job that a source lies in: Hydra's, or that around the tool's own folder."""
    directory = path.rpartition("/")[0]
    for place in upwards(directory):
        if place in jobs:
            return place
    parts = directory.split("/")
    for i, part in enumerate(parts):
        if part in _TOOL_FOLDERS:
            return "/".join(parts[:i])
    return directory


# -- legs, ranks ---------------------------------------------------------------------------


def _legs(records):
    """Return the groups of records of one run that was resumed: one reader, one id, several folders."""
    groups = defaultdict(list)
    for record in records:
        if record.reader in RESUMABLE:
            groups[record.reader, record.run_id].append(record)
    found = []
    for group in groups.values():
        group.sort(key=lambda record: (record.start_s or 0.0, record.path))
        is_apart = len({record.path.rpartition("/")[0] for record in group}) == len(group)
        starts = {record.start_s for record in group}
        if len(group) > 1 and is_apart and len(starts) == len(group) and None not in starts:
            found.append(group[::-1])  # the last leg knows how it ended
    return found


def _ranks(records):
    """Return the groups of records that the processes of one distributed job left."""
    jobs = defaultdict(list)
    for record in records:
        if record.job and record.start_s is not None:
            settings = frozenset((name, *sorted(map(str, v))) for name, v in record.settings.items())
            jobs[record.reader, record.job, settings].append(record)
    found = []
    for group in jobs.values():
        group.sort(key=lambda record: record.start_s)
        cluster = []
        for record in group:
            if cluster and record.start_s - cluster[0].start_s > RANKS_S:
                found.append(cluster)
                cluster = []
            cluster.append(record)
        found.append(cluster)
    return [
        sorted(cluster, key=lambda record: (not record.scores, record.start_s, record.path))
        for cluster in found
        if len(cluster) > 1 and _is_one_job(cluster)
    ]


def _is_one_job(cluster):
    """Say whether only one of several records with equal settings has scores, as rank 0 alone logs them."""
    last_begun = max(cluster, key=lambda record: record.start_s)
    first_ended = min(cluster, key=lambda record: record.end_s)
    return sum(bool(record.scores) for record in cluster) <= 1 and _overlap(last_begun, first_ended)


# -- tools ---------------------------------------------------------------------------------


def _tools(records):
    """Return the groups of records of one job by different tools, the surest source of an id first."""
    if len({record.reader for record in records}) < 2:
        return []
    shift_s = _offset(records)
    for record in records:
        if record.start_s is not None and not record.has_zone:
            record.start_s -= shift_s
    # Across tools alone: the surest pairs first, and no tool twice in one job.
    group_of = {record.row: [record] for record in records}
    for _, first, second in sorted(_pairs(records), key=lambda pair: pair[0]):
        _unite(group_of, first, second)
    _unite_clockless(group_of, [record for record in records if record.start_s is None])
    order = list(READERS)
    groups = {id(group): group for group in group_of.values() if len(group) > 1}
    return [sorted(group, key=lambda r: (order.index(r.reader), r.path)) for group in groups.values()]


def _unite(group_of, first, second):
    one, other = group_of[first.row], group_of[second.row]
    if one is other or {r.reader for r in one} & {r.reader for r in other}:
        return
    if any(_contradict(a, b) for a in one for b in other):
        return
    one += other
    for record in other:
        group_of[record.row] = one


def _offset(records):
    """Return by how much times without a zone are ahead of UTC, in seconds."""
    clocked = [record for record in records if record.start_s is not None]
    local = [record for record in clocked if not record.has_zone][:MAX_CLOCKLESS]
    zoned = sorted((record for record in clocked if record.has_zone), key=lambda r: r.start_s)
    if not local or not zoned:
        return 0
    starts = np.array([r.start_s for r in zoned])
    votes = Counter()
    for record in local:
        low, high = np.searchsorted(starts, [record.start_s - MAX_OFFSET_S, record.start_s + MAX_OFFSET_S])
        for i in range(low, high):
            difference = record.start_s - starts[i]
            shift = round(difference / QUARTER_S) * QUARTER_S
            if abs(difference - shift) <= NEAR_S and not _contradict(record, zoned[i]):
                votes[shift] += 1 + len(_shared(record, zoned[i]))
    return min(votes, key=lambda shift: (-votes[shift], abs(shift))) if votes else 0


def _pairs(records):
    """Yield (badness, record, record) of different tools that may have seen the same job."""
    clocked = sorted((r for r in records if r.start_s is not None), key=lambda r: r.start_s)
    for i, first in enumerate(clocked):
        for second in clocked[i + 1 :]:
            apart_s = second.start_s - first.start_s
            if apart_s > NEAR_S:
                break
            if first.reader == second.reader or _contradict(first, second) or not _overlap(first, second):
                continue
            is_home = bool(first.home) and first.home == second.home
            if is_home or apart_s <= ALIKE_S or _shared(first, second):
                yield (not is_home, not _shared(first, second), apart_s), first, second
    homes = defaultdict(list)
    for record in records:
        homes[record.home].append(record)
    for home, inside in homes.items():
        alone = Counter(record.reader for record in inside)
        single = [record for record in inside if alone[record.reader] == 1]
        for first, second in pairwise(single):
            if home and not _contradict(first, second) and _overlap(first, second):
                yield (False, False, NEAR_S), first, second


def _shared(first, second):
    return [name for name, values in first.settings.items() if values & second.settings.get(name, set())]


def _contradict(first, second):
    """Say whether two records differ in what both know: a setting, or how long they took."""
    for name, values in first.settings.items():
        others = second.settings.get(name)
        if others and len(values) == len(others) == 1 and not _is_reworded(*values, *others):
            return True
    if first.runtime_s and second.runtime_s:
        longer, shorter = max(first.runtime_s, second.runtime_s), min(first.runtime_s, second.runtime_s)
        return longer - shorter > max(SLACK_S, LONGER * longer)
    return False


def _is_reworded(a, b):
    """Say whether two levels are one, or one is text within the other, as a path or a reference is."""
    return a == b or (isinstance(a, str) and isinstance(b, str) and (a in b or b in a or "${" in a + b))


def _overlap(first, second):
    if first.start_s is None or second.start_s is None:
        return True
    start, end = max(first.start_s, second.start_s), min(first.end_s, second.end_s)
    return end >= start - SLACK_S or not (first.runtime_s and second.runtime_s)


def _unite_clockless(group_of, clockless):
    """Give what has no clock the one group that its settings and scores leave."""
    for record in clockless[:MAX_CLOCKLESS]:
        groups = {id(group): group for group in group_of.values() if group is not group_of[record.row]}
        fitting = [group for group in groups.values() if _fits(record, group)]
        near = [group for group in fitting if record.home and any(r.home == record.home for r in group)]
        chosen = near if len(near) == 1 else fitting
        if len(chosen) == 1:
            _unite(group_of, chosen[0][0], record)


def _fits(record, group):
    """Say whether equal settings and an equal score speak for a group, and nothing against it."""
    if any(r.reader == record.reader or _contradict(r, record) for r in group):
        return False
    settings = any(_shared(r, record) for r in group)
    scores = {name: value for r in group for name, value in r.scores.items()}
    common = [name for name in record.scores if name in scores]
    equal = [n for n in common if np.isclose(record.scores[n], scores[n], rtol=1e-6)]
    return len(equal) == len(common) and ((settings and (bool(equal) or not common)) or len(equal) > 1)


# -- pipelines -----------------------------------------------------------------------------


def _steps(records):
    """Return the groups of a pipeline's own record and those of its steps, in the order of time."""
    clocked = [r for r in records if r.start_s is not None and r.runtime_s]
    mains = [r for r in clocked if r.step == "main"]
    steps = sorted((r for r in clocked if r.step and r.step != "main"), key=lambda r: r.start_s)
    found, taken = [], set()
    for main in sorted(mains, key=lambda r: r.runtime_s):
        inside = [s for s in steps if s.row not in taken and s.task == main.task]
        inside = [s for s in inside if s.start_s >= main.start_s - 1.0 and s.end_s <= main.end_s + 1.0]
        follow = all(b.start_s >= a.end_s - 1.0 for a, b in pairwise(inside))
        if inside and follow:
            found.append([main, *inside])
            taken.update(step.row for step in inside)
    return found
