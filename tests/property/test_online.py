"""What must hold for every queue over time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests import planning
from tests.crowds import crowd
from tests.effort import examples
from tests.reference.formulas import crossed, nodes_above
from tests.reference.online import DISPATCHING
from tests.strategies import arriving, fair_contentions, scenarios

import ringsched
from ringsched import Contention, Infeasible, Plan, Scenario, Simulation
from ringsched.analysis.over_time import over_time
from ringsched.engine.problem import problem_of
from ringsched.formats.plan import plan_to_json

PLANNING = ("sjf-bco", "first-fit", "list-scheduling", "rolling")
SAME = 1e-9  # relative, for continuous time; slots are exact

SEEDS = st.integers(0, 10**6)
BACKFILLS = st.sampled_from(["none", "easy"])
ERRORS = st.sampled_from([0.0, 0.5, 3.0, 100.0])


def options_of(policy: str) -> dict[str, int]:
    return {"iterations": 20} if policy == "rolling" else {}


def simulated(scenario: Scenario, policy: str, **options: object) -> Simulation:
    return planning.simulate(scenario, policy, **(options_of(policy) | options))  # type: ignore[arg-type]


def assert_same(scenario: Scenario, found: float, expected: float) -> None:
    assert found == (expected if scenario.time.slotted else pytest.approx(expected, rel=SAME, abs=SAME))


def assert_in_order(scenario: Scenario, simulation: Simulation) -> None:
    """A valid plan in which nobody starts before being submitted."""
    assert ringsched.verify(scenario, simulation.plan()).violations == ()
    assert (simulation.start_s >= simulation.submit_s * (1 - SAME)).all()
    assert (simulation.finish_s > simulation.start_s).all()
    last_s = simulation.finish_s.max(initial=0)
    assert simulation.makespan_s == pytest.approx(last_s - simulation.origin_s)


@examples(200)
@given(SEEDS, st.sampled_from([*DISPATCHING, *PLANNING]), st.sampled_from([None, *ringsched.ORDERS]))
def test_easy_keeps_every_promise_if_estimates_are_exact(seed: int, policy: str, order: str | None) -> None:
    order = None if policy in PLANNING else order
    assert_promises_kept(crowd(seed, estimates=False), policy, order)


@examples(100)
@given(SEEDS, st.sampled_from([*DISPATCHING, *PLANNING]), fair_contentions())
def test_easy_keeps_every_promise_on_fair_links(seed: int, policy: str, contention: Contention) -> None:
    """There a job more may make another faster; the promise is kept all the same."""
    assert_promises_kept(crowd(seed, estimates=False, contention=contention), policy, None)


def assert_promises_kept(scenario: Scenario, policy: str, order: str | None) -> None:
    simulation = simulated(scenario, policy, order=order, backfill="easy")
    assert_in_order(scenario, simulation)
    promised = np.isfinite(simulation.promised_s)
    slack = 0.0 if scenario.time.slotted else SAME
    latest_s = simulation.promised_s + slack * np.maximum(1.0, simulation.promised_s)
    assert (simulation.start_s[promised] <= latest_s[promised]).all()
    assert over_time(simulation).num_broken_promises == 0


@examples(150)
@given(arriving(), st.sampled_from([*DISPATCHING, *PLANNING]), BACKFILLS)
def test_what_happened_is_a_valid_plan(scenario: Scenario, policy: str, backfill: str) -> None:
    assert_in_order(scenario, simulated(scenario, policy, backfill=backfill))


@examples(150)
@given(SEEDS, st.sampled_from([*DISPATCHING, *PLANNING]), BACKFILLS, ERRORS, st.sampled_from([None, 1, 4]))
def test_wrong_estimates_break_nothing(
    seed: int, policy: str, backfill: str, error: float, every: float | None
) -> None:
    scenario = crowd(seed, max_jobs=10)
    options: dict[str, object] = {"backfill": backfill, "estimate_error": error, "seed": seed}
    if policy in PLANNING and every is not None:
        options["every_s"] = every * scenario.time.slot_s
    assert_in_order(scenario, simulated(scenario, policy, **options))


@examples(60)
@given(SEEDS, st.sampled_from(["fifo", *PLANNING]), ERRORS)
def test_the_same_again_for_the_same_seed(seed: int, policy: str, error: float) -> None:
    scenario = crowd(seed, max_jobs=8)
    first, second = (
        simulated(scenario, policy, backfill="easy", estimate_error=error, seed=seed) for _ in range(2)
    )
    assert plan_to_json(first.plan()) == plan_to_json(second.plan())


# --- Without arrivals -------------------------------------------------------------------------


def planned_like(scenario: Scenario, policy: str) -> Plan:
    """The plan that docs/concepts/online.md, Without arrivals, says the simulation is."""
    if policy == "rolling":
        options = {"objective": "mean-completion", "iterations": 20, "threads": 1}
        return planning.plan(scenario, "search", **options)  # type: ignore[arg-type]
    if policy in ("fifo", "smallest-first", "shortest-first", "smallest-area-first"):
        return ringsched.plan(scenario, "longest-first", order=policy)
    return ringsched.plan(scenario, policy)


LIKE_PLANS = [policy for policy in (*DISPATCHING, *PLANNING) if policy != "contention-aware"]


@examples(200)
@given(scenarios(), st.sampled_from(LIKE_PLANS), st.sampled_from([None, *ringsched.ORDERS]))
def test_without_arrivals_it_is_the_plan(scenario: Scenario, policy: str, order: str | None) -> None:
    """Job for job and GPU for GPU; running jobs may be there, and a horizon."""
    jobs = tuple(job.replace(submit_s=0.0, estimate_s=None) for job in scenario.jobs)
    scenario = scenario.replace(jobs=jobs)
    try:
        plan = planned_like(scenario, policy)
    except Infeasible:
        with pytest.raises(Infeasible):
            simulated(scenario, policy)
        return
    assert simulated(scenario, policy).plan().jobs == plan.jobs
    if order is not None and policy in ("free-links", "lwf"):
        expected = ringsched.plan(scenario, policy, order=order)
        assert simulated(scenario, policy, order=order).plan().jobs == expected.jobs


# --- The series -------------------------------------------------------------------------------


def instants(simulation: Simulation) -> Iterator[float]:
    """Just after every record, and between each and the next."""
    times = simulation.series.time_s
    yield from times
    yield from (times[:-1] + times[1:]) / 2


@examples(100)
@given(SEEDS, st.sampled_from([*DISPATCHING, *PLANNING]), BACKFILLS)
def test_the_series_says_what_the_jobs_say(seed: int, policy: str, backfill: str) -> None:
    scenario = crowd(seed, max_jobs=10)
    simulation = simulated(scenario, policy, backfill=backfill)
    plan, series, above = simulation.plan(), simulation.series, nodes_above(scenario)
    clock = problem_of(scenario).clock
    entered_s = [clock.seconds(clock.release(job.submit_s)) for job in scenario.jobs]
    assert (np.diff(series.time_s) > 0).all()
    for now in instants(simulation):
        # An instant that was computed in two ways counts as one.
        later = now * (1 + 1e-12)
        at = np.searchsorted(series.time_s, later, side="right") - 1
        running = [job for job in plan.jobs if job.start_s <= later < job.finish_s]
        waiting = [
            job for job, entered in zip(plan.jobs, entered_s, strict=True) if entered <= later < job.start_s
        ]
        links = Counter(
            link
            for job in running
            for link in crossed(next(j for j in scenario.jobs if j.name == job.name), job.gpus, above)
        )
        assert series.queue_length[at] == len(waiting)
        assert series.busy_gpus[at] == sum(len(held) for job in running for held in job.gpus.values())
        assert series.contended_links[at] == sum(number >= 2 for number in links.values())
    if len(scenario.jobs):
        assert series.time_s[-1] == simulation.finish_s.max()
        assert (series.queue_length[-1], series.busy_gpus[-1], series.contended_links[-1]) == (0, 0, 0)


# --- Nobody knows the future ------------------------------------------------------------------


@examples(150)
@given(SEEDS, st.sampled_from([*DISPATCHING, *PLANNING]), BACKFILLS, st.floats(0, 1))
def test_jobs_that_come_later_change_nothing_before(
    seed: int, policy: str, backfill: str, share: float
) -> None:
    """Whoever starts before an instant does so with and without the jobs submitted after it."""
    scenario = crowd(seed, max_jobs=10)
    whole = simulated(scenario, policy, backfill=backfill)
    cut_s = share * float(whole.submit_s.max(initial=0.0))
    known = [at for at, job in enumerate(scenario.jobs) if job.submit_s <= cut_s]
    assume(known)
    part_scenario = scenario.replace(jobs=tuple(scenario.jobs[at] for at in known))
    # Of jobs that are all there, `rolling` follows the plan of one search.
    assume(policy != "rolling" or max(problem_of(part_scenario).release) > 0)
    part = simulated(part_scenario, policy, backfill=backfill)
    whole_plan, part_plan = whole.plan(), part.plan()
    for at_part, at in enumerate(known):
        before = whole_plan.jobs[at], part_plan.jobs[at_part]
        if min(job.start_s for job in before) > cut_s:
            continue
        assert before[0].gpus == before[1].gpus
        assert before[0].start_s == before[1].start_s
        assert whole.backfilled[at] == part.backfilled[at_part]
        if before[0].finish_s <= cut_s:
            assert before[0].finish_s == before[1].finish_s


@examples(150)
@given(SEEDS, st.sampled_from([*DISPATCHING, *PLANNING]), BACKFILLS, st.data())
def test_nobody_knows_how_long_a_job_really_takes(
    seed: int, policy: str, backfill: str, data: st.DataObject
) -> None:
    """A job that really takes longer, with the same estimate, changes nothing before it should have ended."""
    scenario = crowd(seed, max_jobs=10)
    problem = problem_of(scenario)
    # All state an estimate, so that no belief depends on a truth.
    jobs = [
        job.replace(estimate_s=job.estimate_s or problem.clock.seconds(problem.best_case[at]))
        for at, job in enumerate(scenario.jobs)
    ]
    scenario = scenario.replace(jobs=tuple(jobs))
    changed = data.draw(st.integers(0, len(jobs) - 1))
    jobs[changed] = jobs[changed].replace(iterations=jobs[changed].iterations * data.draw(st.integers(2, 9)))
    longer_scenario = scenario.replace(jobs=tuple(jobs))
    short = simulated(scenario, policy, backfill=backfill)
    longer = simulated(longer_scenario, policy, backfill=backfill)
    end_s = short.finish_s[changed]
    for before, after in zip(short.plan().jobs, longer.plan().jobs, strict=True):
        if min(before.start_s, after.start_s) < end_s:
            assert (before.name, before.start_s, before.gpus) == (after.name, after.start_s, after.gpus)
    same = (short.start_s < end_s) & (longer.start_s < end_s)
    assert (short.backfilled[same] == longer.backfilled[same]).all()


def test_a_promise_is_a_number_or_none() -> None:
    simulation = simulated(crowd(1, estimates=False), "fifo", backfill="none")
    assert all(math.isnan(promise) for promise in simulation.promised_s)
    assert not simulation.backfilled.any()
