"""Peak rates of processors, and what a paper's name of one means: chip, board, die, core, node or slice.

``accelerators.csv`` has them, with the source of each and how it was read. A rate is FLOP/s of one
unit (the chip, module or board of the row), dense: with 2:4 sparsity a sheet prints twice that, which no
dense training reaches; and of fp16 with fp32 accumulation, which training uses.
"""

import csv
import difflib
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

PRECISIONS = ("bf16", "fp16", "tf32", "fp32", "fp64", "fp8", "int8")
DEFAULT = ("bf16", "fp16", "tf32", "fp32")  # what a training is taken to have used, best first
_COLUMNS = {
    "fp32": "fp32_vector",
    "tf32": "tf32_tensor",
    "fp16": "fp16_tensor_fp32acc",
    "bf16": "bf16_tensor",
    "fp8": "fp8_dense",
    "int8": "int8_dense",
}
# Words that tell variants of a processor apart; `rate_of` notes one that the table does not know.
_VARIANTS = {"pcie", "sxm", "sxm2", "sxm4", "sxm5", "nvl", "laptop", "mobile", "max", "super", "ti"}
_SEVERAL = re.compile(r",|;|/|\+|&|\bor\b|\band\b", re.IGNORECASE)
_NODE = re.compile(r"\b(nodes?|servers?|machines?|pods?|superpods?|clusters?)\b", re.IGNORECASE)
_CHIP = re.compile(r"\b(chips?|boards?|cards?|oams?|modules?)\b", re.IGNORECASE)
_CORE = re.compile(r"\b(tensor\s*)?cores?\b", re.IGNORECASE)
_DIE = re.compile(r"\b(gcds?|dies?|half)\b", re.IGNORECASE)
_SLICE = re.compile(r"\bv(2|3|4|5p)[-_](\d{1,5})\b", re.IGNORECASE)
_SLICE_OF_CHIPS = re.compile(r"\bv(?:5e|5litepod|6e)[-_](\d{1,5})\b", re.IGNORECASE)
_COUNT = re.compile(r"\b(\d{1,5})\s*[x×]\s*", re.IGNORECASE)
_DGX = re.compile(r"\b[dh]gx\b", re.IGNORECASE)
_CHIPS_OF_A_DGX = 8
# Of these, papers count now one half (a core, a GPU of the board, a graphics die), now the whole.
_COUNTED_BY_HALVES = ("NVIDIA Tesla K80", "NVIDIA Tesla M60", "Google TPU v2", "Google TPU v3")
_COUNTED_BY_HALVES += ("AMD Instinct MI250", "AMD Instinct MI250X")
_TWO_CORES = ("Google TPU v2", "Google TPU v3", "Google TPU v4", "Google TPU v5p", "Google TPU7x (Ironwood)")
_CLOSE = 3  # names that are proposed for an unknown one
MAX_NAME = 300  # characters of a name that are read


@dataclass(frozen=True, eq=False)
class Processor:
    """One processor."""

    name: str
    aliases: tuple  # other spellings, in lower case
    rates: dict  # precision to peak FLOP/s, dense
    has_tensor_cores: bool
    memory_gib: float | None
    tdp_w: float | None
    dies: int  # of one unit
    unit: str  # what the row is of: chip, module, board, wafer, and what it consists of
    release: str
    source: str
    confidence: str
    note: str


@dataclass(frozen=True)
class Named:
    """What a name means."""

    processors: tuple = ()  # more than one where the name is of several, with different rates
    units: float = 1.0  # how many units of the table the named thing is: 0.5 a core, 8 an eight-chip node
    by_halves: bool = False  # the count beside it may be of halves (cores, dies): the name does not say
    is_slice: bool = False  # it is a whole slice or node, so that a count beside it is of these
    question: str = ""  # what has to be asked before there is a rate; empty where nothing is


@dataclass(frozen=True)
class Rate:
    """A peak rate."""

    flop_per_s: float  # of the thing named
    low: float  # the least and greatest where the name is of several processors; else the rate
    high: float
    precision: str  # what was taken
    note: str  # the same in words, any fall-back included
    source: str
    confidence: str
    by_halves: bool = False  # as of `Named`
    is_slice: bool = False
    has_tensor_cores: bool = True  # the rate is of tensor cores, or of a chip that has nothing else
    family: str = ""  # a short name of the processor, for the utilisation that its kind reaches
    tdp_w: float | None = None  # of one device of the table
    units: float = 1.0  # how many of these devices the thing named is, as of `Named`


def _read():
    text = (resources.files(__package__) / "accelerators.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        yield Processor(
            **{name: row[name] for name in ("name", "unit", "release", "source", "confidence", "note")},
            aliases=tuple(row["aliases"].split(";")),
            rates={p: float(row[column]) for p, column in _COLUMNS.items() if row[column]},
            has_tensor_cores=bool(row["bf16_tensor"])
            or ("no tensor cores" not in row["note"] and bool(row["fp16_tensor_fp32acc"])),
            memory_gib=float(row["memory_gib"]) if row["memory_gib"] else None,
            tdp_w=float(row["tdp_w"]) if row["tdp_w"] else None,
            dies=int(row["dies_per_chip"]),
        )


PROCESSORS = tuple(_read())
_ALIASES = tuple(
    (frozenset(words), len(words & _VARIANTS), len(words), processor)
    for processor in PROCESSORS
    for alias in (*processor.aliases, processor.name)
    if (words := frozenset(re.sub(r"[^a-z0-9]+", " ", alias.lower()).split()))
)


def find(name):
    """Return the processor of a name as papers write it, or None.

    The alias most of whose words the name has wins. A name of several different processors is
    none: which of them did how much is not said.
    """
    found = identify(name).processors
    return found[0] if len(found) == 1 else None


@lru_cache(maxsize=4096)
def identify(name):
    """Say what a name as papers write it means; `Named` without processors where none is known."""
    name = name[:MAX_NAME]
    found = tuple(dict.fromkeys(p for part in _SEVERAL.split(name) if (p := _find(part))))
    if len({tuple(sorted(p.rates.items())) for p in found}) == 1:
        found = found[:1]  # alike in everything but memory
    if len(found) != 1:
        return Named(found)
    (processor,) = found
    if match := _SLICE.search(name):
        return Named(found, int(match[2]) / 2, is_slice=True)
    if match := _SLICE_OF_CHIPS.search(name):
        return Named(found, float(match[1]), is_slice=True)
    count = int(match[1]) if (match := _COUNT.search(name)) else None
    if _NODE.search(name) or _DGX.search(name):
        count = count or (_CHIPS_OF_A_DGX if _DGX.search(name) else None)
        if count is None:
            as_written = f"'8x {processor.aliases[0].upper()} node', or give the number of chips"
            return Named(found, question=f"{name!r}: how many chips has it? Write it as {as_written}")
        return Named(found, float(count), is_slice=not _NODE.search(name))
    # Of a whole unit, of a core or die of it, or of either.
    if _CORE.search(name) and processor.name.startswith("Google"):
        return Named(found, 0.5 if processor.name in _TWO_CORES else 1.0)
    if _DIE.search(name) and processor.dies > 1:
        return Named(found, 1 / processor.dies)
    return Named(found, by_halves=processor.name in _COUNTED_BY_HALVES and not _CHIP.search(name))


def _find(name):
    words = _words(name)
    matching = (match for alias, *match in _ALIASES if alias <= words)
    return max(matching, key=lambda match: match[:2], default=(0, 0, None))[2]


def _words(name):
    """Return the words of a name, a count in front (8xV100) left out, and "80 GB" as one word."""
    name = _COUNT.sub(" ", name.lower())
    name = re.sub(r"\b(\d+)\s*gi?b\b", r"\1gb", name)
    words = set(re.sub(r"[^a-z0-9]+", " ", name).split())
    # A plural, or a slice's name, stands for the thing: "V100s", "TPUs", "v5litepod-16".
    return words | {word[:-1] for word in words if word.endswith("s") and word != "v100s"}


def nearest(name):
    """Return the names of the table nearest to an unknown one."""
    known = {alias: p.name for p in PROCESSORS for alias in (*p.aliases, p.name.lower())}
    close = difflib.get_close_matches(" ".join(sorted(_words(name)))[:60], known, _CLOSE, 0.6)
    close += difflib.get_close_matches(name.lower()[:60], known, _CLOSE, 0.6)
    return list(dict.fromkeys(known[each] for each in close))[:_CLOSE]


@lru_cache(maxsize=4096)
def why_unknown(name):
    """Say, in one line, why a name has no rate, and what would do."""
    named = identify(name)
    if named.question:
        return named.question
    if named.processors:
        processor = named.processors[0]
        why = processor.note or "none printed"
        return f"no dense rate of {processor.name} is known ({why}); give its rate"
    near = nearest(name)
    return f"no rate for {name!r}" + (f"; the nearest known are {', '.join(near)}" if near else "")


@lru_cache(maxsize=4096)
def rate_of(name, precision=""):
    """Look up the peak `Rate` of what a name is of.

    None for an unknown processor, or where something has to be asked (`why_unknown`).

    Parameters
    ----------
    name : str
        As a paper writes it: "NVIDIA Tesla V100", "TPU v3 cores", "8x A100 node".
    precision : str
        One of `PRECISIONS`, ValueError for another; left out, the best of `DEFAULT` that its tensor cores
        have, and fp32 of a processor without.
    """
    if precision and precision not in PRECISIONS:
        raise ValueError(f"`precision` must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    named = identify(name)
    if named.question or not named.processors:
        return None
    rates = [_of(processor, precision) for processor in named.processors]
    if None in rates:
        return None
    pairs = list(zip(named.processors, rates, strict=True))
    values = [processor.rates[taken] * named.units for processor, taken in pairs]
    middle = (min(values) * max(values)) ** 0.5 if len(values) > 1 else values[0]
    first = named.processors[0]
    return Rate(
        middle,
        min(values),
        max(values),
        rates[0],
        _note(name, named, rates, precision),
        "; ".join(dict.fromkeys(p.source or "no source was read" for p in named.processors)),
        "; ".join(dict.fromkeys(p.confidence for p in named.processors)),
        named.by_halves,
        named.is_slice,
        all(p.has_tensor_cores and taken not in ("fp32", "fp64") for p, taken in pairs),
        first.name if len(named.processors) == 1 else "several",
        first.tdp_w,
        named.units,
    )


def _of(processor, precision):
    usual = DEFAULT if processor.has_tensor_cores else ("fp32", *DEFAULT)
    return next((p for p in (precision, *usual) if p in processor.rates), None)


def _note(name, named, taken, precision):
    if len(named.processors) > 1:
        names = ", ".join(p.name for p in named.processors)
        return f"between {names}, {taken[0]}, dense; which did how much is not said"
    (processor,) = named.processors
    per = processor.unit.split(" (")[0].split(" = ")[0]
    note = f"{processor.name}, {taken[0]}, dense, per {per}"
    if named.units != 1:
        note += f"; {name.strip()!r:.60} is {named.units:g} of these"
    unknown = (_words(name) & _VARIANTS) - {w for a in processor.aliases for w in re.split(r"[^a-z0-9]+", a)}
    if unknown:
        note += f" (no {' '.join(sorted(unknown))} variant is known)"
    if precision and taken[0] != precision:
        note += f" (no {precision} rate is known)"
    return note
