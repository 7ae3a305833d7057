"""What a card answers first: the doubling time, or the total of one's own runs; and links only to papers."""

import re

import numpy as np
import pandas as pd
import pytest
from conftest import HOSTILE, record, write_run

import traincost as tc
from traincost.results import html
from traincost.results.card import card
from traincost.results.estimate_tables import arxiv, estimates_table
from traincost.results.estimates import estimate
from traincost.results.trends import trends


def sheet(folder, n, months=6.0, name="System", source="arXiv:2007.05558", stated=None):
    """Write a CSV of systems whose compute doubles every so many months."""
    dates = pd.date_range("2016-01-01", periods=n, freq="30D")
    noise = np.random.default_rng(0).normal(0, 0.1, n)
    flop = 1e20 * 2.0 ** ((dates - dates[0]).days / 30.4 / months) * 10**noise
    frame = pd.DataFrame({"System": [f"{name} {i}" for i in range(n)], "Publication date": dates})
    frame = frame.assign(**{"Training compute (FLOP)": flop, "Link": source})
    path = folder / "systems.csv"
    frame.to_csv(path, index=False)
    return path


def runs_with_compute(folder, n):
    stages = [{"name": "t", "epochs": 1, "flops_per_pass": 1e9, "passes_per_epoch": 10}]
    for i in range(n):
        write_run(folder / f"r{i}", record(f"{HOSTILE}{i}", runtime_s=50.0 + i, compute={"stages": stages}))
    return folder


def test_growth_that_is_established_is_the_headline(tmp_path):
    e = estimate(sheet(tmp_path, 30))
    made = card(e, trends(e, n_draws=100)).answer
    headline, lead, *_ = (sentence.plain() for sentence in made.sentences)
    assert re.fullmatch(r"Training compute doubled every \d\.\d months \(\d\.\d to \d\.\d\)", headline)
    assert lead.startswith("30 systems, from ")
    assert "trend" in made.figures
    assert made.data()["summary"][0] == headline


def test_without_growth_nothing_is_claimed_of_it(tmp_path):
    e = estimate(sheet(tmp_path, 3))
    text = str(card(e, trends(e, n_draws=100)))
    assert text.startswith("3 systems took from ")
    assert "doubl" not in text
    assert str(card(e)).startswith("3 systems took from ")


def test_the_total_is_that_of_ones_own_runs_alone(tmp_path):
    e = estimate(runs_with_compute(tmp_path, 4))
    made = card(e, trends(e, n_draws=100))
    assert str(made).startswith("4 runs took ")
    assert "together" in str(made)
    assert made.numbers["estimates.total_flop"] == pytest.approx(e.frame["value_flop"].sum())
    assert "<b>" not in made.html()
    (tmp_path / "one").mkdir()
    one = str(card(estimate(runs_with_compute(tmp_path / "one", 1))))
    assert re.match(r".*0 took .* FLOP", one)


def test_a_card_is_cited_with_its_data_period_and_method(tmp_path):
    e = estimate(sheet(tmp_path, 30))
    (said,) = card(e, trends(e, n_draws=100)).cite.sentences
    text = said.plain()
    for part in (
        f"traincost {tc.__version__}, systems",
        "of 30 systems, 2016 to 2018",
        "doubling time",
        "arXiv:2202.05924",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("arXiv:2407.21783", "https://arxiv.org/abs/2407.21783"),
        ("Brown et al., arXiv:2005.14165v4, table D.1", "https://arxiv.org/abs/2005.14165v4"),
        ("javascript:alert(1)//arXiv:x", ""),
        ("https://example.org/2407.21783", ""),
        ("", ""),
    ],
)
def test_a_link_is_the_address_of_a_paper_or_none(source, address):
    assert arxiv(source) == address


def test_estimates_have_points_on_a_log_scale_and_links(tmp_path):
    e = estimate(sheet(tmp_path, 5, name="<b>", source="see arXiv:2007.05558"))
    made = html.table(estimates_table(e.frame))
    assert made.count("<circle") == 5
    assert '<a href="https://arxiv.org/abs/2007.05558">&lt;b&gt; 0</a>' in made
    places = [float(x) for x in re.findall(r'cx="([\d.]+)%"', made)]
    assert all(0 <= place <= 100 for place in places)
    assert len(set(places)) == 5
    assert "address" not in e.tables["estimates"].data.columns


def test_a_card_does_not_grow_with_its_systems(tmp_path):
    e = estimate(sheet(tmp_path, 2_000, months=1e9))
    drawn = e.figures["estimates"].drawing().svg
    assert len(e.html()) < 200_000
    assert len(drawn) < 60_000
