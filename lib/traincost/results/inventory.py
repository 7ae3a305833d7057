"""What a directory holds: which runs were recognised, what became of their fields, what was left out.

The text of ``traincost formats RUNS_DIR``: a block per kind of run, then the runs left out, the
logs that are parts of runs, and, for a directory at hand, the files of which no reader made anything.
"""

import os
from collections import Counter
from pathlib import PurePosixPath

from traincost.analysis.fields import describe
from traincost.columns import SCORE_PREFIX
from traincost.printing import plain, time_text
from traincost.reading import index
from traincost.reading.collection import read_collection
from traincost.reading.formats import READERS, files, other, table_files
from traincost.reading.formats import table as tables
from traincost.results.runs import Runs, listed
from traincost.words import in_natural_order, natural

MAX_LINES = 20  # of a list; the rest is counted
MAX_NAMES = 12  # on a line
HINT = "; a table of runs is given by its own path"


def lines(runs_dir, format="auto", where=None, show=(), table=None, **reading):
    """Return what was recognised under `runs_dir`, as lines of text.

    Takes the arguments of `read_collection`, and raises what it raises, but for runs that cannot be
    used: those are what is asked about. `where` and `show` are as `runs.read` takes them.
    """
    with files.watched() as opened:
        whole = read_collection(
            runs_dir, format, require_runs=False, show=listed("show", show), table=table, **reading
        )
    found = Runs(whole).where(where).collection if where else whole
    parts = list(found.parts.itertuples())
    counts = [
        f"{_count(len(found.runs), 'run')} read",
        f"{len(found.excluded)} left out",
        f"{_count(len(parts), 'source')} part of these",
    ]
    # The files of an index are not those of the runs; and of a URL, each would have to be fetched.
    is_at_hand = os.path.isdir(runs_dir) and not index.opened(runs_dir)
    unread = _not_read(runs_dir, whole, opened) if is_at_hand else []
    if is_at_hand:
        counts.append(f"{_count(len(unread), 'file')} not read")
    text = [f"{found.name}: {', '.join(counts)}"]
    for name, reader in {**READERS, tables.NAME: tables}.items():
        runs = found.runs[found.runs["format"] == name]
        if len(runs):
            text += ["", f"{reader.TITLE} [{name}]: {_count(len(runs), 'run')}", *_of_format(runs, found)]
    text += _listed("Left out", [f"{r.path}: {r.reason}" for r in found.excluded.itertuples()])
    text += _listed("Parts of runs", [f"{row.path} [{row.format}]: of {row.part_of}" for row in parts])
    if not len(found.runs) and not len(found.excluded):
        text += ["", f"traincost reads: {', '.join(reader.TITLE for reader in READERS.values())}"]
    return text + _listed("Not read", _unread(runs_dir, unread))


def _not_read(runs_dir, found, opened):
    """Return the paths of files that are no run, no part of one, and were not opened beside one.

    A file that was opened elsewhere was only looked at: no reader made anything of it.
    """
    paths = {*found.runs["path"], *found.excluded["path"], *found.parts["path"]}
    folders = {os.path.dirname(path) for path in paths}
    used = {os.path.relpath(path, runs_dir) for path in opened}
    return [
        path
        for path in _files_below(runs_dir)
        if path not in paths and not (path in used and _within(path, folders))
    ]


def _files_below(runs_dir):
    for directory, folders, names in os.walk(runs_dir):
        folders.sort(key=natural)
        for name in in_natural_order(names):
            yield os.path.relpath(os.path.join(directory, name), runs_dir)


def _count(n, noun):
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _within(path, directories):
    """Say whether a file lies in one of the directories or below; the root counts for itself only."""
    parent = os.path.dirname(path)
    while parent:
        if parent in directories:
            return True
        parent = os.path.dirname(parent)
    return "" in directories and not os.path.dirname(path)


def _of_format(runs, found):
    """Say what became of the fields of one kind of run."""
    sections = found.sections.loc[found.sections["run"].isin(runs.index), "section"]
    fields = describe(runs.reset_index(drop=True))
    by_kind = {}
    for field in fields:
        by_kind.setdefault("factor" if field.is_factor else field.kind, []).append(field)
    runtime_s = runs["runtime_s"]
    shortest, longest = time_text(runtime_s.min()), time_text(runtime_s.max())
    said = {
        "runtime": [f"{shortest} to {longest}, {time_text(runtime_s.sum())} in all"],
        "factors": [f"{field.title} ({field.n_levels})" for field in by_kind.get("factor", [])],
        "replicates": [f"{field.title} ({field.n_levels})" for field in by_kind.get("replicate", [])],
        "shared": [
            f"{field.name} = {field.labels[0]}" for field in by_kind.get("shared", []) if field.labels
        ],
        "names only": [field.name for field in by_kind.get("identifier", [])],
        "sections": list(dict.fromkeys(sections)),
        "cost": [name for name in runs if name.startswith("cost_") and runs[name].notna().any()],
        "ended": [f"{name} ({n})" for name, n in _counted(runs["evidence"])],
        "machines": [f"{name} ({n})" for name, n in _counted(runs["host"]) + _counted(runs["device"])],
        "devices": [f"{float(n):g} ({k})" for n, k in _counted(runs["devices"].dropna())],
        "scores": [
            name.removeprefix(SCORE_PREFIX)
            for name in runs
            if name.startswith(SCORE_PREFIX) and runs[name].notna().any()
        ],
    }
    return [plain(f"  {what:<10} {_cut(entries)}") for what, entries in said.items()]


def _counted(column):
    """Return the levels of a column and how often each is there; empty ones are none."""
    return [(name, n) for name, n in column.value_counts().items() if name != ""]


def _cut(entries):
    if not entries:
        return "none"
    more = f", and {len(entries) - MAX_NAMES} more" if len(entries) > MAX_NAMES else ""
    return ", ".join(entries[:MAX_NAMES]) + more


def _listed(title, entries):
    if not entries:
        return []
    more = [f"  and {len(entries) - MAX_LINES} more"] if len(entries) > MAX_LINES else []
    return ["", f"{title} ({len(entries)})", *(f"  {entry}" for entry in entries[:MAX_LINES]), *more]


def _unread(runs_dir, paths):
    """Say of each file that no reader made a run of what it is, or count those of its suffix."""
    known, suffixes = [], Counter()
    for path in paths:
        what = other.recognise(os.path.join(runs_dir, path))
        if what:
            known.append(f"{path}: {what}")
        else:
            suffixes[PurePosixPath(path).suffix or "no suffix"] += 1
    unknown = [
        f"{suffix}: {_count(n, 'file')} of no known kind{HINT if suffix in table_files.ENDINGS else ''}"
        for suffix, n in suffixes.most_common()
    ]
    return known + unknown
