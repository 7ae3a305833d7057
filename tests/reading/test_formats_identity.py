"""Settings that name a run: its id and its time, told from dates and numbers that shape it."""

import pytest

from traincost.reading.formats.run import iso, without_identity

STARTED_S = 1_700_000_000.0  # 2023-11-14T22:13:20 UTC


@pytest.mark.parametrize(
    ("value", "names_run"),
    [
        ("out/2023-11-14T22:13:20/best", True),
        ("20231115_001320", True),
        ("2023-11-14_22-13", True),
        ("2020-11-14T22:13:20", False),  # up to when the data reach, say
        ("2023-11-14", False),
        ("1700000100", True),
        (1_700_000_100, True),
        (1_700_000_100_000, True),
        (1_700_000_100.5, True),
        (1_500_000_000, False),
        (17_000, False),
        (10**400, False),
        ("/models/abcdef12/x", True),
        ("abcdef13", False),
        ("20230231T101010", False),
    ],
)
def test_what_names_the_run(value, names_run):
    notes = []
    kept = without_identity({"x": value, "lr": 0.1}, "abcdef12", STARTED_S, notes)
    assert ("x" not in kept) == names_run == bool(notes)
    assert kept["lr"] == 0.1


def test_without_a_start_no_time_is_the_runs():
    config = {"x": "2023-11-14T22:13:20", "y": 1_700_000_000}
    assert without_identity(config, "", None, []) == config


def test_moments_in_iso_8601():
    assert iso(STARTED_S) == "2023-11-14T22:13:20.000+00:00"
    assert iso(1e30) == iso(float("nan")) == iso(None) == ""
