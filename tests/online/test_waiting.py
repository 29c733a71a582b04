"""The trees of those who wait, against a plain list."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from ringsched.online.queue import (
    NO_JOB,
    Waiting,
    begin_scan,
    begin_scan_at,
    fits,
    head,
    join,
    leave,
    new_waiting,
    next_candidate,
    pass_over,
    pass_over_size,
    waits,
)


def assert_least_below(waiting: Waiting) -> None:
    """Every node knows the least of its two children, no less and no more."""
    for size, num_leaves in enumerate(waiting.num_leaves.tolist()):
        shortest = waiting.shortest[waiting.node_first[size] : waiting.node_first[size + 1]]
        for node in range(1, num_leaves):
            assert shortest[node] == min(shortest[2 * node : 2 * node + 2])


@pytest.mark.parametrize("num_jobs", [1, 2, 3, 8, 13, 40])
def test_come_and_go(num_jobs: int) -> None:
    chance = Random(num_jobs)
    gpus = [chance.choice((1, 2, 4)) for _ in range(num_jobs)]
    waiting, listed = new_waiting(np.array(gpus, dtype=np.int64)), dict[int, float]()
    for _ in range(200):
        rank = chance.randrange(num_jobs)
        assert waits(waiting, rank) == (rank in listed)
        if rank in listed:
            leave(waiting, rank)
            del listed[rank]
        else:
            listed[rank] = float(chance.randint(1, 4))
            join(waiting, rank, listed[rank])
        assert_least_below(waiting)
        assert head(waiting) == min(listed, default=NO_JOB)
        first, idle, extra = chance.randrange(num_jobs + 1), chance.randint(0, 4), chance.randint(-1, 3)
        window = float(chance.randint(0, 4))
        assert fits(waiting, idle) == any(gpus[rank] <= idle for rank in listed)
        expected = [
            rank
            for rank, duration in sorted(listed.items())
            if rank >= first and gpus[rank] <= idle and (duration <= window or gpus[rank] <= extra)
        ]
        begin_scan(waiting, first, idle, window, extra)
        while expected:
            found = next_candidate(waiting)
            assert found == expected.pop(0)
            if chance.random() < 0.2:
                pass_over_size(waiting, found)
                expected = [rank for rank in expected if gpus[rank] != gpus[found]]
            else:
                pass_over(waiting, found, window, extra)
        assert next_candidate(waiting) == NO_JOB
        for rank, duration in listed.items():
            begin_scan_at(waiting, rank, idle, window, extra)
            is_found = gpus[rank] <= idle and (duration <= window or gpus[rank] <= extra)
            assert next_candidate(waiting) == (rank if is_found else NO_JOB)


def test_nobody_waits_at_all() -> None:
    waiting = new_waiting(np.zeros(0, dtype=np.int64))
    assert head(waiting) == NO_JOB
    assert not fits(waiting, 9)
    begin_scan(waiting, 0, 9, 9.0, 9)
    assert next_candidate(waiting) == NO_JOB
