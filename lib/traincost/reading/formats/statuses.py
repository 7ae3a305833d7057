"""What became of a run, and how that is known."""

COMPLETED = "completed"
RUNNING = "running"
FAILED = "failed"
STATUSES = (COMPLETED, RUNNING, FAILED)  # of a run record
KILLED = "killed"
PRUNED = "pruned"  # stopped on purpose, by the search that it belongs to
QUEUED = "queued"  # asked for, and not begun
UNKNOWN = "unknown"  # how it ended is not recorded; with a known runtime it counts
UNREADABLE = "unreadable"
UNFINISHED = "unfinished"  # asked for, and not there

# How the end of a run is known, the best evidence first.
OWN_RECORD = "the tool's own record"
DEBUG_LOG = "the tool's debug log"
CONSOLE = "the end of its console output"
FILES = "what its files hold"
NOT_RECORDED = "not recorded"
EVIDENCE = (OWN_RECORD, DEBUG_LOG, CONSOLE, FILES, NOT_RECORDED)
