"""A large queue on a large cluster; `python -m benchmarks.run slurm_cycle` measures how long it takes."""

from __future__ import annotations

import pytest
from tests.integration.slurm.load import NUM_QUEUED, timed_cycle


@pytest.mark.slurm
@pytest.mark.slow
@pytest.mark.compiled
def test_a_cycle_plans_200_queued_jobs() -> None:
    cycle = timed_cycle().cycle
    assert len(cycle.snapshot.waiting) >= NUM_QUEUED
    assert cycle.planned is not None
    assert not cycle.planned.left
    assert cycle.planned.entries.keys() >= cycle.snapshot.waiting
