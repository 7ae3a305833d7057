"""Numbers as papers write them, and what is refused."""

import pytest

from traincost.estimation.figures import number
from traincost.estimation.quantities import ABOUT, EXACT, RANGE, WITHIN, read, stored


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("7B", "count", 7e9),
        ("7 billion parameters", "count", 7e9),
        ("0.5T", "count", 5e11),
        ("10k", "count", 1e4),
        ("300 billion tokens", "count", 3e11),
        ("1 234 567", "count", 1234567),
        ("1\u2009720\u2009320", "hours", 1720320),
        ("46%", "fraction", 0.46),
        ("3.14×10^23", "flop", 3.14e23),
        ("3.14 x 10^23", "flop", 3.14e23),
        ("3.14·10²³", "flop", 3.14e23),
        ("10⁻³", "count", 1e-3),
        ("8.4 x 10^{22}", "flop", 8.4e22),
        ("3640 PF-days", "flop", 3640 * 8.64e19),
        ("770 PFlops/s·days", "flop", 770 * 8.64e19),
        ("2 exaFLOP/s-days", "flop", 2 * 8.64e22),
        ("2527.2 zettaFLOP", "flop", 2.5272e24),
        ("1.5e23 FLOP", "flop", 1.5e23),
        ("12 hours", "time", 43200),
        ("two weeks", "time", 1209600),
        ("3 months", "time", 3 * 30.44 * 86400),
        ("2.664M", "hours", 2.664e6),
        ("1.3 million GPU hours", "hours", 1.3e6),
        ("30 GPU-days", "hours", 720),
        ("2.5 k TPUv3-core-days", "hours", 30000),
        ("312 TFLOP/s", "rate", 3.12e14),
        ("688 MWh", "energy", 688e3),
        ("1e-3", "count", 1e-3),
    ],
)
def test_numbers_as_papers_write_them(text, kind, value):
    assert read(text, kind).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "kind", "low", "high", "shape"),
    [
        ("7B", "count", 6.5e9, 7.5e9, WITHIN),
        ("1.0M", "count", 0.95e6, 1.05e6, WITHIN),
        ("1,720,320", "hours", 1720320, 1720320, EXACT),
        ("~2.0e23", "flop", 1.9e23, 2.1e23, WITHIN),
        ("~1e23", "flop", 0.5e23, 2e23, WITHIN),
        ("~7,000,000", "hours", 6e6, 8e6, WITHIN),
        ("over 150 million", "count", 1.5e8, 1.95e8, WITHIN),
        ("15T+", "count", 1.5e13, 1.95e13, WITHIN),
        ("up to 4,096 GPUs", "count", 2048, 4096, WITHIN),
        ("10-20", "count", 10, 20, RANGE),
        ("1e3-1e4", "flop", 1e3, 1e4, RANGE),
        ("2–3 weeks", "time", 1209600, 1814400, RANGE),
        ("five to six days", "time", 432000, 518400, RANGE),
        ("between 1e3 and 1e4", "count", 1e3, 1e4, RANGE),
        ("38-43%", "fraction", 0.38, 0.43, RANGE),
        ("770 ± 50 PFlops/s·days", "flop", 720 * 8.64e19, 820 * 8.64e19, ABOUT),
    ],
)
def test_how_uncertain_a_way_of_writing_leaves_it(text, kind, low, high, shape):
    found = read(text, kind)
    assert (found.low, found.high, found.shape) == (pytest.approx(low), pytest.approx(high), shape)
    assert found.low <= found.value <= found.high


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("-5", "count"),
        ("1,5", "count"),
        ("3,5e22", "flop"),
        ("12,34", "count"),
        ("825 GB", "count"),
        ("1e999", "flop"),
        ("many", "count"),
        ("", "count"),
        ("nan", "flop"),
        ("20-10", "count"),
        ("GPU-years", "hours"),
        ("12 hours", "count"),
        ("7B", "time"),
        ("5 ± 6", "count"),
        ("1" * 300, "count"),
        (None, "count"),
        (True, "count"),
        (float("nan"), "flop"),
    ],
)
def test_what_is_refused_says_what_is_accepted(text, kind):
    with pytest.raises(ValueError, match=r"number.*got .*; accepted is "):
        read(text, kind)


@pytest.mark.parametrize(
    ("text", "value"),
    [("7B", 7e9), ("46%", 0.46), ("12 hours", 43200), ("3640 PF-days", 3640 * 8.64e19), ("400 W", 400)],
)
def test_the_unit_says_what_kind_a_number_is(text, value):
    assert number(text) == pytest.approx(value)


def test_a_stored_number_is_rounded_to_its_digits():
    assert (stored(7e9).low, stored(7e9).high) == (pytest.approx(6.95e9), pytest.approx(7.05e9))
    assert stored(1720320.0).shape == EXACT
    assert (stored(3.14e23).low, stored(3.14e23).high) == (pytest.approx(3.135e23), pytest.approx(3.145e23))
