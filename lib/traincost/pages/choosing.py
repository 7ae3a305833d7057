"""Choose some of the runs in a notebook; what is shown of them is drawn anew, in its place.

What is displayed is plain HTML, so an executed notebook keeps it, and a page shows it.
"""

import importlib.util
import math
from collections.abc import Mapping
from dataclasses import replace

from IPython.display import display, update_display

from traincost.analysis import knobs
from traincost.errors import ParameterError, brief
from traincost.pages import sortable
from traincost.results.snapshot import listing, nothing_chosen

HOW_TO_CHOOSE = (
    'Choose in a cell: choice.choose(where={"setting": ["level"]}). '
    "Widgets and a table to sort need two more packages: pip install ipywidgets itables"
)
# What chooses all, for each choice.
ALL = {"where": {}, "statuses": None, "shortest_s": None, "longest_s": None}
ALL |= {"rows": "", "columns": "", "kept": {}}


def choose(runs, **choices):
    """Choose some of the runs; what `Choice.show` displays follows the choice.

    Parameters
    ----------
    runs : Runs
    **choices
        To begin with, as `Choice.choose` takes them.

    Returns
    -------
    Choice
        Shows the widgets that change it, where ipywidgets is installed.

    Raises
    ------
    ParameterError
        A choice is not one of the runs'.

    Examples
    --------
    >>> choose(runs, where={"task_name": ["sorting"]})
    6 of 36 completed runs of demo-sweep: task_name=sorting
    """
    return Choice(runs, **choices)


class Choice:
    """Some of the runs, and what a notebook shows of them.

    Attributes
    ----------
    all_runs : Runs
        What there is to choose from.
    runs : Runs
        What is chosen.
    choices : dict
        How, as `choose` takes it.
    knobs : tuple of Knob
        Those of all the runs, so that they stay comparable between choices.
    """

    def __init__(self, runs, **choices):
        self.all_runs = runs
        self.knobs = (
            tuple(knobs.propose(runs.timing, runs.section_kinds)) if runs.knobs is None else runs.knobs
        )
        self.choices = {**ALL, "rows": runs.rows, "columns": runs.columns}
        self._shown = {}
        self.choose(**choices)

    def choose(self, **changes):
        """Change the choice, and draw everything that is shown of it anew; what is not named stays.

        Parameters
        ----------
        **changes
            ``where``, ``statuses``, ``shortest_s``, ``longest_s`` as `Runs.where` takes them; ``rows``
            and ``columns``, settings whose levels are compared; ``kept``, cadence knob to the
            occurrences that remain. None chooses all.

        Raises
        ------
        ParameterError
            A choice is not one of the runs'; the one before stays.
        """
        for name in changes:
            if name not in self.choices:
                raise ParameterError(f"{name!r} is no choice; there are: {', '.join(self.choices)}")
        changes = {name: ALL[name] if value is None else value for name, value in changes.items()}
        choices = {**self.choices, **changes}
        runs = self._chosen(choices)
        made = {place: _answer(runs, *asked) for place, asked in self._shown.items()}
        self.choices, self.runs = choices, runs
        for place, answer in made.items():
            update_display(answer, display_id=place)

    def _chosen(self, choices):
        named = {name: choices[name] for name in ("statuses", "shortest_s", "longest_s")}
        some = self.all_runs.where(choices["where"], **named)
        scheduled = self.all_runs.cadence_section
        runs = some.choosing(
            rows=choices["rows"],
            columns=choices["columns"],
            knobs=_kept_instead(self.knobs, choices["kept"]),
            cadence_section=scheduled if scheduled in set(some.sections["section"]) else "",
        )
        # Asked for now, so that a setting that is not there is refused before anything is drawn.
        _ = runs.axes if len(runs) else None
        return runs

    def show(self, answer, *args, **options):
        """Display an answer about the chosen runs, to be drawn anew when the choice changes.

        Parameters
        ----------
        answer : callable
            Takes runs, as ``tc.effects`` does; any function whose result a notebook can display.
        *args, **options
            Passed on to it.
        """
        made = _answer(self.runs, answer, args, options)
        if isinstance(made, sortable.Sortable):
            sortable.load()
        # The same of each answer, so that a cell that is run again is drawn once.
        place = f"{id(self)}-{id(answer)}-{args!r}-{options!r}"
        self._shown[place] = answer, args, options
        display(made, display_id=place)

    def __repr__(self):
        return f"{len(self.runs)} of {len(self.all_runs)} completed runs of {self.runs.label}"

    def _repr_mimebundle_(self, include=None, exclude=None):
        if importlib.util.find_spec("ipywidgets") is None:
            return {"text/plain": f"{self!r}. {HOW_TO_CHOOSE}"}
        from traincost.pages import controls  # which imports ipywidgets

        return {**controls.controls(self)._repr_mimebundle_(), "text/plain": repr(self)}


def _answer(runs, answer, args, options):
    if not len(runs) and answer is not listing:
        return nothing_chosen(runs)
    return sortable.sorted_where_possible(answer(runs, *args, **options))


def _kept_instead(of, kept):
    """Return the knobs, some with other occurrences `kept`."""
    if not isinstance(kept, Mapping):
        raise ParameterError(f"`kept` must be a mapping of knobs to numbers, got {brief(kept)}")
    cadence = [knob.name for knob in of if knob.kind == "cadence"]
    for name, n in kept.items():
        if name not in cadence:
            raise ParameterError(
                f"`kept` must name knobs of the kind cadence, got {brief(name)}; there are: "
                f"{', '.join(cadence) or 'none'}"
            )
        if isinstance(n, bool) or not isinstance(n, int | float) or not 0 <= n < math.inf:
            raise ParameterError(f"`kept`: {name!r} must be a number of at least 0, got {brief(n)}")
    return tuple(replace(knob, kept=kept.get(knob.name, knob.kept)) for knob in of)
