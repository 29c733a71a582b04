"""When the head starts, and what may step past it: the shortcuts say the same as forward simulations."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.effort import examples

import ringsched
from ringsched import Cluster, Contention, Job, Policy, Scenario, Time
from ringsched.engine.events import advance_counting, next_completion, settle
from ringsched.engine.state import ENDED, Arrays
from ringsched.online import ahead, backfill, stage
from ringsched.online.queue import Stage
from ringsched.policies.table import policy_named
from ringsched.rules.table import (
    ADAPTIVE_OVERLAP,
    FEW_ON_LINKS,
    FREE_LINKS,
    FULLEST_SERVERS,
    WAITING_FOR_SERVER,
    Rule,
)

POLICIES = {
    "free-links": policy_named("free-links", online=True),
    "free-links, two on a link": Policy(name="two", placement=FREE_LINKS, kappa=lambda _: 2),
    "waiting-for-server": Policy(name="waiting", placement=WAITING_FOR_SERVER, kappa=lambda _: 4),
    "few-on-links": Policy(name="few", placement=FEW_ON_LINKS, kappa=lambda _: 1),
    "fullest-servers": Policy(name="fullest", placement=FULLEST_SERVERS),
    "adaptive-overlap": Policy(name="adaptive", placement=ADAPTIVE_OVERLAP),
    "fifo": policy_named("fifo", online=True),
    "contention-aware": policy_named("contention-aware", online=True),
}
MODELS = {
    "paper": Contention(share=1.0, degradation=0.2, server_latency_ms=0.2),
    "max-min": Contention(model="max-min"),
    "phases": Contention(model="phases", server_latency_ms=0.2),
}


SIZES = (1, 1, 1, 2, 2, 3, 4, 5, 6, 8, 12)
SPREAD = (2, 3, 5, 6, 16)  # most of these cross links, and the largest waits for several jobs


def busy_cluster(
    seed: int, model: str, *, num_switches: int, slotted: bool, sizes: Sequence[int] = SIZES
) -> Scenario:
    """A cluster with a long queue: many jobs of one server, some of several, short and long ones."""
    chance = Random(seed)
    jobs = tuple(
        Job(
            name=f"j{at}",
            gpus=chance.choice(sizes),
            iterations=chance.choice([chance.randint(30, 300), chance.randint(300, 3000)]),
            gradient_mb=chance.choice([0.0, 100.0, 900.0]),
            minibatch=1,
            forward_ms=chance.choice([10.0, 35.0]),
            backward_ms=chance.choice([20.0, 90.0]),
            submit_s=float(chance.randint(0, 1000)),
        )
        for at in range(40)
    )
    cluster = Cluster.of_servers(chance.randint(4, 7), 4, switches=num_switches)
    cluster = cluster.replace(inter_server_gbps=chance.choice([10.0, 100.0]))
    time = Time(slot_s=400.0) if slotted else Time(model="continuous")
    return Scenario(cluster=cluster, jobs=jobs, contention=MODELS[model], time=time)


def history(scenario: Scenario, policy: Policy, **options: Any) -> list[list[object]]:
    found = ringsched.simulate(scenario, policy, backfill="easy", **options)
    columns = (found.start_s, found.finish_s, found.promised_s, found.backfilled, found.num_servers)
    return [column.view("uint8").tolist() for column in columns]


def changes_rates(*_: object) -> float:
    return ahead._CHANGES_RATES


def ends_in_time(*_: object) -> bool:
    return False


def never_monotone(arrays: Arrays, rule: Rule) -> dict[str, Any]:
    return by_rule(arrays, rule) | {"is_monotone": False}


by_rule = stage.by_rule


@examples(240)
@given(
    st.integers(0, 10**6),
    st.sampled_from([*POLICIES]),
    st.sampled_from([*MODELS]),
    st.sampled_from([0, 0, 3]),
    st.booleans(),
    st.sampled_from([0.0, 1.0]),
    st.sampled_from([SIZES, SPREAD]),
)
@example(6, "fifo", "paper", 3, False, 1.0, SIZES)  # jobs that share only the uplink of a switch
@example(17, "contention-aware", "paper", 3, False, 0.0, SIZES)
def test_shortcuts_say_what_forward_simulations_say(
    seed: int,
    policy: str,
    model: str,
    num_switches: int,
    slotted: bool,
    error: float,
    sizes: Sequence[int],
) -> None:
    if POLICIES[policy].placement is ADAPTIVE_OVERLAP:
        model = "paper"  # the only one for which this rule is made
    scenario = busy_cluster(seed, model, num_switches=num_switches, slotted=slotted, sizes=sizes)
    options = {"estimate_error": error, "seed": seed}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RINGSCHED_KERNELS", "python")
        fast = history(scenario, POLICIES[policy], **options)
        patch.setattr(ahead, "_read_ahead", changes_rates)
        patch.setattr(backfill, "ends_late", ends_in_time)
        patch.setattr(stage, "by_rule", never_monotone)
        assert fast == history(scenario, POLICIES[policy], **options)


@examples(150)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["fifo", "contention-aware"]),
    st.sampled_from([0, 3]),
    st.booleans(),
    st.sampled_from([0.0, 1.0]),
)
def test_a_job_that_surely_ends_late_does_not_end_in_time(
    seed: int, policy: str, num_switches: int, slotted: bool, error: float
) -> None:
    """By a forward simulation of the job itself, beside all that run."""
    scenario = busy_cluster(seed, "paper", num_switches=num_switches, slotted=slotted, sizes=SPREAD)

    def checked(stage: Stage, job: int, latest: float) -> bool:
        believed, ghost = stage.believed, stage.ghost
        is_late = ahead.ends_late(stage, job, latest)
        backfill._start_on_chosen(stage, job)
        while next_completion(ghost) <= latest and ghost.heap_place[job] != ENDED:
            advance_counting(believed, ghost, next_completion(ghost))
            settle(believed, ghost)
        assert ghost.heap_place[job] != ENDED or not is_late
        backfill.look_ahead(stage)
        return is_late

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RINGSCHED_KERNELS", "python")
        patch.setattr(backfill, "ends_late", checked)
        history(scenario, POLICIES[policy], estimate_error=error, seed=seed)
