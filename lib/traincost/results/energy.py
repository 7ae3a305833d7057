"""What trainings took of energy, CO₂ and money: for the estimation card, and of codecarbon's files."""

import csv
import io
import os

import pandas as pd

from traincost.errors import NothingToReport
from traincost.estimation import energy as estimation
from traincost.estimation.uncertainty import LEVEL
from traincost.printing import count, percent, significant, two
from traincost.reading.formats.files import Unreadable, read_bytes
from traincost.results import arguments
from traincost.results.prose import Number, key, say
from traincost.results.result import More, Result
from traincost.results.tables import Heading, Origin, Table, of_one

ALL = "all"  # of the row with the sums
_UNITS = ((1e6, "GWh"), (1e3, "MWh"), (1.0, "kWh"), (1e-3, "Wh"))
_MASSES = ((1e3, "t"), (1.0, "kg"), (1e-3, "g"))


def _scaled(name, value, units):
    """Return a number in the largest unit in which it is one at least."""
    size, unit = next(((size, unit) for size, unit in units if abs(value) >= size), units[-1])
    return Number(key("energy", name), float(value), f"{significant(value / size)} {unit}")


def energy_blocks(found):
    """Return what is said and tabled of energy, CO₂ and money (`estimation.energy.estimate_energy`)."""
    if not len(found):
        return ([say("No system has hours of devices or a measured energy, so neither is known.")],)
    said = [*_hours(found), *_energies(found), *_carbon(found), *_money(found), *_boundary(found)]
    tables = _table(found), _assumed_table(found)
    return said, More(say("Energy, CO₂ and money of each, and what is assumed"), tables)


def _hours(found):
    hours = found["device_hours"].dropna()
    if len(hours):
        yield say(
            "{n} {n:system|systems} took {hours} device-hours.",
            n=Number.count("energy.n_hours", len(hours)),
            hours=Number.of("energy.device_hours", hours.sum(), significant),
        )


_KINDS = (estimation.MEASURED, estimation.SAMPLED, estimation.STATED, estimation.BY_POWER, estimation.BY_TDP)


def _energies(found):
    known = found[found["energy_kwh"].notna()]
    counts = known["evidence"].value_counts()
    kinds = [
        say("{n} {how}", n=Number.count(key("energy", "n", kind), counts[kind]), how=kind)
        for kind in _KINDS
        if counts.get(kind, 0)
    ]
    if not len(known):
        return
    # Errors of the same assumptions do not average out, so the ends are summed.
    yield say(
        "The energy of {n} {n:system|systems} ({kinds}) is {total} in all ({low} to {high}).",
        n=Number.count("energy.n", len(known)),
        kinds=kinds,
        total=_scaled("total_kwh", known["energy_kwh"].sum(), _UNITS),
        low=_scaled("total_low_kwh", known["energy_low"].sum(), _UNITS),
        high=_scaled("total_high_kwh", known["energy_high"].sum(), _UNITS),
    )


def _carbon(found):
    known = found[found["co2_kg"].notna()]
    if len(known):
        yield say(
            "Where the grid is known ({n}), that is {total} of CO₂-equivalent ({low} to {high}), by the mean "
            "of the grid and not by what its buyers contracted.",
            n=Number.count("energy.n_co2", len(known)),
            total=_scaled("co2_kg", known["co2_kg"].sum(), _MASSES),
            low=_scaled("co2_low_kg", known["co2_low"].sum(), _MASSES),
            high=_scaled("co2_high_kg", known["co2_high"].sum(), _MASSES),
        )
    else:
        yield say(
            "No region is known, so no CO₂ is: the worst grid emits a hundred times what the best does."
        )


def _money(found):
    known = found[found["money_low"].notna()]
    if len(known):
        yield say(
            "At the prices given, the device-hours of {n} {n:system|systems} cost {low} to {high}.",
            n=Number.count("energy.n_money", len(known)),
            low=Number.of("energy.money_low", known["money_low"].sum(), significant),
            high=Number.of("energy.money_high", known["money_high"].sum(), significant),
        )


def _boundary(found):
    if _is_assumed(found):
        large = estimation.LARGE_RATIO
        yield say(
            "Where only the rated power is known, a device draws {large} of it on average in a large "
            "training ({low} to {high}), the server {server} times its devices, the facility {pue} times its "
            "servers: assumed, each with its range.",
            large=Number.of("energy.ratio", large.value, percent),
            low=Number.of("energy.ratio_low", large.low, percent),
            high=Number.of("energy.ratio_high", large.high, percent),
            server=Number.of("energy.server", estimation.SERVER.value, "{:g}".format),
            pue=Number.of("energy.pue", estimation.PUE.value, "{:g}".format),
        )
    yield say("Left out are {what}.", what=estimation.LEFT_OUT)


def _is_assumed(found):
    return found["evidence"].isin([estimation.BY_TDP, estimation.BY_POWER]).any()


def _assumed_table(found):
    factors = {
        "mean power of a device over its rated one, large training": estimation.LARGE_RATIO,
        "the same, small training": estimation.SMALL_RATIO,
        "server over its devices": estimation.SERVER,
        "PUE: facility over its servers": estimation.PUE,
    }
    rows = [(name, f.value, f.low, f.high) for name, f in factors.items()]
    frame = pd.DataFrame(rows, columns=["factor", "value", "low", "high"])
    return Table(
        "energy-assumed",
        say(
            "What is assumed where only a rated power is known, each with its range of {level}.",
            level=Number.of("energy.level", LEVEL, percent),
        ),
        (
            Heading("factor", "factor"),
            Heading("value", "value", two),
            Heading("low", "from", two),
            Heading("high", "to", two),
        ),
        frame if _is_assumed(found) else frame.head(0),
        len(found),
        "systems of which hours or energy are known",
        holds=("energy.ratio", "energy.ratio_low", "energy.ratio_high", "energy.server", "energy.pue"),
    )


def _with_total(found):
    """Append the sums; ends are summed, as errors of the same assumptions do not average out."""
    summed = found.select_dtypes("number").drop(columns="g_per_kwh").sum(min_count=1)
    total = pd.DataFrame([{**dict.fromkeys(found, ""), **summed, "system": ALL, "g_per_kwh": float("nan")}])
    return pd.concat([found, total], ignore_index=True)


def _table(found):
    with_money = found["money_low"].notna().any()
    return Table(
        "energy",
        say("Device-hours, energy, CO₂-equivalent and money, each with its range."),
        (
            Heading("system", "system"),
            Heading("device_hours", "device-hours", significant),
            Heading("energy_kwh", "kWh", significant),
            Heading("energy_low", "kWh from", significant, "90 %"),
            Heading("energy_high", "kWh to", significant),
            Heading("evidence", "evidence"),
            Heading("boundary", "boundary"),
            Heading("co2_kg", "kg CO₂e", significant, "location-based"),
            Heading("region", "grid"),
            with_money and Heading("money_low", "money from", count),
            with_money and Heading("money_high", "money to", count),
            Heading("how", "how"),
        ),
        _with_total(found),
        len(found),
        "systems of which hours or energy are known",
        (
            *of_one(found["system"], "the system of the row"),
            Origin(len(found), "systems with hours or energy"),
        ),
    )


@arguments.checked
def emissions(path, name=""):
    """Read the energy of runs that codecarbon measured.

    Parameters
    ----------
    path : str or path
        An ``emissions.csv``.
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` has a row per run, as `estimation.energy.codecarbon` returns it.

    Raises
    ------
    NothingToReport
        The file cannot be read, or is none of codecarbon's.
    """
    path = os.fspath(path)
    try:
        rows = list(csv.DictReader(io.StringIO(read_bytes(path).decode("utf-8-sig"), newline="")))
    except (Unreadable, UnicodeDecodeError, csv.Error) as problem:
        raise NothingToReport(f"{path!r} {problem}") from None
    if not rows or "energy_consumed" not in rows[0]:
        raise NothingToReport(
            f"{path!r} has no rows with energy_consumed: it is no emissions.csv of codecarbon"
        )
    found = estimation.codecarbon(rows)
    total, assumed = found["energy_kwh"].sum(), found["assumed_kwh"].sum()
    said = [
        say(
            "{n} {n:run|runs} took {total}, of which {assumed} is assumed and not measured; PUE is not in "
            "it.",
            n=Number.count("energy.n", len(found)),
            total=_scaled("total_kwh", total, _UNITS),
            assumed=_scaled("assumed_kwh", assumed, _UNITS),
        )
    ]
    if len(rows) > len(found):
        said.append(
            say(
                "Of {n} rows, those of other processes of one machine, and earlier ones of a run, are left "
                "out.",
                n=Number.count("energy.n_rows", len(rows)),
            )
        )
    table = Table(
        "emissions",
        say("What codecarbon wrote, by run; power is energy over duration."),
        (
            Heading("run_id", "run"),
            Heading("duration_s", "seconds", significant),
            Heading("energy_kwh", "kWh", significant),
            Heading("gpu_kwh", "GPUs", significant),
            Heading("cpu_kwh", "CPU", significant),
            Heading("ram_kwh", "RAM", significant),
            Heading("gpu_w", "GPU power (W)", significant),
            Heading("co2_kg", "kg CO₂e", significant),
            Heading("note", "note"),
        ),
        found,
        filter="runs of the file",
        origins=of_one(found["run_id"]),
    )
    return Result.showing("emissions", found, said, table, prefix=name, of=os.path.basename(path))
