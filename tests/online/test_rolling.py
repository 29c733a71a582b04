"""The list of `rolling`: who is in it, in which order, and what comes of it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.crowds import crowd
from tests.effort import examples
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import Job, Scenario, Simulation, Stop
from ringsched.engine.problem import problem_of
from ringsched.engine.state import NOT_STARTED
from ringsched.model.objective import MEAN_COMPLETION
from ringsched.online import improving
from ringsched.online.ahead import believed_problem
from ringsched.online.dispatch import DONE, MORE
from ringsched.online.follow import PLAN
from ringsched.online.improving import Roller, list_keys
from ringsched.online.queue import NUM_ARRIVED, NUM_WAITING
from ringsched.online.rolling import IS_USUAL, NUM_LISTED, roll
from ringsched.online.settings import EASY, OnlineSettings
from ringsched.online.stage import new_stage
from ringsched.policies.policy import Limits
from ringsched.policies.table import policy_named
from ringsched.search.modes import NUM_MODES

SEEDS, ERRORS = st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 30.0])


def rolled(case: Scenario, schedules: int, **options: object) -> Simulation:
    return ringsched.simulate(case, "rolling", stop=Stop(max_schedules=schedules), **options)  # type: ignore[arg-type]


@examples(60)
@given(SEEDS, ERRORS)
def test_the_list_has_every_waiting_job_once(seed: int, error: float) -> None:
    """After every event, whatever a search has found; kinds and modes are counted as they are."""
    case = crowd(seed)
    problem = problem_of(case)
    believed = believed_problem(problem, error, seed)
    keys = list_keys(believed, MEAN_COMPLETION)
    settings = OnlineSettings(order="fifo", backfill=EASY, limits=Limits(iterations=10))
    stage = new_stage(problem, believed, policy_named("free-links", online=True), settings, keys[0])
    exact = believed is problem
    roller = Roller(believed, stage, settings, keys)
    listed, counts, status = roller.listed, stage.course.counts, MORE
    with pytest.MonkeyPatch.context() as patch:
        # So that most lists are found by a search.
        patch.setattr(improving, "MARGINS", {True: 0.0, False: 0.0})
        while status in (MORE, PLAN):
            status = roll(stage, roller.task, listed, exact, 1)
            if status == PLAN:
                roller.plan(stage)
            order = listed.order[: listed.counts[NUM_LISTED]]
            arrived = stage.queue.arrivals[: counts[NUM_ARRIVED]]
            waiting = arrived[stage.state.heap_place[arrived] == NOT_STARTED]
            # A job that has started at this instant runs from the next event on.
            running = stage.state.start[waiting] == stage.state.now[0]
            assert len(order) == counts[NUM_WAITING]
            assert len(set(order.tolist())) == len(order)
            assert set(waiting[~running].tolist()) <= set(order.tolist()) <= set(waiting.tolist())
            if listed.counts[IS_USUAL]:
                assert listed.key[order].tolist() == sorted(listed.key[order])
                assert listed.blocks[order].all()
            numbers = roller.task.kind[order] * NUM_MODES + listed.mode[order]
            assert listed.alike.tolist() == np.bincount(numbers, minlength=len(listed.alike)).tolist()
    assert status == DONE
    assert counts[NUM_WAITING] == 0


@examples(60)
@given(SEEDS, ERRORS)
def test_without_a_search_it_is_free_links_with_easy(seed: int, error: float) -> None:
    """Job for job: jobs step past the first one as with EASY, by the rule of the list."""
    case = crowd(seed)
    expected = ringsched.simulate(case, "free-links", backfill="easy", estimate_error=error, seed=seed)
    simulation = rolled(case, 0, estimate_error=error, seed=seed)
    assert simulation.start_s.tolist() == expected.start_s.tolist()
    assert simulation.finish_s.tolist() == expected.finish_s.tolist()


@examples(40)
@given(SEEDS, ERRORS)
def test_no_job_is_lost_and_the_plan_is_valid(seed: int, error: float) -> None:
    case = crowd(seed)
    simulation = rolled(case, 10, estimate_error=error, seed=seed)
    ringsched.verify(case, simulation.plan())
    assert (simulation.start_s >= simulation.submit_s).all()
    assert (simulation.finish_s > simulation.start_s).all()
    assert not simulation.backfilled.any()
    assert np.isnan(simulation.promised_s).all()  # nothing is promised: the next list is another


@examples(20)
@given(SEEDS, ERRORS)
def test_easy_beside_it_makes_no_difference(seed: int, error: float) -> None:
    case = crowd(seed)
    alone, beside = (
        rolled(case, 10, estimate_error=error, backfill=backfill) for backfill in ("none", "easy")
    )
    assert beside.start_s.tolist() == alone.start_s.tolist()


@pytest.mark.compiled
@pytest.mark.parametrize("error", [0.0, 1.0])
def test_the_same_as_plain_python_and_compiled(error: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit, searches included."""
    for seed in range(3):
        finishes = []
        for mode in ("python", "compiled"):
            monkeypatch.setenv("RINGSCHED_KERNELS", mode)
            finishes.append(rolled(crowd(seed), 20, estimate_error=error, seed=seed).finish_s.tolist())
        assert finishes[0] == finishes[1]


def test_a_wrong_estimate_is_known_once_its_job_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the estimate of a job that comes last is exact was known from the beginning."""
    # So that the starts show which of the two margins is used.
    monkeypatch.setattr(improving, "MARGINS", {True: -1.0, False: 2.0})
    chance = random.Random(3)
    jobs = [
        job(f"j{at}", chance.choice([1, 2, 3, 5]), chance.randint(20, 90), submit_s=float(at // 4))
        for at in range(24)
    ]
    last = job("last", 2, 30, submit_s=1000.0)

    def starts_s(*others: Job) -> list[float]:
        case = scenario(cluster(4, 4), *jobs, *others, time={"model": "continuous"})
        return rolled(case, 50).start_s[: len(jobs)].tolist()

    assert starts_s(last.replace(estimate_s=100.0)) == starts_s(last)
    short = job("short", 1, 1)  # ends while the others wait
    assert starts_s(last, short.replace(estimate_s=100.0)) != starts_s(last, short)
