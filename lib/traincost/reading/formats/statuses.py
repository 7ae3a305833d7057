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
DUPLICATE = "duplicate"  # a copy of a run that is read
UNFINISHED = "unfinished"  # asked for, and not there

# How the end of a run is known, the best evidence first.
OWN_RECORD = "the tool's own record"
DEBUG_LOG = "the tool's debug log"
CONSOLE = "the end of its console output"
FILES = "what its files hold"
NOT_RECORDED = "not recorded"
EVIDENCE = (OWN_RECORD, DEBUG_LOG, CONSOLE, FILES, NOT_RECORDED)

# Words of tools and people for what became of a run, in small letters.
_WORDS = {
    **dict.fromkeys(("completed", "complete", "finished", "success", "succeeded", "done", "ok"), COMPLETED),
    **dict.fromkeys(("successful", "terminated", "cd"), COMPLETED),
    **dict.fromkeys(("failed", "failure", "fail", "crashed", "error", "oom", "out_of_memory"), FAILED),
    **dict.fromkeys(("node_fail", "boot_fail", "errored", "exception", "died"), FAILED),
    **dict.fromkeys(("killed", "cancelled", "canceled", "timeout", "preempted", "interrupted"), KILLED),
    **dict.fromkeys(("deadline", "stopped", "aborted", "revoked", "requeued"), KILLED),
    **dict.fromkeys(("running", "completing", "suspended", "active", "in_progress"), RUNNING),
    **dict.fromkeys(("pending", "queued", "waiting", "scheduled", "configuring", "created"), QUEUED),
    **dict.fromkeys(("pruned", "early_stopped"), PRUNED),
    "unknown": UNKNOWN,
}


def status_of(word):
    """Return the status that a word of a tool or table means; one that is not known is a failure.

    >>> [status_of(word) for word in ("CANCELLED by 1000", "COMPLETED+", "TrialState.PRUNED", "?")]
    ['killed', 'completed', 'pruned', 'failed']
    """
    return _known(word) or FAILED


def is_status(word):
    """Say whether a word is one that means a status."""
    return _known(word) is not None


def _known(word):
    text = word.strip().lower().removeprefix("trialstate.").rstrip("+")
    text = text.replace(" ", "_") if text.replace(" ", "_") in _WORDS else text.partition(" ")[0]
    return _WORDS.get(text)
