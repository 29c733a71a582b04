"""Policies: the table, the options, and a user's own."""

from __future__ import annotations

from typing import Any

import pytest
from tests import planning
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import Infeasible, InputError, PolicyError
from ringsched.errors import UnknownName

TWO = scenario(
    cluster(2, 2), job("a", gpus=2, iterations=30), job("b", gpus=1, iterations=20), job("c", gpus=2)
)


class FirstIdle:
    """First fit without theta."""

    def place(self, job: Any, cluster: Any) -> Any:
        chosen: dict[str, Any] = {}
        missing = job.gpus
        for server in cluster.servers:
            if missing and server.idle:
                chosen[server.name] = server.idle[:missing]
                missing -= len(chosen[server.name])
        return None if missing else chosen


def test_own_policy_equals_the_built_in_one() -> None:
    own, built_in = ringsched.plan(TWO, FirstIdle()), ringsched.plan(TWO, "first-fit")
    assert own.jobs == built_in.jobs
    assert (own.policy, own.order, own.params) == ("FirstIdle", "fifo", {})


def test_own_policy_takes_an_order_of_its_own_or_a_named_one() -> None:
    class Backwards(FirstIdle):
        name = "backwards"

        def order(self, job: Any) -> Any:
            return -ord(job.name)

    own = ringsched.plan(TWO, Backwards())
    assert (own.policy, own.order) == ("backwards", "own")
    assert dict(own.jobs[2].gpus) == {"s0": (0, 1)}
    assert dict(ringsched.plan(TWO, Backwards(), order="fifo").jobs[0].gpus) == {"s0": (0, 1)}


def test_own_policy_sees_what_it_may() -> None:
    seen = []

    class Curious(FirstIdle):
        def place(self, job: Any, cluster: Any) -> Any:
            seen.append((job, cluster))
            return super().place(job, cluster)

    ringsched.plan(TWO, Curious())
    view, state = seen[0]
    assert (view.name, view.gpus, view.best_case_s, view.estimate_s) == ("a", 2, 3, 3)
    assert state.now_s == 0
    assert [(server.name, server.idle, server.jobs_on_uplink) for server in state.servers] == [
        ("s0", (0, 1), 0),
        ("s1", (0, 1), 0),
    ]
    assert not hasattr(view, "running_on")


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ({"s0": [0]}, "placed on 1 GPUs, needs 2"),
        ({"s0": [0, 0]}, "GPU 0 of server 's0' is not idle, or named twice"),
        ({"s0": [0, 7]}, "GPU 7 of server 's0' is not idle"),
        ({"x": [0, 1]}, "there is no server 'x'"),
        ({"s0": "01"}, "must be a list of GPU indices"),
        ([0, 1], "must map server names to lists of GPUs"),
    ],
)
def test_impossible_answers_of_an_own_policy(answer: object, complaint: str) -> None:
    class Wrong:
        def place(self, job: Any, cluster: Any) -> Any:
            return answer

    with pytest.raises(PolicyError, match=r"policy 'Wrong', job 'a'") as caught:
        ringsched.plan(TWO, Wrong())
    assert complaint in str(caught.value)


def test_own_policy_that_never_places_is_infeasible() -> None:
    class Lazy:
        def place(self, job: Any, cluster: Any) -> Any:
            return None

    with pytest.raises(Infeasible, match="policy 'Lazy': it never places a job") as caught:
        ringsched.plan(TWO, Lazy())
    assert caught.value.lower_bound_s == 3


def test_not_a_policy() -> None:
    with pytest.raises(InputError, match="an object with a method place"):
        ringsched.plan(TWO, object())  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match=r"did you mean 'sjf-bco'.*choose from search, sjf-bco, first-fit"):
        ringsched.plan(TWO, "sjfbco")


def test_fixed_parameters_are_kept() -> None:
    assert ringsched.plan(TWO, "sjf-bco", theta=7, kappa=2).params == {"theta": 7, "kappa": 2}
    assert ringsched.plan(TWO, "first-fit", theta=7).params == {"theta": 7}
    assert ringsched.plan(TWO, "random", theta=7).params == {"theta": 7}
    assert ringsched.plan(TWO, "random").params == {}
    assert ringsched.plan(TWO, "sjf-bco", slack=2).slack == 2


def test_theta_limits_loads() -> None:
    """Three slots on one GPU are more than theta = 2 allows."""
    with pytest.raises(Infeasible):
        ringsched.plan(TWO, "first-fit", theta=2)


def test_running_jobs_load_their_gpus_with_what_remains() -> None:
    """LBSGF takes the idle server at once instead of waiting for the first one."""
    busy = job("r", gpus=2, iterations=100, running_on={"s0": [0, 1]})
    plan = ringsched.plan(scenario(cluster(2, 2), busy, job("q", gpus=2)), "sjf-bco", kappa=1)
    assert (plan.jobs[1].start_s, dict(plan.jobs[1].gpus)) == (0, {"s1": (0, 1)})


def test_ties_keep_the_smaller_kappa() -> None:
    one = scenario(cluster(2), job("a", gpus=2), job("b", gpus=1))
    assert ringsched.plan(one, "sjf-bco").params["kappa"] == 1


def test_the_horizon_limits_only_policies_that_bisect() -> None:
    tight = TWO.replace(time=TWO.time.replace(horizon_s=3))
    for policy in ("sjf-bco", "first-fit", "list-scheduling"):
        with pytest.raises(Infeasible, match="within the horizon of 3 s"):
            ringsched.plan(tight, policy)
    assert ringsched.plan(tight, "longest-first").makespan_s >= 3


def test_progress_is_reported_per_trial() -> None:
    trials = []
    planning.plan(TWO, "sjf-bco", theta=9, on_trial=lambda: trials.append(1))
    assert len(trials) == 2  # kappa 1 and 2


def test_rings_are_grouped_by_rack_and_server() -> None:
    servers = tuple(
        ringsched.Server(name=name, gpus=2, switch=rack)
        for name, rack in (("a", "x"), ("b", "y"), ("c", "x"))
    )
    racked = cluster(switches={"x": 40.0, "y": 40.0}, servers=servers)
    plan = ringsched.plan(scenario(racked, job("j", gpus=6)))
    assert [server for server, _ in plan.jobs[0].ring] == ["a", "a", "c", "c", "b", "b"]
