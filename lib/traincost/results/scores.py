"""What the runs scored, and which no other run beats on score and cost both."""

import numpy as np

from traincost.analysis import costs as analysis
from traincost.printing import significant, time_text
from traincost.results import arguments
from traincost.results.costs import cost_table, rows_by
from traincost.results.figures import Figure, axes_of, clipped, label_above
from traincost.results.prose import N_NAMED, Name, Number, say
from traincost.results.result import Result
from traincost.results.svg import PAGE, REST, SERIES
from traincost.results.tables import Heading, Table, of_one


@arguments.checked
def scores(runs, score="", goal="max", by=None, *, name=""):
    """Say what the runs scored, and which no other run beats on score and cost both.

    Parameters
    ----------
    runs : Runs
    score : str
        A score to set against the cost; none if empty.
    goal : str
        ``max`` where a larger score is better, ``min`` where a smaller one is.
    by : str or list of str, optional
        As in `costs`.
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` has a row per level and score, as `analysis.costs.cost_table` returns it.

    Raises
    ------
    ParameterError
        No run has the score, `by` names no setting, or `goal` is neither max nor min.
    """
    by = rows_by(runs, by)
    table = analysis.cost_table(runs.collection, "scores", by)
    front = analysis.score_front(runs.frame, score, goal)
    return Result.showing(
        "scores",
        table,
        cost_table(table, analysis.cost_members(runs.collection, by), runs, "scores"),
        _front_settings(front, runs.described, runs.frame),
        Figure.of("score", front, draw_front, _caption, analysis.cost_label(runs.frame), score),
        _front_table(front),
        prefix=name,
        of=runs.label,
    )


def _caption(points, cost_label, score_label):
    front = points[points["front"].astype(bool)]
    return say(
        "{score} against {cost}: no other run beats {n} of the {of} on both, from {a} to {b}.",
        score=Name(score_label),
        cost=cost_label,
        n=Number.count("front.n", len(front)),
        of=Number.count("front.of", len(points)),
        a=Name(front["run_id"].iloc[0]),
        b=Name(front["run_id"].iloc[-1]),
    )


def _front_settings(front, described, runs):
    """What the runs on the front have in common: their scores may be of one easy task."""
    is_on_front = runs["run_id"].isin(front.loc[front["front"].astype(bool), "run_id"]).to_numpy()
    if is_on_front.sum() < 2:
        return
    levels = [(f, np.unique(f.codes[is_on_front])) for f in described if f.kind == "levels"]
    shared = [say("{f}={l}", f=Name(f.name), l=Name(f.labels[c[0]])) for f, c in levels if len(c) == 1]
    if not shared:
        return
    yield say(
        "All runs on the front are of {s}; no record says whether scores of different levels can be "
        "compared.",
        s=shared[:N_NAMED],
    )


def draw_front(points, cost_label, score_label):
    """Score against cost; ``cost``, ``score``, ``front`` (no other run beats it on both)."""
    figure, axes = axes_of(3.6)
    for front, mark, colour, size in ((False, "o", REST, 5), (True, "D", SERIES[1], 6.5)):
        shown = points[points["front"].eq(front)]
        axes.plot(shown["cost"], shown["score"], mark, color=colour, markersize=size, mec=PAGE, mew=0.6)
    axes.set_xlabel(clipped(cost_label, 48))
    axes.grid(axis="both")
    label_above(axes, clipped(score_label, 48))
    return figure, [
        (("D", SERIES[1]), "no other run is both cheaper and better"),
        (("o", REST), "another run is cheaper and better"),
    ]


def _front_table(frame):
    return Table(
        "front",
        say("Runs that no other beats on both, from the cheapest."),
        (
            Heading("run_id", "run"),
            Heading("cost", "cost", time_text),
            Heading("score", "score", significant),
        ),
        frame[frame["front"].astype(bool)],
        len(frame),
        origins=of_one(frame.loc[frame["front"].astype(bool), "run_id"]),
    )
