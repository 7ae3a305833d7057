"""What became of a run."""

COMPLETED = "completed"
RUNNING = "running"
FAILED = "failed"
STATUSES = (COMPLETED, RUNNING, FAILED)  # of a run record
KILLED = "killed"
UNREADABLE = "unreadable"
UNFINISHED = "unfinished"  # asked for, and not there
