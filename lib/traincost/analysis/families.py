"""Several tests at once."""

import numpy as np


def holm(p):
    """Return p-values adjusted by Holm's step-down method; NaN, a missing test, is left out.

    Equal to `statsmodels.stats.multitest.multipletests`, which collects garbage at each call (0.1 s).

    >>> holm(np.array([0.01, 0.04, np.nan])).tolist()
    [0.02, 0.04, nan]
    """
    adjusted, tested = np.full(len(p), np.nan), np.flatnonzero(np.isfinite(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted
