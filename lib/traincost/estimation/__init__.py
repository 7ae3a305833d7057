"""Estimate how much compute a training took, and how that grew over the years."""
