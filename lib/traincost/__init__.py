"""What a collection of training runs cost, what it depends on, and where the time went.

The names below are loaded on first use, so that recording a run costs a training script neither
pandas nor a noticeable import.
"""

import importlib

__version__ = "0.1.0"

_HOMES = {
    "Recorder": "measure.recorder",
    "Meter": "measure.meter",
    "InferenceTimer": "measure.meter",
    "read": "results.runs",
    "summary": "results.summary",
    "effects": "results.effects",
    "levels": "results.levels",
    "listing": "results.snapshot",
    "occurrences": "results.differences",
    "differences": "results.differences",
    "shares": "results.shares",
    "knobs": "results.knobs",
    "costs": "results.costs",
    "scores": "results.scores",
    "provenance": "results.provenance",
    "threats": "results.threats",
    "title": "results.title",
    "compare": "results.comparison",
    "page": "pages.publish",
    "publish": "pages.publish",
    "plan": "results.plan",
    "remaining": "results.remaining",
    "estimate": "results.estimates",
    "trends": "results.trends",
    "card": "results.card",
    "count": "results.count",
    "emissions": "results.energy",
    "utilisation": "results.utilisation",
    "choose": "pages.choosing",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name in _HOMES:
        return getattr(importlib.import_module(f"traincost.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'traincost' has no attribute {name!r}")


def __dir__():
    return __all__
