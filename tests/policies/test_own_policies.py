"""What a policy of the user's own is shown, and what it may not answer."""

from __future__ import annotations

from typing import Any

import pytest
from tests import planning
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import PolicyError, Server

PARTLY_OUT = cluster(servers=(Server(name="a", gpus=3, unavailable=(1,)), Server(name="b", gpus=2)))


class OneEach:
    """Takes the first idle GPU of every server, until there are enough; remembers what it saw."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, Any]] = []

    def place(self, job: Any, cluster: Any) -> Any:
        self.seen.append((job, cluster))
        chosen = {server.name: server.idle[:1] for server in cluster.servers if server.idle}
        return dict(list(chosen.items())[: job.gpus]) if len(chosen) >= job.gpus else None


def test_views_are_in_seconds_and_count_what_runs() -> None:
    """Half-second slots: a runs on both servers until slot 4, b comes at slot 3 with an estimate."""
    problem = scenario(
        PARTLY_OUT,
        job("a", gpus=2, iterations=30, done_iterations=10, running_on={"a": [0], "b": [0]}),
        job("b", iterations=20, submit_s=1.2, estimate_s=7),
        job("c", iterations=20, submit_s=1.2),
        time={"slot_s": 0.5},
    )
    policy = OneEach()
    ringsched.plan(problem, policy)  # type: ignore[arg-type]
    job_view, state = policy.seen[0]
    assert (job_view.name, job_view.best_case_s, job_view.estimate_s) == ("b", 2.0, 7)
    assert policy.seen[1][0].estimate_s == policy.seen[1][0].best_case_s == 2.0
    assert state.now_s == 1.5
    assert [(server.capacity, server.idle, server.jobs_on_uplink) for server in state.servers] == [
        (2, (2,), 1),
        (2, (1,), 1),
    ]


@pytest.mark.parametrize("gpu", [-1, 1, 3])
def test_gpus_out_of_range_or_out_of_use_are_refused(gpu: int) -> None:
    class Wrong:
        def place(self, job: Any, cluster: Any) -> Any:
            return {"a": [gpu]}

    with pytest.raises(PolicyError, match=rf"GPU {gpu} of server 'a' is not idle"):
        ringsched.plan(scenario(PARTLY_OUT, job("j")), Wrong())  # type: ignore[arg-type]


def test_a_gpu_in_use_is_refused() -> None:
    class Stubborn:
        def place(self, job: Any, cluster: Any) -> Any:
            return {"b": [0]}

    with pytest.raises(PolicyError, match="job 'k': GPU 0 of server 'b' is not idle"):
        ringsched.plan(scenario(PARTLY_OUT, job("j"), job("k")), Stubborn())  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "expected"), [("mine", "mine"), ("  ", "OneEach"), (7, "OneEach")])
def test_a_policy_without_a_proper_name_is_called_by_its_class(name: object, expected: str) -> None:
    policy = OneEach()
    policy.name = name  # type: ignore[attr-defined]
    assert ringsched.plan(scenario(PARTLY_OUT, job("j")), policy).policy == expected  # type: ignore[arg-type]


def test_an_own_policy_is_one_trial() -> None:
    trials: list[int] = []
    planning.plan(scenario(PARTLY_OUT, job("j")), OneEach(), on_trial=lambda: trials.append(1))  # type: ignore[arg-type]
    assert trials == [1]
