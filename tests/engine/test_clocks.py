"""The rounding of both clocks, the engine's and the verifier's: what is forgiven and what is not."""

from __future__ import annotations

import math

import pytest
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched.engine.clock import Clock
from ringsched.model import Time
from ringsched.verify.clock import Seconds, Slots

MOST = 2**53


@pytest.mark.parametrize(
    ("slot_s", "tau", "phi"),
    [
        (0.3, 0.1, 3),  # 2.9999999999999996 as a float
        (1.0, 0.1, 10),
        (0.99999, 0.1, 9),  # short by far more than rounding
        (1 - 1e-7, 1.0, 0),
        (1.0, 0.6, 1),  # down, not to the nearest
        (1e300, 1e-300, MOST),  # the ratio is infinite
    ],
)
def test_iterations_per_slot(slot_s: float, tau: float, phi: int) -> None:
    assert Clock(True, slot_s).rate(tau) == phi
    assert Slots(slot_s).pace(tau) == phi


@pytest.mark.parametrize(
    ("slot_s", "submit_s", "slot"),
    [
        (0.1, 3 * 0.1, 3),  # 3.0000000000000004 slots as a float
        (0.1, 0.3, 3),
        (1.0, 2.0, 2),
        (1.0, 2 + 1e-7, 3),  # later by far more than rounding
        (1.0, 2.5, 3),
    ],
)
def test_release_is_the_first_slot_at_or_after_the_submit_time(
    slot_s: float, submit_s: float, slot: int
) -> None:
    assert Clock(True, slot_s).release(submit_s) == slot
    assert Slots(slot_s).release(submit_s) == slot


@pytest.mark.parametrize(
    ("iterations", "phi", "slots"), [(30, 3, 10), (31, 3, 11), (32, 3, 11), (1, 3, 1), (0, 3, 0)]
)
def test_slots_a_job_takes(iterations: int, phi: int, slots: int) -> None:
    assert Clock(True, 1.0).duration(iterations, phi) == slots
    assert Slots(1.0).duration(iterations, phi) == slots


@pytest.mark.parametrize(("slot_s", "start_s", "slot"), [(0.1, 0.7, 7), (0.1, 6 * 0.1, 6), (2.0, 6.0, 3)])
def test_a_start_is_read_as_the_nearest_slot(slot_s: float, start_s: float, slot: int) -> None:
    assert Clock(True, slot_s).instant(start_s) == slot
    assert Slots(slot_s).instant(start_s) == slot


@pytest.mark.parametrize(
    ("horizon_s", "slot_s", "horizon"),
    [
        (0.3, 0.1, 3),  # 2.9999999999999996 slots as a float
        (3 - 1e-7, 1.0, 2),
        (3.9, 1.0, 3),
        (1e300, 1e-300, MOST),
    ],
)
def test_the_horizon_is_a_whole_number_of_slots(horizon_s: float, slot_s: float, horizon: int) -> None:
    time = Time(slot_s=slot_s, horizon_s=horizon_s)
    assert Clock(True, slot_s).horizon(time, math.inf) == horizon


@pytest.mark.parametrize(("longest", "horizon"), [(7, 8), (6.5, 8), (0, 1)])
def test_without_a_horizon_every_plan_ends_below_it(longest: float, horizon: int) -> None:
    assert Clock(False, 1.0).horizon(Time(model="continuous"), longest) == horizon


@pytest.mark.parametrize(
    ("time", "apart", "same"),
    [
        (0.0, 0.9e-9, True),
        (0.0, 1.1e-9, False),
        (1e6, 0.9e-3, True),  # relative to large times
        (1e6, 1.1e-3, False),
    ],
)
def test_completions_a_rounding_error_apart_are_one_instant(time: float, apart: float, same: bool) -> None:
    assert (time + apart <= Clock(False, 1.0).same_instant_until(time)) == same
    assert (apart <= Seconds().merge_slack(time)) == same


@pytest.mark.parametrize("time", [0, 1, 10**9])
def test_slots_are_exact(time: int) -> None:
    assert Clock(True, 1.0).same_instant_until(time) == time
    assert Slots(1.0).merge_slack(time) == 0


@pytest.mark.parametrize(
    ("start_s", "on_grid"),
    [
        (2.0, True),
        (2 + 1e-10, True),
        (2 + 1e-6, False),
        (1e6 + 1e-4, True),
        (1e6 + 1e-2, False),
        (2.5, False),
    ],
)
def test_what_stands_on_a_slot(start_s: float, on_grid: bool) -> None:
    """Within 1e-9 of its number, so that slot 10^6 may be stated a little less exactly than slot 2."""
    assert Slots(1.0).on_grid(start_s) == on_grid
    assert Slots(1.0).is_at(start_s, round(start_s)) == on_grid


@pytest.mark.parametrize(
    ("clock", "stated", "expected", "agree"),
    [
        (Slots(1.0), 1.3, 13 * 0.1, True),
        (Slots(1.0), 1 + 1e-8, 1.0, False),
        (Seconds(), 1 + 5e-9, 1.0, True),
        (Seconds(), 1 + 5e-8, 1.0, False),
        (Seconds(), 5e-10, 0.0, True),  # nothing is relative to 0
        (Seconds(), 5e-9, 0.0, False),
    ],
)
def test_totals_that_agree(clock: Slots | Seconds, stated: float, expected: float, agree: bool) -> None:
    assert clock.agree(stated, expected) == agree


@pytest.mark.parametrize(
    ("begin", "end", "shorter", "overlaps"),
    [
        (0.0, 5e-9, 1.0, False),
        (0.0, 5e-8, 1.0, True),
        (1.0, 1 + 5e-9, 1.0, False),
        (1.0, 1 + 5e-8, 1.0, True),
        (1e6, 1e6 + 5e-3, 100.0, False),  # rounding grows with the time
        (1e6, 1e6 + 5e-3, 1.0, True),  # but not beyond a thousandth of the job
        (1e9, 1e9 + math.ulp(1e9), 1e-9, False),
        (1.0, 1.0, 1.0, False),
    ],
)
def test_shared_time_that_counts_as_an_overlap(
    begin: float, end: float, shorter: float, overlaps: bool
) -> None:
    assert Seconds().overlaps(begin, end, shorter) == overlaps


@pytest.mark.parametrize(("begin", "end", "overlaps"), [(2, 3, True), (2, 2, False), (3, 2, False)])
def test_shared_slots_that_count_as_an_overlap(begin: int, end: int, overlaps: bool) -> None:
    assert Slots(1.0).overlaps(begin, end, 1.0) == overlaps


@pytest.mark.parametrize("slot_s", [0.3, 1e300])
def test_plans_at_the_edges_of_rounding_are_valid(slot_s: float) -> None:
    problem = scenario(cluster(1), job("a", iterations=30), time={"slot_s": slot_s})
    plan = ringsched.plan(problem)
    assert plan.makespan_s == pytest.approx(max(3.0, slot_s))
    assert ringsched.verify(problem, plan).violations == ()


@pytest.mark.parametrize("slot_s", [0.9, 1.1, 1 / 3, 60.0])
def test_whole_slots_later_at_unix_times_are_whole_slots_later(slot_s: float) -> None:
    """At 1.7e9 s the ratio to a slot is rounded by more than 1e-9: releases were a slot late."""
    clock = Clock(True, slot_s)
    first = round(1.7e9 / slot_s)
    releases = [clock.release(first * slot_s + slots * slot_s) for slots in range(200)]
    assert releases == list(range(first, first + 200))
