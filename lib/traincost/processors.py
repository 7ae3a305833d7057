"""Peak rates of processors, from their vendors' data sheets.

A rate is FLOP/s of one chip (or of one board, where that is what the sheet gives and `per`
says so), dense; with 2:4 sparsity a sheet prints twice that, which no dense training reaches.
"""

import re
from dataclasses import dataclass

PRECISIONS = ("bf16", "fp16", "tf32", "fp32", "fp64", "fp8")
DEFAULT = ("bf16", "fp16", "tf32", "fp32")  # what a training is taken to have used, best first


@dataclass(frozen=True)
class Processor:
    """One processor.

    Attributes
    ----------
    name : str
    aliases : tuple of str
        Other spellings, in lower case; the name's own is one of them.
    dense, sparse : dict
        Precision to peak FLOP/s.
    source : str
    per : str
        ``chip`` or ``board``.
    """

    name: str
    aliases: tuple
    dense: dict
    sparse: dict
    source: str
    per: str = "chip"


def find(name, processors=None):
    """Return the processor of a name as papers write it, or None: the longest alias in it wins."""
    text = f" {re.sub(r'[^a-z0-9]+', ' ', name.lower())} "
    best, length = None, 0
    for processor in PROCESSORS if processors is None else processors:
        for alias in processor.aliases:
            if f" {alias} " in text and len(alias) > length:
                best, length = processor, len(alias)
    return best


def peak_rate(name, precision="", sparse=False):
    """Look up the peak rate of one processor.

    Parameters
    ----------
    name : str
        As a paper writes it: "NVIDIA Tesla V100", "TPU v3".
    precision : str
        One of `PRECISIONS`; left out, the best of `DEFAULT` that the sheet gives.
    sparse : bool
        With 2:4 sparsity.

    Returns
    -------
    tuple of (float, str), or None
        FLOP/s, and what was taken, any fall-back included; None for an unknown processor.

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
    rates = processor.sparse if sparse else processor.dense
    wanted = (precision, *DEFAULT) if precision else DEFAULT
    taken = next((p for p in wanted if p in rates), None)
    if taken is None:
        return None
    note = f"{processor.name}, {taken}, {'2:4-sparse' if sparse else 'dense'}, per {processor.per}"
    if precision and taken != precision:
        note += f" (no {precision} rate is known)"
    return rates[taken], f"{note}; {processor.source}"


PROCESSORS = ()
