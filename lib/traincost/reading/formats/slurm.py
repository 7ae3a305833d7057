"""Rows of SLURM's accounting: jobs without their steps, and the devices that they were given.

The documentation of ``sacct`` says what the columns hold. A row with a dot in its id is a step of a job,
whose time it repeats. A typed device (``gres/gpu:a100=4``) says again what ``gres/gpu=4`` says.
"""

import re

NEEDED = {"JobID", "State"}
ELAPSED = {"Elapsed", "ElapsedRaw"}
SETTINGS = ("JobName", "Partition", "WorkDir", "QOS", "Constraints")
_RESOURCES = ("AllocTRES", "ReqTRES", "TRES", "AllocGRES")
_GPU = re.compile(
    r"(?:^|,)gres/gpu(?::([\w.\-]+))?=(\d{1,6})|(?:^|,)gpu(?::([a-zA-Z][\w.\-]*))?[:=](\d{1,6})"
)


def jobs(rows):
    """Return the rows of jobs, and what is said of the others."""
    found = [(row, reason) for row, reason in rows if "." not in str(row.get("JobID", ""))]
    steps = len(rows) - len(found)
    return found, [f"{steps} rows are steps of jobs, whose time they repeat: not counted"] if steps else []


def machine(row):
    """Return the (devices, device, host) of a job."""
    for name in _RESOURCES:
        counts, types = [], []
        for one, n, other, m in _GPU.findall(str(row.get(name, ""))):
            kind = one or other
            (types if kind else counts).append((kind, int(n or m)))
        total = sum(n for _, n in counts) or sum(n for _, n in types)
        if total:
            return float(total), ", ".join(sorted({kind for kind, _ in types})), str(row.get("NodeList", ""))
    node = str(row.get("NodeList", ""))
    return None, "", "" if node.lower() in ("none assigned", "none") else node
