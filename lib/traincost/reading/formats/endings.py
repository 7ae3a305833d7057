"""How a run ended, as the last lines of its console output tell.

A traceback counts only where nothing but its own last lines comes after it: one in the middle was
caught. Lines that launchers and trackers add behind it are not the program's.
"""

import math
import os
import re

from traincost.reading.formats.files import Unreadable, opened, shortened
from traincost.reading.formats.statuses import FAILED, KILLED

TAIL_BYTES = 2**16
MAX_MESSAGE_LINES = 40  # of an exception's text
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LINE = re.compile(r"[\r\n]+")
_BEGIN = re.compile(r"Traceback \(most recent call last\)|Error executing job with overrides")
_BOX = re.compile(r"\s*[│╭╰─╮╯|+].*|\s*[│╭╰].*")
_INSIDE = re.compile(r"\s+\S.*|\s*[~^]+\s*|\s*")
_RAISED = re.compile(r"([A-Za-z_][\w.]{0,120})(?::\s?(.*)|\s*)", re.DOTALL)
_CHAINED = re.compile(r"(During handling of|The above exception was)")
# What launchers, trackers and libraries print behind the last line of a traceback.
_AFTER = re.compile(
    r"(wandb:|srun:|slurmstepd:|torchrun|Set the environment variable|For debugging consider|Compile with|"
    r"CUDA kernel errors|Exception ignored|terminate called|make(\[\d+\])?:|\[?W\d{3,4}|\[?E\d{3,4}|\[rank|"
    r"ERROR conda|=+$|-+$|Root Cause|Epoch\s*\d*:?\s*\d*%|\s*\d+%\|).*"
)
_KILLS = re.compile(
    r"(slurmstepd: error: .*(CANCELLED|DUE TO TIME LIMIT)|Killed$|Terminated$|.*\bSIGTERM\b|"
    r"srun: Force Terminated|.*: Killed\s*$|Hangup$)"
)
_CRASHES = re.compile(r"(Segmentation fault|Bus error|Aborted|Fatal Python error|.*\(core dumped\))")
# Begins more of an exception's message: a list, a hint or quoted output.
_MORE = (*"-*[({'\"`>#", "size mismatch", "Missing key", "Unexpected key")
_INTERRUPTS = ("KeyboardInterrupt", "SystemExit", "InterruptedError")


def of_console(path):
    """Return (status, reason) as the end of a text file tells, or None where it tells nothing.

    The reason names the exception by its type, not by its message.
    """
    name = os.path.basename(path)
    try:
        lines = lines_at_end(path)
    except Unreadable:
        return None
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        return None
    if any(_KILLS.match(line) for line in lines[-3:]):
        return KILLED, f"{name} ends with the signal that killed it"
    if any(_CRASHES.match(line) for line in lines[-2:]):
        return FAILED, f"{name} ends with a crash of the process"
    raised = _raised(lines)
    if raised is None:
        return None
    is_interrupt = raised.rpartition(".")[2] in _INTERRUPTS
    return KILLED if is_interrupt else FAILED, f"{name} ends in a traceback ({shortened(raised, 80)})"


def lines_at_end(path, size=TAIL_BYTES):
    """Return the last lines of a text file of any length, without colours. Raises `Unreadable`."""
    with opened(path, math.inf) as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - size))
        text = file.read(size).decode("utf-8", "replace")
    return _LINE.split(_ANSI.sub("", text))


def _raised(lines):
    """Return the name of the exception of a traceback that the lines end with, or None."""
    begins = [i for i, line in enumerate(lines) if _BEGIN.search(line)]
    if not begins:
        return None
    name, message_lines = None, 0
    for line in lines[begins[-1] + 1 :]:
        if name is None:
            if _INSIDE.fullmatch(line) or _BOX.fullmatch(line):
                continue
            match = _RAISED.fullmatch(line.strip())
            if match is None:
                return None
            name = match[1]
        elif _AFTER.match(line) or _CHAINED.match(line) or not line.strip() or line[0].isspace():
            continue
        elif message_lines < MAX_MESSAGE_LINES and line.startswith(_MORE):
            message_lines += 1
        else:
            return None
    return name
