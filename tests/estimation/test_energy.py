"""Energy, CO₂ and money: published checks, what is assumed with its range, and the traps of tools' files."""

import csv

import numpy as np
import pytest
import yaml

from traincost.errors import NothingToReport, ParameterError
from traincost.estimation import energy, systems
from traincost.results.energy import emissions
from traincost.results.estimates import estimate


def of(region="", prices=None, **figures):
    listed = [{"system": "a", "date": "2023-01-01", "domain": "language", "source": "x", "figures": figures}]
    frame = systems.from_sheet(yaml.safe_dump({"systems": listed}), "sheet").frame
    return energy.estimate_energy(frame, region, prices).iloc[0]


@pytest.mark.parametrize(
    ("hours", "watts", "pue", "mwh"),
    [
        (1_720_320, 400, 1.0, 688.1),  # Llama 2 70B
        (368_640, 400, 1.0, 147.5),
        (184_320, 400, 1.0, 73.7),
        (1_022_362, 400, 1.1, 449.8),  # LLaMA-65B: printed 449
        (6_400_000, 700, 1.0, 4480),  # Llama 3 70B
        (30_840_000, 700, 1.0, 21588),  # Llama 3.1 405B
        (1_082_990, 400, 1.0, 433.196),  # BLOOM
        (5_000_000, 700, 1.0, 3500),  # Llama 4 Scout
    ],
)
def test_published_energies_by_the_convention_of_model_cards(hours, watts, pue, mwh):
    assert energy.by_tdp(hours, watts, pue) / 1000 == pytest.approx(mwh, rel=1e-3)


def test_published_emissions():
    llama_2 = energy.by_tdp(1_720_320, 400, pue=1.1)  # the card applies PUE to the emissions alone
    assert energy.co2_kg(llama_2, 385) / 1000 == pytest.approx(291.42, rel=1e-3)
    llama_65 = energy.by_tdp(1_022_362, 400, pue=1.1)
    assert energy.co2_kg(llama_65, 385) / 1000 == pytest.approx(173, rel=2e-3)
    bloom = energy.by_tdp(1_082_990, 400)
    assert energy.co2_kg(bloom, energy.intensity("France").g_per_kwh) / 1000 == pytest.approx(24.7, rel=0.03)


def test_what_is_stated_comes_before_what_is_assumed():
    given = {"processor": "A100", "processor_hours": "1,082,990", "energy_kwh": "433,196", "region": "France"}
    found = of(**given)
    assert (found["evidence"], found["energy_kwh"]) == ("stated", 433196)
    assert found["energy_low"] == found["energy_high"] == 433196
    assert found["co2_kg"] == pytest.approx(433196 * 0.056)
    found = of(processor="A100", processor_hours=1_000_000)
    assert (found["evidence"], found["boundary"]) == ("by TDP", "whole facility")
    assert found["energy_kwh"] == pytest.approx(1e6 * 0.4 * 0.75 * 1.5 * 1.2)
    assert found["energy_low"] < 0.8 * found["energy_kwh"] < 1.2 * found["energy_kwh"] < found["energy_high"]
    assert np.isnan(found["co2_kg"])
    small = of(processor="A100", processor_hours=100)
    assert small["energy_kwh"] == pytest.approx(100 * 0.4 * 0.6 * 1.5 * 1.2)
    assert of(processor="A100", processor_hours=100, power_w="250 W")["energy_kwh"] == pytest.approx(
        25 * 1.08
    )


@pytest.mark.parametrize(
    ("named", "processors", "device", "devices"),
    [
        ("8x A100 node", 12, "A100", 96),
        ("TPU v3 cores", 256, "TPU v3", 128),
        ("MI250X GCD", 256, "MI250X", 128),
    ],
)
def test_hours_of_nodes_and_cores_are_hours_of_devices(named, processors, device, devices):
    price = {"A100": (1, 2), "TPU v3": 1, "MI250X": 1}
    columns = ["device_hours", "energy_kwh", "energy_low", "energy_high", "money_low", "money_high"]
    one = of(processor=named, processors=processors, time_s="168 h", prices=price)
    other = of(processor=device, processors=devices, time_s="168 h", prices=price)
    assert list(one[columns]) == pytest.approx(list(other[columns]))
    hours = of(processor=named, processor_hours=processors * 168, prices=price)
    assert hours["energy_kwh"] == pytest.approx(one["energy_kwh"])


def test_a_stated_power_is_of_what_is_named():
    node = of(processor="8x A100 node", processors=2, time_s="1000 h", power_w=6000)
    cards = of(processor="A100", processors=16, time_s="1000 h", power_w=750)
    assert node["energy_kwh"] == pytest.approx(cards["energy_kwh"])


def test_money_is_a_range_of_the_users_own_prices():
    found = of(prices={"A100": [0.8, 3.0], "A100 80GB": 2.0}, processor="A100 40GB", processor_hours=10)
    assert (found["money_low"], found["money_high"]) == (8, 30)
    found = of(
        prices={"A100": [0.8, 3.0], "A100 80GB": 2.0}, processor="NVIDIA A100 80GB", processor_hours=10
    )
    assert (found["money_low"], found["money_high"]) == (20, 20)
    assert np.isnan(of(prices={"H100": 2}, processor="A100", processor_hours=10)["money_low"])


@pytest.mark.parametrize("prices", [{"A100": 0}, {"A100": [3, 1]}, {"A100": "cheap"}, {"A100": [1, 2, 3]}])
def test_prices_that_are_none_are_refused(prices):
    with pytest.raises(ParameterError, match="`prices`: 'A100' must be a price"):
        energy.check_prices(prices)


@pytest.mark.parametrize(
    ("name", "g"), [("FRANCE", 56), ("fra", 56), ("us-west1", 94), ("Norway", 30), ("UK", 238)]
)
def test_grids_by_the_names_they_have(name, g):
    found = energy.intensity(name)
    assert found.g_per_kwh == g
    assert found.source
    assert found.year or found.kind == "google"


def test_an_unknown_grid_names_the_nearest():
    with pytest.raises(ParameterError, match="got 'Frnce'; the nearest are France"):
        energy.intensity("Frnce")


def test_a_region_that_a_sheet_misspells_is_named(tmp_path):
    figures = {"energy_kwh": 5, "region": "Atlantis", "stated_compute_flop": 1e20}
    listed = [{"system": "a", "date": "2023", "figures": figures}]
    (tmp_path / "s.yaml").write_text(yaml.safe_dump({"systems": listed}))
    found = estimate(tmp_path / "s.yaml")
    assert "got 'Atlantis'" in found.estimates.tables["rejected"].frame["reason"].iloc[0]
    assert "No region is known" in str(found.energy)


def test_the_card_says_what_energy_is_of_and_leaves_out(tmp_path):
    figures = {"processor": "H100", "processor_hours": "30.84M", "stated_compute_flop": 1e20}
    listed = [{"system": "a", "date": "2023", "figures": figures}]
    (tmp_path / "s.yaml").write_text(yaml.safe_dump({"systems": listed}))
    found = estimate(tmp_path / "s.yaml", region="United States", prices={"H100": [2, 7]})
    text = str(found.energy)
    assert "1 system took 30,840,000 device-hours." in text
    assert "GWh in all" in text
    assert "of CO₂-equivalent" in text
    assert "cost 61,680,000 to 215,880,000" in text
    assert "Left out are idle and failed stretches" in text
    with pytest.raises(ParameterError, match="`region` must be a country"):
        estimate(tmp_path / "s.yaml", region="Atlantis")


# -- files of tools ----------------------------------------------------------------------------------------


HEADER = (
    "timestamp,project_name,run_id,duration,emissions,cpu_power,gpu_power,ram_power,cpu_energy,gpu_energy,"
)
HEADER += "ram_energy,energy_consumed,country_name,cpu_model,gpu_model,tracking_mode\n"


def test_codecarbons_file_is_read_without_its_traps(tmp_path):
    rows = [
        "2024-01-01T10:00:00,p,r1,1800,0.1,42.5,929,377,0.02,0.3,0.1,0.42,France,c,g,machine",
        "2024-01-01T10:30:00,p,r1,3600,0.2,42.5,929,377,0.04,0.6,0.2,0.84,France,c,g,machine",  # its last row
        "2024-01-01T10:30:10,p,r2,3610,0.2,42.5,929,377,0.04,0.6,0.2,0.84,France,c,g,machine",  # another rank
        "2024-01-02T10:30:10,p,r3,3600,0.2,95,929,377,0.1,0.6,0.2,0.9,France,c,g,machine",
    ]
    path = tmp_path / "emissions.csv"
    path.write_text(HEADER + "\n".join(rows) + "\n")
    found = emissions(path)
    assert list(found.frame["run_id"]) == ["r1", "r3"]
    assert found.frame["gpu_w"].iloc[0] == pytest.approx(600)  # not the file's gpu_power
    assert found.frame["assumed_kwh"].tolist() == pytest.approx([0.24, 0.2])
    assert "42.5 W are a fall-back" in found.frame["note"].iloc[0]
    assert "Of 4 rows" in str(found)


def test_what_is_no_file_of_codecarbon_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(NothingToReport, match=r"it is no emissions\.csv of codecarbon"):
        emissions(tmp_path / "a.csv")


def test_older_files_lack_columns():
    rows = list(csv.DictReader(["duration,energy_consumed,gpu_energy", "10,0.5,", "bad,-1,0.2"]))
    found = energy.codecarbon(rows)
    assert found["energy_kwh"].iloc[0] == 0.5
    assert np.isnan(found["duration_s"].iloc[1])
