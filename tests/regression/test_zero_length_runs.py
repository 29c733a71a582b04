"""A job that ends at the instant it starts meets no other."""

from __future__ import annotations

from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched.contention.over_time import Stay, iterations_done
from ringsched.model import Contention, Placement


def test_a_run_of_no_length_stayed_on_its_links_for_ever() -> None:
    """Far from the origin a job of a nanosecond ends when it starts; its neighbour was slowed to the end."""
    jobs = (
        job("first", gpus=1, iterations=1),
        job("tiny", gpus=3, iterations=1, backward_ms=1e-9, submit_s=1e7 + 1),
        job("long", gpus=3, iterations=100, gradient_mb=125.0, submit_s=1e7 + 1),
    )
    setting = scenario(cluster(2, 2), *jobs, time={"model": "continuous"})
    plan = ringsched.plan(setting, "first-fit")
    account = ringsched.explain(setting, plan).job("long")
    assert account.contention_s == 0
    assert abs(account.rounding_s) < 1e-6


def test_a_stay_of_no_length_does_nothing() -> None:
    place = cluster(2, 2)
    sending = job("a", gpus=2, gradient_mb=90.0)
    stays = [
        Stay(sending, 0.0, 10.0, Placement({"s0": [0], "s1": [0]})),
        Stay(sending.replace(name="b"), 5.0, 5.0, Placement({"s0": [1], "s1": [1]})),
    ]
    alone = iterations_done(stays[:1], place, Contention())
    assert iterations_done(stays, place, Contention()) == [*alone, 0]
