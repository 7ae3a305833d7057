"""Peak rates of processors: from vendors' documents where these were read, else as a database lists them.

A rate is FLOP/s of one chip (or of one board, where that is what the sheet gives and `per`
says so), dense; with 2:4 sparsity a sheet prints twice that, which no dense training reaches.
"""

import re
from dataclasses import dataclass

PRECISIONS = ("bf16", "fp16", "tf32", "fp32", "fp64", "fp8")
DEFAULT = ("bf16", "fp16", "tf32", "fp32")  # what a training is taken to have used, best first


@dataclass(frozen=True, eq=False)
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


# Words that tell variants of a processor apart; one that the table does not know is told.
_VARIANTS = {"pcie", "sxm", "sxm2", "sxm4", "sxm5", "nvl", "laptop", "mobile", "max", "super", "ti"}
_SEVERAL = re.compile(r",|;|/|\+|&|\bor\b|\band\b", re.IGNORECASE)


def find(name):
    """Return the processor of a name as papers write it, or None.

    The alias most of whose words the name has wins. A name of several different processors is
    none: which of them did how much is not said.
    """
    found = {_find(part) for part in _SEVERAL.split(name)} - {None}
    return found.pop() if len(found) == 1 else None


def _find(name):
    words = _words(name)
    best, length = None, 0
    for processor in PROCESSORS:
        for alias in processor.aliases:
            size = len(alias.split())
            if size > length and set(alias.split()) <= words:
                best, length = processor, size
    return best


def _words(name):
    """Return the words of a name, a count in front (8xV100) left out."""
    return set(re.sub(r"[^a-z0-9]+", " ", re.sub(r"\b\d+\s*[x×]\s*", " ", name.lower())).split())


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
    rates = processor.sparse if sparse else processor.dense
    wanted = (precision, *DEFAULT) if precision else DEFAULT
    taken = next((p for p in wanted if p in rates), None)
    if taken is None:
        return None
    note = f"{processor.name}, {taken}, {'2:4-sparse' if sparse else 'dense'}, per {processor.per}"
    unknown = (_words(name) & _VARIANTS) - {w for a in processor.aliases for w in a.split()}
    if unknown:
        note += f" (no {' '.join(sorted(unknown))} variant is known)"
    if precision and taken != precision:
        note += f" (no {precision} rate is known)"
    return rates[taken], note, processor.source


PROCESSORS = (
    Processor(
        "NVIDIA P100 SXM",
        ("p100", "tesla p100", "p100 sxm"),
        {"fp64": 5.3e12, "fp32": 1.06e13, "fp16": 2.12e13},
        {},
        "NVIDIA Technical Blog, NVIDIA Ampere Architecture In-Depth, table 3",
        "chip",
    ),
    Processor(
        "NVIDIA V100 SXM2",
        ("v100", "tesla v100", "v100 sxm", "v100 sxm2"),
        {"fp64": 7.8e12, "fp32": 1.57e13, "fp16": 1.25e14},
        {},
        "NVIDIA Technical Blog, NVIDIA Ampere Architecture In-Depth, table 3",
        "chip",
    ),
    Processor(
        "NVIDIA A100 SXM",
        ("a100", "a100 sxm", "a100 sxm4"),
        {"fp64": 1.95e13, "fp32": 1.95e13, "tf32": 1.56e14, "fp16": 3.12e14, "bf16": 3.12e14},
        {"tf32": 3.12e14, "fp16": 6.24e14, "bf16": 6.24e14},
        "NVIDIA Technical Blog, NVIDIA Ampere Architecture In-Depth, table 3",
        "chip",
    ),
    Processor(
        "Google TPU v3",
        ("tpu v3", "tpuv3"),
        {"bf16": 1.23e14},
        {},
        "Google Cloud documentation, TPU v3",
        "chip",
    ),
    Processor(
        "Google TPU v4",
        ("tpu v4", "tpuv4"),
        {"bf16": 2.75e14},
        {},
        "Google Cloud documentation, TPU v4",
        "chip",
    ),
    Processor(
        "Google TPU v5e",
        ("tpu v5e", "tpuv5e"),
        {"bf16": 1.97e14},
        {},
        "Google Cloud documentation, TPU v5e",
        "chip",
    ),
    Processor(
        "Google TPU v5p",
        ("tpu v5p", "tpuv5p"),
        {"bf16": 4.59e14},
        {},
        "Google Cloud documentation, TPU v5p (Googles devsite host)",
        "chip",
    ),
    Processor(
        "AMD MI100",
        ("mi100",),
        {"fp64": 1.15e13, "fp32": 4.61e13, "fp16": 1.846e14, "bf16": 9.23e13},
        {},
        "AMD ROCm documentation, AMD Instinct MI100 microarchitecture",
        "chip",
    ),
    Processor(
        "AMD MI250",
        ("mi250",),
        {"fp64": 9.05e13, "fp32": 9.05e13, "fp16": 3.621e14, "bf16": 3.621e14},
        {},
        "AMD ROCm documentation, AMD Instinct MI250 microarchitecture",
        "board",
    ),
    Processor(
        "AMD MI300X",
        ("mi300x",),
        {
            "fp64": 1.634e14,
            "fp32": 1.634e14,
            "tf32": 6.537e14,
            "fp16": 1.3074e15,
            "bf16": 1.3074e15,
            "fp8": 2.6149e15,
        },
        {},
        "AMD ROCm documentation, AMD Instinct MI300 series microarchitecture",
        "chip",
    ),
    Processor(
        "NVIDIA H200 SXM",
        ("h200",),
        {"fp64": 3.345e13, "fp32": 6.691e13, "tf32": 4.945e14, "fp16": 9.895e14, "bf16": 9.895e14},
        {},
        "as listed in Epoch AI, Machine Learning Hardware (2025-08, CC BY)",
        "chip",
    ),
    Processor(
        "NVIDIA H800 SXM",
        ("h800",),
        {"fp64": 2.965e13, "fp32": 5.93e13, "tf32": 4.545e14, "fp16": 9.89e14, "bf16": 9.89e14},
        {},
        "as listed in Epoch AI, Machine Learning Hardware (2025-08, CC BY)",
        "chip",
    ),
    Processor(
        "NVIDIA RTX 4090",
        ("rtx 4090",),
        {"fp64": 1.29e12, "fp32": 8.26e13, "tf32": 8.26e13, "fp16": 3.3e14, "bf16": 3.3e14},
        {},
        "as listed in Epoch AI, Machine Learning Hardware (2025-08, CC BY)",
        "chip",
    ),
    Processor(
        "NVIDIA H100 PCIe",
        ("h100 pcie",),
        {"fp64": 2.561e13, "fp32": 5.122e13, "tf32": 3.78e14, "fp16": 7.56e14, "bf16": 7.56e14},
        {},
        "as listed in Epoch AI, Machine Learning Hardware (2025-08, CC BY)",
        "chip",
    ),
    Processor(
        "NVIDIA H100 SXM",
        ("h100", "h100 sxm", "h100 sxm5"),
        {"fp64": 3.345e13, "fp32": 6.691e13, "tf32": 4.947e14, "fp16": 9.894e14, "bf16": 9.894e14},
        {},
        "as listed in Epoch AI, Machine Learning Hardware (2025-08, CC BY)",
        "chip",
    ),
    Processor(
        "AMD MI250X",
        ("mi250x",),
        {"fp64": 4.787e13, "fp32": 4.787e13, "tf32": 9.57e13, "fp16": 3.83e14, "bf16": 3.83e14},
        {},
        "as listed in Epoch AI, Machine Learning Hardware (2025-08, CC BY)",
        "chip",
    ),
    Processor(
        "NVIDIA RTX 3090",
        ("rtx 3090",),
        {"fp64": 5.56e11, "fp32": 3.558e13, "fp16": 3.558e13},
        {},
        "as listed in Epoch AI, Machine Learning Hardware (2025-08, CC BY)",
        "chip",
    ),
    Processor(
        "NVIDIA A100 PCIe",
        ("a100 pcie",),
        {"fp64": 9.746e12, "fp32": 1.949e13, "tf32": 1.56e14, "fp16": 3.12e14, "bf16": 3.12e14},
        {},
        "as listed in Epoch AI, Machine Learning Hardware (2025-08, CC BY)",
        "chip",
    ),
    Processor(
        "NVIDIA T4",
        ("t4", "tesla t4"),
        {"fp64": 2.544e11, "fp32": 8.141e12, "fp16": 6.513e13},
        {},
        "as listed in Epoch AI, Machine Learning Hardware (2025-08, CC BY)",
        "chip",
    ),
    Processor(
        "NVIDIA V100 PCIe",
        ("v100 pcie",),
        {"fp64": 7.066e12, "fp32": 1.413e13, "fp16": 1.12e14},
        {},
        "as listed in Epoch AI, Machine Learning Hardware (2025-08, CC BY)",
        "chip",
    ),
    Processor(
        "Google TPU v2",
        ("tpu v2", "tpuv2"),
        {"fp32": 3e12, "fp16": 4.5e13, "bf16": 4.5e13},
        {},
        "as listed in Epoch AI, Machine Learning Hardware (2025-08, CC BY)",
        "chip",
    ),
    Processor(
        "NVIDIA M40",
        ("m40",),
        {"fp64": 2.135e11, "fp32": 6.832e12},
        {},
        "as listed in Epoch AI, Machine Learning Hardware (2025-08, CC BY)",
        "chip",
    ),
    Processor(
        "NVIDIA K80",
        ("k80",),
        {"fp64": 2.742e12, "fp32": 8.126e12},
        {},
        "as listed in Epoch AI, Machine Learning Hardware (2025-08, CC BY)",
        "board",
    ),
    Processor(
        "NVIDIA Titan Black",
        ("titan black",),
        {"fp64": 1.882e12, "fp32": 5.645e12},
        {},
        "as listed in Epoch AI, Machine Learning Hardware (2025-08, CC BY)",
        "chip",
    ),
    Processor(
        "NVIDIA K40",
        ("k40", "k40c", "k40m", "k40s"),
        {"fp64": 1.682e12, "fp32": 5.046e12},
        {},
        "as listed in Epoch AI, Machine Learning Hardware (2025-08, CC BY)",
        "chip",
    ),
    Processor(
        "NVIDIA GTX 580",
        ("gtx 580",),
        {"fp64": 1.976e11, "fp32": 1.581e12},
        {},
        "as listed in Epoch AI, Machine Learning Hardware (2025-08, CC BY)",
        "chip",
    ),
)
