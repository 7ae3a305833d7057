"""What the runs cost, and how the page was made, in words."""

import numpy as np

from traincost.columns import significant
from traincost.results.findings.numbers import N_NAMED, names, number_of, plural
from traincost.results.prose import Name, Number, join, say


def costs(table, order, n_superseded=0):
    """What the cost columns do and do not say.

    Parameters
    ----------
    table : DataFrame
        As `costs.cost_table` returns it.
    order : dict
        As `costs.process_order` returns it.
    n_superseded : int
        As `costs.n_superseded` returns it.
    """
    if not len(table):
        return [say("The runs recorded no memory, parameters or inference times.")]
    said = []
    if "cost_memory_mib" in set(table["column"]):
        said.append(
            say(
                "Memory is the peak of one worker process, never divided by workers or models: most of what "
                "it holds is there before the first model is built."
            )
        )
    if n_superseded:
        said.append(
            say(
                "Of several reports of one task in one configuration, the table has the latest: {n} {runs} "
                "of earlier ones {are} not in it.",
                n=number_of("cost.n_superseded", n_superseded),
                runs=plural(n_superseded, "run"),
                are="is" if n_superseded == 1 else "are",
            )
        )
    if order["n_processes"]:
        said += _shared_processes(order)
    return said


def _shared_processes(order):
    n = order["n_processes"]
    return [
        say(
            "In {n} {reports} one process trained several seeds, which are not exchangeable: the first "
            "carries the warm-up (it is the slowest in {first}), and later ones inherit the memory peak (it "
            "never falls in {rises}), so memory is given without deviation there.",
            n=number_of("process.n", n),
            reports=plural(n, "report"),
            first=number_of("process.n_first_slowest", order["n_first_slowest"]),
            rises=number_of("process.n_memory_rises", order["n_memory_rises"]),
        )
    ]


def many_unfinished(table):
    """A warning for levels of which many runs were not completed."""
    flagged = table[table["flagged"].astype(bool)]
    if not len(flagged):
        return []
    return [
        say(
            "Not completed: {n} of {of} runs of {levels}. Where the unfinished are the long ones, the "
            "means of the others are too low.",
            levels=names(flagged["level"].head(N_NAMED)),
            n=number_of("unfinished.n", flagged["n_unfinished"].sum()),
            of=number_of("unfinished.of", (flagged["n_unfinished"] + flagged["n_completed"]).sum()),
        )
    ]


def money(table, settings):
    """Device-hours, money and energy in total, as the parameter times the hours."""
    total = table.iloc[-1]
    parts = []
    if "money" in table:
        parts.append(
            say(
                "{m} {unit} at {price} {unit} an hour",
                price=Number("spent.price_per_hour", settings.price_per_hour, f"{settings.price_per_hour:g}"),
                unit=Name(settings.currency),
                m=Number("spent.money", total["money"], significant(total["money"], 3)),
            )
        )
    if "energy_kwh" in table:
        parts.append(
            say(
                "{e} kWh at {p} W",
                p=Number("spent.power_w", settings.power_w, f"{settings.power_w:g}"),
                e=Number("spent.energy_kwh", total["energy_kwh"], significant(total["energy_kwh"], 3)),
            )
        )
    said = [
        say(
            "The runs{all} took {h} device-hours, at {d} {noun} a run{spent}.",
            all=", those left out included," if total["n_excluded"] else "",
            h=Number("spent.device_hours", total["device_hours"], significant(total["device_hours"])),
            d=number_of("spent.devices", settings.devices),
            noun=plural(settings.devices, "device"),
            spent=say(": {p}", p=join(parts, ", ")) if parts else "",
        )
    ]
    if total["excluded_s"] > 0:
        hours = total["excluded_s"] / 3600 * settings.devices
        said.append(
            say(
                "Of these, {h} went into runs that no statistic includes.",
                h=Number("spent.excluded_device_hours", hours, significant(hours)),
            )
        )
    return said


def caption_score(points, cost_label, score_label):
    """How many runs no other run beats on both."""
    front = points[points["front"].astype(bool)]
    return say(
        "{score} against {cost}: no other run beats {n} of the {of} on both, from {a} to {b}.",
        score=Name(score_label),
        cost=cost_label,
        n=number_of("front.n", len(front)),
        of=number_of("front.of", len(points)),
        a=Name(front["run_id"].iloc[0]),
        b=Name(front["run_id"].iloc[-1]),
    )


def front_settings(front, described, runs):
    """What the runs on the front have in common: their scores may be of one easy task.

    Parameters
    ----------
    front : DataFrame
        As `costs.score_front` returns it.
    described : list of fields.Field
    runs : DataFrame
        Of the collection.
    """
    is_on_front = runs["run_id"].isin(front.loc[front["front"].astype(bool), "run_id"]).to_numpy()
    if is_on_front.sum() < 2:
        return []
    levels = [(f, np.unique(f.codes[is_on_front])) for f in described if f.kind == "levels"]
    shared = [say("{f}={l}", f=Name(f.name), l=Name(f.labels[c[0]])) for f, c in levels if len(c) == 1]
    if not shared:
        return []
    return [
        say(
            "All runs on the front are of {s}; whether scores of different levels can be compared, no record "
            "says.",
            s=shared[:N_NAMED],
        )
    ]


def made(effects):
    """How many permutations the verdicts rest on, and whether anything was repeated."""
    tested = effects[effects["p_alone"].notna()]
    drawn = int(tested["n_permutations"].max()) if len(tested) else 0
    if not drawn:
        return []
    n_runs, n_configurations = effects[["n_runs", "n_configurations"]].iloc[0]
    said = [
        say(
            "Family-wise p-values come from {n} seeded permutations of {c} configurations.",
            n=number_of("effects.n_permutations", drawn),
            c=number_of("effects.n_configurations", n_configurations),
        )
    ]
    if n_runs == n_configurations:
        said.append(
            say(
                "In this collection no configuration was repeated, so what varies between repetitions is "
                "not known."
            )
        )
    return said
