"""What the exact search says before it has looked at every slot must be true as well."""

from __future__ import annotations

import math
import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.effort import examples
from tests.tiny import needs_compiler, tiny_scenarios

from ringsched import Scenario
from ringsched.engine.problem import Problem, objective_value, problem_of
from ringsched.engine.state import Run
from ringsched.model.objective import MAKESPAN, MAX_SLOWDOWN, WEIGHTED_COMPLETION, Objective
from ringsched.policies.policy import priorities
from ringsched.rules.runner import Runner
from ringsched.rules.table import BEST_FIT
from ringsched.search.exact.instance import count_options, instance_of
from ringsched.search.exact.measure import in_seconds, measure_of
from ringsched.search.exact.prove import Rounds, realise

EVERY_SLOT = 1.0
OBJECTIVES = (MAKESPAN, WEIGHTED_COMPLETION, MAX_SLOWDOWN)


def simple_run(problem: Problem) -> Run:
    runner = Runner(problem, priorities(problem, "longest-first"))
    runner.run(BEST_FIT)
    return runner.last()


def no_run(problem: Problem) -> Run:
    """So that the search has everything to find, and a bound no plan to hide behind."""
    return Run((), [math.inf] * problem.num_jobs, ())


def always() -> bool:
    return True


@needs_compiler
@given(
    tiny_scenarios(max_jobs=4, max_servers=3, max_iterations=40, model="slotted"),
    st.sampled_from(OBJECTIVES),
    st.sampled_from([2.0, 3.0, 7.0, 20.0]),
)
@examples(80)
def test_bounds_of_long_pieces_are_not_above_the_optimum(
    scenario: Scenario, objective: Objective, piece: float
) -> None:
    problem = problem_of(scenario)
    measure = measure_of(problem, objective)
    rounds = Rounds(problem, measure, no_run(problem))
    exact = Rounds(problem, measure, simple_run(problem))
    assert exact.explore(EVERY_SLOT, always)
    assert exact.proved
    assert rounds.bound <= exact.value * (1 + 1e-9)
    assert rounds.explore(piece, always)
    assert rounds.bound <= exact.value * (1 + 1e-9)
    assert rounds.value >= exact.value * (1 - 1e-9)


@needs_compiler
@given(
    tiny_scenarios(max_jobs=3, max_servers=3, max_iterations=40, model="continuous"),
    st.sampled_from(OBJECTIVES),
    st.integers(1, 30),
    st.randoms(use_true_random=False),
)
@examples(80)
def test_no_plan_in_continuous_time_is_below_the_bound(
    scenario: Scenario, objective: Objective, num_pieces: int, generator: random.Random
) -> None:
    problem = problem_of(scenario)
    measure = measure_of(problem, objective)
    first = simple_run(problem)
    rounds = Rounds(problem, measure, no_run(problem))
    assert rounds.explore(first.makespan / num_pieces, always)
    _, choices = instance_of(problem, measure)
    by_job: dict[int, list[tuple[int, ...]]] = {}
    instance, _ = instance_of(problem, measure)
    for option, place in enumerate(instance.job_of):
        by_job.setdefault(choices.jobs[place], []).append(choices.counts[option])
    for _ in range(100):
        starts = [release + generator.random() * first.makespan for release in problem.release]
        counts = [generator.choice(by_job[job]) for job in range(problem.num_jobs)]
        run = realise(problem, starts, counts)
        value = objective_value(problem, run.finishes, objective)
        assert value >= in_seconds(problem, objective, rounds.bound) * (1 - 1e-9)


@given(tiny_scenarios(max_jobs=3, max_servers=3, max_iterations=5))
def test_options_are_counted_before_they_are_listed(scenario: Scenario) -> None:
    problem = problem_of(scenario)
    instance, choices = instance_of(problem, measure_of(problem, MAKESPAN))
    assert count_options(problem) == len(choices.counts)
    assert all(
        instance.shortest[first] == instance.shortest[first:after].min()
        for first, after in pairwise(instance.first_option)
    )
