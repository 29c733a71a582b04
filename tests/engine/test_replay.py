"""Replaying plans that somebody else made, or edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import InputError, Plan, Server
from ringsched.model import Placement

SETTING = scenario(
    cluster(servers=(Server(name="a", gpus=3, unavailable=(2,)), Server(name="b", gpus=2))),
    job("one", gpus=1),
    job("two", gpus=2),
)


def moved(gpus: Mapping[str, Sequence[int]]) -> Plan:
    plan = ringsched.plan(SETTING)
    return plan.replace(jobs=(plan.jobs[0].replace(gpus=Placement(gpus)), plan.jobs[1]))


@pytest.mark.parametrize(
    ("gpus", "complaint"),
    [
        ({"a": [2]}, "cannot be used"),
        ({"a": [3]}, "cannot be used"),
        ({"a": [-1]}, "cannot be used"),
        ({"a": [0, 0]}, "or one twice"),
        ({"a": [0, 1]}, "names 2 GPUs, the job needs 1"),
        ({}, "names 0 GPUs, the job needs 1"),
        ({"c": [0]}, "unknown server 'c'"),
    ],
)
def test_placements_that_cannot_be_replayed(gpus: Mapping[str, Sequence[int]], complaint: str) -> None:
    with pytest.raises(InputError, match=r"job 'one': gpus") as caught:
        ringsched.replay(SETTING, moved(gpus))
    assert complaint in str(caught.value)


def test_a_job_waits_for_gpus_that_are_still_held() -> None:
    plan = moved({"b": [0]})
    taken = plan.jobs[1].replace(gpus=Placement({"b": [0, 1]}))
    outcome = ringsched.replay(SETTING, plan.replace(jobs=(plan.jobs[0], taken)))
    assert (outcome.starts_s, outcome.finishes_s) == ((0, 1), (1, 2))
