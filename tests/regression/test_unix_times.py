"""Submits in Unix seconds: digits were lost, and what was relative to the time of day became seconds."""

from __future__ import annotations

import random

import pytest
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import Scenario
from ringsched.analysis.whatif.variants import finish_changes
from ringsched.engine.problem import problem_of
from ringsched.reporting.style import times_of

MEANS = ["mean-completion", "weighted-completion"]
UNIX_S = 1_700_000_000


def arriving(first_s: int, model: str = "continuous") -> Scenario:
    chance = random.Random(7)
    jobs = [
        job(
            f"j{at}",
            chance.choice([1, 2, 3, 4]),
            chance.randint(500, 9000),
            submit_s=float(first_s + chance.randint(0, 3600)),
            weight=chance.choice([1.0, 2.5]),
        )
        for at in range(60)
    ]
    return scenario(cluster(2, 4), *jobs, time={"model": model})


@pytest.mark.parametrize("objective", MEANS)
@pytest.mark.parametrize("first_s", [1_000_000, UNIX_S])
def test_bounds_on_means_are_those_of_the_same_jobs_at_time_0(first_s: int, objective: str) -> None:
    """Moments were products of instants: the planner was seconds off, and the judge refused its plans."""
    now, later = arriving(0), arriving(first_s)
    plan = ringsched.plan(later, "longest-first", objective=objective)
    assert ringsched.verify(later, plan).violations == ()
    expected = {bound.name: bound.value_s for bound in ringsched.lower_bounds(now, objective)}
    assert {bound.name: bound.value_s for bound in plan.bounds} == pytest.approx(expected, rel=1e-7)


def test_short_jobs_days_apart_are_no_reason_to_refuse_a_plan() -> None:
    """The judge took a job's length from instants days after the first: squashed-area came out another."""
    for seed in range(20):
        chance = random.Random(seed)
        jobs = [job(f"j{at}", 2, 300 + at, submit_s=chance.uniform(0, 8 * 86_400)) for at in range(3)]
        short = scenario(cluster(2, 8), *jobs, time={"model": "continuous"})
        plan = ringsched.plan(short, "longest-first", objective="mean-completion")
        assert ringsched.verify(short, plan).violations == ()


def test_pictures_of_means_begin_at_the_first_submit() -> None:
    """The bound on a mean is a duration; as an instant it stretched the axis to 1970."""
    later = arriving(UNIX_S)
    plan = ringsched.plan(later, "longest-first", objective="mean-completion")
    assert times_of(problem_of(later), [plan]).origin_s >= UNIX_S


def test_bounds_on_the_makespan_keep_their_digits() -> None:
    """What is left at an instant was the difference of two sums of products of instants."""
    assert ringsched.lower_bounds(arriving(0)) == ringsched.lower_bounds(arriving(UNIX_S))


def two_jobs(first_s: float) -> Scenario:
    """The second ends a second after the first; a third waits for it."""
    jobs = [job("a", 1, 100), job("b", 1, 110), job("c", 2, 50)]
    jobs = [each.replace(submit_s=first_s) for each in jobs]
    return scenario(cluster(2), *jobs, time={"model": "continuous"})


def test_completions_a_second_apart_are_two() -> None:
    """They were one instant, as they were within 1e-9 of 1.7e9: b ended a second too soon."""
    now, later = (ringsched.plan(two_jobs(first_s), "longest-first") for first_s in (0, UNIX_S))
    for before, after in zip(now.jobs, later.jobs, strict=True):
        assert after.finish_s - UNIX_S == pytest.approx(before.finish_s, abs=1e-6)
    backfilled = ringsched.simulate(two_jobs(UNIX_S), "fifo", backfill="easy")
    assert backfilled.finish_s.tolist() == [planned.finish_s for planned in later.jobs]


@pytest.mark.parametrize("model", ["slotted", "continuous"])
def test_the_judge_is_no_more_lenient_than_at_time_0(model: str) -> None:
    """A finish or a makespan was accepted if it was seconds off."""
    case = arriving(UNIX_S, model)
    plan = ringsched.plan(case, "longest-first")
    assert ringsched.verify(case, plan).violations == ()
    off_s = 1e-3 if model == "continuous" else 1.0
    last = max(range(len(plan.jobs)), key=lambda at: plan.jobs[at].finish_s)
    later = plan.jobs[last].replace(finish_s=plan.jobs[last].finish_s + off_s)
    wrong = {
        "finish": plan.replace(jobs=(*plan.jobs[:last], later, *plan.jobs[last + 1 :])),
        "makespan": plan.replace(makespan_s=plan.makespan_s + off_s),
        "lower-bound": plan.replace(lower_bound_s=plan.lower_bound_s + off_s),
    }
    for constraint, changed in wrong.items():
        found = {violation.constraint for violation in ringsched.verify(case, changed).violations}
        assert constraint in found


def test_exact_looks_for_gains_of_less_than_a_second() -> None:
    """A billionth of the value was no gain worth looking for: seconds, at Unix times."""
    jobs = [job("a", 2, 12), job("b", 1, 10), job("c", 1, 10), job("d", 2, 4, weight=3.0)]
    case = scenario(cluster(2), *jobs, time={"model": "continuous"})
    later = case.replace(jobs=tuple(each.replace(submit_s=UNIX_S) for each in jobs))
    for objective in ringsched.OBJECTIVES:
        now, then = (ringsched.plan(each, "exact", objective=objective) for each in (case, later))
        assert then.objective_s == now.objective_s
        assert ringsched.verify(later, then).violations == ()


def test_what_changes_by_less_than_seconds_is_a_change() -> None:
    """Blame and what-if took differences below a billionth of the instants for rounding."""
    case = two_jobs(UNIX_S)
    plan = ringsched.plan(case, "longest-first")
    slower = case.replace(jobs=(case.jobs[0].replace(iterations=105), *case.jobs[1:]))
    changes = finish_changes(plan, ringsched.plan(slower, "longest-first"))
    assert [change.job for change in changes] == ["a"]


@pytest.mark.parametrize("objective", MEANS)
def test_a_gap_of_jobs_of_milliseconds(objective: str) -> None:
    """A mean of milliseconds at Unix times has four digits, and may come out below a bound that it meets."""
    jobs = [
        job(name, 1, iterations, backward_ms=1.618, submit_s=UNIX_S)
        for name, iterations in (("a", 1), ("b", 4))
    ]
    case = scenario(cluster(1), *jobs, time={"model": "continuous"})
    plan = ringsched.plan(case, "longest-first", order="shortest-first", objective=objective)
    assert ringsched.verify(case, plan).violations == ()


def test_a_release_that_the_planner_rounds_up_is_one_for_the_verifier() -> None:
    """The bound `long-jobs` counted from the last release: the verifier found no job released then."""
    first_s, last_s = 1.2547685652565592, 10.665532804680753
    jobs = [job("a", 1, 10, submit_s=first_s), *(job(f"b{at}", 1, 100, submit_s=last_s) for at in range(9))]
    case = scenario(cluster(1, 2), *jobs, time={"model": "continuous"})
    plan = ringsched.plan(case, "longest-first")
    (bound,) = (bound for bound in plan.bounds if bound.name == "long-jobs")
    assert bound.terms["release_s"] == problem_of(case).release[1] > last_s - first_s
    assert ringsched.verify(case, plan).violations == ()
