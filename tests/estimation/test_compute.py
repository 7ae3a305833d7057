"""Equations, conversion and combination, against hand-made and published numbers."""

import math

import numpy as np
import pandas as pd
import pytest
from conftest import REFERENCE

from traincost.estimation import compute, trends
from traincost.estimation.accelerators import PRECISIONS, PROCESSORS, find, rate_of, why_unknown
from traincost.estimation.compute import Stage

COMPUTE = REFERENCE / "compute"


def test_network_operations_sum_over_stages():
    stages = [Stage(epochs=3, flops_per_pass=1e9, passes_per_epoch=60_000), Stage(1, 2e9, 10, 3, "tuning")]
    assert compute.network_operations(stages) == 3 * 1e9 * 60_000 + 3 * 2e9 * 10


def test_hardware_burden_is_processors_rate_and_time():
    assert compute.hardware_burden([Stage(processors=8, rate_flops_per_s=1e14, time_s=3600)]) == 8e14 * 3600


def test_multiply_adds_are_doubled_and_never_taken_for_flop():
    stage = Stage(epochs=1, multiply_adds_per_pass=5e8, passes_per_epoch=10)
    assert compute.network_operations([stage]) == 1e10
    with pytest.raises(ValueError, match="are both given; one multiply-add is two FLOP"):
        compute.network_operations([Stage(1, 1e9, 10, multiply_adds_per_pass=5e8)])


def test_counted_operations_stand_alone():
    stages = [Stage(counted_flop=5e12), Stage(1, 1e9, 10)]
    assert compute.network_operations(stages) == 5e12 + 1e10
    with pytest.raises(ValueError, match="counted_flop is given, so leave out epochs, passes_per_epoch"):
        compute.network_operations([Stage(epochs=1, passes_per_epoch=2, counted_flop=5e12)])
    with pytest.raises(ValueError, match="`counted_flop` must be a number, got 'many'"):
        compute.network_operations([Stage(counted_flop="many")])


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        ({"flops_per_pass": 1, "passes_per_epoch": 1, "name": "pre"}, "stage 'pre': `epochs` is missing"),
        (
            {"epochs": -1, "flops_per_pass": 1, "passes_per_epoch": 1},
            "`epochs` must be finite and not negative",
        ),
        ({"epochs": math.nan, "flops_per_pass": 1, "passes_per_epoch": 1}, "`epochs` must be finite"),
        ({"epochs": "3", "flops_per_pass": 1, "passes_per_epoch": 1}, "`epochs` must be a number, got '3'"),
        ({"epochs": 1, "passes_per_epoch": 1}, "`flops_per_pass` is missing"),
        ({"epochs": 1, "flop": 1}, "unknown field 'flop'"),
    ],
)
def test_a_stage_that_cannot_be_used_is_named(stage, message):
    with pytest.raises(ValueError, match=message):
        compute.network_operations([stage])


def test_no_stage_is_refused():
    with pytest.raises(ValueError, match="`stages` is empty"):
        compute.network_operations([])
    with pytest.raises(ValueError, match="`rate_flops_per_s` is missing"):
        compute.hardware_burden([Stage(processors=1, time_s=1)])


def test_language_models():
    assert compute.language_model_operations(175e9, 300e9) == pytest.approx(3.15e23)
    assert compute.language_model_operations(10, 5, frozen_parameters=4) == (6 * 6 + 2 * 4) * 5
    with pytest.raises(ValueError, match=r"`frozen_parameters` .* exceeds"):
        compute.language_model_operations(1, 5, 4)


def test_combination_is_the_geometric_mean_at_utilisation():
    estimate = compute.combine(1.14e23, 8.6951854e22 / 0.4, utilisation=0.4)
    assert estimate.value_flop == pytest.approx(9.956e22, rel=1e-4)
    assert estimate.band == compute.NOMINAL
    assert not estimate.flags
    assert compute.combine(1e20, 1e21).flags == ("utilisation assumed",)


def test_a_combined_band_holds_both_measures():
    estimate = compute.combine(1e20, 1e23, utilisation=0.5)
    assert estimate.low_flop == 1e20
    assert estimate.high_flop == 5e22
    assert estimate.band == compute.WIDENED


@pytest.mark.parametrize("utilisation", [0, -0.1, 1.1, 72])
def test_a_utilisation_is_a_fraction(utilisation):
    with pytest.raises(ValueError, match="`utilisation`"):
        compute.combine(1e20, 1e21, utilisation)


def test_conversion_recovers_a_line_and_its_interval_covers():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(300):
        x = rng.uniform(18, 24, 12)
        y = 2 + 0.9 * x + rng.normal(0, 0.4, 12)
        fit = compute.fit_conversion(10 ** x[:-1], 10 ** y[:-1])
        estimate = compute.to_hardware_burden(10 ** x[-1], fit)
        hits += estimate.low_flop <= 10 ** y[-1] <= estimate.high_flop
    assert 0.92 <= hits / 300 <= 0.98
    assert estimate.derived
    assert estimate.inputs["fit_n"] == 11


def test_a_converted_value_outside_the_fitted_range_is_flagged():
    fit = compute.fit_conversion([1e20, 1e21, 1e22], [1e21, 2e22, 1e23])
    assert compute.to_hardware_burden(1e25, fit).flags == ("outside the fitted range",)
    assert compute.to_hardware_burden(1e21, fit).flags == ()
    with pytest.raises(ValueError, match="needs three pairs"):
        compute.fit_conversion([1e20, np.nan, 1e21], [1e20, 1e21, 1e22])


@pytest.mark.parametrize(("counter", "factor"), [("torch", 1), ("fvcore", 2), ("thop", 2), ("calflops", 1)])
def test_counters(counter, factor):
    assert compute.flop_from_counter(1e9, counter) == factor * 1e9
    with pytest.raises(ValueError, match="`counter` must be one of torch"):
        compute.flop_from_counter(1, "mystery")


# -- processors ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("NVIDIA Tesla V100", "NVIDIA Tesla V100 SXM2"),
        ("V100-PCIe", "NVIDIA Tesla V100 PCIe"),
        ("NVIDIA A100 SXM4 80GB", "NVIDIA A100 80GB SXM4"),
        ("A100 80GB PCIe", "NVIDIA A100 80GB PCIe"),
        ("Google TPU v3", "Google TPU v3"),
        ("TPUv4", "Google TPU v4"),
        ("H100 80 GB", "NVIDIA H100 SXM5"),
        ("8xV100", "NVIDIA Tesla V100 SXM2"),
        ("NVIDIA H100 80GB PCIe", "NVIDIA H100 PCIe"),
        ("V100S", "NVIDIA Tesla V100S PCIe"),
        ("NVIDIA A100, NVIDIA H100 SXM5", None),
        ("H100 or A100", None),
        ("A100 SXM4 40 GB, A100 SXM4 80 GB", "NVIDIA A100 40GB SXM4"),
        ("A1000", None),
        ("titan", None),
        ("abacus", None),
    ],
)
def test_processors_by_the_names_of_papers(name, found):
    processor = find(name)
    assert (processor and processor.name) == found


def test_a_rate_says_what_it_fell_back_to():
    rate = rate_of("A100")
    assert rate.flop_per_s == 312e12
    assert "bf16, dense, per module" in rate.note
    assert "vendor" in rate.confidence
    assert "no fp8 rate is known" in rate_of("A100", "fp8").note
    assert "no laptop variant is known" in rate_of("RTX 4090 Laptop GPU").note
    assert "variant" not in rate_of("H100 PCIe").note
    assert rate_of("unheard of") is None
    with pytest.raises(ValueError, match="`precision` must be one of"):
        rate_of("A100", "half")


def test_a_rate_is_dense_and_of_the_precision_used():
    assert rate_of("RTX 4090").flop_per_s == 1.652e14  # with fp32 accumulation, not sparse
    assert rate_of("H200").flop_per_s == 9.894e14
    assert rate_of("H800", "fp8").flop_per_s == 1.9789e15
    assert rate_of("P100").precision == "fp32"  # no tensor cores
    assert not rate_of("P100").has_tensor_cores
    assert not rate_of("V100", "fp32").has_tensor_cores


@pytest.mark.parametrize(
    ("name", "units"),
    [
        ("TPU v3 cores", 0.5),
        ("v3-256 TPU v3", 128),
        ("v5litepod-16", 16),
        ("MI250X GCD", 0.5),
        ("8x A100 node", 8),
        ("DGX A100", 8),
        ("TPU v5e core", 1),
    ],
)
def test_cores_dies_slices_and_nodes_are_told_from_chips(name, units):
    chip = {"T": "TPU v3", "v": "TPU v3", "M": "MI250X chip", "8": "A100", "D": "A100"}[name[0]]
    chip = "TPU v5e" if "v5" in name else chip
    assert rate_of(name).flop_per_s == pytest.approx(units * rate_of(chip).flop_per_s)


def test_a_node_of_unknown_size_is_asked_about():
    assert rate_of("A100 node") is None
    assert "how many chips has it? Write it as '8x A100 node'" in why_unknown("A100 node")
    assert rate_of("K80").by_halves
    assert not rate_of("K80 board").by_halves
    assert rate_of("A100, H100").low < rate_of("A100, H100").flop_per_s < rate_of("A100, H100").high


def test_an_unknown_processor_names_the_nearest():
    assert why_unknown("Mystery 9000").startswith("no rate for 'Mystery 9000'")
    assert "NVIDIA H100 SXM5" in why_unknown("H10")
    assert "no dense rate of Cerebras WSE-3 (CS-3) is known" in why_unknown("CS-3")


def test_the_table_is_whole():
    aliases = [alias for p in PROCESSORS for alias in p.aliases]
    assert len(PROCESSORS) == 101
    assert len(aliases) == len(set(aliases))
    for p in PROCESSORS:
        assert p.confidence
        assert p.unit
        assert set(p.rates) <= set(PRECISIONS)
        assert all(1e10 < rate < 1e16 for rate in p.rates.values())


@pytest.mark.reference
def test_named_hardware_of_the_database_has_a_rate():
    named = pd.read_csv(COMPUTE / "epoch_all_systems_2025-08.csv")["Training hardware"].dropna()
    assert named.map(rate_of).notna().mean() >= 0.95


# -- the released data of 2007.05558 ------------------------------------------------------------


@pytest.fixture(scope="module")
def imagenet():
    table = pd.read_csv(COMPUTE / "imagenet_2007.05558.csv").iloc[3:].reset_index(drop=True)
    names = table.pop("name")
    return table.apply(pd.to_numeric, errors="coerce").assign(name=names)


@pytest.mark.reference
def test_the_published_conversion(imagenet):
    fit = compute.fit_conversion(imagenet["network_operations"], imagenet["hardware_burden"])
    assert fit.n == 11
    assert fit.intercept == pytest.approx(3.133667, abs=1e-6)
    assert fit.slope == pytest.approx(0.871570, abs=1e-6)
    assert round(fit.r_squared, 4) == 0.8511
    assert round(fit.r_squared_adjusted, 4) == 0.8346
    assert round(fit.slope_se, 3) == 0.122
    assert round(10 ** fit.interval(fit.x_mean)) == 21
    assert round(10 ** fit.interval(fit.x_high)) == 36


@pytest.mark.reference
def test_equation_1_gives_the_stored_operations(imagenet):
    flop = imagenet["flops"].fillna(2 * imagenet["multiadds"])
    ratios = {}
    for i, row in imagenet.iterrows():
        stages = [
            Stage(row[f"{s}_epochs"], flop[i], row[f"{s}_set_size"], row["fp_bp_ratio"], s)
            for s in ("pretraining", "training", "finetuning")
            if row[f"{s}_epochs"] > 0 and row[f"{s}_set_size"] > 0
        ]
        if stages and row["network_operations"] > 0 and flop[i] > 0:
            ratios[row["name"]] = compute.network_operations(stages) / row["network_operations"]
    assert len(ratios) == 76
    apart = [name for name, ratio in ratios.items() if abs(ratio - 1) > 0.02]
    assert apart == ["CSWin-L (384 res,ImageNet-22k pretrain)"]


@pytest.mark.reference
def test_equation_2_gives_the_stored_burden(imagenet):
    ratios = []
    for _, row in imagenet[imagenet["hardware_burden"] > 0].iterrows():
        stages = []
        for stage in ("pretraining", "training", "finetuning"):
            for kind in ("gpu", "tpu", "cpu"):
                amount, gflops = row[f"{stage}_{kind}_amount"], row[f"{stage}_{kind}_ptp_gflops"]
                if amount > 0 and gflops > 0 and row[f"{stage}_time_total_sec"] > 0:
                    seconds = row[f"{stage}_time_total_sec"]
                    stages.append(
                        Stage(processors=amount, rate_flops_per_s=gflops * 1e9, time_s=seconds, name=stage)
                    )
        ratios.append(compute.hardware_burden(stages) / row["hardware_burden"])
    assert len(ratios) == 36
    assert np.abs(np.array(ratios) - 1).max() < 0.10


@pytest.mark.reference
def test_the_impossible_utilisation_is_seen(imagenet):
    ratio = (imagenet["network_operations"] / imagenet["hardware_burden"]).dropna()
    assert len(ratio) == 11
    assert ratio.max() == pytest.approx(1.765, abs=5e-4)
    assert imagenet["name"][ratio.idxmax()] == "ResMLP-B24"
    assert ratio.min() == pytest.approx(0.044, abs=5e-4)


@pytest.mark.reference
@pytest.mark.parametrize(
    ("column", "n", "slope", "r_squared", "exponent", "reverse"),
    [
        ("forward", 110, -0.082107, 0.6064, 12.18, 7.4),
        ("network_operations", 77, -0.083609, 0.7204, 11.96, 8.6),
        ("hardware_burden", 36, -0.093331, 0.7662, 10.71, 8.2),
    ],
)
def test_published_error_fits(imagenet, column, n, slope, r_squared, exponent, reverse):
    data = imagenet.assign(forward=imagenet["flops"].fillna(2 * imagenet["multiadds"]))
    found = trends.exponents(1 - data["(TOP 1 score)"] / 100, data[column])
    assert found["n"] == n
    assert found["slope"] == pytest.approx(slope, abs=1e-6)
    assert round(found["r_squared"], 4) == r_squared
    assert round(found["error_on_compute"], 2) == exponent
    assert round(found["compute_on_error"], 1) == reverse


@pytest.mark.reference
def test_published_projections(imagenet):
    operations, burden = imagenet["network_operations"], imagenet["hardware_burden"].copy()
    fit = compute.fit_conversion(operations, burden)
    missing = burden.isna() & operations.notna()
    burden[missing] = [compute.to_hardware_burden(x, fit).value_flop for x in operations[missing]]
    error = 1 - imagenet["(TOP 1 score)"] / 100
    polynomial = trends.fit_error(error, burden)
    exponential = trends.fit_error(error, burden, "exponential")
    assert (polynomial.n, round(polynomial.slope, 6), round(polynomial.r_squared, 4)) == (
        102,
        0.090756,
        0.6936,
    )
    assert (round(exponential.slope, 6), round(exponential.intercept, 6)) == (1.282519, -19.852815)
    projected = trends.project(polynomial, 0.01)
    assert round(projected["log10_flop"], 2) == 33.80
    assert (round(projected["low"], 1), round(projected["high"], 1)) == (31.7, 36.4)
    assert round(projected["orders_beyond"]) == 10
    projected = trends.project(exponential, 0.01, "exponential")
    assert round(projected["log10_flop"], 2) == 93.45
    assert (round(projected["low"]), round(projected["high"])) == (86, 103)
    assert round(projected["orders_beyond"]) == 70
