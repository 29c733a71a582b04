"""The anytime search: what it promises whatever the limits."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from benchmarks.worlds import twins
from hypothesis import given
from hypothesis import strategies as st
from tests import planning
from tests.effort import examples
from tests.scenarios import cluster, job, scenario
from tests.strategies import scenarios
from tests.workloads import paper_mix

import ringsched
from ringsched import Infeasible, InputError, Plan, Scenario
from ringsched.model import OBJECTIVES
from ringsched.model.plan import INTERRUPTED, PROVED
from ringsched.policies import exact, search
from ringsched.policies.policy import Progress

MIX = paper_mix(1)


def searched(of: Scenario, **options: Any) -> Plan:
    return planning.plan(of, "search", **options)


@pytest.mark.compiled
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_number_of_threads_changes_nothing(objective: str) -> None:
    plans = [
        searched(MIX, objective=objective, iterations=9001, threads=threads, seed=4) for threads in (1, 2, 5)
    ]
    assert plans[0] == plans[1] == plans[2]
    assert plans[0].params == {"iterations": 9001}


@pytest.mark.compiled
def test_the_seed_changes_the_search() -> None:
    one, other = (searched(MIX, iterations=4000, seed=seed) for seed in (0, 1))
    assert [job.start_s for job in one.jobs] != [job.start_s for job in other.jobs]


@pytest.mark.compiled
def test_more_iterations_are_never_worse() -> None:
    values = [searched(MIX, iterations=number).makespan_s for number in (0, 4000, 16_000)]
    assert values == sorted(values, reverse=True)
    assert values[-1] < values[0]


@given(scenarios(), st.sampled_from(OBJECTIVES), st.integers(0, 300))
@examples(100)
def test_it_is_valid_and_never_worse_than_simple_policies(
    instance: Scenario, objective: str, iterations: int
) -> None:
    plan = searched(instance, objective=objective, iterations=iterations)
    assert ringsched.verify(instance, plan).violations == ()
    for policy in ("longest-first", "sjf-bco"):
        try:
            other = ringsched.plan(instance, policy, objective=objective)
        except Infeasible:
            continue
        assert plan.objective_s <= other.objective_s * (1 + 1e-9)


ENOUGH = 400  # schedules, with which all simple policies are tried in all orders


@given(scenarios(max_jobs=6), st.sampled_from(OBJECTIVES))
@examples(10)
def test_it_is_never_worse_than_any_simple_policy_in_any_order(instance: Scenario, objective: str) -> None:
    plan = searched(instance, objective=objective, iterations=ENOUGH)
    assert "untried" not in plan.params
    for policy in ringsched.list_policies():
        if policy.name in ("search", "exact") or instance.contention.model_name not in policy.models:
            continue
        for order in ringsched.ORDERS:
            try:
                other = ringsched.plan(instance, policy.name, order=order, objective=objective)
            except Infeasible:
                continue
            assert plan.objective_s <= other.objective_s * (1 + 1e-9), (policy.name, order)


def test_a_plan_names_the_policies_that_were_not_tried() -> None:
    plan = searched(odd_sizes(12), iterations=40, objective="mean-completion")
    assert plan.params["untried"] == (
        "contention-aware, adaptive-overlap, lwf, sjf-bco, list-scheduling, first-fit, random"
    )


def odd_sizes(num_jobs: int) -> Scenario:
    """Jobs whose sizes do not divide those of servers, and which exchange much."""
    jobs = [
        job(f"j{at}", gpus=(3, 5, 6, 7)[at % 4], gradient_mb=40.0 + at, iterations=200 + 37 * at)
        for at in range(num_jobs)
    ]
    return scenario(cluster(8, 8, 8), *jobs, time={"model": "continuous"})


@pytest.mark.parametrize("objective", ["makespan", "mean-completion"])
def test_it_beats_free_links_where_sizes_do_not_divide(objective: str) -> None:
    """Once it lost by a fifth: in no solution did small jobs wait for a server and large ones for links."""
    instance = odd_sizes(16)
    simple = min(
        ringsched.plan(instance, "free-links", order=order, objective=objective).objective_s
        for order in ringsched.ORDERS
    )
    assert searched(instance, objective=objective, iterations=300).objective_s < simple


@pytest.mark.compiled
def test_a_proof_finds_what_the_search_of_a_small_queue_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best plan of these five jobs keeps GPUs idle for a job that arrives later."""
    monkeypatch.setattr(search, "_PROOF_S", 300.0)  # on a busy machine
    monkeypatch.setattr(exact, "QUICK_NODES", 10)  # so that the proof before the search finds little
    instance = dict(twins())["odd 30"]
    objective = "weighted-completion"
    told: list[Plan] = []
    seen: list[Progress] = []
    plan = searched(
        instance, objective=objective, time_limit_s=600, on_better=told.append, on_progress=seen.append
    )
    assert (told[-1].objective_s, seen[-1].value_s) == (plan.objective_s, plan.objective_s)
    assert (plan.ended, plan.params["proof"]) == (PROVED, "optimal")
    assert plan.objective_s == ringsched.plan(instance, "exact", objective=objective).objective_s
    assert plan.objective_s < 0.95 * searched(instance, objective=objective, iterations=8000).objective_s
    assert ringsched.verify(instance, plan).valid


@pytest.mark.compiled
def test_a_proof_after_a_search_can_be_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, prove = threading.Event(), search.proof_beside

    def asked_to_end(*arguments: Any, is_quick: bool = False, **options: Any) -> Any:
        if not is_quick:
            asked.set()
        return prove(*arguments, is_quick=is_quick, **options)

    monkeypatch.setattr(search, "proof_beside", asked_to_end)
    monkeypatch.setattr(exact, "QUICK_NODES", 10)
    instance = dict(twins())["odd 30"]
    plan = searched(instance, objective="weighted-completion", time_limit_s=4, should_stop=asked.is_set)
    assert asked.is_set()
    assert plan.ended == INTERRUPTED
    assert ringsched.verify(instance, plan).valid


def test_jobs_that_have_waited_long_go_first() -> None:
    """Small jobs come all the time, and the large one would wait for the last of them."""
    small = [job(f"s{at}", iterations=100, submit_s=5.0 * at) for at in range(40)]
    instance = scenario(cluster(2), job("large", gpus=2, iterations=300, submit_s=1.0), *small)

    def waited_s(**options: Any) -> float:
        plan = searched(instance, objective="mean-completion", iterations=200, **options)
        assert ringsched.verify(instance, plan).valid
        return next(planned.start_s for planned in plan.jobs if planned.name == "large")

    assert waited_s() > 60
    assert waited_s(max_wait_s=30.0) <= 1 + 30 + 10  # until those that run have ended


def test_a_limit_on_waiting_is_for_the_search() -> None:
    with pytest.raises(InputError, match="max-wait is not allowed with policy 'fifo', only with search"):
        ringsched.plan(scenario(cluster(2), job()), "fifo", max_wait_s=1.0)
    assert searched(scenario(cluster(2), job()), max_wait_s=1.0, iterations=0).params["max_wait_s"] == 1.0


@pytest.mark.compiled
def test_it_stops_at_the_gap() -> None:
    plan = searched(MIX, gap=1.2, time_limit_s=60)
    assert plan.gap <= 1.2
    assert plan.params["iterations"] < 50_000


def test_what_is_optimal_already_is_not_searched() -> None:
    plan = searched(scenario(cluster(2), job("a"), job("b")))
    assert (plan.gap, plan.params) == (1, {"iterations": 0})


def test_a_queue_of_running_jobs_only() -> None:
    instance = scenario(cluster(2, 2), job("a", gpus=2, running_on={"s1": [0, 1]}))
    assert searched(instance).params == {"iterations": 0}


@pytest.mark.compiled
def test_the_clock_stops_it() -> None:
    searched(MIX, iterations=0)  # what is compiled or loaded is not counted
    plan = searched(MIX, objective="mean-completion", time_limit_s=0.5)  # without a limit, it takes minutes
    assert plan.ended == "time"


@pytest.mark.compiled
def test_it_stops_when_asked() -> None:
    asked = threading.Event()
    seen: list[float] = []

    def on_progress(progress: Progress) -> None:
        seen.append(progress.value_s)
        assert progress.gap == pytest.approx(progress.value_s / progress.bound_s)
        if len(seen) == 3:
            asked.set()

    plan = searched(MIX, time_limit_s=600, on_progress=on_progress, should_stop=asked.is_set)
    assert ringsched.verify(MIX, plan).valid
    assert plan.makespan_s <= seen[0]


@pytest.mark.compiled
def test_better_plans_are_told_of_and_valid() -> None:
    told: list[Plan] = []
    plan = searched(MIX, iterations=20_000, on_better=told.append)
    values = [better.makespan_s for better in told]
    assert values == sorted(set(values), reverse=True)
    assert plan.makespan_s == values[-1]
    assert all(ringsched.verify(MIX, better).valid for better in told)


@pytest.mark.compiled
def test_an_error_in_a_callback_ends_it() -> None:
    def fail(_: object) -> None:
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        searched(MIX, time_limit_s=600, on_progress=fail)


def test_starting_later_can_be_better() -> None:
    """Two jobs that exchange much, and servers that hold one of them whole: nobody spreads, one waits."""
    big = {"gpus": 4, "gradient_mb": 500.0, "iterations": 100}
    instance = scenario(cluster(4, 2, 2), job("a", **big), job("b", **big), time={"model": "continuous"})
    plan = searched(instance, iterations=2000)
    assert [len(planned.gpus) for planned in plan.jobs] == [1, 1]
    assert plan.makespan_s < ringsched.plan(instance, "longest-first").makespan_s


def test_weights_decide_who_goes_first() -> None:
    light, heavy = job("light", iterations=100), job("heavy", iterations=300, weight=9.0)
    instance = scenario(cluster(1), light, heavy)
    assert [p.start_s for p in searched(instance, objective="mean-completion").jobs] == [0, 10]
    assert [p.start_s for p in searched(instance, objective="weighted-completion").jobs] == [30, 0]


def test_a_weight_beside_which_another_vanishes() -> None:
    instance = scenario(cluster(1), job("light", weight=1e-20), job("heavy", weight=1e308))
    plan = searched(instance, objective="weighted-completion")
    assert [planned.start_s for planned in plan.jobs] == [1, 0]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"time_limit_s": -1}, "time-limit"),
        ({"time_limit_s": float("nan")}, "time-limit"),
        ({"iterations": -1}, "max-schedules"),
        ({"iterations": 2.5}, "max-schedules"),
        ({"gap": 0.9}, "gap"),
        ({"threads": 0}, "workers"),
        ({"order": "fifo"}, "order"),
    ],
)
def test_wrong_options(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        searched(MIX, **options)
    assert caught.value.field == field


@pytest.mark.parametrize("option", ["time_limit_s", "iterations", "gap", "threads"])
def test_other_policies_have_no_such_options(option: str) -> None:
    with pytest.raises(InputError, match="is not allowed with policy 'longest-first', only with search"):
        planning.plan(MIX, "longest-first", **{option: 1})


def test_a_plan_says_why_its_search_ended() -> None:
    instance = scenario(
        cluster(2, 2), *(job(f"j{at}", gpus=1 + at % 3, iterations=10 + at) for at in range(7))
    )
    assert searched(instance, gap=1e9).ended == "gap"
    assert searched(MIX, iterations=16).ended == "schedules"
    assert searched(MIX, time_limit_s=0.0).ended == "time"
    assert searched(MIX, time_limit_s=60, should_stop=lambda: True).ended == "interrupted"
    assert searched(scenario(cluster(1), job("only"))).ended == "proved"
    assert ringsched.plan(MIX, "longest-first").ended is None
    seen = []
    stopped = ringsched.plan(MIX, stop=lambda progress: seen.append(progress) or progress.iterations >= 100)
    assert (stopped.ended, len(seen) > 0) == ("interrupted", True)


def test_a_function_says_when_to_stop_and_no_clock_does() -> None:
    plan = ringsched.plan(MIX, objective="mean-completion", stop=lambda progress: progress.iterations >= 50)
    assert plan.ended == "interrupted"
    both = ringsched.Stop(max_schedules=16, when=lambda _: False)
    assert ringsched.plan(MIX, stop=both).ended == "schedules"


@pytest.mark.parametrize("stop", [5, "10s", ringsched.Stop])
def test_what_is_no_stop(stop: Any) -> None:
    if stop is ringsched.Stop:
        with pytest.raises(InputError, match="stop must be"):
            ringsched.simulate(MIX, stop=stop)
    else:
        with pytest.raises(InputError, match="stop must be a Stop, or a function"):
            ringsched.plan(MIX, stop=stop)


def test_an_observer_with_a_method_of_its_own_is_told_of_plans() -> None:
    seen: list[Plan] = []
    observer = ringsched.Observer()
    observer.better = seen.append  # type: ignore[method-assign]
    found = ringsched.plan(MIX, stop=ringsched.Stop(max_schedules=4000), observer=observer)
    assert seen
    assert seen[-1].makespan_s >= found.makespan_s


def test_a_small_queue_for_which_gpus_must_be_kept_idle_is_proved() -> None:
    """The search starts a job as soon as it fits, and ended above the best plan, with a gap of 27 %."""
    jobs = [job("a", 1, 100), job("b", 1, 100), job("late", 1, 200, submit_s=1.0)]
    small = scenario(cluster(2), *jobs, time={"model": "continuous"})
    plan = ringsched.plan(small, "search")
    assert (plan.makespan_s, plan.ended) == (pytest.approx(21.0), "proved")
    assert ringsched.verify(small, plan).violations == ()
    assert searched(small, iterations=500).makespan_s == pytest.approx(30.0)
