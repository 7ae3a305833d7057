"""What the estimation card says of systems: sentences, tables and figures of `estimate`."""

import re

import pytest
import yaml
from conftest import REFERENCE, ROOT, record, write_run

from traincost.errors import NothingToReport, ParameterError
from traincost.results.estimates import estimate
from traincost.results.evidence import rates
from traincost.results.runs import read
from traincost.results.svg import MUTED
from traincost.results.trends import trends

COMPUTE = REFERENCE / "compute"
LANGUAGE = {"parameters": 1e9, "tokens": 1e10}
HARDWARE = {"processor": "NVIDIA V100", "processors": 8, "time_s": 3600}
SHORT = {"processor": "V100", "processors": 1, "time_s": 1000}  # 1.25e17 at the peak
LOW = {"operations_flop": 1e15, **SHORT}


@pytest.fixture(scope="module")
def demo():
    return read(ROOT / "notebooks/runs/demo-sweep")


@pytest.fixture
def of(tmp_path):
    """Return a function of systems, name to figures, to what `estimate` says of them."""

    def estimated(more=None, /, **systems):
        entries = [
            {"system": name, "date": "2020-01-01", "domain": "x", "source": "y", "figures": figures}
            for name, figures in systems.items()
        ]
        path = tmp_path / "sheet.yaml"
        path.write_text(yaml.safe_dump({"systems": entries, **(more or {})}), encoding="utf-8")
        return estimate(path)

    return estimated


def test_a_smallest_system_that_others_print_like_is_unnamed(of):
    totals = {"a": 2.91e20, "b": 2.94e20, "c": 7e20}
    found = of(**{name: {"stated_compute_flop": total} for name, total in totals.items()})
    span = "from 2.9 × 10²⁰ FLOP (2 systems alike in these digits) to 7.0 × 10²⁰ FLOP (c)."
    assert span in str(found.summary)


def test_totals_that_are_the_only_figure_are_counted_apart(of):
    stated = {"stated_compute_flop": 6e19}
    others = {"near": {**stated, **LANGUAGE}, "far": {"stated_compute_flop": 1, **LANGUAGE}}
    text = str(of(alone=stated, **others).summary)
    assert "A total is stated for 3 systems; for 1 it is the only figure there is." in text
    assert "Of the other 2, 1 lies within a factor of 3 of the next best evidence." in text
    assert "A total is stated for 2 systems. Of these 2, 1 lies" in str(of(**others).summary)


def test_counts_of_operations_that_systems_share_are_said(of):
    def said(shared):
        pairs = [
            {"operations_flop": 2.0 ** (i // shared) * 1e16, "burden_flop": 4e16 * 2.0 ** (i // shared) + i}
            for i in range(4)
        ]
        return str(of(**{f"s{i}": pair for i, pair in enumerate(pairs)}).conversion)

    assert "They have only 2 distinct counts of operations" in said(2)
    assert "Only" not in said(1)


@pytest.mark.parametrize(("spread", "is_explained"), [(1.01, False), (2.0, True)])
def test_an_interval_below_the_limit_is_explained(of, spread, is_explained):
    burdens = [4e20 * 10**i * spread**sign for i, sign in enumerate((1, -1, -1, 1))]
    figures = [{"operations_flop": 1e20 * 10**i, "burden_flop": burden} for i, burden in enumerate(burdens)]
    figure = of(**{f"s{i}": given for i, given in enumerate(figures)}).figures["conversion"]
    legend = figure.drawing().legend
    assert any("the fit knows nothing" in text for _, text in legend) == is_explained
    assert (MUTED, "dashed: equal; below it more work than the peak allows") in legend


def test_an_assumed_utilisation_is_told_from_a_stated_one(of):
    found = of(a=LOW, b=LOW).contradictions
    assert (
        "The two measures of 2 systems differ by more than a factor of 3 at the utilisation that is assumed"
        in str(found)
    )
    assert "None of the implied utilisations (2) is above one" in str(found)
    assert "two measures" in found.tables["contradictions"].caption.plain()
    text = str(of(a={**LOW, "utilisation": 0.5}).contradictions)
    assert "at the utilisation that is stated (a)" in text
    assert "assumed" not in text


def test_an_impossible_utilisation_is_said(of):
    found = of(a={**LOW, "operations_flop": 2e17}).contradictions
    assert "The implied utilisation of 1 system is above one, which is impossible" in str(found)
    assert "None of the implied" not in str(found)
    assert "two measures" not in found.tables["contradictions"].caption.plain()
    text = str(of(a={**LOW, "operations_flop": 4e16}).contradictions)
    assert "No contradiction was found among the figures. None of" in text.replace("\n", " ")


def test_rates_of_the_input_share_a_row(of):
    given = {f"r{i}": {"processors": 1, "time_s": 10, "rate_flop_per_s": i * 1e12} for i in (1, 2, 9)}
    found = of(**given, chip=HARDWARE, hourless={"processor": "NVIDIA V100", **LANGUAGE})
    chip, given = rates(found.frame).itertuples()
    assert (chip.size, chip.lowest_flop_per_s, chip.highest_flop_per_s) == (1, 125e12, 125e12)
    assert given.size == 3
    assert (given.lowest_flop_per_s, given.median_flop_per_s, given.highest_flop_per_s) == (1e12, 2e12, 9e12)
    assert found.tables["rates"].n_runs == 4


def test_what_the_time_of_a_burden_is_of_is_said(of, tmp_path):
    block = {"stages": [{"counted_flop": 1e10}], "processors": 2, "rate_flops_per_s": 1e9}
    write_run(tmp_path / "runs" / "whole", record("whole", compute=block, runtime_s=50.0))
    text = str(estimate(tmp_path / "runs").overview)
    assert "The hardware burden of 1 system takes the whole runtime of the run" in text
    assert "imply a utilisation of the whole run between 0.10" in text
    timed = {"counted_flop": 1e10, "processors": 2, "rate_flops_per_s": 1e9, "time_s": 20.0}
    write_run(tmp_path / "runs" / "stages", record("stages", compute={"stages": [timed]}, runtime_s=50.0))
    text = str(estimate(tmp_path / "runs").overview)
    assert "The hardware burden of 1 system takes the time of its training stages alone." in text
    assert "imply a utilisation between 0.10 and 0.25" in text
    text = str(of(a=HARDWARE, b=HARDWARE, c=LANGUAGE).overview)
    assert "The hardware burden of 2 systems takes the training time, or the burden itself" in text
    assert "whole runtime" not in text


def test_few_systems_say_what_cannot_be_said(of):
    found = of(**{"<b>one</b>": LANGUAGE, "two": HARDWARE})
    assert "neither is converted" in str(found.conversion)
    assert "Fewer than three systems report an error" in str(found.errors)
    assert "No contradiction was found" in str(found.contradictions)
    assert "so no trend is fitted" in str(trends(found))
    assert "<b>one</b>" not in found.html()


def test_an_error_that_does_not_fall_is_not_projected(of):
    def errors(*values):
        figures = [{"stated_compute_flop": 10.0 ** (16 + 2 * i), "error": e} for i, e in enumerate(values)]
        return of(**{f"s{i}": given for i, given in enumerate(figures)}).errors

    rising = errors(0.3, 0.301, 0.302, 0.303)
    assert "it is not established that the error falls" in str(rising)
    assert len(rising.tables["errors"].frame) == 4
    falling = errors(0.4, 0.21, 0.1, 0.051)
    assert "To reach an error of 1 %, the polynomial form 10" in str(falling)
    projected = falling.tables["errors"].frame.iloc[4]["value"]
    assert falling.numbers["projection.polynomial"] == pytest.approx(projected)


def test_what_a_sheet_leaves_out_is_text_on_the_page(of):
    found = of({"left_out": [{"system": "<b>x</b>", "reason": "unread"}]}, a=LANGUAGE)
    assert found.numbers["systems.n_left_out"] == 1
    assert "&lt;b&gt;x&lt;/b&gt;" in found.provenance.html().replace("<wbr>", "")
    assert "<b>x</b>" not in found.html()


def test_runs_that_were_read_are_estimated_without_reading_again(demo):
    found = estimate(demo)
    assert len(found.frame) == len(demo)
    assert found.of == "demo-sweep"
    some = demo.where(task_name=["sorting"])
    assert estimate(some).of == "demo-sweep: task_name=sorting"
    assert len(estimate(some).frame) == len(some)


def test_runs_without_compute_blocks_name_their_directory(tmp_path):
    write_run(tmp_path / "a", record("a"))
    with pytest.raises(NothingToReport, match=f"{tmp_path.name}' holds no run with a compute block"):
        estimate(read(tmp_path))


@pytest.mark.parametrize("target_error", [0.0, 1.0, 2.0])
def test_a_target_error_that_is_no_fraction_is_refused(of, target_error):
    with pytest.raises(ParameterError, match="`target_error` must be between 0 and 1"):
        estimate("sheet.yaml", target_error=target_error)


def test_the_card_of_the_shipped_sheet_hides_paths(published):
    page = published("milestones").read_text(encoding="utf-8")
    text = re.sub(r"<[^>]+>", "", page)
    assert str(ROOT) not in page
    assert page.count("<figure") == 2
    for sentence in ("compute doubles in", "is no evidence of two trends", "Printed claims differ"):
        assert sentence in text


@pytest.mark.slow
def test_the_card_does_not_grow_with_its_systems(tmp_path):
    def size(n):
        header = "Model,Publication date,Domain,Parameters,Training dataset size (total),"
        header += "Training compute (FLOP),Training hardware,Hardware quantity,Training time (hours),"
        header += "Hardware utilization (MFU),Base model\n"
        rows = [
            f"system {i},{2012 + i % 13}-01-01,Language,{1e7 * (1 + i % 977):.4g},1e{9 + i % 4},"
            f"1e{18 + i % 7},NVIDIA A100,{1 + i % 50},{10 + i % 300},{('', '0.4', '46')[i % 3]},"
            f"{('', f'system {i // 2}')[i % 2]}\n"
            for i in range(n)
        ]
        (tmp_path / "list.csv").write_text(header + "".join(rows))
        found = estimate(tmp_path / "list.csv")
        return len((found.html() + trends(found, n_draws=100).html()).encode())

    large = size(4000)
    assert large < 380 * 1024  # what stands around them takes less than 50 KiB
    assert large < 1.2 * size(1000)


# -- published fits, by the parameters of the card -------------------------------------------------------

IMAGENET = COMPUTE / "imagenet_2007.05558.csv"


def test_a_conversion_fitted_elsewhere_is_used_and_named(of, tmp_path):
    pairs = {
        f"s{i}": {"operations_flop": 10.0 ** (20 + i), "burden_flop": 4.0 * 10 ** (20 + i)} for i in range(4)
    }
    of(**pairs)
    (tmp_path / "sheet.yaml").rename(tmp_path / "pairs.yaml")
    of(a={"operations_flop": 1e21}, b={"operations_flop": 1e26})
    found = estimate(tmp_path / "sheet.yaml", conversion=tmp_path / "pairs.yaml").conversion
    assert "Over 4 systems of pairs with both measures" in str(found)
    said = "For 2 systems without a recorded hardware burden, the fit estimates it (1 lies outside"
    assert said in str(found)
    assert found.tables["derived"].frame["burden_flop"].iloc[0] == pytest.approx(4e21)
    with pytest.raises(NothingToReport, match=r"sheet\.yaml' has no three systems with both measures"):
        estimate(tmp_path / "pairs.yaml", conversion=tmp_path / "sheet.yaml")


def test_error_is_set_against_one_measure_at_a_time(of):
    def figures(i):
        return {
            "error": 0.5 / (i + 1),
            "operations_flop": 10.0 ** (17 + i),
            "burden_flop": 3.0 * 10 ** (17 + i),
        }

    found = of(**{f"s{i}": figures(i) for i in range(6)}, odd={"error": 0.4, "stated_compute_flop": 1e30})
    assert "Compute is network operations. Over 6 systems the error falls" in str(found.errors).replace(
        "\n", " "
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"measure": "size"}, "`measure` must be one of best, stated, operations"),
        ({"direction": "up"}, "`direction` must be one of error on compute"),
        ({"pairs": "some"}, "`pairs` must be one of consistent, all"),
    ],
)
def test_choices_that_are_none_are_refused(of, given, message):
    with pytest.raises(ParameterError, match=message):
        estimate("sheet.yaml", **given)


@pytest.mark.reference
@pytest.mark.parametrize(
    ("measure", "n", "exponent"),
    [("forward", 110, 12.18), ("operations", 77, 11.96), ("burden", 36, 10.71), ("consolidated", 102, 11.02)],
)
def test_the_error_fits_of_2007_05558(measure, n, exponent):
    found = estimate(IMAGENET, measure=measure, pairs="all")
    assert found.numbers["error.n"] == n
    assert found.numbers["error.exponent"] == pytest.approx(exponent, abs=0.005)
    if measure == "consolidated":
        assert found.numbers["error.n_derived"] == 66
        assert found.numbers["projection.polynomial"] == pytest.approx(33.80, abs=0.005)
        assert found.numbers["projection.exponential"] == pytest.approx(93.45, abs=0.005)


@pytest.mark.reference
def test_the_conversion_of_2007_05558():
    every = estimate(IMAGENET, pairs="all")
    assert every.numbers["conversion.n"] == 11
    assert every.numbers["conversion.intercept"] == pytest.approx(3.133667, abs=1e-6)
    assert every.numbers["conversion.slope"] == pytest.approx(0.871570, abs=1e-6)
    consistent = estimate(IMAGENET)
    assert consistent.numbers["conversion.n"] < 11  # ResMLP-B24 contradicts itself


@pytest.mark.reference
@pytest.mark.parametrize(
    ("options", "n", "months"),
    [
        ({}, [19, 20, 60, 19], [21.27, 5.30, 5.76, 10.67]),
        ({"split": "none"}, [19, 20, 79], [21.3, 5.3, 6.7]),
        ({"split": "none", "eras": ["2009-12-31"]}, [19, 99], [21.3, 5.6]),
    ],
)
def test_the_tables_of_2202_05924(options, n, months):
    systems = estimate(COMPUTE / "compute_trends_2022_123_systems.csv")
    found = trends(systems, end="2022-02-01", month_days=30, year_days=365, n_draws=100, **options).frame
    assert list(found["n"]) == n
    assert list(found["doubling_months"]) == pytest.approx(months, abs=0.06)


def test_eras_that_are_no_dates_in_order_are_refused(of):
    systems = of(a=LANGUAGE)
    for eras in (["2015-09-01", "2009-12-31"], ["soon"], [3]):
        with pytest.raises(ParameterError, match="`eras` must be"):
            trends(systems, eras=eras)


@pytest.mark.reference
def test_the_database_of_2022_gives_its_groups():
    found = trends(estimate(COMPUTE / "compute_trends_2022_123_systems.csv"), end="2022-02-01", n_draws=100)
    assert list(found.frame["n"]) == [19, 20, 60, 19]
    assert list(found.tables["trends"].frame["n"]) == [19, 20, 60, 19]
