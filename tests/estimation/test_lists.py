"""Lists of systems as CSV: columns in all their spellings, what is not read, what is refused."""

import numpy as np
import pytest
from conftest import REFERENCE

from traincost.errors import NothingToReport
from traincost.estimation import estimates
from traincost.estimation.figures import date
from traincost.estimation.lists import from_csv
from traincost.estimation.systems import from_sheet
from traincost.results.systems import read_systems

COMPUTE = REFERENCE / "compute"


def reasons(reported):
    return {(row.system, row.column): row.reason for row in reported.rejected.itertuples()}


def test_columns_of_new_files_are_read_and_notes_are_not():
    text = (
        "Model,Organization,Publication date,Domain,Parameters,Parameters notes,Training compute (FLOP),"
        "Training compute notes,Training dataset size (total),Dataset size notes,Epochs,"
        "Training time (hours),Training time notes,Training hardware,Hardware quantity,"
        "Hardware utilization (MFU),Hardware utilization (HFU),Batch size,Batch size notes,"
        "Numerical format,Base model,"
        "Finetune compute (FLOP),Finetune compute notes,Confidence,Training power draw (W)\n"
        "A,x,2024-05-01,Language,7B,9e9 or so,,6e22 by us,2e12,3e12 in the notes,1,100,50,NVIDIA H100,64,"
        '0.4,0.5,4e6,1e6,"FP8,BF16",B,1e20,2e20,Confident,9000\n'
    )
    reported = from_csv(text, "new")
    row = reported.frame.iloc[0]
    assert (row["parameters"], row["dataset_tokens"], row["batch_size"]) == (7e9, 2e12, 4e6)
    assert (row["utilisation"], row["hfu"], row["precision"], row["base"]) == (0.4, 0.5, "fp8", "B")
    assert (row["finetune_compute_flop"], row["time_s"], row["confidence"]) == (1e20, 3.6e5, "confident")
    assert np.isnan(row["stated_compute_flop"])
    assert set(reported.unread) == {
        "Organization",
        "Parameters notes",
        "Training compute notes",
        "Dataset size notes",
        "Training time notes",
        "Batch size notes",
        "Finetune compute notes",
    }


def test_numbers_of_a_list_may_be_written_as_in_papers():
    text = "System,Publication date,Domain,Parameters,Training compute (FLOPs)\n"
    row = from_csv(text + "A,March 2023,Language,7B,3.14×10^23\n", "old").frame.iloc[0]
    assert (row["parameters"], row["stated_compute_flop"]) == (7e9, pytest.approx(3.14e23))
    assert f"{row['date']:%Y-%m}" == "2023-03"


def test_bad_rows_are_named_with_what_is_accepted():
    header = "Model,Publication date,Parameters,Training compute (FLOP),Hardware utilization (MFU)\n"
    rows = "a,2023-01-01,-5,1e20,\nb,2023-01-01,0,1e20,\nc,2199-01-01,5e9,1e20,46\n"
    rows += "a,2020-01-01 2021-01-01,1e9,many,\n"
    found = reasons(from_csv(header + rows, "bad"))
    assert found["a", "parameters"].startswith("must be above zero, got -5")
    assert found["b", "parameters"] == "must be above zero, got 0"
    assert "not in the future, got '2199-01-01'" in found["c", "date"]
    assert found["c", "utilisation"] == (
        "46 is above 1, which no processor reaches: write a percentage as 46% or 0.46; it is not used"
    )
    assert "must be one date such as" in found["a", "date"]
    assert "got 'many'; accepted is FLOP such as" in found["a", "stated_compute_flop"]
    assert found["a", "system"] == "is named in row 2, too; both are kept"


def test_a_size_without_its_unit_is_asked_about():
    figures = "{parameters: 7, tokens: '300', stated_compute_flop: 1e20}"
    found = reasons(from_sheet(f"systems: [{{system: a, date: 2020, figures: {figures}}}]", "s"))
    assert found["a", "parameters"] == "7 of what? Accepted is a count with its unit, such as 7B or 7e9"
    assert found["a", "tokens"].startswith("'300' of what?")


@pytest.mark.parametrize(
    ("text", "day"),
    [("March 2023", "2023-03-01"), ("14 March 2023", "2023-03-14"), ("Mar. 14, 2023", "2023-03-14")],
)
def test_dates_in_words(text, day):
    assert f"{date(text):%Y-%m-%d}" == day


@pytest.mark.parametrize("text", ["2199", "1 January 2150", "Marchember 2020", "March"])
def test_dates_that_cannot_be(text):
    with pytest.raises(ValueError, match="must be one date"):
        date(text)


def test_a_list_without_names_is_refused():
    with pytest.raises(NothingToReport, match="names no column System or Model"):
        from_csv("a,b\n1,2\n", "x")


@pytest.mark.reference
def test_the_released_file_of_2007_05558_is_read():
    reported = read_systems(COMPUTE / "imagenet_2007.05558.csv")
    frame = reported.frame
    assert frame["operations_flop"].gt(0).sum() == 77
    assert frame["burden_flop"].gt(0).sum() == 36
    assert (frame["flop_per_pass"].gt(0) | frame["multiply_adds_per_pass"].gt(0)).sum() == 110
    assert frame["error"].between(0, 1).sum() == frame["error"].notna().sum() > 110
    assert len(estimates.both_measures(estimates.estimate_systems(frame))) == 11
    assert reported.rejected["reason"].str.contains("row of units|reports nothing").sum() == 3
