"""The paper's neighbours: LWF-kappa, waiting for links, adaptive overlap, reserved bandwidth."""

from __future__ import annotations

from typing import Any

import pytest
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import Contention, InputError, Plan, Scenario, Server, scenario_from_dict

SPREAD = {"s0": [0], "s1": [0]}
CONTINUOUS = {"model": "continuous"}


def where(plan: Plan, at: int) -> dict[str, tuple[int, ...]]:
    return dict(plan.jobs[at].gpus)


# --- LWF-kappa


def test_lwf_packs_jobs_above_kappa_only() -> None:
    """A GPU of s0 has worked; by GPU the others come first, by server all of s1."""
    queue = scenario(cluster(3, 2), job("a", iterations=5), job("b", gpus=3, submit_s=1))
    assert where(ringsched.plan(queue, "lwf", kappa=3), 1) == {"s0": (1, 2), "s1": (0,)}
    assert where(ringsched.plan(queue, "lwf"), 1) == {"s0": (1,), "s1": (0, 1)}


def test_lwf_never_waits_while_there_are_gpus() -> None:
    """SJF-BCO's rule waits for the least busy server, though two other GPUs are idle."""
    busy = job("r", gpus=2, iterations=100, running_on={"s1": [0, 1]}, estimate_s=0.1)
    queue = scenario(cluster(2, 2), job("a", gpus=1, iterations=40), busy, job("b", gpus=1, submit_s=4.5))
    waits = ringsched.plan(queue, "sjf-bco", order="fifo", kappa=1, slack=1)
    assert ringsched.plan(queue, "lwf", order="fifo").jobs[2].start_s == 5
    assert waits.jobs[2].start_s == 5
    wide = scenario(cluster(2, 2), busy, job("b", gpus=2), job("c", gpus=2, submit_s=2))
    assert ringsched.plan(wide, "lwf", order="fifo").jobs[1].start_s == 0


def test_kappa_of_lwf() -> None:
    queue = scenario(cluster(2), job("a", gpus=2))
    assert ringsched.plan(queue, "lwf").params == {}
    assert ringsched.plan(queue, "lwf", kappa=2).params == {"kappa": 2}
    with pytest.raises(InputError, match="only with sjf-bco, lwf"):
        ringsched.plan(queue, "free-links", kappa=2)


# --- waiting for links


def test_a_spread_job_waits_for_its_links_and_one_inside_a_server_does_not() -> None:
    running = job("r", gpus=2, iterations=30, running_on=SPREAD)
    queue = scenario(cluster(2, 2, 1), running, job("one", submit_s=1), job("two", gpus=2))
    plan = ringsched.plan(queue, "free-links", order="fifo")
    assert [entry.start_s for entry in plan.jobs] == [0, 3, 3]  # two blocks one
    plan = ringsched.plan(queue, "free-links", order="smallest-first")
    assert [entry.start_s for entry in plan.jobs] == [0, 1, 3]


def test_a_spread_job_takes_other_servers_if_their_links_are_free() -> None:
    """Best fit alone would take the emptier s1."""
    running = job("r", gpus=2, iterations=30, running_on=SPREAD)
    queue = scenario(cluster(1, 3, 2, 2), running, job("q", gpus=3))
    assert where(ringsched.plan(queue, "longest-first"), 1) == {"s1": (1, 2), "s2": (0,)}
    plan = ringsched.plan(queue, "free-links")
    assert (plan.jobs[1].start_s, where(plan, 1)) == (0, {"s2": (0, 1), "s3": (0,)})


def test_the_uplink_of_a_rack_is_a_link_too() -> None:
    servers = tuple(Server(name=f"s{at}", gpus=1, switch="xxyy"[at]) for at in range(4))
    tree = cluster(servers=servers, switches={"x": 40, "y": 40})
    running = job("r", gpus=2, iterations=30, running_on={"s0": [0], "s2": [0]})
    plan = ringsched.plan(scenario(tree, running, job("q", gpus=2)), "free-links")
    assert plan.jobs[1].start_s == 3


@pytest.mark.parametrize("policy", ["free-links", "adaptive-overlap"])
def test_nothing_waits_for_ever(policy: str) -> None:
    """Jobs that all cross all links run one after the other."""
    jobs = [job(f"j{at}", gpus=3, gradient_mb=1000, iterations=4) for at in range(3)]
    queue = scenario(cluster(2, 2), *jobs, time=CONTINUOUS)
    plan = ringsched.plan(queue, policy)
    assert ringsched.verify(queue, plan).valid


# --- adaptive overlap


def pair(iterations: int, *, degradation: float = 0.2745, **fields: Any) -> Scenario:
    """A job of 1000 iterations that runs on two servers, and one that can only go between the same two.

    Both exchange 125 MB an iteration: 2m(w-1)/w with w = 2, and with w = 4.
    """
    shape: dict[str, Any] = {"backward_ms": 1e-6} | fields
    return scenario(
        cluster(3, 3, reduce_gbps=1e9),
        job("r", gpus=2, iterations=1000, running_on=SPREAD, gradient_mb=125, **shape),
        job("q", gpus=4, iterations=iterations, gradient_mb=125 / 1.5, **shape),
        contention={"degradation": degradation},
        time=CONTINUOUS,
    )


@pytest.mark.parametrize("degradation", [0.0, 0.2745, 1.0])
def test_two_jobs_that_only_communicate_overlap_as_in_adadual(degradation: float) -> None:
    """Wang et al. (2020): start at once if and only if M2 / M1 < b / (2 (b + eta)), alpha = eta / b."""
    most = 1000 / (2 * (1 + degradation))
    shorter, longer = (
        ringsched.plan(pair(int(most * factor), degradation=degradation), "adaptive-overlap")
        for factor in (0.99, 1.01)
    )
    assert shorter.jobs[1].start_s == 0
    assert longer.jobs[1].start_s == longer.jobs[0].finish_s


@pytest.mark.parametrize("model", ["slotted", "continuous"])
@pytest.mark.parametrize("backward_ms", [1, 100, 400])
@pytest.mark.parametrize("iterations", [100, 300, 500, 900, 2000])
def test_the_choice_is_the_one_with_the_smaller_sum(iterations: int, backward_ms: float, model: str) -> None:
    queue = pair(iterations, backward_ms=backward_ms)
    queue = queue.replace(time=queue.time.replace(model=model))
    chosen = ringsched.plan(queue, "adaptive-overlap")
    together = ringsched.plan(queue, "longest-first").mean_completion_s
    apart = ringsched.plan(queue, "free-links").mean_completion_s
    assert chosen.mean_completion_s == pytest.approx(min(together, apart))
    assert (chosen.jobs[1].start_s == 0) == (together < apart)


def test_no_third_job_on_a_link() -> None:
    """However little it would cost."""
    shape: dict[str, Any] = {"gpus": 2, "gradient_mb": 1, "iterations": 50}
    running = [job(f"r{at}", running_on={"s0": [at], "s1": [at]}, **shape) for at in range(2)]
    queue = scenario(cluster(3, 3), *running, job("q", **(shape | {"iterations": 1})))
    assert ringsched.plan(queue, "adaptive-overlap").jobs[2].start_s > 0
    fewer = queue.replace(jobs=queue.jobs[1:])
    assert ringsched.plan(fewer, "adaptive-overlap").jobs[1].start_s == 0


# --- reserved bandwidth

RESERVED = Contention(model="reserved", lanes=2)


def test_a_lane_is_all_a_job_gets_whether_others_are_there_or_not() -> None:
    lone, both = (pair(1000, backward_ms=100).replace(contention=RESERVED) for _ in range(2))
    lone = lone.replace(jobs=lone.jobs[:1])
    shared = lone.replace(contention=Contention())
    assert ringsched.plan(shared).makespan_s == pytest.approx(1000 * (0.1 + 0.1))
    assert ringsched.plan(lone).makespan_s == pytest.approx(1000 * (0.1 + 0.2))
    assert ringsched.plan(both).makespan_s == pytest.approx(1000 * (0.1 + 0.2))


def test_free_links_hands_out_lanes() -> None:
    """The second job takes the second lane, the third waits."""
    shape: dict[str, Any] = {"gpus": 2, "gradient_mb": 125}
    running = job("r", running_on={"s0": [0], "s1": [0]}, iterations=50, **shape)
    queue = scenario(cluster(3, 3), running, job("a", **shape), job("b", **shape), time=CONTINUOUS)
    assert where(ringsched.plan(queue, "free-links"), 1) == {"s0": (1, 2)}
    spread = queue.replace(cluster=cluster(2, 2), jobs=queue.jobs[:2])
    assert ringsched.plan(spread, "free-links").jobs[1].start_s > 0
    assert ringsched.plan(spread.replace(contention=RESERVED), "free-links").jobs[1].start_s == 0


def test_verify_knows_lanes() -> None:
    queue = pair(500).replace(contention=RESERVED)
    plan = ringsched.plan(queue)
    assert ringsched.verify(queue, plan).valid
    elsewhere = queue.replace(contention=Contention())
    wrong = plan.replace(scenario_sha256=elsewhere.sha256())
    assert {violation.constraint for violation in ringsched.verify(elsewhere, wrong).violations} >= {"finish"}


def test_a_reservation_is_never_faster_than_equal_shares_without_loss() -> None:
    """f = max(lanes, n) >= n; with degradation a full link can be."""
    from ringsched.contention.sharing import model_of

    for num_jobs in range(1, 9):
        reserved = model_of(Contention(model="reserved", lanes=4)).factor(num_jobs)
        assert reserved >= model_of(Contention()).factor(num_jobs)
    assert model_of(Contention(model="reserved", lanes=4)).factor(4) < model_of(
        Contention(degradation=0.2745)
    ).factor(4)


def test_replacing_the_model_replaces_its_fields() -> None:
    reserved = Contention(degradation=0.3, server_latency_ms=2).replace(model="reserved", lanes=3)
    assert reserved.expanded() == {"model": "reserved", "server_latency_ms": 2, "lanes": 3}
    assert reserved.replace(lanes=4).lanes == 4
    assert reserved.replace(model="paper") == Contention(server_latency_ms=2)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"lanes": 2}, 'contention: lanes is only allowed with model = "reserved"'),
        ({"model": "reserved"}, 'contention: lanes is required with model = "reserved"'),
        ({"model": "reserved", "lanes": 0}, "lanes must be an integer >= 1, not 0"),
        ({"model": "reserved", "lanes": 2.5}, "lanes must be an integer >= 1, not 2.5"),
        ({"model": "reserved", "lanes": 2, "share": 1.0}, 'share is only allowed with model = "paper"'),
        ({"model": "reserved", "lanes": 2, "table": [1, 2]}, 'table is only allowed with model = "paper"'),
        ({"model": "reserve", "lanes": 2}, "did you mean 'reserved'"),
    ],
)
def test_wrong_settings(fields: dict[str, Any], complaint: str) -> None:
    content = {**pair(5).expanded(), "contention": fields}
    with pytest.raises(InputError) as caught:
        scenario_from_dict(content)
    assert complaint in str(caught.value)
