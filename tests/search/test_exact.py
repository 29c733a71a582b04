"""Policy exact: named facts, limits, and what it says."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from tests import planning
from tests.cli.helpers import run
from tests.effort import examples
from tests.scenarios import cluster, job, scenario
from tests.tiny import needs_compiler, tiny_scenarios

import ringsched
from ringsched import Infeasible, InputError, Scenario, TooLarge
from ringsched.engine.problem import objective_value, problem_of
from ringsched.engine.state import Run
from ringsched.model import Outcome
from ringsched.model.objective import ALL, MAKESPAN, MAX_SLOWDOWN
from ringsched.policies.exact import MOST_JOBS, solve_exact
from ringsched.policies.policy import ANY_ORDER, Candidate, Limits, Settings
from ringsched.search.exact.measure import measure_of
from ringsched.search.exact.prove import Rounds

OTHERS = [policy.name for policy in ringsched.list_policies() if policy.name != "exact"]

FEW: dict[str, dict[str, Any]] = {"search": {"iterations": 200}}


def solved(instance: Scenario, **options: Any) -> Candidate:
    return solve_exact(problem_of(instance), Settings(order=ANY_ORDER, **options))


@needs_compiler
@given(tiny_scenarios(max_jobs=4, max_servers=3, max_iterations=20))
@examples(15)
def test_no_policy_is_better_and_no_bound_is_above(instance: Scenario) -> None:
    plan = ringsched.plan(instance, "exact")
    assert ringsched.verify(instance, plan).violations == ()
    slack = 1e-9 if plan.params["proof"] == "optimal" else 0.01
    assert plan.lower_bound_s <= plan.makespan_s * (1 + 1e-9)
    for name in OTHERS:
        try:
            other = planning.plan(instance, name, **FEW.get(name, {}))
        except Infeasible:
            continue
        assert plan.makespan_s <= other.makespan_s * (1 + slack), name


@needs_compiler
@given(tiny_scenarios(max_jobs=3, max_servers=2, max_iterations=12))
@examples(10)
def test_each_objective_is_best_under_its_own_plan(instance: Scenario) -> None:
    jobs = instance.jobs
    plans = {objective: solved(instance, objective=objective).run.finishes for objective in ALL}

    def values(finishes: Any) -> list[float]:
        weighted = sum(job.weight * finish for job, finish in zip(jobs, finishes, strict=True))
        slowdown = objective_value(problem_of(instance), finishes, MAX_SLOWDOWN)
        return [max(finishes), sum(finishes), weighted, slowdown]

    for at, objective in enumerate(ALL):
        own = values(plans[objective])[at]
        assert all(own <= values(finishes)[at] * 1.01 for finishes in plans.values())


def test_theorem_counterexample() -> None:
    """docs/concepts/model.md: SJF-BCO gives 30 slots, the optimum is 20."""
    jobs = [job(f"{slots}-{at}", iterations=slots * 10) for at, slots in enumerate((10, 10, 20))]
    plan = ringsched.plan(scenario(cluster(2), *jobs), "exact")
    assert (plan.makespan_s, plan.params["proof"]) == (20, "optimal")


def spread(name: str, iterations: int, gradient_mb: float, **fields: Any) -> ringsched.Job:
    """A job of three GPUs, which no server of two can hold."""
    fields = {"gpus": 3, "backward_ms": 10} | fields
    return job(name, iterations=iterations, gradient_mb=gradient_mb, **fields)


def test_a_start_in_the_middle_of_a_run_beats_every_start_at_an_event() -> None:
    """Slotted: b shares the last slot of a, which a does not need in full.

    Together from the start they would slow each other for longer; one after the other wastes that slot.
    """
    both = scenario(
        cluster(2, 2, 2), spread("a", 50, 100), spread("b", 10, 100), contention={"degradation": 0.5}
    )
    plan = ringsched.plan(both, "exact")
    assert [(each.start_s, each.finish_s) for each in plan.jobs] == [(0, 7), (6, 8)]
    assert ringsched.verify(both, plan).valid
    assert min(replayed(both, plan, b_starts_s=start).makespan_s for start in (0, 7)) == 9


def test_a_start_in_the_middle_of_a_run_beats_every_start_at_an_event_in_continuous_time() -> None:
    """Job a runs, and c slows it: the later c starts, the sooner a makes room for b, until c is the last."""
    fields = {"gpus": 2, "gradient_mb": 5, "backward_ms": 100}
    three = scenario(
        cluster(2, 2),
        job("a", iterations=40, gpus=2, gradient_mb=25, backward_ms=10, running_on={"s0": [0], "s1": [0]}),
        job("b", iterations=10, **fields),
        job("c", iterations=30, **fields),
        contention={"degradation": 1},
        time={"model": "continuous"},
    )
    problem = problem_of(three)
    rounds = Rounds(problem, measure_of(problem, MAKESPAN), Run((), [math.inf] * 3, ()))
    assert rounds.explore(0.0, lambda: True)
    at_events = rounds.value
    assert rounds.explore(at_events / 64, lambda: True)
    assert 1.07 * rounds.value < at_events
    assert rounds.bound <= rounds.value <= 1.01 * rounds.bound
    assert 0 < rounds.best.starts[2] < rounds.best.finishes[0]
    assert rounds.best.finishes[1] == pytest.approx(rounds.best.finishes[2], rel=0.01)


def replayed(instance: Scenario, plan: ringsched.Plan, *, b_starts_s: float) -> Outcome:
    a, b = plan.jobs
    return ringsched.replay(instance, plan.replace(jobs=(a, b.replace(start_s=b_starts_s))))


@pytest.mark.parametrize(
    ("instance", "reason"),
    [
        (scenario(cluster(4), *(job(f"j{at}") for at in range(MOST_JOBS + 1))), "at most 8 jobs, not 9"),
        (scenario(cluster(*[4] * 70), job()), "at most 62 servers and switches, not 70"),
        (scenario(cluster(*[9] * 12), job(gpus=20)), "placed in at most 20000 ways, not "),
    ],
)
def test_too_large_says_what(instance: Scenario, reason: str) -> None:
    with pytest.raises(TooLarge, match=reason) as caught:
        ringsched.plan(instance, "exact")
    assert caught.value.exit_code == 1
    assert str(caught.value).endswith("; use policy 'search'")


def test_too_little_time_says_what_is_known() -> None:
    jobs = [spread(f"j{at}", 100 + 30 * at, 50 + 20 * at) for at in range(5)]
    with pytest.raises(
        TooLarge, match="found no proof within 0 s: its best plan has a makespan of"
    ) as caught:
        solved(scenario(cluster(2, 2, 2), *jobs), limits=Limits(time_limit_s=0))
    assert caught.value.best_s is not None
    assert caught.value.lower_bound_s < caught.value.best_s


def test_an_order_means_nothing() -> None:
    with pytest.raises(InputError, match="order is not allowed with policy 'exact'"):
        ringsched.plan(scenario(cluster(2), job()), "exact", order="fifo")


def test_command_line(tmp_path: Path) -> None:
    two = scenario(cluster(2), job("a", iterations=20), job("b", gpus=2))
    path = tmp_path / "two.json"
    path.write_text(json.dumps(two.expanded()))
    result = run("plan", path, "--policy", "exact")
    assert result.exit_code == 0
    assert "policy exact (order any, proof optimal, nodes " in result.stdout
    many = two.replace(jobs=tuple(job(f"j{at}") for at in range(9)))
    path.write_text(json.dumps(many.expanded()))
    result = run("plan", path, "--policy", "exact", "--json")
    assert (result.exit_code, json.loads(result.stdout)["status"]) == (1, "too-large")
