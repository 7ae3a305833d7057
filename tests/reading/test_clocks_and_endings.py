"""Clocks that jump, durations in all spellings, the end of a console log, references in a configuration."""

import numpy as np
import pytest

from traincost.reading.formats import clocks, durations, endings, hydra

DAY_S = 86400.0


def steady(n=60, gap=60.0, start=1.7e9):
    return start + gap * np.arange(n)


def test_a_steady_clock_is_left_alone():
    found = clocks.active(steady())
    assert (found.seconds, found.notes) == (59 * 60.0, [])


@pytest.mark.parametrize(
    ("jump", "said"),
    [(8 * 365 * DAY_S, "it was set"), (30 * 3600.0, "a suspend"), (-1800.0, "went back")],
)
def test_a_jump_is_left_out_and_named(jump, said):
    times = steady()
    times[30:] += jump
    found = clocks.active(times, steps=range(60))
    assert found.seconds == pytest.approx(59 * 60.0, abs=61)
    assert said in found.notes[0]


def test_pauses_that_recur_count():
    times = np.cumsum(np.where(np.arange(60) % 10 == 9, 8 * 3600.0, 60.0))
    found = clocks.active(times)
    assert (found.seconds, found.notes) == (times[-1] - times[0], [])


def test_time_that_falls_with_the_step_is_another_training():
    times, steps = steady(), np.arange(60)
    times[30:] -= 3600.0
    steps[30:] -= 30
    assert clocks.active(times, steps=steps).notes == []


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("01:04:41.25", 3881.25),
        ("64:41", 3881.0),
        ("2-03:04:05", 183845.0),
        ("0 days 01:04:41.250000", 3881.25),
        ("1 day, 2:03:04", 93784.0),
        ("P0DT1H4M41.25S", 3881.25),
        ("1h 4m 41s", 3881.0),
        ("412ms", 0.412),
        ("1.2h", 4320.0),
        ("64 minutes", 3840.0),
        ("-00:10:00", -600.0),
        ("12", None),
        ("adam", None),
        ("P", None),
        ("5 parsecs", None),
        ("9" * 100 + "h", None),
    ],
)
def test_durations_in_all_spellings(text, seconds):
    assert durations.seconds(text) == seconds


TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    step()\n'
BOX = "╭──── Traceback (most recent call last) ────╮\n│ a.py:1 in <module> │\n╰────╯\n"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("epoch 1\ndone\n", None),
        (TRACEBACK + "ValueError: shape\n", "failed"),
        (TRACEBACK + "ValueError: shape\nretry ok\ndone\n", None),
        (TRACEBACK + "KeyboardInterrupt\n", "killed"),
        (BOX + "RuntimeError: CUDA out of memory. Tried\n", "failed"),
        (" 12%| 1/2\r\x1b[A\n" + TRACEBACK + "torch.cuda.OutOfMemoryError: x\n\nwandb: Waiting\n", "failed"),
        (TRACEBACK + "KeyError: 1\n\nDuring handling of the above exception, another exception occurred:\n\n"
         + TRACEBACK + "ValueError: 2\nsrun: error: node1: task 0: Exited with exit code 1\n", "failed"),
        ("slurmstepd: error: *** JOB 1 ON n CANCELLED AT 01:00:00 DUE TO TIME LIMIT ***\n", "killed"),
        ("step 1\nSegmentation fault (core dumped)\n", "failed"),
        ("step 1\nKilled\n", "killed"),
        ("", None),
    ],
)  # fmt: skip
def test_the_end_of_a_console_log_tells_the_status(tmp_path, text, status):
    path = tmp_path / "output.log"
    path.write_text(text)
    found = endings.of_console(str(path))
    assert (found and found[0]) == status
    assert found is None or "shape" not in found[1]  # a message may hold anything


def test_references_are_resolved_or_not_known():
    notes = []
    fields = {
        "a.b": 1,
        "c": "${a.b}",
        "d": "x_${c}",
        "e": "${oc.env:HOME}",
        "f": "${f}",
        "g": "???",
        "h": "${e}",
    }
    assert hydra.resolved(fields, notes) == {"a.b": 1, "c": 1, "d": "x_1"}
    assert "e, f, g, h" in notes[0]
