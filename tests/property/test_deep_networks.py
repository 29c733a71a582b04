"""Networks of one to four levels of switches: engine, verifier and reference agree on all of them."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests import planning
from tests.differential.test_engine import Anywhere
from tests.effort import examples
from tests.reference import formulas
from tests.reference.replay import replay as reference_replay
from tests.scenarios import cluster, job
from tests.strategies import contentions, fair_contentions, scenarios

import ringsched
from ringsched import Infeasible, InputError, Plan, Scenario, Server, Switch, Time, scenario_from_dict
from ringsched.verify.clock import clock_of
from ringsched.verify.iteration_time import Network
from ringsched.verify.replay import Replay, Run

ANY_MODEL = contentions() | fair_contentions()
SEEDS = st.integers(0, 10**6)
POLICIES = [policy.name for policy in ringsched.list_policies() if policy.name not in ("exact", "search")]


def plan_of(scenario: Scenario, policy: Any, **options: Any) -> Plan:
    try:
        return planning.plan(scenario, policy, **options)
    except Infeasible:
        assume(False)
        raise


def assert_same_finishes(scenario: Scenario, found_s: list[float], expected_s: list[Fraction]) -> None:
    slot_s = scenario.time.slot_s
    for found, expected in zip(found_s, expected_s, strict=True):
        if scenario.time.slotted:
            assert round(found / slot_s) == round(expected / Fraction(slot_s))
        assert found == pytest.approx(float(expected), rel=1e-9, abs=1e-12)


@examples(300)
@given(scenarios(contention=ANY_MODEL), SEEDS)
def test_engine_verifier_and_reference_agree(scenario: Scenario, seed: int) -> None:
    plan = ringsched.plan(scenario, Anywhere(random.Random(seed)))
    expected = reference_replay(scenario, [job.start_s for job in plan.jobs], [job.gpus for job in plan.jobs])
    assert_same_finishes(scenario, [job.finish_s for job in plan.jobs], expected)
    assert ringsched.verify(scenario, plan).violations == ()


@examples(200)
@given(scenarios(contention=ANY_MODEL), SEEDS)
def test_verifier_and_reference_agree_on_jobs_anywhere_at_any_time(scenario: Scenario, seed: int) -> None:
    """Without the engine: jobs on GPUs of their own, started whenever."""
    generator = random.Random(seed)
    free = [
        (server.name, gpu)
        for server in scenario.cluster.servers
        for gpu in range(server.gpus)
        if gpu not in server.unavailable
    ]
    generator.shuffle(free)
    jobs, placements = [], []
    for each in scenario.jobs:
        if each.gpus <= len(free):
            held: dict[str, list[int]] = {}
            for server, gpu in (free.pop() for _ in range(each.gpus)):
                held.setdefault(server, []).append(gpu)
            jobs.append(each.replace(running_on=None, done_iterations=0))
            placements.append(held)
    scenario = scenario.replace(jobs=tuple(jobs))
    network, clock = Network(scenario), clock_of(scenario.time)
    starts = [generator.randrange(9) * (1 if scenario.time.slotted else 0.739) for _ in jobs]
    shapes = [network.shape({name: len(gpus) for name, gpus in held.items()}) for held in placements]
    finishes = Replay(
        [Run(*run) for run in zip(jobs, starts, shapes, strict=True)], network, clock
    ).finishes()
    starts_s = [clock.seconds(start) for start in starts]
    found_s = [clock.seconds(finish) for finish in finishes]
    assert_same_finishes(scenario, found_s, reference_replay(scenario, starts_s, placements))


@examples(150)
@given(scenarios(contention=ANY_MODEL), st.sampled_from(POLICIES), st.integers(0, 9))
def test_plans_of_all_policies_are_valid(scenario: Scenario, policy: str, seed: int) -> None:
    assume(policy != "adaptive-overlap" or scenario.contention.model not in ("max-min", "phases"))
    plan = plan_of(scenario, policy, seed=seed)
    assert ringsched.verify(scenario, plan).violations == ()


@examples(100)
@given(scenarios(contention=ANY_MODEL), SEEDS)
def test_blame_sums_to_durations(scenario: Scenario, seed: int) -> None:
    ledger = ringsched.explain(scenario, ringsched.plan(scenario, Anywhere(random.Random(seed))))
    for account in ledger.jobs:
        parts = (account.best_case_s, account.spreading_s, account.contention_s, account.rounding_s)
        assert math.fsum(parts) == account.duration_s  # to the last bit
        mine = math.fsum(blame.seconds for blame in ledger.attributions(victim=account.name))
        assert mine == pytest.approx(account.contention_s, rel=1e-9, abs=1e-12 * account.duration_s)
    assert all(math.isfinite(link.uplink_gbps) for link in ledger.links)


@examples(100)
@given(scenarios(), SEEDS)
def test_rings_cross_each_uplink_once_each_way(scenario: Scenario, seed: int) -> None:
    plan, above = ringsched.plan(scenario, Anywhere(random.Random(seed))), formulas.nodes_above(scenario)
    for planned, each in zip(plan.jobs, scenario.jobs, strict=True):
        up: Counter[formulas.Node] = Counter()
        down: Counter[formulas.Node] = Counter()
        paths = [above[server] for server, _ in planned.ring]
        for at, path in enumerate(paths):
            down.update(node for node in path if node not in paths[at - 1])
            up.update(node for node in paths[at - 1] if node not in path)
        once = Counter(formulas.crossed(each, planned.gpus, above))
        assert up == down == once


@examples(100)
@given(scenarios(contention=ANY_MODEL), SEEDS)
def test_racks_are_another_word_for_switches(scenario: Scenario, seed: int) -> None:
    """Whatever the file calls them: the same checksum, and the same plan."""
    written = scenario.expanded()
    for table, field in (("racks", "rack"), ("switches", "switch")):
        given = _in_words(written, table, field)
        again = scenario_from_dict(given)
        assert again == scenario
        assert again.sha256() == scenario.sha256()
    one_level = all(switch.parent is None for switch in scenario.cluster.switches)
    assert ("switches" in written["cluster"]) == (not one_level)


def _in_words(written: dict[str, Any], table: str, field: str) -> dict[str, Any]:
    words = {"racks": table, "switches": table}
    fields = {"rack": field, "switch": field}
    given = {words.get(key, key): value for key, value in written["cluster"].items()}
    given["servers"] = [
        {fields.get(key, key): value for key, value in server.items()} for server in given["servers"]
    ]
    return written | {"cluster": given}


def test_a_plan_does_not_depend_on_the_words_of_the_file() -> None:
    servers = tuple(Server(name=f"s{at}", gpus=2, switch=f"r{at % 2}") for at in range(4))
    network = cluster(servers=servers, switches={"r0": 4.0, "r1": 6.0})
    jobs = tuple(job(f"j{at}", 3, 20, gradient_mb=50) for at in range(4))
    written = Scenario(cluster=network, jobs=jobs).expanded()
    as_racks, as_switches = (
        scenario_from_dict(_in_words(written, *words))
        for words in (("racks", "rack"), ("switches", "switch"))
    )
    assert ringsched.plan(as_racks) == ringsched.plan(as_switches)


def test_three_levels_by_hand() -> None:
    """Pods of two racks of two servers; m(w-1)/w = 4 Gbit, so an exchange is 8 Gbit / B."""
    switches = (
        *(Switch(name=f"pod{at}", uplink_gbps=2) for at in range(2)),
        *(Switch(name=f"r{at}", uplink_gbps=5, parent=f"pod{at // 2}") for at in range(4)),
    )
    servers = tuple(Server(name=f"s{at}", gpus=2, switch=f"r{at // 2}") for at in range(8))
    tree = cluster(servers=servers, switches=switches)
    assert [switch.name for switch in tree.switches] == ["r0", "r1", "r2", "r3", "pod0", "pod1"]
    a, b, c = (job(name, 2, 10, gradient_mb=1000) for name in "abc")
    scenario = Scenario(cluster=tree, jobs=(a, b, c))
    rest = Fraction(11, 100)
    in_rack, in_pod, out = {"s0": [0], "s1": [0]}, {"s0": [0], "s2": [0]}, {"s1": [0], "s7": [0]}
    assert formulas.iteration_time(scenario, a, in_rack) == Fraction(8, 10) + rest
    assert formulas.iteration_time(scenario, a, in_pod) == Fraction(8, 5) + rest
    assert formulas.iteration_time(scenario, a, out) == Fraction(8, 2) + rest
    # Both cross the uplink of r0, one of them that of its pod as well.
    taus = formulas.iteration_times(scenario, [(a, in_pod), (b, out)])
    assert taus == {"a": Fraction(16, 5) + rest, "b": Fraction(8, 2) + rest}
    network = Network(scenario)
    for placement in (in_rack, in_pod, out):
        shape = network.shape({server: len(held) for server, held in placement.items()})
        alone_s = float(formulas.iteration_time(scenario, a, placement))
        assert network.tau_s(a, shape) == pytest.approx(alone_s)


def test_a_switch_that_holds_a_whole_job_is_not_crossed() -> None:
    """Engine, ledger, verifier and reference: a stays below a switch, whose slow uplink b crosses."""
    switches = (
        Switch(name="pod", uplink_gbps=1),
        *(Switch(name=f"r{at}", uplink_gbps=2, parent="pod") for at in range(2)),
    )
    servers = tuple(Server(name=f"s{at}", gpus=2, switch=f"r{at // 2}") for at in range(4))
    tree = cluster(servers=(*servers, Server(name="far", gpus=2)), switches=switches)
    below_rack, below_pod = {"s0": [0], "s1": [0]}, {"s0": [0], "s2": [0]}
    out = {"s1": [1], "far": [0]}
    for held, link, gbps in ((below_rack, "s1", 10), (below_pod, "switch r0", 2)):  # what they share
        a, b = (
            job(name, gpus=2, iterations=10, gradient_mb=1000, running_on=placement)
            for name, placement in (("a", held), ("b", out))
        )
        scenario = Scenario(cluster=tree, jobs=(a, b), time=Time(model="continuous"))
        taus = formulas.iteration_times(scenario, [(a, held), (b, out)])
        assert taus == {"a": Fraction(8, gbps) * 2 + Fraction(11, 100), "b": 8 + Fraction(11, 100)}
        plan = ringsched.plan(scenario, "first-fit")
        assert [each.finish_s for each in plan.jobs] == [pytest.approx(10 * float(taus[at])) for at in "ab"]
        assert ringsched.verify(scenario, plan).violations == ()
        (blame,) = ringsched.explain(scenario, plan).attributions()
        assert (blame.victim, blame.link) == ("a", link)


def test_switches_may_come_in_any_order() -> None:
    """A chain of thousands, the top first, is no hurdle; neither is one that leads back to its end."""
    num_switches = 5_000
    chain = [
        Switch(name=f"n{at}", uplink_gbps=10, parent=f"n{at - 1}" if at else None)
        for at in range(num_switches)
    ]
    servers = (Server(name="s", gpus=1, switch=f"n{num_switches - 1}"),)
    tree = cluster(servers=servers, switches=chain)
    assert [switch.name for switch in tree.switches] == [switch.name for switch in chain[::-1]]
    with pytest.raises(InputError, match="switch 'n0': parent = 'n4999' leads back to 'n0'"):
        tree.replace(switches=(chain[0].replace(parent="n4999"), *chain[1:]))
