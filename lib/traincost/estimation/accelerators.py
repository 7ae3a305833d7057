"""Peak rates of processors: from vendors' documents where these were read, else as a database lists them.

``accelerators.csv`` has them. A rate is FLOP/s of one chip (or of one board, where that is what the
sheet gives and `per` says so), dense. With 2:4 sparsity (``bf16_sparse``) a sheet prints twice that,
which no dense training reaches.
"""

import csv
import re
from dataclasses import dataclass
from importlib import resources

PRECISIONS = ("bf16", "fp16", "tf32", "fp32", "fp64", "fp8")
DEFAULT = ("bf16", "fp16", "tf32", "fp32")  # what a training is taken to have used, best first
# Words that tell variants of a processor apart; `peak_rate` notes one that the table does not know.
_VARIANTS = {"pcie", "sxm", "sxm2", "sxm4", "sxm5", "nvl", "laptop", "mobile", "max", "super", "ti"}
_SEVERAL = re.compile(r",|;|/|\+|&|\bor\b|\band\b", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Processor:
    """One processor.

    Attributes
    ----------
    name : str
    aliases : tuple of str
        Other spellings, in lower case; the name's own is one of them.
    rates : dict
        Precision to peak FLOP/s.
    source : str
    per : str
        ``chip`` or ``board``.
    """

    name: str
    aliases: tuple
    rates: dict
    source: str
    per: str


def _read():
    text = (resources.files(__package__) / "accelerators.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        name, aliases, source, per = (row.pop(key) for key in ("name", "aliases", "source", "per"))
        rates = {precision: float(rate) for precision, rate in row.items() if rate}
        yield Processor(name, tuple(aliases.split("|")), rates, source, per)


PROCESSORS = tuple(_read())


def find(name):
    """Return the processor of a name as papers write it, or None.

    The alias most of whose words the name has wins. A name of several different processors is
    none: which of them did how much is not said.
    """
    found = {_find(part) for part in _SEVERAL.split(name)} - {None}
    return found.pop() if len(found) == 1 else None


def _find(name):
    words = _words(name)
    matching = [
        (len(alias.split()), processor)
        for processor in PROCESSORS
        for alias in processor.aliases
        if words >= set(alias.split())
    ]
    return max(matching, key=lambda match: match[0], default=(0, None))[1]


def _words(name):
    """Return the words of a name, a count in front (8xV100) left out."""
    return set(re.sub(r"[^a-z0-9]+", " ", re.sub(r"\b\d+\s*[x×]\s*", " ", name.lower())).split())


def peak_rate(name, precision=""):
    """Look up the peak rate of one processor.

    Parameters
    ----------
    name : str
        As a paper writes it: "NVIDIA Tesla V100", "TPU v3".
    precision : str
        One of `PRECISIONS`; left out, the best of `DEFAULT` that the sheet gives.

    Returns
    -------
    tuple of (float, str, str), or None
        FLOP/s; what was taken, any fall-back included; its source. None for an unknown processor.

    Raises
    ------
    ValueError
        `precision` is not one of `PRECISIONS`.
    """
    if precision and precision not in PRECISIONS:
        raise ValueError(f"`precision` must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    processor = find(name)
    if processor is None:
        return None
    taken = next((p for p in (precision, *DEFAULT) if p in processor.rates), None)
    if taken is None:
        return None
    note = f"{processor.name}, {taken}, dense, per {processor.per}"
    unknown = (_words(name) & _VARIANTS) - {w for a in processor.aliases for w in a.split()}
    if unknown:
        note += f" (no {' '.join(sorted(unknown))} variant is known)"
    if precision and taken != precision:
        note += f" (no {precision} rate is known)"
    return processor.rates[taken], note, processor.source
