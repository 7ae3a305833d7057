"""Compute what the numbers of a collection say: frames in, frames out; no files, no words."""
