"""The verifier: plans worked out by hand are accepted, and each thing that can be wrong is named."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from tests.scenarios import cluster, job, scenario

from ringsched.errors import InputError
from ringsched.model import Bound, Certificate, Placement, Plan, PlannedJob, Scenario, Server
from ringsched.verify import Verdict, Violation, verify

Gpus = Mapping[str, Sequence[int]]

# Per iteration such a job exchanges 1 Gbit, 0.1 s at 10 Gbit/s, reduces for 0.00125 s and computes for
# 0.09875 s: 0.2 s alone on its links, 0.3 s when a second job shares one.
EXCHANGING = {"gpus": 2, "gradient_mb": 125, "backward_ms": 98.75}


def planned(name: str, start_s: float, finish_s: float, gpus: Gpus, **fields: Any) -> PlannedJob:
    ring = tuple((server, gpu) for server, held in gpus.items() for gpu in held)
    values: dict[str, Any] = {"gpus": Placement(gpus), "ring": ring} | fields
    return PlannedJob(name=name, start_s=start_s, finish_s=finish_s, **values)


def plan_of(
    scenario: Scenario, *jobs: PlannedJob, makespan: float, mean: float, bound: float, gap: float
) -> Plan:
    return Plan(
        scenario_sha256=scenario.sha256(),
        policy="by-hand",
        makespan_s=makespan,
        mean_completion_s=mean,
        lower_bound_s=bound,
        gap=gap,
        jobs=jobs,
    )


def names(verdict: Verdict) -> list[str]:
    return [violation.constraint for violation in verdict.violations]


# Plans worked out by hand. Best case of an EXCHANGING job: one server, 0.105 s, 9 iterations per slot.


def two_on_one_link() -> tuple[Scenario, Plan]:
    """Both at 3 per slot until slot 4; then b is alone at 5 per slot: 12 + 18 = 30 iterations at slot 8."""
    problem = scenario(
        cluster(2, 2), job("a", iterations=12, **EXCHANGING), job("b", iterations=30, **EXCHANGING)
    )
    rows = (planned("a", 0, 4, {"s0": [0], "s1": [0]}), planned("b", 0, 8, {"s0": [1], "s1": [1]}))
    # Best cases 2 and 4 slots; area 2*2 + 2*4 = 12 over 4 GPUs is 3.
    return problem, plan_of(problem, *rows, makespan=8, mean=6, bound=4, gap=2)


def racks() -> tuple[Scenario, Plan]:
    """b and c share two rack uplinks of 5 Gbit/s, a stays in its rack and meets them on server uplinks.

    Until slot 2: a at 10/2 (3 per slot), b and c at 5/2 (2 per slot), c is done with 4.
    Until slot 5: a still shares s0 with b (3 per slot), b has 5/1 and 10/2 (3 per slot): 4 + 9 >= 12.
    Then a is alone: 15 done, 15 left at 5 per slot.
    """
    servers = tuple(Server(name=f"s{at}", gpus=2, switch=f"r{at // 2}") for at in range(4))
    problem = scenario(
        cluster(switches={"r0": 5, "r1": 5}, servers=servers),
        job("a", iterations=30, **EXCHANGING),
        job("b", iterations=12, **EXCHANGING),
        job("c", iterations=4, **EXCHANGING),
    )
    rows = (
        planned("a", 0, 8, {"s0": [0], "s1": [0]}),
        planned("b", 0, 5, {"s0": [1], "s2": [0]}),
        planned("c", 0, 2, {"s1": [1], "s3": [1]}),
    )
    # Best cases 4, 2 and 1 slots; area 14 over 8 GPUs is 2.
    return problem, plan_of(problem, *rows, makespan=8, mean=5, bound=4, gap=2)


def running_and_arriving() -> tuple[Scenario, Plan]:
    """r has 30 of 40 iterations left, 10 per slot; a comes at 1.5 s and so may start at slot 2."""
    problem = scenario(
        cluster(2),
        job("r", iterations=40, done_iterations=10, running_on={"s0": [1]}),
        job("a", iterations=20, submit_s=1.5),
        job("b", gpus=2, iterations=10),
    )
    rows = (
        planned("r", 0, 3, {"s0": [1]}),
        planned("a", 2, 4, {"s0": [0]}),
        planned("b", 4, 5, {"s0": [0, 1]}),
    )
    # a cannot be done before 2 + 2; area 3 + 2 + 2 = 7 over 2 GPUs is 4.
    return problem, plan_of(problem, *rows, makespan=5, mean=3.5, bound=4, gap=1.25)


def spread_running() -> tuple[Scenario, Plan]:
    """A running job's bound is that of its own place: spread over 2 servers at 5 per slot, not 9."""
    place = {"s0": [0], "s1": [0]}
    runner = job("r", iterations=30, done_iterations=5, running_on=place, **EXCHANGING)
    problem = scenario(cluster(2, 2), runner)
    return problem, plan_of(problem, planned("r", 0, 5, place), makespan=5, mean=5, bound=5, gap=1)


def table() -> tuple[Scenario, Plan]:
    """f is 1, 1.5 and, by the last slope, 2: 3 per slot for three, 4 for two, 5 for one.

    Three until slot 2 (a: 6), two until slot 4 (b: 6 + 8), then c has 27 - 14 = 13 left.
    """
    sizes = {"a": 6, "b": 14, "c": 27}
    problem = scenario(
        cluster(3, 3),
        *(job(name, iterations=size, **EXCHANGING) for name, size in sizes.items()),
        contention={"table": [1, 1.5]},
    )
    finishes = {"a": 2, "b": 4, "c": 7}
    rows = [
        planned(name, 0, finish, {"s0": [at], "s1": [at]})
        for at, (name, finish) in enumerate(finishes.items())
    ]
    # Best cases 1, 2 and 3 slots; area 12 over 6 GPUs is 2.
    return problem, plan_of(problem, *rows, makespan=7, mean=13 / 3, bound=3, gap=7 / 3)


def continuous() -> tuple[Scenario, Plan]:
    """0.3 s per iteration for both until a is done at 3 s; then b does its other 20 in 0.2 s each."""
    problem = scenario(
        cluster(2, 2),
        job("a", iterations=10, **EXCHANGING),
        job("b", iterations=30, **EXCHANGING),
        time={"model": "continuous"},
    )
    rows = (planned("a", 0, 3, {"s0": [0], "s1": [0]}), planned("b", 0, 7, {"s0": [1], "s1": [1]}))
    # Best cases 1.05 s and 3.15 s; area 2 * 4.2 over 4 GPUs is 2.1.
    return problem, plan_of(problem, *rows, makespan=7, mean=5, bound=3.15, gap=7 / 3.15)


def continuous_arrivals() -> tuple[Scenario, Plan]:
    """Any instant will do: b comes at 0.25 s and waits until a is done at 1 s."""
    problem = scenario(
        cluster(1),
        job("a", iterations=10),
        job("b", iterations=5, submit_s=0.25),
        time={"model": "continuous"},
    )
    rows = (planned("a", 0, 1, {"s0": [0]}), planned("b", 1, 1.5, {"s0": [0]}))
    return problem, plan_of(problem, *rows, makespan=1.5, mean=1.125, bound=1.5, gap=1)


def half_share() -> tuple[Scenario, Plan]:
    """With share 0.5 two jobs count as one (the clamp); with latency 0.2 + 2 * 0.025 s, 2 per slot."""
    problem = scenario(
        cluster(2, 2),
        job("a", iterations=4, **EXCHANGING),
        job("b", iterations=6, **EXCHANGING),
        contention={"share": 0.5, "degradation": 3, "server_latency_ms": 25},
        time={"slot_s": 0.5},
    )
    rows = (planned("a", 0, 1, {"s0": [0], "s1": [0]}), planned("b", 0, 1.5, {"s0": [1], "s1": [1]}))
    # Best case: one server, 0.105 + 0.025 s, 3 per slot: 2 slots each; area 8 over 4 GPUs is 2 slots.
    return problem, plan_of(problem, *rows, makespan=1.5, mean=1.25, bound=1, gap=1.5)


def empty() -> tuple[Scenario, Plan]:
    problem = scenario(cluster(1))
    return problem, plan_of(problem, makespan=0, mean=0, bound=0, gap=1)


def in_turn() -> tuple[Scenario, Plan]:
    """Three jobs of more than half the cluster run one after another: the third core bound."""
    problem = scenario(cluster(3), *(job(name, gpus=2, iterations=20, submit_s=1) for name in "abc"))
    rows = [planned(name, 1 + 2 * at, 3 + 2 * at, {"s0": [0, 1]}) for at, name in enumerate("abc")]
    return problem, plan_of(problem, *rows, makespan=6, mean=4, bound=6, gap=1)


def larger_than_a_server() -> tuple[Scenario, Plan]:
    """Over 2 servers and 10 Gbit/s it takes 0.2 + 0.0025 + 2 * 0.025 + 0.0975 = 0.35 s, 2 per slot.

    Its best case has the fewest servers, 2, and the fastest uplink, 20 Gbit/s: 0.25 s, 4 per slot.
    """
    servers = (
        Server(name="s0", gpus=2, uplink_gbps=20),
        Server(name="s1", gpus=2, unavailable=(0,)),
        Server(name="s2", gpus=1),
    )
    problem = scenario(
        cluster(servers=servers),
        job("a", gpus=3, iterations=8, gradient_mb=187.5, backward_ms=97.5),
        contention={"server_latency_ms": 25},
    )
    row = planned("a", 0, 4, {"s0": [0, 1], "s1": [1]})
    return problem, plan_of(problem, row, makespan=4, mean=4, bound=2, gap=2)


BY_HAND = (
    two_on_one_link,
    racks,
    running_and_arriving,
    spread_running,
    table,
    continuous,
    continuous_arrivals,
    half_share,
    in_turn,
    larger_than_a_server,
    empty,
)


@pytest.mark.parametrize("example", BY_HAND)
def test_plans_worked_out_by_hand_are_valid(example: Callable[[], tuple[Scenario, Plan]]) -> None:
    assert verify(*example()).violations == ()


# One mutation for each constraint. Nothing is exchanged, so that a job may move without changing finishes.


def base() -> tuple[Scenario, Plan]:
    servers = (Server(name="s0", gpus=4, switch="r0"), Server(name="s1", gpus=4, unavailable=(3,)))
    problem = scenario(
        cluster(servers=servers, switches={"r0": 10}),
        job("run", iterations=30, done_iterations=10, running_on={"s0": [0]}),
        job("wide", gpus=4, iterations=50),
        job("late", iterations=10, submit_s=2),
        job("last", iterations=30),
    )
    rows = (
        planned("run", 0, 2, {"s0": [0]}),
        planned("wide", 0, 5, {"s0": [1, 2], "s1": [0, 1]}),
        planned("late", 2, 3, {"s0": [3]}),
        planned("last", 3, 6, {"s0": [0]}),
    )
    # "wide" takes 5 slots; area 2 + 20 + 1 + 3 = 26 over 7 GPUs is 4.
    return problem, plan_of(problem, *rows, makespan=6, mean=3.5, bound=5, gap=1.2)


def with_job(name: str, gpus: Gpus | None = None, **fields: Any) -> Callable[[Plan], Plan]:
    """Change one planned job; new GPUs bring their ring with them."""
    if gpus is not None:
        ring = tuple((server, gpu) for server, held in gpus.items() for gpu in held)
        fields = {"gpus": Placement(gpus), "ring": ring} | fields

    def mutate(plan: Plan) -> Plan:
        return plan.replace(
            jobs=tuple(row.replace(**fields) if row.name == name else row for row in plan.jobs)
        )

    return mutate


def with_plan(**fields: Any) -> Callable[[Plan], Plan]:
    return lambda plan: plan.replace(**fields)


def argued(name: str, value_s: float, **terms: float | str) -> Callable[[Plan], Plan]:
    return with_plan(bounds=(Bound(name=name, value_s=value_s, terms=terms),))


def certified(**wrong: float) -> Callable[[Plan], Plan]:
    """The GPU that runs "run" and "last" is charged 2 + 3, one of "wide" 5; every estimate is the best case.

    Nothing is exchanged and servers cost no latency: the worst case is the best.
    """
    right = {
        **{"theta": 8, "max_load": 5.0, "largest_job": 4, "worst_over_best": 1.0, "overestimate": 1.0},
        **{"underestimate": 1.0, "claimed_ratio": 4.0, "measured_ratio": 1.2},
    }
    return with_plan(certificate=Certificate(**(right | wrong)))  # type: ignore[arg-type]


def with_jobs(change: Callable[[tuple[PlannedJob, ...]], tuple[PlannedJob, ...]]) -> Callable[[Plan], Plan]:
    return lambda plan: plan.replace(jobs=change(plan.jobs))


def both(*changes: Callable[[Plan], Plan]) -> Callable[[Plan], Plan]:
    """A start that moves takes the finish and the mean with it: one thing is wrong, not three."""

    def mutate(plan: Plan) -> Plan:
        for change in changes:
            plan = change(plan)
        return plan

    return mutate


WIDE_RING = (("s0", 1), ("s0", 2), ("s1", 0), ("s1", 1))

MUTATIONS: list[tuple[str, Callable[[Plan], Plan], str]] = [
    ("scenario-digest", with_plan(scenario_sha256="0" * 64), "the plan is for the scenario 000"),
    ("job-missing", with_jobs(lambda rows: rows[:2] + rows[3:]), "job 'late' is in the scenario, but not"),
    (
        "job-unknown",
        with_jobs(lambda rows: (*rows, planned("ghost", 0, 1, {"s1": [2]}))),
        "job 'ghost' is in the plan, but not",
    ),
    ("job-duplicate", with_jobs(lambda rows: (*rows, rows[2])), "job 'late' is in the plan 2 times"),
    (
        "job-order",
        with_jobs(lambda rows: (rows[1], rows[0], *rows[2:])),
        "job 'wide' is listed where job 'run' is expected",
    ),
    ("gang-size", with_job("late", {"s0": [3], "s1": [2]}), "job 'late' holds 2 GPUs, expected 1"),
    ("gang-size", with_job("late", {}), "job 'late' holds 0 GPUs, expected 1"),
    ("gang-size", with_job("late", {"s0": [3, 3]}, ring=(("s0", 3),)), "names GPU 3 of server 's0' 2 times"),
    ("gang-size", with_job("late", {"s0": [3], "s1": []}), "lists server 's1' without any GPU"),
    ("server-unknown", with_job("late", {"s9": [0]}), "job 'late' is on server 's9'"),
    ("gpu-unknown", with_job("late", {"s0": [4]}), "GPU 4 of server 's0', which has only GPUs 0 to 3"),
    ("gpu-unknown", with_job("late", {"s0": [-1]}), "GPU -1 of server 's0'"),
    ("gpu-unavailable", with_job("late", {"s1": [3]}), "GPU 3 of server 's1', which is unavailable"),
    (
        "gpu-overlap",
        with_job("late", {"s0": [2]}),
        "jobs 'wide' and 'late' both hold GPU 2 of server 's0' from 2 s to 3 s",
    ),
    (
        "running-place",
        with_job("run", {"s1": [2]}),
        "runs already on GPU 0 of server 's0', but the plan has it on GPU 2 of server 's1'",
    ),
    (
        "running-start",
        both(with_job("run", start_s=1, finish_s=3), with_plan(mean_completion_s=3.75)),
        "job 'run' runs already, so it starts at 0 s, not at 1 s",
    ),
    (
        "start-before-submit",
        both(with_job("late", start_s=1, finish_s=2), with_plan(mean_completion_s=3.25)),
        "job 'late' starts at 1 s, before it is submitted at 2 s",
    ),
    ("start-grid", with_job("late", start_s=2.25), "job 'late' starts at 2.25 s, between two slots"),
    ("finish", with_job("late", finish_s=4), "job 'late' finishes at 4 s, expected 3 s"),
    ("finish", with_job("late", finish_s=3.25), "job 'late' finishes at 3.25 s, expected 3 s"),
    ("finish", with_job("wide", finish_s=1), "job 'wide' finishes at 1 s, expected 5 s"),
    ("makespan", with_plan(makespan_s=5), "makespan_s is 5 in the plan, but 6 recomputed"),
    ("mean-completion", with_plan(mean_completion_s=4), "mean_completion_s is 4 in the plan, but 3.5"),
    (
        "weighted-completion",
        with_plan(weighted_completion_s=4),
        "weighted_completion_s is 4 in the plan, but",
    ),
    ("lower-bound", with_plan(lower_bound_s=6), "lower_bound_s is 6 in the plan, but 5 recomputed"),
    ("gap", with_plan(gap=1), "gap is 1 in the plan, but 1.2 recomputed"),
    ("bounds", with_plan(bounds=(Bound(name="area", value_s=9),)), "bound 'area' is 9 in the plan, but"),
    ("bounds", with_plan(bounds=(Bound(name="luck", value_s=1),)), "there is no bound 'luck' here, only"),
    ("bounds", argued("work-left", 7, from_s=0), "bound 'work-left' is 7 in the plan, but 4 recomputed"),
    ("bounds", argued("work-left", 4), "bound 'work-left' lacks the term from_s"),
    ("bounds", argued("work-left", 9, from_s=9), "bound 'work-left' is 9 in the plan, but 5 recomputed"),
    ("bounds", argued("side-by-side", 5, from_s=0, unit=8), "needs a term unit from 1 to 7"),
    ("bounds", argued("wide-jobs", 5, from_s=0, least=2.5), "needs a term least from 1 to 7"),
    ("bounds", argued("long-jobs", 5, release_s=3, short_s=1, long_s=5), "after which no job is released"),
    ("bounds", argued("long-jobs", 9, release_s=0, short_s=3, long_s=5), "but 1 recomputed"),
    ("bounds", argued("server-classes", 5, release_s=0, unit=1), "names no job of the scenario"),
    ("bounds", argued("server-classes", 5, release_s=0, unit=1, job="late"), "'late', which has no choice"),
    ("bounds", argued("squashed-area", 2), "there is no bound 'squashed-area' here, only longest-job"),
    *(
        ("certificate", certified(**{figure: 9}), f"{figure} of the certificate is 9, but")
        for figure in ("max_load", "largest_job", "claimed_ratio", "measured_ratio", "worst_over_best")
    ),
    ("ring-gpus", with_job("wide", ring=WIDE_RING[:3]), "a ring that lacks GPU 1 of server 's1'"),
    ("ring-gpus", with_job("wide", ring=(*WIDE_RING, ("s1", 1))), "repeats GPU 1 of server 's1'"),
    ("ring-gpus", with_job("wide", ring=(*WIDE_RING, ("s1", 2))), "names the foreign GPU 2 of server 's1'"),
    (
        "ring-order",
        with_job(
            "wide",
            ring=WIDE_RING[::2] + WIDE_RING[1::2],
        ),
        "enters server 's0' 2 times, expected once",
    ),
]


def test_base_is_valid() -> None:
    assert verify(*base()).valid


def test_base_is_valid_with_a_certificate() -> None:
    problem, plan = base()
    assert verify(problem, certified()(plan)).violations == ()
    theta = certified()(plan.replace(params={"theta": 7}))
    assert names(verify(problem, theta)) == ["certificate"]


@pytest.mark.parametrize(
    ("constraint", "mutate", "words"), MUTATIONS, ids=[f"{row[0]}-{at}" for at, row in enumerate(MUTATIONS)]
)
def test_one_wrong_thing_is_named_and_nothing_else(
    constraint: str, mutate: Callable[[Plan], Plan], words: str
) -> None:
    problem, plan = base()
    verdict = verify(problem, mutate(plan))
    assert not verdict.valid
    assert set(names(verdict)) == {constraint}
    assert any(words in violation.message for violation in verdict.violations)


def test_every_constraint_has_a_mutation() -> None:
    assert {row[0] for row in MUTATIONS} == {
        *("scenario-digest", "job-missing", "job-unknown", "job-duplicate", "job-order"),
        *("gang-size", "server-unknown", "gpu-unknown", "gpu-unavailable", "gpu-overlap"),
        *("running-place", "running-start", "start-before-submit", "start-grid", "finish"),
        *(
            "makespan",
            "mean-completion",
            "weighted-completion",
            "certificate",
            "lower-bound",
            "bounds",
            "gap",
            "ring-gpus",
            "ring-order",
        ),
    }


def test_a_violation_names_its_job() -> None:
    problem, plan = base()
    assert verify(problem, with_job("late", {"s1": [3]})(plan)).violations == (
        Violation(
            constraint="gpu-unavailable",
            message="job 'late' holds GPU 3 of server 's1', which is unavailable",
            job="late",
        ),
    )


def test_all_violations_are_reported_not_only_the_first() -> None:
    problem, plan = base()
    broken = both(
        with_plan(scenario_sha256="0" * 64, makespan_s=1, mean_completion_s=1, lower_bound_s=1, gap=3),
        with_job("late", {"s1": [3]}, start_s=1.25, finish_s=9),
        with_job("last", {"s0": [1]}, ring=(("s0", 0),)),
        with_job("wide", ring=tuple(reversed(WIDE_RING[:3]))),
    )(plan)
    counts = Counter(names(verify(problem, broken)))
    assert counts == {
        "scenario-digest": 1,
        "gpu-unavailable": 1,
        "start-grid": 1,
        "start-before-submit": 1,
        "finish": 1,
        "gpu-overlap": 1,
        "ring-gpus": 3,
        "makespan": 1,
        "mean-completion": 1,
        "lower-bound": 1,
        "gap": 1,
    }


def test_a_plan_that_cannot_be_replayed_is_still_checked_for_everything_else() -> None:
    problem, plan = base()
    broken = both(
        with_jobs(lambda rows: (rows[3], *rows[:2], planned("ghost", 1, 0, {"s9": [0], "s0": [0]}))),
        with_job("last", {"s0": [2], "s1": [7]}),
        with_plan(lower_bound_s=4),
    )(plan)
    assert set(names(verify(problem, broken))) == {
        *("job-missing", "job-unknown", "job-order", "gang-size", "server-unknown", "gpu-unknown"),
        *("gpu-overlap", "finish", "lower-bound"),
    }


def test_all_pairs_that_clash_on_a_gpu_are_named() -> None:
    problem = scenario(cluster(1), *(job(name, iterations=30) for name in "abc"))
    rows = [planned(name, at, at + 3, {"s0": [0]}) for at, name in enumerate("abc")]
    verdict = verify(problem, plan_of(problem, *rows, makespan=5, mean=4, bound=9, gap=1))
    assert names(verdict) == ["gpu-overlap"] * 3 + ["gap"]
    pairs = [violation.message.split(" both")[0] for violation in verdict.violations[:3]]
    assert pairs == ["jobs 'a' and 'b'", "jobs 'a' and 'c'", "jobs 'b' and 'c'"]


def test_so_many_clashes_that_nobody_would_read_them_are_cut_off() -> None:
    problem = scenario(cluster(1), *(job(f"j{at}") for at in range(200)))
    rows = [planned(f"j{at}", 0, 1, {"s0": [0]}) for at in range(200)]
    verdict = verify(problem, plan_of(problem, *rows, makespan=1, mean=1, bound=200, gap=1))
    assert names(verdict) == ["gpu-overlap"] * 10_001 + ["gap"]


def test_a_job_that_would_never_finish_because_too_many_share_its_gpus_is_a_violation() -> None:
    exchanging = EXCHANGING | {"gradient_mb": 1000}
    jobs = [job(name, iterations=1, **exchanging) for name in "abc"]
    problem = scenario(cluster(1, 1), *jobs, time={"slot_s": 1})
    rows = [planned(name, 0, 1, {"s0": [0], "s1": [0]}) for name in "abc"]
    verdict = verify(problem, plan_of(problem, *rows, makespan=1, mean=1, bound=3, gap=1))
    assert Counter(names(verdict)) == {
        "gpu-overlap": 3,
        "finish": 3,
        "makespan": 1,
        "mean-completion": 1,
        "gap": 1,
    }
    assert "expected infinity s" in verdict.violations[0].message


# Rings


def ring_problem(ring: Sequence[str]) -> list[str]:
    """Verify one job with a GPU on every server: a, b in rack r0, c, d in r1, e, f in none."""
    rack = {"a": "r0", "b": "r0", "c": "r1", "d": "r1"}
    servers = tuple(Server(name=name, gpus=2, switch=rack.get(name)) for name in "abcdef")
    problem = scenario(
        cluster(switches={"r0": 10, "r1": 10}, servers=servers), job("j", gpus=len(ring), iterations=10)
    )
    used = Counter(ring)
    gpus = {name: list(range(count)) for name, count in used.items()}
    seen: Counter[str] = Counter()
    workers = []
    for name in ring:
        workers.append((name, seen[name]))
        seen[name] += 1
    row = planned("j", 0, 1, gpus, ring=tuple(workers))
    return names(verify(problem, plan_of(problem, row, makespan=1, mean=1, bound=1, gap=1)))


@pytest.mark.parametrize(
    "ring", ["abcd", "dcba", "bcda", "aabbcc", "abbcca", "eabfcd", "eaf", "a", "aa", "ef"]
)
def test_rings_that_enter_each_server_and_rack_once(ring: str) -> None:
    assert ring_problem(ring) == []


@pytest.mark.parametrize(
    ("ring", "count"), [("acbd", 2), ("aebf", 1), ("aebfcd", 1), ("abab", 2), ("efef", 2), ("abbacc", 1)]
)
def test_rings_that_enter_a_server_or_rack_more_than_once(ring: str, count: int) -> None:
    assert ring_problem(ring) == ["ring-order"] * count


# Tolerances, and plans no sane program writes


def test_continuous_finishes_agree_within_rounding() -> None:
    problem, plan = continuous()
    assert verify(problem, with_job("b", finish_s=7 + 5e-8)(plan)).valid
    assert names(verify(problem, with_job("b", finish_s=7 + 1e-7)(plan))) == ["finish"]


def test_continuous_overlaps_of_a_rounding_error_are_none() -> None:
    problem, plan = continuous_arrivals()
    assert verify(problem, with_job("b", start_s=1 - 5e-9)(plan)).valid
    early = verify(problem, with_job("b", start_s=1 - 1e-7)(plan))
    assert "gpu-overlap" in names(early)


def test_late_jobs_do_not_share_a_gpu_under_cover_of_rounding() -> None:
    """Half a second at a million seconds is much beside the job, if little beside the time."""
    jobs = [job(f"j{at}", iterations=5, submit_s=1e6) for at in range(3)]
    problem = scenario(cluster(1), *jobs, time={"model": "continuous"})
    rows = [planned(each.name, 1e6, 1e6 + 0.5, {"s0": [0]}) for each in jobs]
    plan = plan_of(problem, *rows, makespan=0.5, mean=0.5, bound=1.5, gap=1)
    assert names(verify(problem, plan)).count("gpu-overlap") == 3


def test_far_from_zero_a_time_off_the_grid_is_still_off_the_grid() -> None:
    problem = scenario(cluster(1), job("a", submit_s=6e8))
    row = planned("a", 6e8 - 0.4, 6e8 + 1, {"s0": [0]})
    verdict = verify(problem, plan_of(problem, row, makespan=1, mean=1, bound=1, gap=1))
    assert "start-grid" in names(verdict)


def test_a_mean_that_cancels_agrees_to_rounding() -> None:
    problem = scenario(cluster(1), job("a", iterations=1, submit_s=1099999.9000000001), time={"slot_s": 0.1})
    row = planned("a", 1099999.9000000001, 1100000.0, {"s0": [0]})
    verdict = verify(problem, plan_of(problem, row, makespan=0.1, mean=0.1, bound=0.1, gap=1))
    assert verdict.valid


def test_a_makespan_below_the_bound_has_a_gap_below_one() -> None:
    """Two jobs in one place at one time: the gap must not be made 1 to hide it."""
    problem = scenario(cluster(1), job("a"), job("b"))
    rows = [planned(name, 0, 1, {"s0": [0]}) for name in "ab"]
    verdict = verify(problem, plan_of(problem, *rows, makespan=1, mean=1, bound=2, gap=1))
    assert set(names(verdict)) == {"gpu-overlap", "gap"}


def test_continuous_starts_are_compared_exactly_with_submits() -> None:
    problem, plan = continuous_arrivals()
    moved = both(
        with_job("b", start_s=0.25 - 1e-12, finish_s=0.75),
        with_plan(makespan_s=1, mean_completion_s=0.75, gap=1),
    )(plan)
    assert set(names(verify(problem, moved))) == {"start-before-submit", "gpu-overlap", "gap"}


def test_slotted_starts_allow_for_decimal_fractions() -> None:
    problem = scenario(cluster(1), job("a", submit_s=0.3), time={"slot_s": 0.1})
    row = planned("a", 3 * 0.1, 13 * 0.1, {"s0": [0]})
    assert verify(problem, plan_of(problem, row, makespan=1.0, mean=1.0, bound=1.0, gap=1)).valid


@pytest.mark.parametrize("model", ["slotted", "continuous"])
@pytest.mark.parametrize("slot_s", [1.0, 1e-5])
@pytest.mark.parametrize("start_s", [-1.0, -1e308, 1e16, 1.7e308])
def test_absurd_times_are_judged_not_crashed_on(model: str, slot_s: float, start_s: float) -> None:
    tiny = job("a", iterations=1, backward_ms=1e-3)
    problem = scenario(
        cluster(2), tiny, tiny.replace(name="b", submit_s=2), time={"model": model, "slot_s": slot_s}
    )
    rows = [planned(name, start_s, -start_s, {"s0": [at]}) for at, name in enumerate("ab")]
    verdict = verify(problem, plan_of(problem, *rows, makespan=1, mean=1, bound=1, gap=1))
    assert {"finish", "makespan", "mean-completion"} <= set(names(verdict))
    assert ("start-before-submit" in names(verdict)) == (start_s < 0)


# Scenarios that are refused


def test_a_job_that_may_stand_still_in_a_slot_is_refused() -> None:
    problem, plan = two_on_one_link()
    slow = problem.replace(time=problem.time.replace(slot_s=0.25))
    with pytest.raises(InputError) as refused:
        verify(slow, plan)
    for words in ("jobs[0] 'a'", "0.3 s", "0.25 s", 'time.model = "continuous"'):
        assert words in str(refused.value)
    assert verify(slow.replace(time=slow.time.replace(model="continuous")), plan).violations


def test_a_job_that_takes_for_ever_is_refused_in_continuous_time() -> None:
    endless = job("a", iterations=10**9, backward_ms=1e308)
    problem = scenario(cluster(1), endless, time={"model": "continuous"})
    with pytest.raises(InputError, match=r"jobs\[0\] 'a'"):
        verify(problem, plan_of(problem, makespan=0, mean=0, bound=0, gap=1))


def test_worst_case_counts_no_more_jobs_than_gpus_behind_the_link() -> None:
    """Ten jobs, but two GPUs behind each uplink: at most two contend, 0.3 s per iteration."""
    problem = scenario(
        cluster(2, 2), *(job(f"j{at}", **EXCHANGING) for at in range(10)), time={"slot_s": 0.3}
    )
    verify(problem, plan_of(problem, makespan=0, mean=0, bound=0, gap=1))
    with pytest.raises(InputError):
        verify(
            problem.replace(time=problem.time.replace(slot_s=0.29)),
            plan_of(problem, makespan=0, mean=0, bound=0, gap=1),
        )


# Against a slot-by-slot count, as simple as can be


def random_case(seed: int) -> tuple[Scenario, list[tuple[int, dict[str, list[int]]]]]:
    draw = random.Random(seed)
    servers = tuple(
        Server(name=f"s{at}", gpus=4, switch=f"r{at // 2}" if at < 4 else None) for at in range(6)
    )
    jobs, rows, gpus = [], [], [(server.name, gpu) for server in servers for gpu in range(4)]
    for at in range(12):
        chosen = draw.sample(gpus, draw.randint(1, 6))
        jobs.append(
            job(
                f"j{at}",
                gpus=len(chosen),
                iterations=draw.randint(1, 300),
                gradient_mb=draw.choice([0, 20, 60]),
                backward_ms=draw.choice([10, 25]),
            )
        )
        held: dict[str, list[int]] = {}
        for server, gpu in sorted(chosen):
            held.setdefault(server, []).append(gpu)
        rows.append((draw.randint(0, 12), held))
    problem = scenario(
        cluster(servers=servers, switches={"r0": 15, "r1": 20}),
        *jobs,
        contention={"degradation": draw.choice([0, 0.3]), "server_latency_ms": draw.choice([0, 1])},
        time={"slot_s": 1},
    )
    return problem, rows


def counted_slot_by_slot(problem: Scenario, rows: list[tuple[int, dict[str, list[int]]]]) -> list[int]:
    left = [item.iterations for item in problem.jobs]
    finishes = [0] * len(left)
    slot = 0
    while any(left):
        running = [at for at, (start, _) in enumerate(rows) if start <= slot and left[at]]
        links = {at: crossed_links(rows[at][1]) for at in running}
        users = Counter(link for crossed in links.values() for link in crossed)
        for at in running:
            tau = slow_tau(problem, at, rows[at][1], {link: users[link] for link in links[at]})
            left[at] = max(0, left[at] - int(1 / tau + 1e-9))
            finishes[at] = slot + 1
        slot += 1
    return finishes


def crossed_links(held: dict[str, list[int]]) -> set[str]:
    if len(held) == 1:
        return set()
    crossed = set(held)
    for rack, inside in (("r0", {"s0", "s1"}), ("r1", {"s2", "s3"})):
        if held.keys() & inside and held.keys() - inside:
            crossed.add(rack)
    return crossed


def slow_tau(problem: Scenario, at: int, held: dict[str, list[int]], users: dict[str, int]) -> float:
    one, contention = problem.jobs[at], problem.contention
    speeds = [200.0] if any(len(gpus) > 1 for gpus in held.values()) else []
    assert contention.degradation is not None
    for link, count in users.items():
        speed = {"r0": 15.0, "r1": 20.0}.get(link, 10.0)
        speeds.append(speed / (count + contention.degradation * (count - 1)))
    gbit = one.gradient_mb * 8e6 / 1e9 * (one.gpus - 1) / one.gpus
    exchange = 2 * gbit / min(speeds) if speeds else 0.0
    return exchange + gbit / 400 + contention.server_latency_ms / 1000 * len(held) + one.backward_ms / 1000


@pytest.mark.parametrize("seed", range(30))
def test_recomputed_finishes_are_those_counted_slot_by_slot(seed: int) -> None:
    """Jobs may clash on GPUs here: links, not GPUs, are what is counted."""
    problem, rows = random_case(seed)
    finishes = counted_slot_by_slot(problem, rows)
    planned_jobs = [
        planned(item.name, start, finish, held)
        for item, (start, held), finish in zip(problem.jobs, rows, finishes, strict=True)
    ]
    mean = sum(finishes) / len(finishes)
    verdict = verify(
        problem, plan_of(problem, *planned_jobs, makespan=max(finishes), mean=mean, bound=1, gap=1)
    )
    assert not {"finish", "makespan", "mean-completion"} & set(names(verdict))
    later = planned_jobs[0].replace(finish_s=finishes[0] + 1)
    wrong = plan_of(problem, later, *planned_jobs[1:], makespan=max(finishes), mean=mean, bound=1, gap=1)
    assert names(verify(problem, wrong)).count("finish") == 1


def stepped_by_events(problem: Scenario, rows: list[tuple[int, dict[str, list[int]]]]) -> list[float]:
    left = [float(item.iterations) for item in problem.jobs]
    finishes = [0.0] * len(left)
    now = 0.0
    while any(left):
        running = [at for at, (start, _) in enumerate(rows) if start <= now and left[at]]
        links = {at: crossed_links(rows[at][1]) for at in running}
        users = Counter(link for crossed in links.values() for link in crossed)
        taus = {
            at: slow_tau(problem, at, rows[at][1], {link: users[link] for link in links[at]})
            for at in running
        }
        ends = [(now + left[at] * taus[at], at) for at in running]
        then, first = min([*ends, *((float(start), -1) for start, _ in rows if start > now)])
        for at in running:
            left[at] = 0.0 if at == first else left[at] - (then - now) / taus[at]
            finishes[at] = then
        now = then
    return finishes


@pytest.mark.parametrize("seed", range(30))
def test_recomputed_finishes_are_those_of_a_plain_continuous_replay(seed: int) -> None:
    problem, rows = random_case(seed)
    problem = problem.replace(time=problem.time.replace(model="continuous"))
    finishes = stepped_by_events(problem, rows)
    planned_jobs = [
        planned(item.name, start, finish, held)
        for item, (start, held), finish in zip(problem.jobs, rows, finishes, strict=True)
    ]
    mean = sum(finishes) / len(finishes)
    verdict = verify(
        problem, plan_of(problem, *planned_jobs, makespan=max(finishes), mean=mean, bound=1, gap=1)
    )
    assert not {"finish", "makespan", "mean-completion"} & set(names(verdict))


def test_ten_thousand_jobs() -> None:
    draw = random.Random(0)
    jobs, rows = [], []
    for at in range(10_000):
        jobs.append(job(f"j{at}", gpus=4, iterations=draw.randint(50, 200), gradient_mb=10))
        first = draw.randrange(100)
        held = {f"s{(first + step) % 100}": [draw.randrange(8)] for step in range(4)}
        rows.append(planned(f"j{at}", at // 5, at // 5 + 10, held))
    problem = scenario(cluster(*[8] * 100), *jobs, time={"slot_s": 10})
    plan = plan_of(problem, *rows, makespan=1, mean=1, bound=1, gap=1)
    assert "finish" in names(verify(problem, plan))


# Bounds beyond the core are judged by their argument at the terms they state.


# After 2: 4 x 3 of "wide", 1 of "late" and 1 of "last" over 7 GPUs. Beside the 5 slots of "wide" on 4 GPUs
# the other jobs have 3 GPUs: 6 / 3.
ARGUED = [
    Bound(name="work-left", value_s=4, terms={"from_s": 2}),
    Bound(name="side-by-side", value_s=5, terms={"from_s": 0, "unit": 4}),
    Bound(name="wide-jobs", value_s=5, terms={"from_s": 0, "least": 4}),
    Bound(name="long-jobs", value_s=2, terms={"release_s": 0, "short_s": 1, "long_s": 5}),
]


@pytest.mark.parametrize("bound", ARGUED, ids=lambda bound: bound.name)
def test_a_weaker_argument_is_still_valid(bound: Bound) -> None:
    problem, plan = base()
    assert verify(problem, plan.replace(bounds=(bound,))).violations == ()


def test_a_bound_above_the_cores_must_be_the_plans_own() -> None:
    """Two of three jobs of 2 GPUs fit into 5; the area says 12 / 5 x 10."""
    problem = scenario(cluster(5), *(job(name, gpus=2, iterations=100) for name in "abc"))
    rows = [
        planned(name, 10 * (at // 2), 10 * (at // 2) + 10, {"s0": [2 * at % 4, 2 * at % 4 + 1]})
        for at, name in enumerate("abc")
    ]
    core = plan_of(problem, *rows, makespan=20, mean=40 / 3, bound=12, gap=20 / 12)
    assert verify(problem, core).violations == ()
    argument = Bound(name="side-by-side", value_s=15, terms={"from_s": 0, "unit": 2})
    assert names(verify(problem, core.replace(bounds=(argument,)))) == ["gap", "lower-bound"]
    better = core.replace(bounds=(argument,), lower_bound_s=15, gap=20 / 15)
    assert verify(problem, better).violations == ()
