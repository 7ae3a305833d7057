"""Least-squares lines, with the intervals of their slope and of a prediction."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

LEVEL = 0.95  # of the intervals


@dataclass(frozen=True)
class Line:
    """A least-squares line of y on x."""

    n: int
    slope: float
    slope_se: float
    r_squared: float
    x_mean: float  # with `y_mean` the point that the line passes through whatever its slope
    y_mean: float
    residual_sd: float  # standard deviation about the line
    x_sum_sq: float  # sum of squares of x about its mean
    x_low: float  # range of x
    x_high: float

    @property
    def intercept(self):
        """Y on the line at x = 0."""
        return self.at(0.0)

    def at(self, x):
        """Return y on the line at `x`."""
        return self.y_mean + self.slope * (x - self.x_mean)

    @property
    def r_squared_adjusted(self):
        """R² corrected for the two parameters."""
        return 1 - (1 - self.r_squared) * (self.n - 1) / (self.n - 2)

    @property
    def t(self):
        """The quantile of Student's t that the intervals take."""
        return stats.t.ppf((1 + LEVEL) / 2, self.n - 2)

    def slope_interval(self):
        """Return the 95 % interval of the slope, from Student's t."""
        return self.slope - self.t * self.slope_se, self.slope + self.t * self.slope_se

    def interval(self, x):
        """Return half the width of the 95 % prediction interval of a new y at `x`."""
        return self.t * self.residual_sd * np.sqrt(1 + 1 / self.n + (x - self.x_mean) ** 2 / self.x_sum_sq)


def fit_line(x, y, needed="a trend needs three systems of different dates"):
    """Fit a `Line`; ValueError, saying what is `needed`, for fewer than three points or a single x."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(x) < 3 or np.ptp(x) == 0:
        raise ValueError(f"{needed}, got {len(x)}")
    centred = x - x.mean()  # day numbers in the tens of thousands would cost half the digits
    fit = stats.linregress(centred, y)
    residual = y - fit.intercept - fit.slope * centred
    return Line(
        n=len(x),
        slope=float(fit.slope),
        slope_se=float(fit.stderr),
        r_squared=float(fit.rvalue**2) if np.ptp(y) else np.nan,
        x_mean=float(x.mean()),
        y_mean=float(y.mean()),
        residual_sd=float(np.sqrt((residual**2).sum() / (len(x) - 2))),
        x_sum_sq=float((centred**2).sum()),
        x_low=float(x.min()),
        x_high=float(x.max()),
    )
