"""The tree of those who wait, against a plain list."""

from __future__ import annotations

from random import Random

import pytest

from ringsched.online.queue import NO_JOB, Waiting, head, join, leave, new_waiting, next_candidate


def assert_least_below(waiting: Waiting) -> None:
    """Every node knows the least of its two children, no less and no more."""
    for node in range(1, waiting.first_leaf):
        assert waiting.gpus[node] == min(waiting.gpus[2 * node : 2 * node + 2])
        assert waiting.duration[node] == min(waiting.duration[2 * node : 2 * node + 2])


@pytest.mark.parametrize("num_jobs", [1, 2, 3, 8, 13])
def test_come_and_go(num_jobs: int) -> None:
    chance = Random(num_jobs)
    waiting, listed = new_waiting(num_jobs), dict[int, tuple[int, float]]()
    for _ in range(200):
        rank = chance.randrange(num_jobs)
        if rank in listed:
            leave(waiting, rank)
            del listed[rank]
        else:
            listed[rank] = chance.randint(1, 4), float(chance.randint(1, 4))
            join(waiting, rank, *listed[rank])
        assert_least_below(waiting)
        assert head(waiting) == min(listed, default=NO_JOB)
        first, idle, extra = chance.randrange(num_jobs + 1), chance.randint(0, 4), chance.randint(-1, 3)
        window = float(chance.randint(0, 4))
        fitting = [
            rank
            for rank, (gpus, duration) in listed.items()
            if rank >= first and gpus <= idle and (duration <= window or gpus <= extra)
        ]
        assert next_candidate(waiting, first, idle, window, extra) == min(fitting, default=NO_JOB)


def test_nobody_waits_at_all() -> None:
    waiting = new_waiting(0)
    assert head(waiting) == NO_JOB
    assert next_candidate(waiting, 0, 9, 9.0, 9) == NO_JOB
