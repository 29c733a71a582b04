"""Online policies of users: what they see, what they may do, and what they must not do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.crowds import crowd
from tests.effort import examples
from tests.scenarios import cluster, job, scenario
from tests.strategies import arriving

import ringsched
from ringsched import InputError, Scenario, Simulation, jit
from ringsched.errors import PolicyError
from ringsched.online.steps import step
from ringsched.policies.custom import policy_from_file

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "write-a-policy.md"


def documented() -> str:
    """The policy of the guide."""
    text = GUIDE.read_text(encoding="utf-8")
    found = re.search(r"^```python file=shortest.py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def shortest_first() -> Any:
    names: dict[str, Any] = {}
    exec(documented(), names)
    return names["ShortestFirst"]()


def assert_same(one: Simulation, other: Simulation) -> None:
    """Job for job and GPU for GPU, promises included."""
    for field in ("start_s", "finish_s", "promised_s", "backfilled"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field), err_msg=field)
    assert [job.gpus for job in one.plan().jobs] == [job.gpus for job in other.plan().jobs]
    for field in ("time_s", "queue_length", "busy_gpus", "contended_links"):
        np.testing.assert_array_equal(getattr(one.series, field), getattr(other.series, field))


def test_the_documented_policy_is_short() -> None:
    assert len([line for line in documented().splitlines() if line.strip()]) <= 15


@examples(120)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 3.0]))
def test_the_documented_policy_is_shortest_first_with_easy(seed: int, error: float) -> None:
    case = crowd(seed)
    options: dict[str, Any] = {"estimate_error": error, "seed": seed}
    built_in = ringsched.simulate(case, "shortest-first", backfill="easy", **options)
    assert_same(ringsched.simulate(case, shortest_first(), **options), built_in)


@examples(60)
@given(arriving(estimates=True))
def test_also_with_stated_estimates_running_jobs_and_any_network(case: Scenario) -> None:
    built_in = ringsched.simulate(case, "shortest-first", backfill="easy")
    assert_same(ringsched.simulate(case, shortest_first()), built_in)


def test_by_the_command_in_plan_and_in_compare(tmp_path: Path) -> None:
    (tmp_path / "shortest.py").write_text(documented(), encoding="utf-8")
    policy = policy_from_file(f"{tmp_path / 'shortest.py'}:ShortestFirst")
    assert policy is not None
    case = crowd(3)
    simulated = ringsched.simulate(case, policy)
    plan = ringsched.plan(case, policy)
    assert [job.start_s for job in plan.jobs] == simulated.start_s.tolist()
    assert ringsched.verify(case, plan).valid
    row = ringsched.compare([case], [shortest_first()], workers=1).rows[0]
    assert (row.policy, row.makespan_s) == ("ShortestFirst", plan.makespan_s)


class Emptiest:
    """Places one job at a time."""

    def place(self, job: Any, cluster: Any) -> Any:
        chosen, missing = {}, job.gpus
        for server in sorted(cluster.servers, key=lambda server: -len(server.idle)):
            if missing and server.idle:
                chosen[server.name] = server.idle[:missing]
                missing -= len(chosen[server.name])
        return None if missing else chosen


@examples(40)
@given(st.integers(0, 10**6))
def test_a_policy_that_places_one_job_at_a_time_is_simulated_as_it_plans(seed: int) -> None:
    case = crowd(seed)
    plan, simulation = ringsched.plan(case, Emptiest()), ringsched.simulate(case, Emptiest())
    assert [job.start_s for job in plan.jobs] == simulation.start_s.tolist()
    assert [job.gpus for job in plan.jobs] == [job.gpus for job in simulation.plan().jobs]


class Watching:
    """Starts jobs as they come, by best fit, and keeps what it saw."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def schedule(self, cluster: Any) -> None:
        for waiting in cluster.queue:
            gpus = cluster.find_gpus(waiting)
            if gpus:
                cluster.start(waiting, gpus)
        self.seen.append(
            {
                "now": cluster.now_s,
                "queue": [each.name for each in cluster.queue],
                "running": {each.job.name: each for each in cluster.running},
                "left": {each.job.name: each.remaining_s for each in cluster.running},
                "links": {each.job.name: each.links for each in cluster.running},
                "on s0": [each.name for each in cluster.links["s0"].jobs],
                "idle": (cluster.idle_gpus, sum(len(server.idle) for server in cluster.servers)),
            }
        )


def test_what_a_policy_sees() -> None:
    """Jobs of 10 iterations a slot; `wide` is on both servers, so it crosses both uplinks."""
    policy = Watching()
    wide = job("wide", 3, 40, gradient_mb=0)
    case = scenario(cluster(2, 2), wide, job("late", 1, 20, submit_s=2), job("blocked", 2, 10, submit_s=2))
    ringsched.simulate(case, policy)
    first, second = policy.seen[:2]
    assert (first["now"], first["queue"], [*first["running"]]) == (0, [], ["wide"])
    assert first["links"] == {"wide": ("s0", "s1")}
    assert first["on s0"] == ["wide"]
    assert (second["now"], second["queue"]) == (2, ["blocked"])
    assert second["left"]["wide"] == 2
    assert second["running"]["wide"] is first["running"]["wide"]  # updated, not rebuilt
    assert dict(second["running"]["late"].gpus) == {"s1": (1,)}
    assert second["running"]["late"].start_s == 2
    assert second["idle"] == (0, 0)


def test_a_policy_knows_estimates_and_never_the_truth() -> None:
    policy = Watching()
    case = scenario(cluster(1), job("a", 1, 100, estimate_s=2.0), job("b", 1, 10))
    ringsched.simulate(case, policy)
    assert policy.seen[0]["left"] == {"a": 2}


class Waits:
    """Starts nothing before 5 s."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def schedule(self, cluster: Any) -> None:
        self.times.append(cluster.now_s)
        if cluster.now_s < 5:
            cluster.call_at(5)
            return
        for waiting in cluster.queue:
            cluster.start(waiting, {"s0": [0]})


def test_a_policy_may_wait_until_a_time() -> None:
    policy = Waits()
    simulation = ringsched.simulate(scenario(cluster(1), job("a", 1, 10)), policy)
    assert simulation.start_s.tolist() == [5]
    assert policy.times == [0, 5, 6]  # and at its end


@pytest.mark.compiled
def test_waiting_for_a_slot_once_compiled_the_kernel_again() -> None:
    ringsched.simulate(scenario(cluster(1), job("a", 1, 10)), Waits())
    assert len(jit.compiled(step).signatures) == 1  # type: ignore[attr-defined]


class Does:
    """Does one thing."""

    def __init__(self, what: Any) -> None:
        self._what = what

    def schedule(self, cluster: Any) -> None:
        self._what(cluster)


TWICE = "GPU 0 of server 's0' is not idle, or named twice"


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            lambda cluster: cluster.now_s,
            "it started no job although nothing runs and 2 wait; the first is 'a'",
        ),
        (lambda cluster: cluster.start(cluster.queue[0], {"s0": [0]}), "placed on 1 GPUs, needs 2"),
        (lambda cluster: cluster.start(cluster.queue[1], {"nowhere": [0]}), "there is no server 'nowhere'"),
        (lambda cluster: [cluster.start(each, {"s0": [0, 1]}) for each in cluster.queue[:1] * 2], "not wait"),
        (lambda cluster: [cluster.start(each, {"s0": [0, 0]}) for each in cluster.queue], TWICE),
        (lambda cluster: cluster.find_gpus(cluster.queue[0], "worst-fit"), "worst-fit"),
        (lambda cluster: cluster.nothing, "no attribute 'nothing'"),
    ],
)
def test_what_a_policy_must_not_do_is_one_sentence(what: Any, message: str) -> None:
    case = scenario(cluster(2), job("a", 2, 10), job("b", 1, 10))
    with pytest.raises((PolicyError, InputError), match=re.escape(message)) as raised:
        ringsched.simulate(case, Does(what))
    assert "\n" not in str(raised.value)


def test_found_gpus_are_for_one_job() -> None:
    """They are not checked again where they were just found; a second job must not get them for that."""

    def start_both(cluster: Any) -> None:
        first, second = cluster.queue
        gpus = cluster.find_gpus(first)
        cluster.start(first, gpus)
        cluster.start(second, gpus)

    case = scenario(cluster(4), job("a", 1, 10), job("b", 1, 10))
    with pytest.raises(PolicyError, match="is not idle"):
        ringsched.simulate(case, Does(start_both))


def test_a_job_with_labels_starts_only_where_it_may() -> None:
    plain = cluster(1, 1)
    labelled = plain.replace(servers=(plain.servers[0], plain.servers[1].replace(labels={"disk": "ssd"})))
    case = scenario(labelled, job("a", 1, 10, requires={"disk": "ssd"}))
    with pytest.raises(PolicyError, match="may not start"):
        ringsched.simulate(case, Does(lambda cluster: cluster.start(cluster.queue[0], {"s0": [0]})))
    simulation = ringsched.simulate(case, Watching())
    assert [dict(job.gpus) for job in simulation.plan().jobs] == [{"s1": (0,)}]


def test_options_that_mean_nothing_to_it() -> None:
    case = scenario(cluster(1), job("a", 1, 10))
    with pytest.raises(InputError, match="decides by itself"):
        ringsched.simulate(case, Watching(), backfill="easy")
    with pytest.raises(InputError, match="is the class Watching"):
        ringsched.simulate(case, Watching)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="method place or schedule"):
        ringsched.simulate(case, 3)  # type: ignore[arg-type]
