"""Measure a run while it trains: standard library only, so that a training script pays little for it."""
