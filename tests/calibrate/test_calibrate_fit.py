"""Fits: to laws that are known, to published figures, and with missing measurements."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import ringsched
from ringsched.calibrate.fit import Fit, calibration_of, fit_measurements, save_calibration
from ringsched.calibrate.measurements import Measurement, load_measurements
from ringsched.contention.sharing import model_of
from ringsched.errors import InputError
from ringsched.formats.calibration import load_calibration, write_calibration
from ringsched.model import Contention
from ringsched.model.calibration import Calibration, apply_calibration

MIB = 1.048576
FITTED = "[contention]\ndegradation = 0.2\n[intervals]\n"
# Wang et al. 2020, 10 GbE: latency of all-reduce over that of one alone, by MiB and jobs at a time.
WANG = {
    10: {2: 1.51, 4: 2.81, 8: 5.75, 16: 14.2},
    20: {2: 2.32, 4: 4.01, 8: 8.08, 16: 19.0},
    40: {2: 2.12, 4: 4.05, 8: 8.32, 16: 15.3},
}


def row(seconds: float, **changes: object) -> Measurement:
    given = {"servers": 2, "workers": 2, "concurrent": 1, "message_mb": 10.0} | changes
    return Measurement(seconds=seconds, **given)  # type: ignore[arg-type]


def law(
    *, gbps: float = 10.0, latency_s: float = 2e-4, loss: float = 0.0, noise: float = 0.0, seed: int = 0
) -> list[Measurement]:
    """Measurements of a network that is known, with relative noise."""
    draw = random.Random(seed)
    rows = []
    for servers, size_mb in [(2, 0.0001), (3, 0.0001), (2, 5.0), (2, 20.0), (4, 20.0)]:
        for _ in range(3):
            exchange_s = 2 * size_mb * 8e-3 * (servers - 1) / servers / gbps
            time_s = (exchange_s + latency_s * servers) * (1 + draw.gauss(0, noise))
            rows.append(row(time_s, servers=servers, workers=servers, message_mb=size_mb))
    for count in (2, 3, 4):
        for _ in range(3):
            factor = (count + loss * (count - 1)) * (1 + draw.gauss(0, noise))
            rows.append(row(0.016 * 10 / gbps * factor + 2 * latency_s, concurrent=count, message_mb=20.0))
    return rows


def published() -> list[Measurement]:
    alone_s = {size: 0.856e-3 * size * MIB for size in WANG}
    alone = [row(alone_s[size], message_mb=size * MIB) for size in WANG]
    return alone + [
        row(alone_s[size] * ratio, message_mb=size * MIB, concurrent=count)
        for size, ratios in WANG.items()
        for count, ratio in ratios.items()
    ]


def degradation(fit: Fit) -> float:
    assert fit.sharing is not None
    assert fit.sharing.degradation is not None
    return fit.sharing.degradation.value


def test_known_law_is_found() -> None:
    fit = fit_measurements(law(loss=0.3))
    assert fit.links.inter_server_gbps.value == pytest.approx(10.0)
    assert fit.links.server_latency_ms is not None
    assert fit.links.server_latency_ms.value == pytest.approx(0.2)
    assert degradation(fit) == pytest.approx(0.3)
    assert fit.verdict.startswith("linear is good up to 4 jobs")
    assert max(abs(each.relative) for each in fit.residuals) < 1e-9


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    held = 0
    for seed in range(100):
        found = fit_measurements(law(loss=0.3, noise=0.02, seed=seed)).links.inter_server_gbps
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 10.0 <= found.high
    assert held >= 88


def test_law_of_wang_et_al() -> None:
    rows = [
        row((0.856 * count + 0.235 * (count - 1)) * size * 1e-3, message_mb=size, concurrent=count)
        for count in (1, 2, 3, 4, 8)
        for size in (1.0, 10.0, 100.0)
    ]
    fit = fit_measurements(rows)
    assert round(degradation(fit), 4) == 0.2745
    calibration = calibration_of(fit)
    contention = Contention(share=calibration.share, degradation=calibration.degradation)
    assert round(model_of(contention).factor(4), 2) == 4.82


def test_ratios_of_wang_et_al_are_no_line_beyond_eight() -> None:
    fit = fit_measurements(published())
    assert fit.verdict == "linear is poor beyond 8, table chosen"
    calibration = calibration_of(fit)
    assert calibration.degradation is None
    assert calibration.table is not None
    assert [calibration.table[count - 1] for count in (1, 2, 4, 8, 16)] == pytest.approx(
        [1.0, 2.12, 4.01, 8.08, 15.3]
    )
    assert all(low <= high for low, high in pairwise(calibration.table))


def test_less_than_fair_shares_is_a_table() -> None:
    fit = fit_measurements([row(0.016), *(row(0.016 * f, concurrent=k) for k, f in ((2, 1.2), (3, 1.4)))])
    assert fit.verdict.startswith("linear is poor: off by")
    assert calibration_of(fit).table == pytest.approx((1.0, 1.2, 1.4))


def test_jobs_of_one_block_are_averaged_by_rates() -> None:
    rows = [row(0.016, job="a")]
    rows += [row(0.016 * f, concurrent=2, job=name) for name, f in (("a", 1.5), ("b", 3.0))]
    fit = fit_measurements(rows)
    assert fit.sharing is not None
    assert [block.factor for block in fit.sharing.blocks] == pytest.approx([2.0])
    assert "3 or more jobs at a time" in " ".join(fit.missing)


@pytest.mark.parametrize("share", [0.4, 0.6, 0.8])
def test_share_by_duty_cycle(share: float) -> None:
    compute_s, exchange_s = 0.016, 0.016
    rows = law(latency_s=0.0, loss=0.1)
    for count in (3, 4, 5):
        factor = model_of(Contention(share=share, degradation=0.1)).factor(count)
        rows.append(
            row(compute_s + exchange_s * factor, compute_s=compute_s, concurrent=count, message_mb=20.0)
        )
    fit = fit_measurements(rows)
    (found,) = fit.duty_shares
    assert found.duty_cycle == pytest.approx(0.5)
    assert found.share.value == pytest.approx(share, rel=1e-4)
    assert calibration_of(fit, duty_cycle=0.5).share == pytest.approx(share, rel=1e-4)
    assert calibration_of(fit).share == 1.0
    with pytest.raises(InputError, match=r"--duty is 0\.2, but the measurements cover"):
        calibration_of(fit, duty_cycle=0.2)


def test_what_cannot_be_told_is_named() -> None:
    with pytest.raises(InputError, match="the bandwidth cannot be fitted; measure a job alone"):
        fit_measurements([row(0.1, concurrent=2)])
    with pytest.raises(InputError, match="the bandwidth cannot be fitted"):
        fit_measurements([row(0.1, servers=1)])
    fit = fit_measurements([row(0.1)])
    told = [what.partition(":")[0] for what in fit.missing]
    assert told == ["server_latency_ms", "intra_server_gbps", "reduce_gbps", "degradation", "share"]
    assert fit.links.server_latency_ms is None
    calibration = calibration_of(fit)
    assert calibration == Calibration(inter_server_gbps=fit.links.inter_server_gbps.value)
    assert fit.links.inter_server_gbps.low is None


def test_summing_up_and_links_within_a_server() -> None:
    rows = [row(0.02, reduce_s=0.004), row(0.006, servers=1, reduce_s=0.004)]
    links = fit_measurements(rows).links
    assert links.reduce_gbps is not None
    assert links.reduce_gbps.value == pytest.approx(0.04 / 0.004)
    assert links.intra_server_gbps is not None
    assert links.intra_server_gbps.value == pytest.approx(0.08 / 0.002)
    assert links.inter_server_gbps.value == pytest.approx(0.08 / 0.016)


def test_calibration_goes_through_a_file_into_a_scenario(tmp_path: Path) -> None:
    scenario = ringsched.load_scenario("examples/first.toml")
    for rows in (law(loss=0.3), published()):
        fit = fit_measurements(rows)
        calibration = calibration_of(fit)
        save_calibration(fit, calibration, tmp_path / "c.toml", "measurements.csv")
        again = apply_calibration(load_calibration(tmp_path / "c.toml"), scenario)
        assert again.cluster.inter_server_gbps == pytest.approx(calibration.inter_server_gbps)
        assert again.cluster.reduce_gbps == scenario.cluster.reduce_gbps
        for count in (1, 2, 7, 20):
            fitted = model_of(Contention(**calibration.contention_fields()))
            assert model_of(again.contention).factor(count) == pytest.approx(fitted.factor(count), abs=1e-4)
        reserved = scenario.replace(contention=Contention(model="reserved", lanes=3))
        assert apply_calibration(calibration, reserved).contention.model == "paper"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[cluster]\ngpus = 3\n", "c.toml: cluster: unknown key 'gpus'"),
        ("[contention]\nshare = 2\n", "c.toml: share must be a number > 0 and <= 1"),
        ("[contention]\nshare = 0.5\ntable = [1, 2]\n", "table cannot be combined with share"),
        ("[cluster]\nreduce_gbps = -1\n", "reduce_gbps must be a number > 0"),
        ("[contention]\n", "holds nothing that was fitted"),
        ("[jobs]\n", "unknown key 'jobs'"),
        (f"{FITTED}share = [0, 1]\n", "intervals.share belongs to a field that is not given"),
        (
            f"{FITTED}degradation = [0.3, 0.4]\n",
            "intervals.degradation must hold the value 0.2, but is 0.3 to 0.4",
        ),
        (f"{FITTED}degradation = [0.05, 0.1]\n", "must hold the value 0.2, but is 0.05 to 0.1"),
        (f"{FITTED}degradation = [0.1]\n", "c.toml: intervals.degradation must be two numbers"),
        (f"{FITTED}degradation = 0.1\n", "intervals.degradation must be a list of two numbers, not 0.1"),
        (f"{FITTED}degradation = [0.1, inf]\n", "intervals.degradation must be a number >= 0"),
        (f"{FITTED}degradation = [-0.1, 1]\n", "intervals.degradation must be a number >= 0, not -0.1"),
        (f"{FITTED}losses = [0, 1]\n", "intervals: unknown key 'losses'"),
        (f"{FITTED}table = [[1, 1], [1, 2]]\n", "intervals.table must have an interval for every entry"),
        ("intervals = 3\n", "intervals must be a table, not 3"),
    ],
)
def test_wrong_calibrations_are_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(InputError) as error:
        load_calibration(tmp_path / "c.toml")
    assert said in str(error.value)


def test_intervals_go_through_the_file() -> None:
    for rows in (law(loss=0.3, noise=0.02), published()):
        fit = fit_measurements(rows)
        calibration = calibration_of(fit)
        speed = fit.links.inter_server_gbps
        assert calibration.intervals["inter_server_gbps"] == (speed.low, speed.high)
        assert fit.sharing is not None
        if fit.sharing.form == "linear":
            assert fit.sharing.degradation is not None
            ends = (fit.sharing.degradation.low, fit.sharing.degradation.high)
            assert calibration.intervals["degradation"] == ends
            assert calibration.certain == ("share",)  # 1 by the meaning of a duty cycle of 1
        else:
            assert calibration.table_intervals is not None
            assert calibration.table is not None
            factor = fit.sharing.factors[4]
            assert calibration.table_intervals[0] == (1.0, 1.0)
            assert calibration.table_intervals[3] == (factor.low, factor.high)
            low, high = calibration.table_intervals[2]
            assert (
                low < calibration.table[2] < high
            )  # three jobs were not measured: straight between two and four


def test_a_calibration_is_read_as_it_was_written(tmp_path: Path) -> None:
    for rows in (law(loss=0.3, noise=0.02), published()):
        fit = fit_measurements(rows)
        calibration = calibration_of(fit)
        save_calibration(fit, calibration, tmp_path / "c.toml", "measurements.csv")
        again = load_calibration(tmp_path / "c.toml")
        assert again.uncertain == calibration.uncertain
        for name, interval in calibration.intervals.items():
            assert again.intervals[name] == pytest.approx(interval, rel=1e-8)
        if calibration.table_intervals is not None:
            assert again.table_intervals is not None
            for found, expected in zip(again.table_intervals, calibration.table_intervals, strict=True):
                assert found == pytest.approx(expected, rel=1e-8)


def test_the_share_of_a_duty_cycle_has_an_interval() -> None:
    fit = fit_measurements(load_measurements("examples/measurements.csv"))
    half = next(each for each in fit.duty_shares if each.duty_cycle > 0.4)
    low, high = calibration_of(fit, duty_cycle=half.duty_cycle).intervals["share"]
    assert (low, high) == pytest.approx((half.share.low, half.share.high))
    between = calibration_of(fit, duty_cycle=(1 + half.duty_cycle) / 2).intervals["share"]
    assert between == pytest.approx(((1 + low) / 2, (1 + high) / 2))
    assert "share" not in calibration_of(fit).intervals


def test_one_measurement_has_no_interval() -> None:
    assert calibration_of(fit_measurements([row(0.1)])).intervals == {}


def test_fair_links_take_speeds_and_latency_only() -> None:
    scenario = ringsched.load_scenario("examples/first.toml")
    fair = scenario.replace(contention=Contention(model="max-min", server_latency_ms=1.0))
    measured = Calibration(inter_server_gbps=9.0, degradation=0.3, server_latency_ms=0.5)
    applied = apply_calibration(measured, fair)
    assert applied.contention == Contention(model="max-min", server_latency_ms=0.5)
    assert applied.cluster.inter_server_gbps == 9.0
    lanes = scenario.replace(contention=Contention(model="reserved", lanes=2))
    assert apply_calibration(measured, lanes, keep_model=True).contention == Contention(
        model="reserved", lanes=2, server_latency_ms=0.5
    )


@pytest.mark.parametrize("intervals", [None, [("degradation", (0.1, 0.3))], "degradation"])
def test_intervals_that_are_no_table_are_refused(intervals: Any) -> None:
    with pytest.raises(InputError, match=r"^intervals must be a table, not "):
        Calibration(degradation=0.2, intervals=intervals)


def test_a_list_is_a_table_of_factors_too(tmp_path: Path) -> None:
    """It was kept as a list, and could not be written."""
    given: Any = [1, 2.0]
    calibration = Calibration(table=given)
    assert calibration.table == (1.0, 2.0)
    write_calibration(calibration, tmp_path / "c.toml", [])
    assert load_calibration(tmp_path / "c.toml") == calibration
