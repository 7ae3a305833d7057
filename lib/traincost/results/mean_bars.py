"""A bar of the mean run of each level: how long, and of what."""

from markupsafe import Markup

from traincost.printing import time_parts, time_text
from traincost.results import fluid
from traincost.results.fluid import FILLS, INK, MUTED, NARROW, PAD, ROW, SIZE, SMALL, WIDE, Level, Part
from traincost.results.names import hue, part_names

PHONE = 352  # least width in px at which a level's range stands beside its name
LEVEL = 48  # px: a level's name, its bar and the gap below
MAX_LEVELS = 24  # that one figure shows


BESIDE = ["n_runs", "mean_s", "shortest_s", "longest_s"]  # of a mean run: what is no part of it


def level_of(name, row, total_s, section_kinds, range=""):
    """Return a mean run (a row of `analysis.differences.mean_runs`) as a bar, printed as parts of a total."""
    parts = row.drop(BESIDE)
    named = part_names(parts.index)
    texts = time_parts(parts, total_s)
    return Level(
        name,
        tuple(
            Part(named[part], max(0.0, float(seconds)), text, hue(part, section_kinds))
            for (part, seconds), text in zip(parts.items(), texts, strict=True)
        ),
        time_text(row["mean_s"]),
        range,
    )


def level_bars(rows, *, name, title):
    """Draw the mean run of each level as a bar of its parts: how long, and of what.

    The slowest comes first; parts are in one unit and in one order.
    """
    rows = fluid.with_ranks(rows)
    drawn, width = rows[:MAX_LEVELS], NARROW
    longest = max((sum(part.value for part in row.parts) for row in drawn), default=0) or 1.0
    scale = fluid.scale_of(drawn, longest, width, 0.8)
    elements = []
    for i, row in enumerate(drawn):
        top, at, places = LEVEL * i + 24, 0.0, []
        for part in row.parts:
            share = scale * part.value / longest
            places.append((part, at, share, at + share / 2))
            at += share
        elements += _named(row, top - 7)
        elements += fluid.segments(places, top, ROW, name)
        elements += _lengths(places, top)
        elements.append(fluid.text_at(row.total, at, top + 15, dx=PAD, bold=True))
        if row.range:
            elements.append(
                fluid.text_at(row.range, 1, top - 7, anchor="end", size=SMALL, fill=MUTED, role="range")
            )
    height = LEVEL * len(drawn) + 4
    left, described = len(rows) - len(drawn), list(map(fluid.row_said, drawn))
    if left:
        said = f"and {left:,} more, each faster"
        elements.append(fluid.text_at(said, 0, height + 12, size=SMALL, fill=MUTED))
        height += ROW
        described.append(f"{said}.")
    hatch = fluid.hatching(f"figure-{name}-hatch") if fluid.has_untimed(drawn) else Markup("")
    return hatch + fluid.drawing(name, title, " ".join(described), height, elements)


def _named(row, y):
    """Yield the name of a level, which stands beside the range of its runs: cut further on a phone."""
    beside = fluid.width_of(row.range, SMALL) + PAD if row.range else 0
    # On a phone without room for the range of runs, it is not shown.
    narrow = fluid.fitting(row.name, min(NARROW, PHONE - beside), SIZE, bold=True)
    wide = fluid.fitting(row.name, WIDE - beside, SIZE, bold=True)
    yield fluid.text_at(wide, 0, y, bold=True, role="" if wide == narrow else "roomy")
    if wide != narrow:
        yield fluid.text_at(narrow, 0, y, bold=True, role="tight")


def _lengths(places, top):
    """Yield the printed values of the parts that hold them; some only on wide screens."""
    for part, _, share, middle in places:
        needed = fluid.width_of(part.text, SMALL) + PAD
        if part.text and needed <= share * WIDE:
            fill = FILLS[part.colour][1] if part.colour in FILLS else INK
            role = "" if needed <= share * NARROW else "roomy"
            yield fluid.text_at(
                part.text, middle, top + 14, anchor="middle", size=SMALL, fill=fill, role=role
            )
