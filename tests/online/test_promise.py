"""When the head starts, and what may step past it: the shortcuts say the same as forward simulations."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import examples

import ringsched
from ringsched import Cluster, Contention, Job, Policy, Scenario, Time
from ringsched.engine.state import Arrays
from ringsched.online import ahead, backfill, stage
from ringsched.policies.table import policy_named
from ringsched.rules.table import ADAPTIVE_OVERLAP, FEW_ON_LINKS, FREE_LINKS, WAITING_FOR_SERVER, Rule

POLICIES = {
    "free-links": policy_named("free-links", online=True),
    "free-links, two on a link": Policy(name="two", placement=FREE_LINKS, kappa=lambda _: 2),
    "waiting-for-server": Policy(name="waiting", placement=WAITING_FOR_SERVER, kappa=lambda _: 4),
    "few-on-links": Policy(name="few", placement=FEW_ON_LINKS, kappa=lambda _: 1),
    "adaptive-overlap": Policy(name="adaptive", placement=ADAPTIVE_OVERLAP),
    "fifo": policy_named("fifo", online=True),
    "contention-aware": policy_named("contention-aware", online=True),
}
MODELS = {
    "paper": Contention(share=1.0, degradation=0.2, server_latency_ms=0.2),
    "max-min": Contention(model="max-min"),
    "phases": Contention(model="phases", server_latency_ms=0.2),
}


def busy_cluster(seed: int, model: str, *, num_switches: int, slotted: bool) -> Scenario:
    """A cluster with a long queue: many jobs of one server, some of several, short and long ones."""
    chance = Random(seed)
    sizes = [1, 1, 1, 2, 2, 3, 4, 5, 6, 8, 12]
    jobs = tuple(
        Job(
            name=f"j{at}",
            gpus=chance.choice(sizes),
            iterations=chance.choice([chance.randint(1, 30), chance.randint(30, 900)]),
            gradient_mb=chance.choice([0.0, 100.0, 900.0]),
            minibatch=1,
            forward_ms=chance.choice([10.0, 35.0]),
            backward_ms=chance.choice([20.0, 90.0]),
            submit_s=float(chance.randint(0, 60)),
        )
        for at in range(40)
    )
    cluster = Cluster.of_servers(chance.randint(3, 6), 4, switches=num_switches)
    time = Time(slot_s=10.0) if slotted else Time(model="continuous")
    return Scenario(cluster=cluster, jobs=jobs, contention=MODELS[model], time=time)


def history(scenario: Scenario, policy: Policy, **options: Any) -> list[list[object]]:
    found = ringsched.simulate(scenario, policy, backfill="easy", **options)
    columns = (found.start_s, found.finish_s, found.promised_s, found.backfilled, found.num_servers)
    return [column.view("uint8").tolist() for column in columns]


def changes_rates(*_: object) -> float:
    return ahead._CHANGES_RATES


def ends_at_once(*_: object) -> float:
    return 0.0


def never_monotone(arrays: Arrays, rule: Rule) -> dict[str, Any]:
    return by_rule(arrays, rule) | {"is_monotone": False}


by_rule = stage.by_rule


@examples(240)
@given(
    st.integers(0, 10**6),
    st.sampled_from([*POLICIES]),
    st.sampled_from([*MODELS]),
    st.sampled_from([0, 0, 2]),
    st.booleans(),
    st.sampled_from([0.0, 1.0]),
)
def test_shortcuts_say_what_forward_simulations_say(
    seed: int, policy: str, model: str, num_switches: int, slotted: bool, error: float
) -> None:
    if POLICIES[policy].placement is ADAPTIVE_OVERLAP:
        model = "paper"  # the only one for which this rule is made
    scenario = busy_cluster(seed, model, num_switches=num_switches, slotted=slotted)
    options = {"estimate_error": error, "seed": seed}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RINGSCHED_KERNELS", "python")
        fast = history(scenario, POLICIES[policy], **options)
        patch.setattr(ahead, "_read_ahead", changes_rates)
        patch.setattr(backfill, "earliest_end", ends_at_once)
        patch.setattr(stage, "by_rule", never_monotone)
        assert fast == history(scenario, POLICIES[policy], **options)
