"""Energy, CO₂ and money of a training: measured where it was, else estimated, each with its boundary.

energy = devices × hours × mean power of a device × the rest of the server × PUE; CO₂ = energy × grid
intensity (where the grid is: location-based); money = device-hours × price. A counter comes before the mean
of sampled power, and that before TDP × an assumed ratio.

Contract: numbers and frames in, numbers and frames out; ``grid.csv`` has intensities with year and source.
"""

import csv
import difflib
import math
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import numpy as np
import pandas as pd

from traincost.columns import finite
from traincost.errors import ParameterError
from traincost.estimation import uncertainty
from traincost.estimation.accelerators import rate_of
from traincost.estimation.quantities import WITHIN, Quantity

# Mean power of a device over its TDP while it trains: a judgement from measured nodes, chips and small runs.
LARGE_RATIO = Quantity(0.75, 0.50, 0.95, WITHIN)
SMALL_RATIO = Quantity(0.60, 0.30, 0.95, WITHIN)
LARGE_HOURS = 10_000  # device-hours from which a training is a large one
# The rest of the server over its devices: 1.50 measured at most, 1.82 rated, for eight H100.
SERVER = Quantity(1.5, 1.3, 1.82, WITHIN)
PUE = Quantity(1.2, 1.05, 1.6, WITHIN)
FACILITY = "whole facility"
MEASURED, SAMPLED, STATED = "measured", "by sampled power", "stated"
BY_POWER, BY_TDP = "by the power stated", "by TDP"
LEFT_OUT = (
    "idle and failed stretches beyond the hours, searches and trials, storage and networks, and the making "
    "of the hardware"
)
# What a bundle of fall-backs of codecarbon looks like: half of a default TDP, for hours.
_ASSUMED_CPU_W = (42.5, 112.5)


@dataclass(frozen=True)
class Intensity:
    """CO₂-equivalent of a kWh of a grid."""

    region: str
    g_per_kwh: float
    year: str
    kind: str  # kinds differ in method, and are not mixed in a total
    source: str


@lru_cache(maxsize=1)
def grid():
    """Return name, in lower case, to `Intensity`, all names of a region."""
    text = (resources.files(__package__) / "grid.csv").read_text(encoding="utf-8")
    found = {}
    for row in csv.DictReader(text.splitlines()):
        names = [row["region"], *filter(None, row["aliases"].split(";"))]
        intensity = Intensity(row["region"], float(row["g_per_kwh"]), row["year"], row["kind"], row["source"])
        found |= {name.lower(): intensity for name in names}
    return found


def intensity(region):
    """Look up the intensity of a region; `ParameterError`, which names the nearest, where it is not known."""
    known = grid()
    found = known.get(region.strip().lower())
    if found is None:
        near = difflib.get_close_matches(region.strip().lower(), known, 3, 0.6)
        hint = f"; the nearest are {', '.join(known[name].region for name in near)}" if near else ""
        raise ParameterError(
            f"`region` must be a country or Google Cloud region of the table, got {region!r:.60}{hint}"
        )
    return found


def by_tdp(device_hours, tdp_w, pue=1.0, ratio=1.0):
    """Return kWh of devices: hours × TDP × ratio × PUE.

    With a ratio of one, as Meta's model cards have it: an upper figure of the device, without the server.
    """
    return device_hours * tdp_w / 1000 * ratio * pue


def co2_kg(energy_kwh, g_per_kwh):
    """Return kilograms of CO₂-equivalent."""
    return energy_kwh * g_per_kwh / 1000


# -- systems ------------------------------------------------------------------------------------------------


def estimate_energy(frame, region="", prices=None):
    """Estimate the energy, CO₂ and money of systems.

    Parameters
    ----------
    frame : DataFrame
        Of `systems.Systems`.
    region : str
        Of those that state none; without one there is no CO₂.
    prices : dict of str to (float, float) or float, optional
        Words of a processor's name to the lowest and highest price of a device-hour.

    Returns
    -------
    DataFrame
        A row per system of which something is known: ``system``, ``device_hours``, ``energy_kwh`` with
        ``energy_low``, ``energy_high`` (90 %), ``evidence``, ``boundary``, ``how``; ``co2_kg``, ``co2_low``,
        ``co2_high``, ``region``, ``g_per_kwh``; ``money_low``, ``money_high``.
    """
    rows = [_system(row, region, prices or {}) for row in frame.itertuples()]
    return pd.DataFrame([row for row in rows if row is not None], columns=list(_COLUMNS))


_COLUMNS = dict.fromkeys((
    "system", "device_hours", "energy_kwh", "energy_low", "energy_high", "evidence", "boundary", "how",
    "co2_kg", "co2_low", "co2_high", "region", "g_per_kwh", "money_low", "money_high",
), math.nan)  # fmt: skip
_COLUMNS |= dict.fromkeys(("system", "evidence", "boundary", "how", "region"), "")


def _system(row, region, prices):
    hours = _device_hours(row)
    found = {**_COLUMNS, "system": row.system, "device_hours": hours, **_energy(row, hours)}
    kwh = [found[name] for name in ("energy_kwh", "energy_low", "energy_high")]
    if not np.isfinite(kwh[0]) and not np.isfinite(hours):
        return None
    where = row.region or region
    if where and np.isfinite(kwh[0]):
        of = intensity(where)
        found |= {"region": of.region, "g_per_kwh": of.g_per_kwh}
        found["co2_kg"], found["co2_low"], found["co2_high"] = (co2_kg(x, of.g_per_kwh) for x in kwh)
    low, high = _price(row.processor, prices)
    return found | {"money_low": hours * low, "money_high": hours * high}


def _device_hours(row):
    of_stages = [hours for hours in map(_hours, row.stages) if hours > 0]
    return sum(of_stages) if of_stages else _hours(row)


def _hours(row):
    """Return hours of whole devices: a node is several, a core a part of one."""
    if row.processor_hours > 0:
        return row.processor_hours * _units(row)
    return row.processors * row.time_s / 3600 * _units(row)


def _units(row):
    """Return how many devices one of the processors that a row names is."""
    rate = rate_of(row.processor) if row.processor else None
    if rate is None:
        return 1.0
    # Whether the processors are slices or their chips is not known (`estimates`).
    is_unclear = rate.is_slice and row.processors > 1 and not row.processor_hours > 0
    return 1.0 if is_unclear else rate.units


def _energy(row, hours):
    """Return kWh, its interval, what it rests on, its boundary, and how; nothing where it is not known."""
    if row.energy_kwh > 0:
        evidence = MEASURED if row.burden_time != "as reported" else STATED
        evidence = SAMPLED if row.energy_is_sampled else evidence
        written = row.written.get("energy_kwh")
        ends = (written.low, written.high) if written is not None else (row.energy_kwh,) * 2
        return _as_columns(row.energy_kwh, ends, evidence, _BOUNDARIES[evidence], "")
    if row.facility_power_w > 0 and row.time_s > 0:
        kwh = row.facility_power_w * row.time_s / 3.6e6
        draws = kwh * _drawn(LARGE_RATIO, "power over TDP")
        value = kwh * LARGE_RATIO.value
        how = f"{row.facility_power_w:g} W rated, server and cooling included, × {LARGE_RATIO.value:g}"
        return _as_columns(value, uncertainty.interval(draws, value), BY_POWER, FACILITY, how)
    # A stated power is of what is named, which may be a node.
    tdp, evidence = row.power_w / _units(row), BY_POWER
    if not tdp > 0:
        rate = rate_of(row.processor) if row.processor else None
        tdp, evidence = (rate.tdp_w or math.nan) if rate is not None else math.nan, BY_TDP
    if not hours > 0 or not tdp > 0:
        return {}
    ratio = LARGE_RATIO if hours >= LARGE_HOURS else SMALL_RATIO
    pue = Quantity(row.pue, row.pue, row.pue) if row.pue > 0 else PUE
    value = by_tdp(hours, tdp, pue.value, ratio.value) * SERVER.value
    factors = _drawn(ratio, "power over TDP"), _drawn(SERVER, "server"), _drawn(pue, "PUE")
    draws = math.prod(factors, start=by_tdp(hours, tdp))
    how = f"{tdp:g} W × {ratio.value:g} × server {SERVER.value:g} × PUE {pue.value:g}"
    return _as_columns(value, uncertainty.interval(draws, value), evidence, FACILITY, how)


def _as_columns(kwh, ends, evidence, boundary, how):
    ends = {"energy_kwh": kwh, "energy_low": ends[0], "energy_high": ends[1]}
    return {**ends, "evidence": evidence, "boundary": boundary, "how": how}


_BOUNDARIES = {
    MEASURED: "GPUs and CPU packages, as far as counted",
    SAMPLED: "GPUs, sampled by Weights & Biases or MLflow",
    STATED: "as its source has it",
}


def _drawn(quantity, name):
    """Draw a factor whose low and high are the ends of its 90 % range."""
    if quantity.low == quantity.high:
        return quantity.value
    quantiles = ((0.05, quantity.low), (0.5, quantity.value), (0.95, quantity.high))
    return uncertainty.by_quantiles(name, quantiles)


def _price(processor, prices):
    """Return the lowest and highest price of a device-hour, of the key most of whose letters the name has."""
    name = processor.lower()
    known = [key for key in prices if key.lower() in name]
    if not known:
        return math.nan, math.nan
    price = prices[max(known, key=len)]
    low, high = price if isinstance(price, list | tuple) else (price, price)
    return low, high


def check_prices(prices):
    """Raise `ParameterError` for a price that is no number above zero, and no [lowest, highest]."""
    for device, price in prices.items():
        ends = price if isinstance(price, list | tuple) else [price, price]
        if len(ends) != 2 or not all(finite(end) and end > 0 for end in ends) or ends[0] > ends[1]:
            raise ParameterError(
                f"`prices`: {device!r} must be a price of a device-hour above zero, or [lowest, highest], "
                f"got {price!r:.60}"
            )


# -- files of tools -------------------------------------------------------------------------------------


def codecarbon(rows):
    """Return the energy of the runs in an ``emissions.csv`` of codecarbon, of rows by ``csv.DictReader``.

    The last row of a run has its totals. Processes of one node that track the machine write the same
    energy each: of several runs of one host, one begun within a minute of another is that other's.
    Columns are found by name, as versions differ.

    Returns
    -------
    DataFrame
        A row per run: ``run_id``, ``project``, ``duration_s``, ``energy_kwh``, ``gpu_kwh``, ``cpu_kwh``,
        ``ram_kwh``, ``measured_kwh`` and ``assumed_kwh`` (RAM by formula, a CPU by a fall-back), ``gpu_w``
        (mean: gpu energy over duration; the file's gpu_power is none), ``co2_kg``, ``country``, ``note``.
    """
    last = {row.get("run_id") or f"row {i}": row for i, row in enumerate(rows, 1)}
    found = [_codecarbon(name, row) for name, row in last.items()]
    return pd.DataFrame(_alone(found), columns=list(_CODECARBON))


_CODECARBON = (
    "run_id", "project", "duration_s", "energy_kwh", "gpu_kwh", "cpu_kwh", "ram_kwh", "measured_kwh",
    "assumed_kwh", "gpu_w", "co2_kg", "country", "note",
)  # fmt: skip


def _number(row, name):
    try:
        value = float(row.get(name) or "nan")
    except ValueError:
        return math.nan
    return value if math.isfinite(value) and value >= 0 else math.nan


def _codecarbon(name, row):
    gpu, cpu, ram = (_number(row, f"{part}_energy") for part in ("gpu", "cpu", "ram"))
    duration, total = _number(row, "duration"), _number(row, "energy_consumed")
    cpu_assumed = _number(row, "cpu_power") in _ASSUMED_CPU_W
    assumed = np.nansum([ram, cpu if cpu_assumed else 0.0])
    notes = []
    if cpu_assumed:
        notes.append(f"the CPU's {_number(row, 'cpu_power'):g} W are a fall-back, and not measured")
    if ram > 0:
        notes.append("RAM is by a formula of its size")
    return {
        "run_id": name,
        "project": row.get("project_name", ""),
        "duration_s": duration,
        "energy_kwh": total,
        "gpu_kwh": gpu,
        "cpu_kwh": cpu,
        "ram_kwh": ram,
        "measured_kwh": max(0.0, total - assumed) if total == total else math.nan,
        "assumed_kwh": assumed,
        "gpu_w": gpu * 3.6e6 / duration if duration > 0 else math.nan,
        "co2_kg": _number(row, "emissions"),
        "country": row.get("country_name", ""),
        "note": "; ".join(notes),
        "_mode": row.get("tracking_mode") or "machine",
        "_key": tuple(row.get(name, "") for name in ("project_name", "cpu_model", "gpu_model")),
        "_ended": pd.to_datetime(row.get("timestamp") or "", errors="coerce"),
    }


def _alone(found):
    """Leave out the rows of other ranks of one machine."""
    kept = []
    for row in found:
        twin = any(
            row["_mode"] == other["_mode"] == "machine"
            and row["_key"] == other["_key"]
            and abs((row["_ended"] - other["_ended"]) / pd.Timedelta(minutes=1)) <= 1
            and math.isclose(row["duration_s"], other["duration_s"], rel_tol=0.05)
            and math.isclose(row["energy_kwh"], other["energy_kwh"], rel_tol=0.05)
            for other in kept
        )
        if not twin:
            kept.append(row)
    return kept
