"""The response that a question is asked of: its values, and how it is spoken of."""

import functools
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from traincost.analysis import effects
from traincost.columns import PREFIX, SCORE_PREFIX
from traincost.errors import ParameterError, brief
from traincost.printing import share_text, significant, time_text
from traincost.results.prose import Name, Number, say

RUNTIME = "runtime_s"
SECONDS, COST, SCORE = "seconds", "cost", "score"
_TIMED = re.compile(r"_s$|_per_s|energy|power")


@dataclass(frozen=True, eq=False)
class Response:
    """A response of runs."""

    name: str
    kind: str  # `SECONDS` of a run or a section, `COST` (a cost column), `SCORE`
    runs: object
    values: np.ndarray  # of each run of ``runs.frame``; NaN where it has none
    log: bool  # whether the logarithm is tested: of a positive magnitude, not of a score

    @property
    def known(self):
        """Which runs have it."""
        return np.isfinite(self.values)

    @property
    def n_missing(self):
        """How many runs lack it."""
        return int((~self.known).sum())

    @property
    def timed(self):
        """Whether a machine that slows down changes it: a time, a rate or an energy, but not a score."""
        return self.kind == SECONDS or bool(_TIMED.search(self.name))

    @functools.cached_property
    def frame(self):
        """The runs that have it and are not far from all others."""
        return self.runs.frame[self.known][self.examined.kept]

    @functools.cached_property
    def examined(self):
        """What it depends on, and how much (`analysis.effects.Effects`)."""
        if self.name == RUNTIME:
            return self.runs.examined
        known, runs = self.known, self.runs
        return effects.examine(runs.frame[known], self.values[known], runs.replicates, runs.factors, self.log)

    @property
    def words(self):
        """The response within a sentence."""
        if self.name == RUNTIME:
            return "runtime"
        return say(self._template, name=Name(self.name))

    @property
    def subject(self):
        """The response at the beginning of a sentence."""
        if self.name == RUNTIME:
            return "Runtime"
        template = self._template
        return say(template[0].upper() + template[1:], name=Name(self.name))

    @property
    def _template(self):
        return {SECONDS: "the time in {name}", SCORE: "the score {name}"}.get(self.kind, "{name}")

    @property
    def label(self):
        """The response on an axis."""
        return "runtime" if self.name == RUNTIME else self.name

    @property
    def tested(self):
        """What the tests are made on."""
        return f"log {self.label}" if self.log else self.label

    def change(self, key, size, value):
        """Return a difference on the tested scale as a number in words: in percent, or as it is."""
        if self.log:
            return Number(key, float(np.expm1(value)), share_text(abs(np.expm1(value))))
        return Number(key, float(value), significant(size))

    def value(self, key, value):
        """Return one of its values as a number."""
        return Number.of(key, value, time_text if self.kind == SECONDS else significant)

    def each(self, at):
        """Return (run id, value) of some of the runs that have it, by their rows."""
        frame = self.runs.frame[self.known]
        return list(zip(frame["run_id"].iloc[at], self.values[self.known][at], strict=True))


def asked_of(runs, response):
    """Return the response of this name; `ParameterError` where there is none, or it tells nothing."""
    kind, values = _values(runs, response)
    known = values[np.isfinite(values)]
    if len(known) < 2 and response != RUNTIME:
        of = f"{len(known)} run{'s' * (len(known) != 1)}"
        raise ParameterError(f"`response` {response!r} is known of {of}: at least 2 are needed")
    log = kind != SCORE and bool((known > 0).all())
    return Response(response, kind, runs, values, log)


def _values(runs, response):
    if response == RUNTIME:
        return SECONDS, runs.runtime_s.to_numpy(dtype=float)
    for column, kind in ((response, COST), (SCORE_PREFIX + response, SCORE)):
        if column in runs.frame and pd.api.types.is_numeric_dtype(runs.frame[column]):
            if kind == COST and column.startswith(SCORE_PREFIX):
                kind = SCORE
            return kind, runs.frame[column].to_numpy(dtype=float)
    if response in runs.timing.paths:
        seconds = runs.timing.seconds[:, runs.timing.paths.index(response)]
        # A run that never entered a section has no time of it to compare.
        return SECONDS, np.where(seconds > 0, seconds, np.nan)
    numeric = runs.frame.select_dtypes("number").dropna(axis="columns", how="all").columns
    known = [c.removeprefix(SCORE_PREFIX) for c in numeric if not c.startswith(PREFIX)]
    raise ParameterError(
        f"`response` must be a cost column, a score or a section of the runs, got {brief(response)}; "
        f"there are: {', '.join([*known, *runs.timing.paths][:30])}"
    )
