"""A collection to look around in: some of its runs, and the views of a notebook on them.

A view is a function from `Chosen` to the blocks that show it. `Explorer.show` displays a view
in a cell, and `Explorer.choose` draws every displayed one anew, in its place: with widgets
(`controls`) or from any cell. What is displayed is plain HTML, so an executed notebook keeps it.
"""

import functools
import math
from dataclasses import replace

from traincost.analysis import effects, fields, sections
from traincost.analysis import knobs as speedups
from traincost.analysis.knobs import Knob
from traincost.analysis.subsets import subset
from traincost.columns import time_unit
from traincost.errors import ParameterError
from traincost.pages.sortable import can_sort, sortable
from traincost.results import figures, findings, render, tables
from traincost.results.prose import say
from traincost.results.report import Figure, Items, Shown
from traincost.results.tables import Table


class Chosen:
    """The chosen runs, and what is computed of them, when a view first asks for it.

    Parameters
    ----------
    collection : Collection
    settings : settings.Exploring
        What is chosen.
    knobs : list of Knob

    Attributes
    ----------
    runs : Collection
        The runs that meet the settings' conditions.
    n_all : int
        Completed runs in the whole collection.
    """

    def __init__(self, collection, settings, knobs):
        self.settings = settings
        self.n_all = len(collection.runs)
        self.runs = subset(
            collection, settings.where, settings.statuses, settings.shortest_s, settings.longest_s
        )
        self.knobs = kept_instead(knobs, settings.kept)
        typical = self.runs.runs["runtime_s"].median() if len(self.runs.runs) else 0.0
        self.unit = time_unit(typical)

    @functools.cached_property
    def described(self):
        """Every setting, as `fields.describe` takes it."""
        return fields.describe(self.runs.runs, self.settings.replicates)

    @functools.cached_property
    def effects(self):
        """Of each factor on runtime (`effects.main_effects`)."""
        return effects.main_effects(self.runs, replicates=self.settings.replicates)

    @functools.cached_property
    def axes(self):
        """The two fields whose levels are compared (`fields.axes`)."""
        n_runs = len(self.runs.runs)
        return fields.axes(self.described, self.effects, n_runs, self.settings.rows, self.settings.columns)

    @functools.cached_property
    def bounds(self):
        """Of each knob (`knobs.bounds`)."""
        scheduled = self.settings.cadence_section
        if scheduled not in set(self.runs.sections["section"]):
            scheduled = None
        table = speedups.bounds(self.runs, self.knobs, scheduled, self.axes[0].codes)
        return table.assign(proposed=self.settings.knobs is None)


def kept_instead(knobs, kept):
    """Return the knobs, some with other occurrences `kept`.

    Raises
    ------
    ParameterError
        `kept` names no cadence knob, or holds what is no number of at least 0.
    """
    cadence = [knob.name for knob in knobs if knob.kind == "cadence"]
    for name, n in kept.items():
        if name not in cadence:
            raise ParameterError(
                f"`kept` must name knobs of the kind cadence, got {name!r}; there are: "
                f"{', '.join(cadence) or 'none'}"
            )
        if isinstance(n, bool) or not isinstance(n, int | float) or not 0 <= n < math.inf:
            raise ParameterError(f"`kept`: {name!r} must be a number of at least 0, got {n!r}")
    return [replace(knob, kept=kept.get(knob.name, knob.kept)) for knob in knobs]


# -- views ---------------------------------------------------------------------------------


def runs(chosen):
    """The runs themselves."""
    found = chosen.runs
    counted = findings.chosen(found.runs["runtime_s"], chosen.n_all, len(found.excluded), chosen.unit)
    return [[counted], tables.chosen_runs(found.runs, found.excluded, chosen.unit)]


def dependence(chosen):
    """What their runtime depends on."""
    interactions = effects.interactions(chosen.runs, replicates=chosen.settings.replicates)
    return [
        findings.dependence(chosen.effects, interactions, chosen.described),
        Figure.of("effects", chosen.effects, figures.effect_bars, findings.caption_effects),
        tables.effects(chosen.effects),
    ]


def levels(chosen):
    """Runtime by the levels of two settings."""
    runtime_s, (by, across), unit = chosen.runs.runs["runtime_s"], chosen.axes, chosen.unit
    by_level = fields.level_runtimes(runtime_s, by)
    cells = fields.cell_runtimes(runtime_s, by, across)
    each = fields.level_of_runs(runtime_s, by)
    return [
        Figure.of("cells", cells, figures.level_heatmap, findings.caption_heatmap, unit),
        Figure.of("levels", each, figures.runtime_by_level, findings.caption_levels, by_level, by.name, unit),
        tables.levels(by_level, by, unit, chosen.runs.runs["run_id"]),
    ]


def shares(chosen):
    """Where their time went."""
    table = sections.shares(chosen.runs)
    parts = sections.composition(chosen.runs, chosen.axes[0])
    return [
        findings.where_time_goes(table, parts),
        Figure.of(
            "composition",
            sections.drawn_parts(parts),
            figures.runtime_composition,
            findings.caption_composition,
        ),
        tables.sections(table),
    ]


def knobs(chosen):
    """What could be changed."""
    bounds = chosen.bounds
    return [
        Items(findings.speedups(bounds, chosen.unit), ordered=True),
        findings.joint_bound(bounds) + findings.what_a_bound_is(bounds),
        Figure.of("knobs", speedups.known(bounds), figures.knob_bounds, findings.caption_knobs),
        tables.knobs(bounds, chosen.unit),
    ]


# -- the notebook's side -------------------------------------------------------------------


class Explorer:
    """What a notebook shows of a collection, and the choice that it shows.

    Parameters
    ----------
    collection : Collection
    settings : settings.Exploring

    Attributes
    ----------
    chosen : Chosen
    frames : dict
        Name of each table on display to its frame, whole and unprinted.

    Raises
    ------
    ParameterError
        The settings name what the collection does not have.
    """

    def __init__(self, collection, settings):
        self.collection = collection
        self.settings = settings
        given = settings.knobs is not None
        self.knobs = [Knob.of(k) for k in settings.knobs] if given else speedups.propose(collection)
        self.chosen = Chosen(collection, settings, self.knobs)
        self.frames = {}
        self._displayed = []

    def choose(self, **changes):
        """Change settings, and draw every displayed view anew.

        Parameters
        ----------
        **changes
            Of `settings.Exploring`: ``where``, ``statuses``, ``rows``, ``kept``, for example.
        """
        settings = replace(self.settings, **changes)
        self.chosen = Chosen(self.collection, settings, self.knobs)
        self.settings = settings
        for view, handle in self._displayed:
            handle.update(Shown(self.html(view)))

    def show(self, view):
        """Display a view, to be drawn anew when the choice changes."""
        from IPython.display import display

        self._displayed.append((view, display(Shown(self.html(view)), display_id=True)))

    def html(self, view):
        """Return a view of the choice as it is now, as HTML."""
        if view is not runs and not len(self.chosen.runs.runs):
            return render.paragraph([say("No completed run is chosen.")])
        return "\n".join(self._block(block) for block in view(self.chosen) if block is not None)

    def _block(self, block):
        if isinstance(block, Figure):
            return render.figure(block.name, block.drawing, block.caption)
        if isinstance(block, Items):
            return render.items(block.sentences, block.ordered) if block.sentences else ""
        if not isinstance(block, Table):
            return render.paragraph(block) if block else ""
        self.frames[block.name] = block.frame
        if not len(block.frame):
            return ""
        if block.name == "runs" and can_sort():
            return sortable(block)
        return render.table(block, f"explorer.frames[{block.name!r}]")
