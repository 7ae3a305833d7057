"""What a collection of training runs cost, what it depends on, and where the time went.

The two names below are loaded on first use, so that recording a run costs a training
script neither pandas nor a noticeable import.
"""

__version__ = "0.1.0"
__all__ = ["Recorder", "read_collection"]


def __getattr__(name):
    if name == "Recorder":
        from traincost.record import Recorder

        return Recorder
    if name == "read_collection":
        from traincost.collection import read_collection

        return read_collection
    raise AttributeError(f"module 'traincost' has no attribute {name!r}")
