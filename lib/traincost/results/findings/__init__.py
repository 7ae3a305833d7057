"""Numbers to sentences: what a page says, built from what was computed.

One module per section of the page. Every function takes frames and returns `Sentence`s; where
the data do not carry a claim, the
sentence says that. No number is typed here.
"""

from traincost.results.findings.change import caption_knobs, joint_bound, speedups, what_a_bound_is
from traincost.results.findings.comparison import (
    caption_changes,
    caption_parts,
    changed_settings,
    comparison_summary,
    decomposed,
    how_paired,
    paired_change,
    scores_changed,
)
from traincost.results.findings.cost import caption_score, costs, front_settings, made, many_unfinished, money
from traincost.results.findings.dependence import (
    caption_effects,
    caption_heatmap,
    caption_levels,
    dependence,
    interaction,
)
from traincost.results.findings.snapshot import (
    chosen,
    excluded,
    extreme_levels,
    runtime_columns,
    shared_settings,
    slowest_level,
    snapshot,
    started,
)
from traincost.results.findings.summary import summary
from traincost.results.findings.time import (
    caption_composition,
    caption_occurrences,
    occurrences_per_run,
    per_occurrence,
    where_time_goes,
)
from traincost.results.findings.turned import caption_turned, predicted, turned

__all__ = [
    "caption_changes",
    "caption_composition",
    "caption_effects",
    "caption_heatmap",
    "caption_knobs",
    "caption_levels",
    "caption_occurrences",
    "caption_parts",
    "caption_score",
    "caption_turned",
    "changed_settings",
    "chosen",
    "comparison_summary",
    "costs",
    "decomposed",
    "dependence",
    "excluded",
    "extreme_levels",
    "front_settings",
    "how_paired",
    "interaction",
    "joint_bound",
    "made",
    "many_unfinished",
    "money",
    "occurrences_per_run",
    "paired_change",
    "per_occurrence",
    "predicted",
    "runtime_columns",
    "scores_changed",
    "shared_settings",
    "slowest_level",
    "snapshot",
    "speedups",
    "started",
    "summary",
    "turned",
    "what_a_bound_is",
    "where_time_goes",
]
