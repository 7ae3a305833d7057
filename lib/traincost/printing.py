"""How numbers are printed: one function for each kind, in prose, tables, figures and on the command line.

Each value has the unit in which it reads best (24 µs, 9 min 12 s, 98.5 h); parts of one total are in the
unit of the total (`time_parts`). Digits are as many as an interval leaves. A no-break space stands
before a unit; plain text (`Sentence.plain`, the command line) has an ordinary one there.
"""

import math
from dataclasses import dataclass

SPACE = "\N{NO-BREAK SPACE}"
MINUS = "−"
MISSING = "–"
READABLE = 1e15  # from which on a number is a power of ten, whatever it counts
NARROW = 0.2  # half of an interval over its estimate: below it, three digits are told, else two
SMALLEST_SHARE = 0.0005  # of all: what is smaller is printed as less than 0.1 %
_EXPONENT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_HOUR, _MINUTE = 3600.0, 60.0


@dataclass(frozen=True)
class TimeUnit:
    """A unit for several durations: an axis, or the parts of a total."""

    symbol: str
    seconds: float

    def number(self, seconds, decimals=1):
        """Print the number alone; one too small for `decimals` has more, up to two.

        >>> TimeUnit("h", 3600).number(36936), TimeUnit("h", 3600).number(200)
        ('10.3', '0.06')
        """
        value = seconds / self.seconds
        text = _fixed(value, decimals)
        if decimals < 2 and value and abs(value) < 0.95 * 10**-decimals:
            return self.number(seconds, decimals + 1)
        return f"< {10**-decimals:.{decimals}f}" if value > 0 and _is_zero(text) else text

    def text(self, seconds):
        """Print number and unit, each value in its own (`time_text`)."""
        return time_text(seconds)


HOURS, MINUTES, SECONDS = TimeUnit("h", _HOUR), TimeUnit("min", _MINUTE), TimeUnit("s", 1.0)
MILLISECONDS, MICROSECONDS = TimeUnit("ms", 1e-3), TimeUnit("µs", 1e-6)  # of a few profiled steps


def time_unit(typical_s):
    """Choose the unit for durations whose typical value is `typical_s` seconds."""
    if typical_s >= 2 * _HOUR:
        return HOURS
    if typical_s >= 2 * _MINUTE:
        return MINUTES
    if typical_s >= 0.1 or not typical_s > 0:
        return SECONDS
    return MILLISECONDS if typical_s >= 1e-4 else MICROSECONDS


def time_text(seconds):
    """Print a duration in the unit in which it reads best; a missing one is a dash.

    >>> print(*map(time_text, (2.4e-5, 0.0018, 0.044, 0.56, 5.34, 31.4, 552, 37_080, 1_328_400)), sep=", ")
    24 µs, 1.8 ms, 44 ms, 0.56 s, 5.3 s, 31.4 s, 9 min 12 s, 10.3 h, 369 h
    """
    if seconds is None or seconds != seconds:
        return MISSING
    if seconds < 0:
        return MINUS + time_text(-seconds)
    if math.isinf(seconds):
        return f"∞{SPACE}h"
    if seconds == 0:
        return f"0{SPACE}s"
    if seconds >= _HOUR - 0.5:
        hours = seconds / _HOUR
        if hours >= READABLE:
            return f"{significant(hours)}{SPACE}h"
        return f"{hours:,.{1 if hours < 99.95 else 0}f}{SPACE}h"
    if seconds >= _MINUTE - 0.05:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes}{SPACE}min{SPACE}{rest}{SPACE}s"
    if seconds >= 0.995:
        return f"{seconds:.1f}{SPACE}s"
    if seconds >= 0.0995:
        return f"{seconds:.2f}{SPACE}s"
    for unit, symbol in ((1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")):
        value = seconds / unit
        if value >= 0.9995:
            return f"{value:.{1 if value < 9.95 else 0}f}{SPACE}{symbol}"
    return f"<{SPACE}1{SPACE}ns"


def time_parts(seconds, total_s, signed=False):
    """Print durations that are parts of one total in its unit; those of minutes in minutes and seconds.

    >>> print(*time_parts([26_280, 2_160, 40], 55_080, signed=True), sep=", ")
    +7.3 h, +0.6 h, +0.01 h
    >>> print(*time_parts([1.3, 0.07, 0.001, 0], 27.8), sep=", ")
    1.3 s, 0.07 s, < 0.01 s, 0 s
    >>> print(*time_parts([90, -2, 0.07], 200, signed=True), sep=", ")
    +1 min 30 s, −2.0 s, +0.07 s
    """
    unit, decimals = _unit_of(abs(total_s))
    if unit != MINUTES:
        return [_part(value, unit, decimals, signed) for value in seconds]
    return [
        f"{'+' if signed and value > 0 else ''}{time_text(value)}"
        if abs(value) >= _MINUTE - 0.05
        else _part(value, SECONDS, 1, signed)
        for value in seconds
    ]


def time_interval(seconds, low, high):
    """Print a duration and its interval, in one unit that stands once.

    >>> print(*time_interval(36_936, 30_000, 50_000))
    10.3 h 8.3 13.9
    """
    unit, decimals = _unit_of(abs(seconds))
    texts = [_part(value, unit, decimals, False) for value in (seconds, low, high)]
    return texts[0], *(text.rpartition(SPACE)[0] for text in texts[1:])


def _unit_of(total_s):
    """Return the unit of a total and how many decimals its parts have."""
    if total_s >= _HOUR:
        return HOURS, 1
    if total_s >= _MINUTE:
        return MINUTES, 1
    for unit in (SECONDS, MILLISECONDS, MICROSECONDS):
        if total_s >= 0.0995 * unit.seconds:
            return unit, 1 if total_s >= 0.995 * unit.seconds else 2
    return MICROSECONDS if total_s > 0 else SECONDS, 2


def _part(seconds, unit, decimals, signed):
    if seconds is None or seconds != seconds:
        return MISSING
    sign = "" if not seconds else MINUS if seconds < 0 else "+" if signed else ""
    large = abs(seconds) >= 99.95 * unit.seconds
    text = unit.number(abs(seconds), 0 if large else decimals) if seconds else "0"
    if text.startswith("<") and sign:  # as good as nothing, on either side
        sign, text = "", text.replace("< ", "± < ")
    return f"{sign}{text}{SPACE}{unit.symbol}".replace("< ", f"<{SPACE}").replace("± ", f"±{SPACE}")


def share_text(share, fine=False):
    """Print a share in percent: with one decimal, or with two digits if it is smaller than that and `fine`.

    >>> print(*map(share_text, (0.47513, 0.0002, 0.0, 1.0, 0.99999, -0.052)), sep=", ")
    47.5 %, < 0.1 %, 0 %, 100 %, > 99.9 %, −5.2 %
    >>> print(share_text(0.000123, fine=True))
    0.012 %
    """
    if share is None or share != share:
        return MISSING
    value, size = 100 * float(share), abs(float(share))
    if size < 1e-12 or abs(size - 1) < 1e-9:
        return f"{value:.0f}{SPACE}%".replace("-0", "0").replace("-", MINUS)
    if fine and size < 2 * SMALLEST_SHARE:
        return f"{significant(value, 2)}{SPACE}%"
    if size < SMALLEST_SHARE:
        return f"<{SPACE}0.1{SPACE}%" if value > 0 else f">{SPACE}{MINUS}0.1{SPACE}%"
    if 0.9995 <= size < 1:
        return f">{SPACE}99.9{SPACE}%" if value > 0 else f"<{SPACE}{MINUS}99.9{SPACE}%"
    return percent(share, 1)


def change_text(share):
    """Print a change in percent with its sign and one decimal.

    >>> print(change_text(0.052), change_text(-0.281), change_text(0.0001), sep=", ")
    +5.2 %, −28.1 %, ± < 0.1 %
    """
    if share is None or share != share:
        return MISSING
    if 0 < abs(share) < SMALLEST_SHARE:
        return f"±{SPACE}<{SPACE}0.1{SPACE}%"
    return f"{_fixed(100 * share, 1, signed=True)}{SPACE}%" if share else share_text(share)


def percent(share, decimals=0):
    """Print a share or a level in percent with fixed decimals.

    >>> print(percent(0.95))
    95 %
    """
    return f"{_fixed(100 * share, decimals)}{SPACE}%"


def effect_texts(value, low, high, signed=True):
    """Print a change in percent and its interval, with as many digits as that leaves.

    Three digits where half of the interval is below `NARROW` of the change, else two; no more than
    one decimal, as shares have.

    >>> print(*effect_texts(-0.281, -0.342, -0.218), *effect_texts(0.427, 0.405, 0.448, False))
    −28 % −34 −22 42.7 % 40.5 44.8
    """
    ends = [100 * float(end) for end in (value, low, high)]
    decimals = min(1, _decimals(ends))
    texts = [_fixed(end, decimals, signed) for end in ends]
    return f"{texts[0]}{SPACE}%", texts[1], texts[2]


def ratio_texts(value, low, high):
    """Print a ratio and its interval, with as many digits as that leaves (`effect_texts`).

    >>> print(*ratio_texts(2.324, 2.071, 2.593), *ratio_texts(4.75, 2.84, 7.95))
    2.32 × 2.07 2.59 4.8 × 2.8 8.0
    """
    decimals = _decimals([float(value), float(low), float(high)])
    texts = [_fixed(float(end), decimals) for end in (value, low, high)]
    return f"{texts[0]}{SPACE}×", texts[1], texts[2]


def ratio_text(value, low=math.nan, high=math.nan):
    """Print a ratio with the digits that its interval leaves; two, where there is none.

    >>> print(ratio_text(5.52), ratio_text(1.9214, 1.85, 2.0), ratio_text(31.0))
    5.5 × 1.92 × 31 ×
    """
    return MISSING if value != value else ratio_texts(value, low, high)[0]


def _decimals(ends):
    """Return the decimals of an estimate and its interval: for three digits or two of the estimate."""
    value, low, high = ends
    if not math.isfinite(value) or value == 0:
        widest = max((abs(end) for end in (low, high) if math.isfinite(end)), default=0)
        return max(0, 1 - _magnitude(widest, 2)) if widest else 1
    narrow = (high - low) / 2 < NARROW * abs(value)  # not where an end is missing
    digits = 3 if narrow else 2
    return max(0, digits - 1 - _magnitude(value, digits))


def plus_minus(mean, deviation, time=False):
    """Print a mean with its deviation, in one unit; a dash for one that is not known.

    Plain numbers have two digits of the deviation, and no more than four of the mean.

    >>> print(plus_minus(5.34, 0.42, time=True), plus_minus(0.1807, 0.242), sep=", ")
    5.3 ± 0.4 s, 0.18 ± 0.24
    """
    if mean != mean:
        return MISSING
    known = deviation == deviation
    if time:
        first, second, _ = time_interval(mean, deviation, deviation)
        number, _, unit = first.rpartition(SPACE)
        return f"{number} ± {second if known else MISSING}{SPACE}{unit}"
    text = significant(mean, 4)
    if "×" in text:
        return f"{text} ± {significant(deviation, 2) if known else MISSING}"
    decimals = len(text.partition(".")[2])
    if known and deviation > 0:
        decimals = min(decimals, max(0, 1 - _magnitude(deviation, 2)))
    return f"{_fixed(mean, decimals)} ± {_fixed(deviation, decimals)}"


def difference_texts(value, low, high, signed=False):
    """Print a plain number and its interval, with as many digits as that leaves (`effect_texts`).

    >>> print(*difference_texts(0.0312, 0.011, 0.0514, signed=True))
    +0.031 +0.011 +0.051
    """
    ends = [float(end) for end in (value, low, high)]
    largest = max((abs(end) for end in ends if math.isfinite(end)), default=0.0)
    if largest and not -4 <= _magnitude(largest, 2) < 9:
        return tuple(significant(end, 2) for end in ends)
    decimals = _decimals(ends)
    return tuple(_fixed(end, decimals, signed) for end in ends)


def signed(value):
    """Print a plain number with its sign.

    >>> signed(-0.5), signed(0), signed(12.345)
    ('−0.500', '0', '+12.3')
    """
    return f"{MINUS if value < 0 else '+'}{significant(abs(value))}" if value else "0"


def span(low, high):
    """Join two printed values as an interval, with a sign of percent or of times once.

    >>> print(span(share_text(0.42), share_text(0.5)), span(time_text(3), time_text(90)), sep=", ")
    42.0 to 50.0 %, 3.0 s to 1 min 30 s
    """
    if low == MISSING or high == MISSING:
        return MISSING
    for unit in ("%", "×"):
        if low.endswith(f"{SPACE}{unit}") and high.endswith(f"{SPACE}{unit}"):
            low = low.removesuffix(f"{SPACE}{unit}")
    return f"{low} to {high}"


def probability(value):
    """Print a p-value: its bound below a thousandth, three decimals below a tenth, else two.

    >>> print(*map(probability, (0.0002, 0.044, 0.27, 1.0)), sep=", ")
    < 0.001, 0.044, 0.27, 1
    """
    if value < 0.001:
        return f"<{SPACE}0.001"
    return "1" if value >= 0.995 else f"{value:.{3 if value < 0.0995 else 2}f}"


def probability_is(value):
    """Print a p-value behind the letter: ``= 0.044``, ``< 0.001``."""
    text = probability(value)
    return text if text.startswith("<") else f"={SPACE}{text}"


def count(value):
    """Print an integer with thousands separated; a mean of counts keeps one decimal.

    >>> count(1_017), count(50.53), count(3.0)
    ('1,017', '50.5', '3')
    """
    if abs(value) >= READABLE:
        return significant(value)
    text = f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"
    return text.removesuffix(".0").replace("-", MINUS)


def money(amount, currency=""):
    """Print an amount: whole from a hundred on, else with two decimals.

    >>> print(money(1234.5, "USD"), money(0.0072, "USD"), money(3.2), sep=", ")
    1,234 USD, < 0.01 USD, 3.20
    """
    if amount is None or amount != amount:
        return MISSING
    small = 0 < amount < 0.01
    text = f"<{SPACE}0.01" if small else _fixed(amount, 2 if amount < 99.995 else 0)
    return f"{text}{SPACE}{currency}" if currency else text


def energy(kwh):
    """Print an energy in the unit in which it reads best.

    >>> print(energy(0.00284), energy(3.61), energy(45_600), sep=", ")
    2.84 Wh, 3.61 kWh, 45.6 MWh
    """
    for unit, size in (("Wh", 1e-3), ("kWh", 1.0)):
        if kwh < 999.5 * size:
            return f"{significant(kwh / size)}{SPACE}{unit}"
    return f"{significant(kwh / 1e3)}{SPACE}MWh"


def significant(value, digits=3):
    """Print a plain number with so many digits, far from one as a power of ten.

    >>> print(significant(5.31e17, 2), significant(0.00001234), significant(1234.5, 4), significant(12.0))
    5.3 × 10¹⁷ 1.23 × 10⁻⁵ 1,234 12.0
    """
    value = float(value)
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else _fixed(value, 0)
    magnitude = _magnitude(value, digits)
    if not -4 <= magnitude < 9:
        mantissa = float(f"{value:.{digits - 1}e}".partition("e")[0])
        return f"{_fixed(mantissa, digits - 1)}{SPACE}×{SPACE}{power(magnitude)}"
    return _fixed(value, max(0, digits - 1 - magnitude))


def power(exponent):
    """Print a whole power of ten.

    >>> power(23.2)
    '10²³'
    """
    return f"10{f'{exponent:.0f}'.translate(_EXPONENT)}"


def two(value):
    """Print two decimals, and never a negative zero.

    >>> two(-0.001), two(0.6402)
    ('0.00', '0.64')
    """
    return _fixed(value, 2)


def plain(text):
    """Return printed text with ordinary spaces, for what is no page."""
    return text.replace(SPACE, " ")


def _magnitude(value, digits):
    """Return the power of ten of a value as it is rounded to so many digits."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2])


def _fixed(value, decimals, signed=False):
    if not math.isfinite(value):
        return MISSING if value != value else "∞" if value > 0 else f"{MINUS}∞"
    if abs(value) >= READABLE:
        return ("+" if signed and value > 0 else "") + significant(value)
    text = f"{value:{'+' if signed else ''},.{decimals}f}"
    return (text.lstrip("+-") if _is_zero(text) else text).replace("-", MINUS)


def _is_zero(text):
    return not text.strip("+-0.,")
