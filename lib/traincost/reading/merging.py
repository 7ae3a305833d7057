"""Merge the rows of one job (`joins`) into one: settings, runtime, scores, sections, end, machine.

Rows are mappings of the schema `tables.RUNS`. Orders, the best first: settings are Hydra's, then those
of `SETTINGS`; the runtime is the longest that was measured; the end is taken from the best evidence.
"""

from traincost.reading.formats.power import ENERGY, SAMPLED
from traincost.reading.formats.run import one_level
from traincost.reading.formats.statuses import (
    COMPLETED,
    EVIDENCE,
    FAILED,
    KILLED,
    NOT_RECORDED,
    UNFINISHED,
    UNKNOWN,
)

SETTINGS = ("hydra", "traincost", "mlflow", "wandb")  # then the others, in the order of the register
CUMULATIVE = 1.02  # by which a runtime must exceed its own leg's to hold earlier ones
CUMULATIVE_S = 5.0
_BAD = (FAILED, KILLED)


def merged(rule, pairs):
    """Return the row that stands for several; `pairs` are (`joins.Record`, row), the first one stays."""
    row = {"legs": _legs, "ranks": _ranks, "tools": _tools, "steps": _steps}[rule](pairs)
    if row["status"] in (COMPLETED, UNKNOWN) and row["runtime_s"] is not None:
        row["reason"] = ""
    row["content"] = ""
    return row


def _legs(pairs):
    last = dict(pairs[0][1])
    legs = [row for _, row in reversed(pairs)]  # in the order of time
    total, spans = 0.0, []
    for row in legs:
        runtime_s, leg_s = row["runtime_s"] or 0.0, row["leg_s"]
        is_whole = leg_s is not None and runtime_s > CUMULATIVE * leg_s + CUMULATIVE_S
        total = max(total, runtime_s) if is_whole else total + runtime_s
        spans.append(is_whole)
    last["runtime_s"] = total or None
    last["started_at"] = legs[0]["started_at"] or last["started_at"]
    how = "the last one's, which holds those before it" if any(spans) else "their sum"
    said = f"resumed: {len(legs)} legs are one run, its runtime {how}, without the pauses"
    last["notes"] = [*_notes(legs), said]
    for name in ("config", "scores", "cost", "sections"):
        last[name] = _union([row[name] for row in reversed(legs)])
    last["cost"] = _with_sampled(last["cost"], sum(_costs(row).get(SAMPLED, 0.0) for row in legs))
    return last


def _ranks(pairs):
    row, rows = dict(pairs[0][1]), [other for _, other in pairs]
    row["runtime_s"] = max((r["runtime_s"] for r in rows if r["runtime_s"]), default=None)
    row["started_at"] = min(filter(None, (r["started_at"] for r in rows)), default="")
    bad = next((r for r in rows if r["status"] in _BAD), None)
    if bad:
        row["status"], row["reason"], row["evidence"] = bad["status"], bad["reason"], bad["evidence"]
    row["devices"] = row["devices"] or float(len(rows))
    row["host"] = ", ".join(dict.fromkeys(r["host"] for r in rows if r["host"]))
    of_host = {}  # each rank sampled all GPUs of its machine: these count once
    for r in rows:
        of_host[r["host"]] = max(of_host.get(r["host"], 0.0), _costs(r).get(SAMPLED, 0.0))
    row["cost"] = _with_sampled(row["cost"], sum(of_host.values()))
    row["notes"] = [*_notes(rows), f"{len(rows)} ranks of one job are one run, each with a device of its own"]
    return row


def _tools(pairs):
    row = dict(pairs[0][1])
    rows = [other for _, other in pairs]
    order = {reader: i for i, reader in enumerate(SETTINGS)}
    by_settings = sorted(pairs, key=lambda pair: order.get(pair[0].reader, len(order)))
    row["config"] = _settings([other["config"] for _, other in by_settings])
    for name in ("scores", "sections"):
        row[name] = _union([other[name] for other in rows])
    # A counter's energy comes before that of sampled power.
    row["cost"] = _union([other["cost"] for other in sorted(rows, key=lambda r: SAMPLED in _costs(r))])
    row["runtime_s"] = max((r["runtime_s"] for r in rows if r["runtime_s"]), default=None)
    zoned = [(record.start_s, i) for i, (record, _) in enumerate(pairs) if record.has_zone]
    for name in ("started_at", "device", "host", "task", "report", "job", "step", "compute", "process"):
        row[name] = _first(rows, name)
    if zoned:
        row["started_at"] = rows[min(zoned)[1]]["started_at"]
    row |= _end(rows)
    row["devices"] = next((r["devices"] for r in rows if r["devices"] is not None), None)
    others = ", ".join(dict.fromkeys(record.reader for record, _ in pairs[1:]))
    row["notes"] = [*_notes(rows), f"the same job was also recorded by {others}: one run"]
    return row


def _steps(pairs):
    row, rows = dict(pairs[0][1]), [other for _, other in pairs]
    names = [one_level(record.step) for record, _ in pairs[1:]]
    sections = {entry["name"]: dict(entry) for entry in row["sections"]}
    for name, step in zip(names, rows[1:], strict=True):
        entry = sections.setdefault(name, {"name": name, "seconds": 0.0, "count": 0.0})
        entry["seconds"] += step["runtime_s"]
        entry["count"] += 1
    row["sections"] = list(sections.values())
    row["config"] = _settings([r["config"] for r in rows], names)
    row["scores"] = _union([r["scores"] for r in rows])
    bad = next((r for r in rows[1:] if r["status"] in _BAD), None)
    if bad and row["status"] not in _BAD:
        row["notes"] = [*row["notes"], f"a step of it {bad['reason']}"]
    for name in ("device", "host"):
        row[name] = _first(rows, name)
    row["notes"] = [*row["notes"], f"a pipeline of {len(names)} steps is one run, the steps its sections"]
    return row


# -- what rows hold ------------------------------------------------------------------------


def _end(rows):
    """Return status, reason and evidence of the row that knows best how the job ended."""

    def badness(row):
        rank = EVIDENCE.index(row["evidence"]) if row["evidence"] in EVIDENCE else len(EVIDENCE)
        # A tool that was left open says less than one that saw the end.
        is_open = row["status"] in ("running", UNFINISHED, UNKNOWN)
        return (is_open, rank, row["status"] not in _BAD)

    best = min(rows, key=badness)
    if best["status"] == UNFINISHED:
        return {"status": UNKNOWN, "reason": best["reason"], "evidence": NOT_RECORDED}
    return {name: best[name] for name in ("status", "reason", "evidence")}


def _first(rows, name):
    """Return the first text of that name that is not empty."""
    return next(filter(None, (row[name] for row in rows)), "")


def _union(lists):
    """Return the entries of several lists, each name once, as the first has it."""
    found = {}
    for entries in lists:
        for entry in entries:
            found.setdefault(entry["name"], entry)
    return list(found.values())


def _costs(row):
    return {entry["name"]: entry["value"] for entry in row["cost"]}


def _with_sampled(costs, kwh):
    """Return the costs of a job with the sampled energy of all its parts; a counter's stays."""
    known = {entry["name"]: entry["value"] for entry in costs}
    if not kwh:
        return costs
    known[ENERGY] = kwh if known.get(ENERGY) in (None, known.get(SAMPLED)) else known[ENERGY]
    return [{"name": name, "value": value} for name, value in (known | {SAMPLED: kwh}).items()]


def _settings(lists, prefixes=()):
    """Return the settings of several records; one that another has under a longer name is not repeated.

    `prefixes` are names for all records but the first, which tell settings of one name apart.
    """
    found = {}
    for i, entries in enumerate(lists):
        for entry in entries:
            name, value = entry["name"].replace("\\.", "."), entry["value"]
            if any(_is_same(name, value, known) for known in found.values()):
                continue
            if name in found and i and prefixes:
                name = f"{prefixes[i - 1]}.{name}"
            found.setdefault(name, {"name": name, "value": value})
    return list(found.values())


def _is_same(name, value, known):
    """Say whether an entry is of that name, or of its last parts, and has that value."""
    other, level = known["name"], known["value"]
    is_named = name == other or other.endswith(f".{name}") or name.endswith(f".{other}")
    return is_named and value.strip('"').lower() == level.strip('"').lower()


def _notes(rows):
    return list(dict.fromkeys(note for row in rows for note in row["notes"]))
