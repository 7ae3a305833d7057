"""What is said and drawn of the growth of compute by `trends`."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from traincost.errors import ParameterError
from traincost.results.figures import MAX_POINTS, WIDE
from traincost.results.result import Result
from traincost.results.svg import SERIES, THEME
from traincost.results.trends import draw_trends, trends

BLUE, RED = (THEME[colour] for colour in SERIES[:2])


def systems(start, n, months=9.0, sd=0.3, first_log=20.0):
    """Return systems every 30 days from `start` that double each `months`, with scatter in log10."""
    days = 30 * np.arange(n)
    log = first_log + np.log10(2) * days / (months * 30.4375) + np.random.default_rng(0).normal(0, sd, n)
    return pd.DataFrame(
        {
            "system": [f"s{i}" for i in range(n)],
            "date": pd.Timestamp(start) + pd.to_timedelta(days, unit="D"),
            "domain": "language",
            "value_flop": 10.0**log,
        }
    )


def estimated(*frames):
    """Return what `estimate` would of systems with these estimates."""
    return Result("estimate", pd.concat(frames, ignore_index=True), of="made")


def test_the_interval_of_the_fit_stands_beside_its_sensitivity():
    found = trends(estimated(systems("2010-06-01", 60)), n_draws=200)
    (row,) = found.frame.itertuples()
    interval = f"is {row.doubling_low:.2g} months to {row.doubling_high:.2g} months"
    assert f"; the interval of the fit above {interval}." in str(found.sensitivity)
    assert "not the uncertainty" in str(found.sensitivity)
    assert "last era" not in str(found.sensitivity)
    assert len(found.tables["sensitivity"].frame) == 6


def test_growth_that_is_not_established_has_no_upper_limit():
    found = trends(estimated(systems("2012-01-01", 20, months=200.0, sd=1.0)), n_draws=200)
    assert "growth is not established; a doubling takes at least" in str(found.growth)
    assert "interval of the fit above" not in str(found.sensitivity)
    assert next(iter(found.tables["trends"].printed()))[7] == "no limit"


def test_four_systems_are_too_few():
    four = systems("2010-06-01", 40).iloc[::10]
    found = trends(estimated(four), n_draws=100)
    text = str(found.growth)
    assert "(4 systems, low outliers dropped): too few; growth is claimed from 5 systems on." in text
    assert "doubles" not in text
    row = next(iter(found.tables["trends"].printed()))
    assert row[5:8] == ["–", "–", "–"]
    figure, legend = draw_trends(
        found.frame, four.rename(columns={"value_flop": "flop"}).assign(low_outlier=False, large_scale=False)
    )
    assert not figure.axes[0].lines[3:]  # three groups of points, and no fit
    assert [text for _, text in legend] == ["a system"]


def test_systems_in_no_fit_are_named_with_the_reason():
    early = systems("1970-01-01", 2).assign(system=["first", "second"])
    late = systems("2016-01-01", 40, months=1e12, sd=0.1)
    late.loc[20, ["system", "value_flop"]] = ["fallen", 1.0]
    text = str(trends(estimated(early, late), n_draws=100).growth)
    assert "3 are in no fit: 1 low outlier (fallen) and 2 in an era" in text
    assert "too small for a fit (first and second)." in text


def test_a_doubling_time_names_its_subset_and_period():
    early, late = systems("2012-01-01", 30), systems("2016-01-01", 30)
    found = trends(estimated(early, late), subset="language", start="2015-09-01", n_draws=100)
    assert str(found).startswith("made (language), 2016-01 to 2018-0")
    assert set(found.frame["era_start"]) == {"2015-09-01"}
    both = trends(estimated(early, late), n_draws=100)
    assert "era and group" in both.tables["trends"].caption.plain()
    assert "In the last era, with one choice" in str(both.sensitivity)


def test_the_fit_is_drawn_again_with_the_same_seed():
    made = estimated(systems("2016-01-01", 40))
    first, second = (trends(made, n_draws=100).numbers for _ in range(2))
    assert first == second


def test_each_trend_has_mark_and_band_in_its_colour():
    dates = pd.to_datetime(["2016-01-01", "2018-01-01", "2020-01-01"])
    points = pd.DataFrame({"system": list("abc"), "date": dates, "flop": [1e20, 1e22, 1e25]})
    points = points.assign(low_outlier=False, large_scale=[False, False, True])
    ends = {"start_flop": 1e20, "end_flop": 1e24, "start_low": 1e19, "start_high": 1e21}
    ends |= {"end_low": 1e23, "end_high": 1e25, "first": dates[0], "last": dates[2]}
    grown = {"established": True, "doubling_months": 6.0}
    lines = pd.DataFrame(
        [{"group": group, "n": 9, **ends, **grown} for group in ("all", "regular scale", "large scale")]
    )
    with mpl.rc_context({"figure.figsize": (WIDE, 1)}):
        figure, legend = draw_trends(lines, points)
    assert dict(map(reversed, legend)) == {"a system": ("o", SERIES[0]), "large scale": ("s", SERIES[1])}
    (axes,) = figure.axes
    said = {text.get_text(): text.get_color() for text in axes.texts}
    assert said["large-scale systems doubled every 6.0 months"] == SERIES[1]
    assert {"a", "c"} <= set(said)
    assert axes.lines[-1].get_linestyle() == "--"
    colours = [tuple(band.get_facecolor()[0][:3]) for band in axes.collections]
    assert len(colours) == 3
    assert colours[0] == colours[1] != colours[2]


def test_many_systems_are_thinned_and_the_extremes_stay():
    made = systems("2016-01-01", 2_000, months=1e12, sd=0.1).assign(flop=lambda frame: frame["value_flop"])
    points = made.assign(low_outlier=False, large_scale=False)
    points.loc[777, "flop"] = 1e40
    figure, legend = draw_trends(trends(estimated(made), n_draws=100).frame, points)
    drawn = sum(len(line.get_xdata()) for line in figure.axes[0].lines[:3])
    assert MAX_POINTS <= drawn < MAX_POINTS + 20
    assert max(max(line.get_ydata(), default=0) for line in figure.axes[0].lines[:3]) == 1e40
    assert legend[-1][1].endswith("of 2,000 systems are drawn")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start": "soon"}, "`start` must be a date like 2015-09-01, got 'soon'"),
        ({"subset": "best"}, "`subset` must be records, largest N, or one of language, got 'best'"),
        ({"n_draws": 5}, "`n_draws` must be at least 100, got 5"),
    ],
)
def test_unusable_arguments_are_named(arguments, message):
    with pytest.raises(ParameterError) as raised:
        trends(estimated(systems("2016-01-01", 20)), **arguments)
    assert message in str(raised.value)
