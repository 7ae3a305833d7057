"""Dates of a column: the order of day and month is that of the column, or is not guessed."""

import pytest

from traincost.estimation.dates import in_iso


@pytest.mark.parametrize(
    ("texts", "dates"),
    [
        (["2/14/2019", "6/11/2020"], ["2019-02-14", "2020-06-11"]),
        (["14/2/2019", "11/6/2020"], ["2019-02-14", "2020-06-11"]),
        (["14.02.2019", "11.06.2020"], ["2019-02-14", "2020-06-11"]),
        (["3/3/2020"], ["2020-03-03"]),
        (["Feb 14, 2019", "14 February 2019", "June 2020"], ["2019-02-14", "2019-02-14", "2020-06"]),
        (["2020-06-11", "2020", "soon", ""], ["2020-06-11", "2020", "soon", ""]),
    ],
)
def test_dates_of_a_column_are_read_in_its_order(texts, dates):
    assert in_iso(texts) == (dates, {})


def test_an_order_that_no_date_tells_is_not_guessed():
    _, problems = in_iso(["4/5/2020", "6/7/2021", "2020-01-01", "5/5/2020"])
    assert sorted(problems) == [0, 1]
    assert all("is ambiguous, day or month first" in reason for reason in problems.values())


def test_two_orders_in_one_column_are_a_contradiction():
    _, problems = in_iso(["14/2/2019", "2/14/2019"])
    assert sorted(problems) == [0, 1]
