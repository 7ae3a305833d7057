"""Numbers as papers write them, and how uncertain writing them so leaves them.

"7B", "3.14×10^23", "~1e23", "10-20", "2–3 weeks", "770 ± 50 PFlops/s·days", "46%". Text in, a
`Quantity` in the unit of its kind out; what cannot be read is refused with what is accepted.
"""

import math
import re
from dataclasses import dataclass

from traincost.columns import finite

# How a quantity is distributed between its low and its high.
EXACT, WITHIN, RANGE, ABOUT = "exact", "within", "range", "about"

DAY_S = 86_400
# Seconds of a unit of time; a month is a twelfth of a year, 30.44 days.
TIMES_S = {"s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60, "h": 3600, "hr": 3600, "hour": 3600}
TIMES_S |= {"day": DAY_S, "d": DAY_S, "week": 7 * DAY_S, "wk": 7 * DAY_S, "month": 30.44 * DAY_S}
TIMES_S |= {"year": 365.25 * DAY_S, "yr": 365.25 * DAY_S}
_LARGE = {"k": 1e3, "thousand": 1e3, "m": 1e6, "mio": 1e6, "million": 1e6, "mn": 1e6}
_LARGE |= {"b": 1e9, "bn": 1e9, "billion": 1e9, "g": 1e9, "t": 1e12, "tn": 1e12, "trillion": 1e12}
_SI = {"": 1.0, "k": 1e3, "kilo": 1e3, "m": 1e6, "mega": 1e6, "g": 1e9, "giga": 1e9, "t": 1e12, "tera": 1e12}
_SI |= {"p": 1e15, "peta": 1e15, "e": 1e18, "exa": 1e18, "z": 1e21, "zetta": 1e21, "y": 1e24, "yotta": 1e24}
# Words after a number that say what is counted: they change nothing.
_COUNTED = (
    r"(?:parameters?|params?|weights|active|total|trainable|tokens?|words?|images?|examples?|samples?"
    r"|datapoints?|sequences?|epochs?|passes|steps?|gpus?|tpus?|chips?|cores?|processors?|accelerators?"
    r"|devices?|nodes?|layers?)"
)
_ACCEPTED = {
    "count": "a count such as 7B, 1.5e9, 300 billion, 10-20, ~1e11 or 1,200,000",
    "flop": "FLOP such as 3.14e23, 3.14×10^23, 1e3-1e4, 3640 PF-days or 2527 zettaFLOP",
    "time": "a time such as 12 hours, 2–3 weeks, 5.5 days, or a number of seconds",
    "hours": "hours of processors such as 1,720,320, 2.664M, 30 GPU-days or ~7,000,000",
    "rate": "FLOP/s such as 3.12e14 or 312 TFLOP/s",
    "fraction": "a fraction between 0 and 1, or a percentage such as 46%",
    "energy": "kWh such as 1,287 MWh or 433196",
    "power": "watts such as 400, 400 W or 0.7 kW",
}
KINDS = tuple(_ACCEPTED)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_SPACES = re.compile(r"[\s\u00a0\u2007\u2009\u202f\u2060]+")
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?"
_VALUE = re.compile(rf"({_NUMBER})\s*(.*)", re.DOTALL)
_POWER = re.compile(
    rf"(?:({_NUMBER})\s*(?:[x*·∙⋅]|\\times)\s*)?10\s*(?:\^|\*\*)\s*\{{?\s*([+-]?\d{{1,3}})\s*\}}?"
)
_POWER_OF_SUPER = re.compile(rf"(?:({_NUMBER})\s*[x*·∙⋅]\s*)?10([⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+)")
_ROUGHLY = re.compile(
    r"^(?:~|≈|∼|≃|about|around|approx(?:imately|\.)?|roughly|circa|ca\.?|c\.|some|nearly|almost)\s*", re.I
)
_OVER = re.compile(r"^(?:over|more than|at least|above|>=?|≥)\s*", re.I)
_UP_TO = re.compile(r"^(?:up to|at most|less than|under|below|<=?|≤)\s*", re.I)
_BETWEEN = re.compile(r"^(?:between|from)\s+(.*?)\s+(?:and|to)\s+(.*)$", re.I | re.DOTALL)
_TO = re.compile(r"^(.*?[\da-z])\s*(?:\bto\b|-{1,2})\s*(\d.*)$", re.I | re.DOTALL)
_OR_MORE = re.compile(r"\+$|\s+or more$", re.I)
_WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_WORD_NUMBER = re.compile(rf"\b({'|'.join(_WORDS)})\b", re.I)
MAX_TEXT = 100
OVER, UP_TO = 1.3, 0.5  # "over 150 million" may be 1.3 times that; "up to 4,096 GPUs" may be half of it


@dataclass(frozen=True)
class Quantity:
    """A number as written."""

    value: float  # in the middle of a range (geometric), else the number itself
    low: float  # what it may be; equal to `value` where it is exact, as is `high`
    high: float
    # `EXACT`; `WITHIN`, uniform between low and high (rounding); `RANGE`, log-uniform, 5 % beyond either end;
    # `ABOUT`, normal with 90 % between them.
    shape: str = EXACT

    def scaled(self, factor):
        """Return the quantity times a factor."""
        return Quantity(self.value * factor, self.low * factor, self.high * factor, self.shape)


def read(value, kind="count"):
    """Read a figure as a `Quantity`; ValueError says what was got and what is accepted.

    `kind` is ``count``, ``flop``, ``time`` (to seconds), ``hours`` (of processors), ``rate`` (FLOP/s),
    ``fraction``, ``energy`` (kWh) or ``power`` (W).
    """
    if isinstance(value, str):
        return _of_text(value, kind)
    if not finite(value):
        raise ValueError(f"must be a finite number, got {value!r:.60}; accepted is {_ACCEPTED[kind]}")
    return Quantity(float(value), float(value), float(value))


def stored(value):
    """Return a number of a database, rounded as the digits that it has.

    Trailing zeros say nothing of a number that was stored, so two digits at least are taken as meant.
    """
    n_digits = _n_digits(value)
    half = _half_unit(value, max(2, n_digits))
    if n_digits > 5:
        return Quantity(value, value, value)
    return Quantity(value, value - half, value + half, WITHIN)


def _n_digits(value):
    """Return the number of significant digits, zeros at the end left out."""
    return len(f"{value:.12e}".split("e")[0].replace(".", "").rstrip("0"))


def _half_unit(value, n_digits):
    """Return half of the last of so many digits."""
    return 0.5 * 10.0 ** (math.floor(math.log10(abs(value))) + 1 - n_digits) if value else 0.0


def _refuse(text, kind, why=""):
    raise ValueError(f"must be a number{why}, got {text!r:.60}; accepted is {_ACCEPTED[kind]}")


def _of_text(text, kind):
    if len(text) > MAX_TEXT:
        _refuse(text, kind)
    plain = _plain(text)
    if re.match(r"^[-+]?\s*(nan|inf)", plain) or not plain:
        _refuse(text, kind)
    if plain.startswith("-"):
        _refuse(text, kind, " that is not negative")
    plain = plain.removeprefix("+")
    if match := _BETWEEN.match(plain):
        return _range(match[1], match[2], kind, text)
    bare, roughly = _ROUGHLY.subn("", plain)
    bare, over = _OVER.subn("", bare)
    bare, up_to = _UP_TO.subn("", bare)
    if "±" in bare or "+/-" in bare:
        return _about(re.split(r"±|\+/-", bare, maxsplit=1), kind, text)
    if match := _is_range(bare):
        return _range(*match, kind, text)
    bare, or_more = _OR_MORE.subn("", bare)
    found = _single(bare, kind, text)
    if over or or_more:
        return Quantity(found.value, found.value, found.value * OVER, WITHIN)
    if up_to:
        return Quantity(found.value, found.value * UP_TO, found.value, WITHIN)
    return _doubled(found) if roughly else found


def _doubled(found):
    """Return a number that is said to be rough: twice its rounding, and zeros at its end mean nothing."""
    half = (found.high - found.low) / 2 or _half_unit(found.value, _n_digits(found.value))
    return Quantity(found.value, max(found.value - 2 * half, found.value / 2), found.value + 2 * half, WITHIN)


def _plain(text):
    """Write one kind of dash, space, times sign and power; words of small numbers as digits."""
    text = text.replace("−", "-").replace("–", "-").replace("—", "-").replace("‐", "-").replace("‑", "-")
    text = text.replace("×", "x").replace("✕", "x").replace("_", "")
    text = _SPACES.sub(" ", text).strip().lower()
    # Thin or narrow spaces between groups of three digits.
    text = re.sub(r"(?<=\d) (?=\d{3}(?:\D|$))", "", text)
    text = _WORD_NUMBER.sub(lambda m: str(_WORDS.index(m[1].lower()) + 1), text)
    text = re.sub(r"^half an? (?=[a-z])", "0.5 ", re.sub(r"^an? (?=[a-z])", "1 ", text))
    text = _POWER_OF_SUPER.sub(lambda m: f"{m[1] or 1}e{m[2].translate(_SUPERSCRIPTS)}", text)
    return _POWER.sub(lambda m: m[1] if "e" in (m[1] or "") else f"{m[1] or 1}e{int(m[2])}", text)


def _is_range(text):
    """Return the two ends of "10-20" or "1e3-1e4 hours", or None; "1e-3" and "PF-days" are none."""
    guarded = re.sub(r"(?<=\de)-(?=\d)", "\0", text)
    match = _TO.match(guarded)
    if not match:
        return None
    low, high = (end.replace("\0", "-") for end in match.groups())
    return (low, high) if re.match(r"[~≈]?\s*[\d.]", low) else None


def _range(low, high, kind, text):
    high, low = high.strip(), low.strip()
    # "2-3 weeks", "10-20B": the unit of the second end is that of the first, too.
    unit = _VALUE.match(high)
    own = _VALUE.match(_ROUGHLY.sub("", low))
    if not own or not unit:
        _refuse(text, kind)
    if not own[2].strip() and unit[2].strip():
        low = f"{own[1]} {unit[2]}"
    a, b = (_single(_ROUGHLY.sub("", end), kind, text).value for end in (low, high))
    if not 0 < a < b:
        _refuse(text, kind, " or a range from low to high")
    return Quantity(math.sqrt(a * b), a, b, RANGE)


def _about(parts, kind, text):
    middle, spread = (part.strip() for part in parts)
    unit = _VALUE.match(spread)
    own = _VALUE.match(middle)
    if not unit or not own:
        _refuse(text, kind)
    suffix = own[2].strip() or unit[2].strip()
    value = _single(f"{own[1]} {suffix}", kind, text).value
    off = _single(f"{unit[1]} {suffix}", kind, text).value
    if off >= value:
        _refuse(text, kind, " larger than its ±")
    return Quantity(value, value - off, value + off, ABOUT)


def _single(text, kind, whole):
    match = _VALUE.fullmatch(text.strip())
    if not match or (
        re.fullmatch(r"\d+,\d+.*", text.strip()) and not re.match(r"\d{1,3}(,\d{3})+(\D|$)", text.strip())
    ):
        _refuse(whole, kind)
    digits, unit = match[1].replace(",", ""), match[2].strip().rstrip(".")
    value = float(digits)
    factor = _FACTORS[kind](unit) if unit else 1.0  # None where the words after a number are not understood
    if factor is None or not math.isfinite(value * factor):
        _refuse(whole, kind)
    return _rounded(digits, value, factor)


def _rounded(digits, value, factor):
    """Return the number, uniform over half of its last digit where it is written short."""
    mantissa, _, exponent = digits.partition("e")
    decimals = len(mantissa.partition(".")[2])
    n_digits = len(mantissa.replace(".", "").lstrip("0"))
    whole = not exponent and factor == 1 and not decimals
    if whole or n_digits > 5 or not value:
        return Quantity(value * factor, value * factor, value * factor)
    half = 0.5 * 10.0 ** (int(exponent or 0) - decimals)
    return Quantity(value * factor, (value - half) * factor, (value + half) * factor, WITHIN)


# What the words after a number multiply it by, in lower case; None where they are not understood.


def _of_count(unit):
    match = re.fullmatch(rf"([a-z]*?)\s*{_COUNTED}?(?:\s+{_COUNTED})*", unit)
    if not match:
        return None
    return _LARGE.get(match[1]) if match[1] else 1.0


_FLOP = (
    r"(?:(?P<large>thousand|million|billion|trillion)\s+)?"
    r"(?P<si>kilo|mega|giga|tera|peta|exa|zetta|yotta|[kmgtpezy])?\s*-?"
)
_FLOP_TIME = re.compile(
    _FLOP + r"(?:flops?|f|ops?|operations?)?(?:\s*/\s*s(?:ec(?:ond)?)?)?[\s·∙⋅*-]*"
    r"(?P<time>days?|d|hours?|h|years?|yr|s(?:econds?)?)"
)
_FLOP_TOTAL = re.compile(_FLOP + r"(?:flops?|operations?|ops)")


def _of_flop(unit):
    unit = unit.replace("floating point operations", "flop").replace("floating-point operations", "flop")
    if match := _FLOP_TIME.fullmatch(unit):
        if not re.search(r"f|op", unit):
            return None
        return _SI[match["si"] or ""] * _LARGE.get(match["large"], 1.0) * _seconds(match["time"])
    if match := _FLOP_TOTAL.fullmatch(unit):
        return _SI[match["si"] or ""] * _LARGE.get(match["large"], 1.0)
    return None


def _seconds(unit):
    unit = unit.strip()
    return TIMES_S.get(unit) or TIMES_S.get(unit.removesuffix("s"))


def _of_hours(unit):
    large = re.fullmatch(r"(k|m|b|thousand|million|billion)?\s*(.*)", unit)
    factor, rest = _LARGE.get(large[1], 1.0) if large[1] else 1.0, large[2]
    if unit in _SI or unit in _LARGE:
        return _LARGE.get(unit)
    match = re.fullmatch(r"(?:(?:[a-z0-9.]+[\s-]+)*?)?([a-z]+)", rest)
    if not rest:
        return factor
    seconds = _seconds(match[1]) if match else None
    core = 0.5 if re.search(r"\bcore[\s-]", rest) and "tpu" in rest else 1.0
    return factor * core * seconds / 3600 if seconds else None


def _of_rate(unit):
    match = re.fullmatch(_FLOP + r"(?:flops?)(?:\s*/\s*s(?:ec(?:ond)?)?)?", unit)
    return _SI[match["si"] or ""] if match else None


def _of_fraction(unit):
    match = re.fullmatch(r"(%|percent|per cent)?\s*(?:mfu|hfu|utili[sz]ation)?", unit)
    return None if not match else 0.01 if match[1] else 1.0


_KWH = {"kwh": 1.0, "mwh": 1e3, "gwh": 1e6, "wh": 1e-3, "j": 1 / 3.6e6, "kj": 1 / 3600, "mj": 1 / 3.6}
_WATTS = {"w": 1.0, "watt": 1.0, "watts": 1.0, "kw": 1e3, "mw": 1e6}
_FACTORS = {
    "count": _of_count,
    "flop": _of_flop,
    "time": _seconds,
    "hours": _of_hours,
    "rate": _of_rate,
    "fraction": _of_fraction,
    "energy": _KWH.get,
    "power": _WATTS.get,
}
