"""One printing of numbers: units, digits, and what is too small to print."""

import math
import re

import numpy as np
import pytest

from traincost import printing
from traincost.printing import MISSING, SPACE, plain


def texts(function, *values):
    return [plain(function(value)) for value in values]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (3e-10, "< 1 ns"),
        (2.4e-5, "24 µs"),
        (9.96e-4, "996 µs"),
        (0.00099999, "1.0 ms"),
        (0.0441, "44 ms"),
        (0.0997, "0.10 s"),
        (0.998, "1.0 s"),
        (5.34, "5.3 s"),
        (59.96, "1 min 0 s"),
        (552, "9 min 12 s"),
        (3599.7, "1.0 h"),
        (36_936, "10.3 h"),
        (359_900, "100 h"),
        (1_328_400, "369 h"),
        (12_345 * 3600, "12,345 h"),
        (-90, "−1 min 30 s"),
        (math.nan, MISSING),
        (None, MISSING),
        (math.inf, "∞ h"),
    ],
)
def test_a_duration_has_its_own_unit(seconds, text):
    assert plain(printing.time_text(seconds)) == text


def test_durations_never_read_as_sixty_of_a_unit():
    for seconds in np.geomspace(1e-6, 1e6, 20_001):
        text = plain(printing.time_text(seconds))
        assert not re.search(r"(^| )60(\.0)? (s|min)|\b1,?000(\.0)? (ms|µs|ns)|e-", text), seconds


def test_parts_share_the_unit_of_their_total():
    assert [plain(text) for text in printing.time_parts([26_280, -2_160, 40, 0, 1], 55_080, signed=True)] == [
        "+7.3 h",
        "−0.6 h",
        "+0.01 h",
        "0 h",
        "± < 0.01 h",
    ]
    assert texts(lambda part: printing.time_parts([part], 200)[0], 90, 4.6, 0.002) == [
        "1 min 30 s",
        "4.6 s",
        "< 0.01 s",
    ]
    assert texts(lambda part: printing.time_parts([part], 0.044)[0], 0.0123) == ["12.3 ms"]
    assert texts(lambda part: printing.time_parts([part], 500 * 3600)[0], 36_000, 720_000) == [
        "10.0 h",
        "200 h",
    ]


def test_an_interval_of_time_has_one_unit():
    assert [plain(text) for text in printing.time_interval(36_936, 30_000, 50_000)] == [
        "10.3 h",
        "8.3",
        "13.9",
    ]


def test_small_shares_are_never_zero_and_large_never_all():
    assert texts(printing.share_text, 0.47513, 0.0005, 0.0004, 0, 1, 0.9996, -0.0001, -0.052, 3.2) == [
        "47.5 %",
        "0.1 %",
        "< 0.1 %",
        "0 %",
        "100 %",
        "> 99.9 %",
        "> −0.1 %",
        "−5.2 %",
        "320.0 %",
    ]
    assert plain(printing.share_text(0.000123, fine=True)) == "0.012 %"
    assert plain(printing.share_text(math.nan)) == MISSING


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ((2.324, 2.071, 2.593), "2.32 × (2.07 to 2.59)"),
        ((4.75, 2.84, 7.95), "4.8 × (2.8 to 8.0)"),
        ((31.2, 12.0, 80.4), "31 × (12 to 80)"),
        ((0.4231, 0.40, 0.45), "0.423 × (0.400 to 0.450)"),
        ((5.5, math.nan, math.nan), f"5.5 × ({MISSING} to {MISSING})"),
    ],
)
def test_a_ratio_has_the_digits_of_its_interval(ends, text):
    size, low, high = printing.ratio_texts(*ends)
    assert plain(f"{size} ({low} to {high})") == text


def test_a_change_has_the_digits_of_its_interval():
    assert [plain(text) for text in printing.effect_texts(-0.281, -0.342, -0.218)] == ["−28 %", "−34", "−22"]
    assert [plain(text) for text in printing.effect_texts(0.052, 0.0505, 0.0533)] == [
        "+5.2 %",
        "+5.1",
        "+5.3",
    ]


def test_probabilities():
    assert texts(printing.probability, 2e-4, 0.00099, 0.001, 0.0441, 0.0996, 0.273, 0.999) == [
        "< 0.001",
        "< 0.001",
        "0.001",
        "0.044",
        "0.10",
        "0.27",
        "1",
    ]
    assert texts(printing.probability_is, 0.044, 1e-6) == ["= 0.044", "< 0.001"]


def test_far_from_one_a_number_is_a_power_of_ten():
    assert texts(printing.significant, 5.31e17, -4.2e-7, 999_999_999, 0.000123) == [
        "5.31 × 10¹⁷",
        "−4.20 × 10⁻⁷",
        "1.00 × 10⁹",
        "0.000123",
    ]


def test_money_is_whole_from_a_hundred_on():
    assert texts(lambda amount: printing.money(amount, "USD"), 1234.5, 99.999, 3.2, 0.0072, 0) == [
        "1,234 USD",
        "100 USD",
        "3.20 USD",
        "< 0.01 USD",
        "0.00 USD",
    ]


def test_a_deviation_has_the_unit_of_its_mean():
    assert plain(printing.plus_minus(5.34, 0.42, time=True)) == "5.3 ± 0.4 s"
    assert plain(printing.plus_minus(5.34, math.nan, time=True)) == f"5.3 ± {MISSING} s"
    assert plain(printing.plus_minus(0.1807, 0.242)) == "0.18 ± 0.24"
    assert plain(printing.plus_minus(5.3e17, 2e15)) == "5.300 × 10¹⁷ ± 2.0 × 10¹⁵"


def test_an_interval_has_its_sign_of_percent_once():
    assert plain(printing.span(printing.share_text(0.42), printing.share_text(0.5))) == "42.0 to 50.0 %"
    assert plain(printing.span("3 s", "4 s")) == "3 s to 4 s"
    assert printing.span(MISSING, "4 s") == MISSING


def test_a_unit_stands_behind_a_no_break_space():
    for text in (printing.time_text(3), printing.share_text(0.3), printing.ratio_text(3.0)):
        assert SPACE in text
        assert " " not in text
