"""Queues over time, small enough to be drawn by hand.

Jobs compute 100 ms an iteration, so ten a slot. A `ring` of two GPUs on two servers takes as long alone on
its links, and 180 ms, so five iterations a slot, next to another one.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests import planning
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import Infeasible, InputError, Job, Scenario, Server, Simulation
from ringsched.analysis.over_time import over_time
from ringsched.errors import UnknownName
from ringsched.online.settings import Standing

PLANNING = ["sjf-bco", "first-fit", "list-scheduling", "rolling"]
DISPATCHING = [policy.name for policy in ringsched.list_policies(online=True) if not policy.replans]


def ring(name: str, iterations: int, **fields: Any) -> Job:
    """80 ms exchange, 1 ms reduction, 19 ms computation; twice the exchange if it shares a link."""
    return job(name, 2, iterations, gradient_mb=100, backward_ms=19, **fields)


def easy(case: Scenario, policy: str = "fifo", **options: Any) -> Simulation:
    return planning.simulate(case, policy, backfill="easy", **options)


def starts(simulation: Simulation) -> dict[str, float]:
    return {job.name: start for job, start in zip(simulation.scenario.jobs, simulation.start_s, strict=True)}


def backfilled(simulation: Simulation) -> set[str]:
    names = [job.name for job in simulation.scenario.jobs]
    return {name for name, stepped in zip(names, simulation.backfilled, strict=True) if stepped}


# --- EASY -------------------------------------------------------------------------------------


def test_a_candidate_that_ends_in_time_but_slows_a_job_the_head_waits_for_is_refused() -> None:
    """Alone it would take 2 of the 10 slots until the promise. With it `first` does 20 iterations in its
    4 slots instead of 40, and ends at 12."""
    first = ring("first", 100, running_on={"s0": [0], "s1": [0]})
    simulation = easy(scenario(cluster(2, 2), first, job("head", 4, 10), ring("candidate", 20)))
    assert starts(simulation) == {"first": 0, "head": 10, "candidate": 11}
    assert simulation.promised_s[1] == 10
    assert not backfilled(simulation)


def test_the_same_candidate_alone_on_its_links_is_admitted() -> None:
    """Those it stands next to have one GPU each and use no link."""
    first = [job("a", 1, 100, running_on={"s0": [0]}), job("b", 1, 100, running_on={"s1": [0]})]
    simulation = easy(scenario(cluster(2, 2), *first, job("head", 4, 10), ring("candidate", 20)))
    assert starts(simulation) == {"a": 0, "b": 0, "head": 10, "candidate": 0}
    assert simulation.finish_s[3] == 2
    assert backfilled(simulation) == {"candidate"}


def test_a_candidate_that_shares_only_the_uplink_of_a_rack_is_refused_too() -> None:
    """`first` goes from s0 out of the rack to s2, the candidate from s1 out of the same rack to s3."""
    servers = tuple(Server(name=f"s{at}", gpus=1, switch="r" if at < 2 else None) for at in range(4))
    first = ring("first", 100, running_on={"s0": [0], "s2": [0]})
    jobs = [first, job("head", 4, 10), ring("candidate", 20)]
    assert starts(easy(scenario(cluster(servers=servers, switches={"r": 10}), *jobs)))["candidate"] == 11
    flat = tuple(server.replace(switch=None) for server in servers)
    assert starts(easy(scenario(cluster(servers=flat), *jobs)))["candidate"] == 0


def test_how_long_a_candidate_takes_depends_on_the_uplink_of_its_rack() -> None:
    """Alone on its links it does 5 iterations a slot behind 5 Gbit/s: 50, not 51, until the promise."""
    servers = tuple(Server(name=f"s{at}", gpus=1, switch="r" if at < 2 else None) for at in range(4))
    running = [job("a", 1, 100, running_on={"s0": [0]}), job("b", 1, 100, running_on={"s2": [0]})]
    for iterations, expected in ((50, 0), (51, 11)):
        jobs = [*running, job("head", 4, 10), ring("candidate", iterations)]
        simulation = easy(scenario(cluster(servers=servers, switches={"r": 5}), *jobs))
        assert starts(simulation)["candidate"] == expected
        assert starts(simulation)["head"] == 10


def test_a_head_that_needs_free_links_is_not_served_by_any_gpus() -> None:
    """At 5 the head finds s0 and s1; two GPUs behind the links of `long` are left over, but no use to it."""
    running = [
        job("until 5", 1, 50, running_on={"s1": [0]}),
        ring("long", 1000, running_on={"s2": [0], "s3": [0]}),
    ]
    jobs = [*running, ring("head", 20), job("candidate", 1, 1000)]
    simulation = easy(scenario(cluster(1, 1, 2, 2), *jobs), "free-links", order="fifo")
    assert starts(simulation) == {"until 5": 0, "long": 0, "head": 5, "candidate": 5}


def test_a_planned_head_is_not_served_by_any_gpus() -> None:
    """It is to have s0, s1 and s2 at 10. Best fit would give s2 to the candidate, and s3 is left over."""
    running = [job("a", 1, 100, running_on={"s0": [0]}), job("b", 1, 100, running_on={"s1": [0]})]
    jobs = [*running, job("head", 3, 10), job("candidate", 1, 1000, submit_s=1)]
    simulation = easy(scenario(cluster(1, 1, 1, 1), *jobs), "first-fit", every_s=50)
    assert starts(simulation) == {"a": 0, "b": 0, "head": 10, "candidate": 50}


def test_a_candidate_may_share_a_link_with_a_job_that_the_head_does_not_wait_for() -> None:
    """`spread` ends at 4 instead of 2 and `long` lets the head wait until 10 anyway."""
    running = [
        ring("spread", 20, running_on={"s0": [0], "s1": [0]}),
        job("long", 1, 100, running_on={"s2": [0]}),
    ]
    simulation = easy(scenario(cluster(2, 2, 1), *running, job("head", 5, 10), ring("candidate", 20)))
    assert starts(simulation) == {"spread": 0, "long": 0, "head": 10, "candidate": 0}
    assert simulation.finish_s[0] == simulation.finish_s[3] == 4


def test_a_long_candidate_in_the_gpus_that_are_left_over_is_admitted() -> None:
    """At 10 there are 4 GPUs and the head takes 3: one is left over, for one long candidate only."""
    first = job("first", 2, 100, running_on={"s0": [0, 1]})
    others = [job("long", 1, 1000), job("longer", 1, 2000), job("short", 1, 100)]
    simulation = easy(scenario(cluster(4), first, job("head", 3, 10), *others))
    # The short one ends exactly when the head starts, which is soon enough.
    assert starts(simulation) == {"first": 0, "head": 10, "long": 0, "longer": 11, "short": 0}
    assert backfilled(simulation) == {"long", "short"}


def test_one_slot_too_long_is_too_long() -> None:
    first = job("first", 1, 100, running_on={"s0": [0]})
    simulation = easy(scenario(cluster(2), first, job("head", 2, 10), job("late", 1, 101), job("ok", 1, 100)))
    assert backfilled(simulation) == {"ok"}


def test_in_continuous_time_one_instant_is_a_billionth_wide() -> None:
    """0.1 + 0.2 is more than 0.3 in the last digit, and soon enough for a head that is promised 0.3."""
    first = job("first", 1, 1, backward_ms=300, running_on={"s0": [0]})
    jobs = [first, job("head", 2, 10), job("candidate", 1, 2, submit_s=0.1)]
    simulation = easy(scenario(cluster(2), *jobs, time={"model": "continuous"}))
    assert simulation.promised_s[1] == 0.3 < 0.1 + 2 * 0.1
    assert starts(simulation)["candidate"] == 0.1
    assert starts(simulation)["head"] == pytest.approx(0.3, rel=1e-9)


def test_what_is_left_over_counts_those_whom_a_shared_link_delays() -> None:
    """Of 12 GPUs the head takes 7 at 3, when `six` ends, and `spread` would be gone at 2.

    With `candidate` both are there until 4, each with two GPUs: one is left over, not 5, nor 5 - 2.
    """
    running = [
        ring("spread", 20, running_on={"s0": [0], "s1": [0]}),
        job("six", 6, 30, running_on={"s2": range(6)}),
    ]
    others = [ring("candidate", 20), job("long", 1, 1000), job("longer", 1, 1000)]
    simulation = easy(scenario(cluster(2, 2, 6, 1, 1), *running, job("head", 7, 10), *others))
    assert starts(simulation) == {"spread": 0, "six": 0, "head": 3, "candidate": 0, "long": 0, "longer": 4}
    assert simulation.promised_s[2] == 3


def test_an_overrunning_job_is_believed_to_need_twice_as_much() -> None:
    """`first` states 2 s and takes 10: believed to end at 2, 4, 8, 16."""
    first = job("first", 1, 100, running_on={"s0": [0]}, estimate_s=2)
    others = [
        job("one slot", 1, 10, submit_s=3),  # 30 done, so believed to end at 4
        job("four slots", 1, 40, submit_s=5),  # 50 done, so believed to end at 8: not by then
        job("three slots", 1, 30, submit_s=5),
    ]
    simulation = easy(scenario(cluster(2), first, job("head", 2, 10), *others))
    # The four slots fit from 8 on, when 16 is believed; the head pays for it.
    assert starts(simulation) == {
        "first": 0,
        "head": 12,
        "one slot": 3,
        "four slots": 8,
        "three slots": 5,
    }
    assert simulation.promised_s[1] == 2
    assert over_time(simulation).num_broken_promises == 1


def test_a_planned_head_is_promised_anew_when_a_job_overruns() -> None:
    """`first` states 2 s and takes 10; at 3 it is believed to end at 4, so one slot fits before the head."""
    first = job("first", 1, 100, running_on={"s0": [0]}, estimate_s=2)
    jobs = [first, job("head", 2, 10), job("one slot", 1, 10, submit_s=3)]
    simulation = easy(scenario(cluster(2), *jobs), "first-fit")
    assert starts(simulation) == {"first": 0, "head": 10, "one slot": 3}
    assert simulation.promised_s[1] == 2


def test_who_is_overtaken_at_the_head_is_promised_anew() -> None:
    """`large` is promised 10; `small` comes, sorts before it and takes its GPUs from 10 to 12."""
    first = job("first", 2, 100, running_on={"s0": [0, 1]})
    jobs = [first, job("large", 3, 10), job("small", 2, 20, submit_s=5)]
    simulation = easy(scenario(cluster(3), *jobs), "smallest-first")
    assert starts(simulation) == {"first": 0, "large": 12, "small": 10}
    assert simulation.promised_s.tolist()[1:] == [12, 10]


def test_who_steps_past_another_head_has_no_promise() -> None:
    """`pair` is at the head from 1 on, until at 2 `short` sorts before it; at 5 it steps past that."""
    running = [job("a", 2, 100, running_on={"s0": [0, 1]}), job("b", 1, 50, running_on={"s0": [2]})]
    jobs = [job("pair", 2, 30, submit_s=1), job("short", 4, 10, submit_s=2)]
    simulation = easy(scenario(cluster(4), *running, *jobs), "shortest-first")
    assert starts(simulation) == {"a": 0, "b": 0, "pair": 5, "short": 10}
    assert backfilled(simulation) == {"pair"}
    assert math.isnan(simulation.promised_s[2])
    assert simulation.promised_s[3] == 10


# --- the edges --------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [*DISPATCHING, *PLANNING])
@pytest.mark.parametrize("backfill", ["none", "easy"])
def test_no_jobs(policy: str, backfill: str) -> None:
    simulation = ringsched.simulate(scenario(cluster(1)), policy, backfill=backfill)
    assert simulation.makespan_s == 0
    assert simulation.plan().jobs == ()
    assert over_time(simulation).num_jobs == 0


@pytest.mark.parametrize("policy", [*DISPATCHING, *PLANNING])
@pytest.mark.parametrize("time", [{}, {"model": "continuous"}], ids=["slotted", "continuous"])
def test_one_job_of_one_slot_on_one_gpu(policy: str, time: dict[str, str]) -> None:
    """Submitted within a slot it starts at the next one."""
    case = scenario(cluster(1), job("only", 1, 10, submit_s=2.5), time=time)
    simulation = ringsched.simulate(case, policy, backfill="easy")
    assert simulation.start_s.tolist() == [2.5 if time else 3]
    assert simulation.finish_s[0] == pytest.approx(3.5 if time else 4)
    assert simulation.series.queue_length.max() == 0


@pytest.mark.parametrize("policy", [*DISPATCHING, *PLANNING])
def test_jobs_as_large_as_the_cluster_go_one_by_one(policy: str) -> None:
    jobs = [job(f"j{at}", 4, 10) for at in range(3)]
    simulation = ringsched.simulate(scenario(cluster(2, 2), *jobs), policy, backfill="easy")
    assert sorted(simulation.start_s.tolist()) == [0, 1, 2]
    assert not simulation.backfilled.any()


@pytest.mark.parametrize("policy", [*DISPATCHING, *PLANNING])
def test_all_at_once_and_all_fit(policy: str) -> None:
    jobs = [job(f"j{at}", 1, 10, submit_s=7) for at in range(4)]
    simulation = ringsched.simulate(scenario(cluster(4), *jobs), policy, backfill="easy")
    assert simulation.start_s.tolist() == [7] * 4
    assert over_time(simulation).gpu_utilisation == 1


def test_a_horizon_is_for_those_who_bisect_and_know_all() -> None:
    jobs = [job("a", 1, 100), job("b", 1, 100)]
    case = scenario(cluster(1), *jobs, time={"horizon_s": 15})
    with pytest.raises(Infeasible, match="within the horizon of 15 s"):
        ringsched.simulate(case, "sjf-bco")
    assert ringsched.simulate(case, "fifo").makespan_s == 20
    later = scenario(cluster(1), jobs[0], jobs[1].replace(submit_s=1), time={"horizon_s": 15})
    assert ringsched.simulate(later, "sjf-bco").makespan_s == 20


def test_every_gathers_those_who_come_meanwhile() -> None:
    jobs = [job(f"j{at}", 1, 10, submit_s=float(at)) for at in range(6)]
    case = scenario(cluster(8), *jobs)
    assert ringsched.simulate(case, "first-fit").num_plans == 6
    gathered = ringsched.simulate(case, "first-fit", every_s=3)
    assert gathered.num_plans == 3
    assert gathered.start_s.tolist() == [0, 3, 3, 3, 6, 6]


def test_nobody_takes_a_gpu_planned_for_a_job_that_goes_before() -> None:
    """Planned: pair at 10 on both GPUs, single at 12 on the first. `late` takes 30 s instead of 10."""
    running = [
        job("ends", 1, 100, running_on={"s0": [0]}),
        job("late", 1, 300, running_on={"s0": [1]}, estimate_s=10),
    ]
    jobs = [*running, job("pair", 2, 20), job("single", 1, 10)]
    simulation = ringsched.simulate(scenario(cluster(2), *jobs), "first-fit")
    assert starts(simulation) == {"ends": 0, "late": 0, "pair": 30, "single": 32}


def test_a_planned_job_starts_when_the_one_before_it_ends_early() -> None:
    """`first` states 20 s and takes 10; the plan was to start at 20."""
    first = job("first", 1, 100, running_on={"s0": [0]}, estimate_s=20)
    simulation = ringsched.simulate(scenario(cluster(1), first, job("next", 1, 10)), "first-fit")
    assert starts(simulation) == {"first": 0, "next": 10}


def test_a_planned_job_does_not_wait_for_one_that_is_late_somewhere_else() -> None:
    """`second` is to start at 20 on GPU 0, by which time `b` has ended there.

    It starts then, although `a`, which was to end at the same instant, overruns on GPU 1.
    """
    running = [
        job("a", 1, 400, running_on={"s0": [1]}, estimate_s=20),
        job("b", 1, 200, running_on={"s0": [0]}),
    ]
    simulation = ringsched.simulate(scenario(cluster(2), *running, job("second", 1, 10)), "first-fit")
    assert starts(simulation)["second"] == 20


def test_plans_are_made_of_estimates() -> None:
    """The job believed to be short goes first, as is best for the mean completion, although it is long."""
    jobs = [job("seems long", 1, 10, estimate_s=10), job("seems short", 1, 100, estimate_s=1)]
    simulation = ringsched.simulate(scenario(cluster(1), *jobs), "rolling")
    assert starts(simulation) == {"seems long": 10, "seems short": 0}


# --- options ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"policy": "sjf-bco", "order": "fifo"}, "order is not allowed with policy 'sjf-bco'"),
        ({"policy": "fifo", "every_s": 3.0}, "every is not allowed with policy 'fifo'"),
        (
            {"policy": "fifo", "iterations": 3},
            "max-schedules is not allowed with policy 'fifo', only with rolling",
        ),
        ({"policy": "first-fit", "time_limit_s": 3.0}, "time-limit is not allowed"),
        ({"estimate_error": -0.5}, "estimate-error"),
        ({"estimate_error": math.nan}, "estimate-error"),
        ({"estimate_error": 1001.0}, "estimate-error"),
        ({"backfill": "conservative"}, "backfill"),
        ({"seed": -1}, "seed"),
        ({"policy": "rolling", "every_s": -1.0}, "every"),
        ({"policy": "rolling", "objective": "fun"}, "objective"),
    ],
)
def test_bad_options(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        planning.simulate(scenario(cluster(1), job()), **options)


def test_unknown_names_are_guessed() -> None:
    with pytest.raises(UnknownName, match="did you mean 'longest-first'"):
        ringsched.simulate(scenario(cluster(1)), "longest-frist")
    with pytest.raises(InputError, match="did you mean 'shortest-first'"):
        ringsched.simulate(scenario(cluster(1)), "fifo", order="shortest-frist")


def test_progress_is_told() -> None:
    told: list[Standing] = []
    observer = planning.observing(progress=told.append)
    ringsched.simulate(scenario(cluster(1), job("a"), job("b")), observer=observer)
    assert (told[-1].num_ended, told[-1].num_jobs, told[-1].num_waiting) == (2, 2, 0)
    assert told[-1].now_s == 2


def test_errors_lie_within_their_bounds_and_on_both_sides() -> None:
    """Half of all factors are below 1, on a logarithmic scale."""
    from ringsched.engine.problem import problem_of
    from ringsched.online.ahead import believed_problem

    case = scenario(cluster(1), *(job(f"j{at}", 1, 10_000) for at in range(1000)))
    factors = [each / 10_000 for each in believed_problem(problem_of(case), 3.0, 5).iterations]
    assert 0.25 <= min(factors) < 0.26
    assert 3.9 < max(factors) <= 4
    assert 450 < sum(factor < 1 for factor in factors) < 550
    assert 450 < sum(0.5 < factor < 2 for factor in factors) < 550
