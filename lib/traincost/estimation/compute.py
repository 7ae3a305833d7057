"""How much compute a training took: two measures, converted, combined and checked.

*Network operations* (2007.05558 eq. 1) count what the schedule and the architecture demand:
epochs x FLOP per forward pass x passes per epoch, summed over stages. *Hardware burden* (eq. 2)
counts what the hardware could have done: processors x peak rate x time. One multiply-add is two
FLOP (section 3.2). The two differ by the utilisation, so they are compared and combined only
after the burden is multiplied by it.

Contract: numbers in, `Estimate`s out; each carries its method, inputs, source and band.
"""

import math
from dataclasses import dataclass, field, fields

import numpy as np

from traincost.estimation.counting import count_forward_flop  # noqa: F401 - one finds it here, too
from traincost.estimation.lines import fit_line

FLOP_PER_MULTIPLY_ADD = 2
FORWARD_BACKWARD = 3  # a forward and a backward pass, in forward passes
ASSUMED_UTILISATION = 0.35  # where none is stated
NOMINAL_BAND = 2.0  # ×/÷; expected by 2202.05924 app. H, with no coverage claimed
SUSPICIOUS_UTILISATION = 0.7
# Which time a hardware burden takes: a whole run includes evaluation, which its operations do not.
BURDEN_TIMES = REPORTED, STAGES, WHOLE_RUN = ("as reported", "training stages", "whole run")

NOMINAL = f"nominal ×/÷{NOMINAL_BAND:g}, no coverage claimed"
WIDENED = f"nominal ×/÷{NOMINAL_BAND:g}, widened to hold both measures"
_BY_SCHEDULE = ("epochs", "flops_per_pass", "multiply_adds_per_pass", "passes_per_epoch")
PREDICTION = "95 % prediction interval of the conversion fit"


@dataclass(frozen=True)
class Stage:
    """One stage of a training: pre-training, training or fine-tuning."""

    epochs: float | None = None  # passes over the data
    flops_per_pass: float | None = None  # FLOP of one forward pass of one example
    passes_per_epoch: float | None = None  # examples (or tokens) in the data
    # Forward passes that a training step of one example is worth: 1 is eq. 1 as printed, 3 as its authors
    # applied it.
    forward_backward: float = 1
    name: str = "training"
    multiply_adds_per_pass: float | None = None  # for `flops_per_pass`, where a paper counts multiply-adds
    processors: float | None = None  # these three for the hardware burden
    rate_flops_per_s: float | None = None  # the peak of one processor
    time_s: float | None = None
    # Instead of epochs and passes, the operations of the whole stage, forward and backward, where a tool has
    # counted them.
    counted_flop: float | None = None

    @classmethod
    def of(cls, entry):
        """Make a stage of a mapping; ValueError for an unknown key."""
        if isinstance(entry, cls):
            return entry
        known = [f.name for f in fields(cls)]
        for name in entry:
            if name not in known:
                stage = entry.get("name", "training")
                raise ValueError(f"stage {stage!r}: unknown field {name!r}; known: {known}")
        return cls(**entry)

    def flop_per_pass(self):
        """Return FLOP of one forward pass, from multiply-adds where these are given."""
        if self.flops_per_pass is not None and self.multiply_adds_per_pass is not None:
            raise ValueError(
                f"stage {self.name!r}: flops_per_pass and multiply_adds_per_pass are both given; "
                "one multiply-add is two FLOP, so give one of them"
            )
        if self.multiply_adds_per_pass is not None:
            return flops_from_multiply_adds(self.quantity("multiply_adds_per_pass"))
        return self.quantity("flops_per_pass")

    def operations(self):
        """Return the network operations of the stage: counted, or by eq. 1."""
        if self.counted_flop is None:
            a_step = self.quantity("epochs") * self.flop_per_pass()
            return a_step * self.quantity("passes_per_epoch") * self.quantity("forward_backward")
        given = [name for name in _BY_SCHEDULE if getattr(self, name) is not None]
        if given:
            raise ValueError(f"stage {self.name!r}: counted_flop is given, so leave out {', '.join(given)}")
        return self.quantity("counted_flop")

    def quantity(self, name):
        """Return a field as a number; ValueError, naming stage and field, where it is none."""
        return _quantity(getattr(self, name), f"stage {self.name!r}: `{name}`")


def _quantity(value, what):
    if value is None:
        raise ValueError(f"{what} is missing")
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise ValueError(f"{what} must be a number, got {value!r}")
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{what} must be finite and not negative, got {value!r}")
    return float(value)


def _stages(stages):
    stages = [Stage.of(stage) for stage in stages]
    if not stages:
        raise ValueError("`stages` is empty; an estimate needs at least one stage")
    return stages


def network_operations(stages):
    """Return the network operations, in FLOP (2007.05558 eq. 1).

    Sum over stages of epochs x FLOP per forward pass x passes per epoch x forward_backward, or of the
    operations that a tool counted. ValueError for no stage, or a field that is missing, negative or not
    finite, by stage and name.
    """
    return sum(stage.operations() for stage in _stages(stages))


def hardware_burden(stages):
    """Return the hardware burden, in FLOP (2007.05558 eq. 2).

    Sum over stages of processors x peak rate x time. Raises as `network_operations`.
    """
    return sum(
        s.quantity("processors") * s.quantity("rate_flops_per_s") * s.quantity("time_s")
        for s in _stages(stages)
    )


def flops_from_multiply_adds(multiply_adds):
    """Return FLOP: one multiply-add is two arithmetic operations (2007.05558 section 3.2)."""
    return FLOP_PER_MULTIPLY_ADD * multiply_adds


def language_model_operations(parameters, tokens, frozen_parameters=0):
    """Return the training operations of a language model, in FLOP: 6 N D.

    Two FLOP a parameter and token forward, four backward (2001.08361 section 2.1). Of a mixture
    of experts, N counts the active parameters. Frozen parameters are counted forward only.
    """
    n = _quantity(parameters, "`parameters`")
    frozen = _quantity(frozen_parameters, "`frozen_parameters`")
    if frozen > n:
        raise ValueError(f"`frozen_parameters` ({frozen:g}) exceeds `parameters` ({n:g})")
    return (6 * (n - frozen) + 2 * frozen) * _quantity(tokens, "`tokens`")


# -- estimates -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """One estimate of training compute."""

    value_flop: float
    method: str  # ``combined`` or ``converted``
    inputs: dict = field(default_factory=dict)  # what it was made from
    source: str = ""
    low_flop: float = math.nan
    high_flop: float = math.nan
    band: str = NOMINAL  # what low and high are
    derived: bool = False  # not measured, but converted from another quantity
    flags: tuple = ()


def combine(operations_flop, burden_flop, utilisation=None, source=""):
    """Combine the two measures of one system: their geometric mean, the burden at utilisation.

    The utilisation is as stated; `ASSUMED_UTILISATION`, flagged as assumed, if left out. The band is ×/÷2,
    widened to hold both measures.
    """
    assumed = utilisation is None
    utilisation = ASSUMED_UTILISATION if assumed else _quantity(utilisation, "`utilisation`")
    if not 0 < utilisation <= 1:
        raise ValueError(f"`utilisation` must be above 0 and at most 1, got {utilisation!r}")
    achieved = _quantity(burden_flop, "`burden_flop`") * utilisation
    operations_flop = _quantity(operations_flop, "`operations_flop`")
    value = math.sqrt(operations_flop * achieved)
    low, high = value / NOMINAL_BAND, value * NOMINAL_BAND
    both = (min(operations_flop, achieved), max(operations_flop, achieved))
    widened = both[0] < low or both[1] > high
    return Estimate(
        value,
        "combined",
        {"operations_flop": operations_flop, "burden_flop": burden_flop, "utilisation": utilisation},
        source,
        min(low, both[0]),
        max(high, both[1]),
        WIDENED if widened else NOMINAL,
        flags=("utilisation assumed",) if assumed else (),
    )


# -- converting one measure into the other ---------------------------------------------------


def fit_conversion(network_ops, burden):
    """Fit log10 hardware burden on log10 network operations by least squares (2007.05558 app. 8.1).

    Both in FLOP, of models that report both; pairs with a missing one are left out. ValueError for fewer than
    three whole pairs, or all of one size.
    """
    return fit_line(*logs(network_ops, burden), needed="a conversion needs three pairs of different sizes")


def logs(*values):
    """Return log10 of several arrays, at the places where all are positive and finite."""
    values = np.array([np.asarray(each, dtype=float) for each in values])
    whole = (np.isfinite(values) & (values > 0)).all(axis=0)
    return np.log10(values[:, whole])


def to_hardware_burden(net_ops, fit):
    """Return the hardware burden that a `lines.Line` gives for network operations: derived, not measured.

    With the 95 % prediction interval, n and R² of the fit, and a flag outside its range.
    """
    x = math.log10(_quantity(net_ops, "`net_ops`"))
    y, half = fit.at(x), fit.interval(x)
    outside = not fit.x_low <= x <= fit.x_high
    return Estimate(
        10**y,
        "converted",
        {"operations_flop": float(net_ops), "fit_n": fit.n, "fit_r_squared": fit.r_squared},
        low_flop=10 ** (y - half),
        high_flop=10 ** (y + half),
        band=PREDICTION,
        derived=True,
        flags=("outside the fitted range",) if outside else (),
    )


# -- counting a model's operations -----------------------------------------------------------

# What a counter's number means, by its own documentation or code: FLOP for each of its units.
COUNTERS = {
    "torch": (1, "torch.utils.flop_counter: 2 a multiply-add"),
    "fvcore": (2, "fvcore docs/flop_count.md: one multiply-add counts as one flop"),
    "thop": (2, "thop README: reports MACs"),
    "ptflops": (2, "ptflops README: reports multiply-add operations"),
    "calflops": (1, "calflops README: FLOPs and MACs apart, FLOPs 2 a MAC"),
    "calflops macs": (2, "calflops README: MACs"),
}


def flop_from_counter(value, counter):
    """Return FLOP from the number that a counting library reports.

    ValueError where the counter is not known; `COUNTERS` lists them with the source of their meaning.
    """
    if counter not in COUNTERS:
        raise ValueError(f"`counter` must be one of {', '.join(COUNTERS)}, got {counter!r}")
    return COUNTERS[counter][0] * _quantity(value, "`value`")
