"""Plans are carried out to the GPU."""

from __future__ import annotations

import random

import pytest
from tests.integration.slurm.real import Real, assert_no_gpu_twice, real_cluster

from ringsched.clusters.slurm.controller import Planner

pytestmark = [pytest.mark.slurm, pytest.mark.compiled]

TWENTY = (4, 8, 8, 8, 12, 12, 12, 12, 16, 16, 16, 16, 16, 16, 16, 20, 20, 24, 24, 24)


def test_twenty_nodes_have_300_gpus() -> None:
    assert (len(TWENTY), sum(TWENTY)) == (20, 300)


def test_a_hundred_jobs_with_unequal_layouts() -> None:
    """`first-fit` takes what is left of one server and some of the next: hardly a job is split equally."""
    draw = random.Random(1)
    with real_cluster(TWENTY) as real:
        sizes = {f"job{at}": draw.choice((3, 5, 7, 9, 11, 13, 18, 22)) for at in range(100)}
        names = {real.submit(name, gpus, draw.choice((2, 3))): name for name, gpus in sizes.items()}
        cycles = real.run(real.controller(Planner(policy="first-fit")))
        runs = real.runs()
    assert sorted(run.name for run in runs) == sorted(names.values())  # each once
    for run in runs:
        assert run.servers == real.released[run.job_id], run.name
        assert sum(run.servers.values()) == sizes[run.name]
    assert_no_gpu_twice(runs)
    unequal = [run for run in runs if len(set(run.servers.values())) > 1]
    assert len(unequal) > 50
    for cycle in cycles:  # what was released is what the plan starts now, and nothing else
        if cycle.planned is not None and cycle.snapshot is not None:
            due = {entry.name for entry in cycle.planned.plan.jobs if entry.start_s == 0}
            assert set(cycle.released) == due & set(cycle.snapshot.queued)


def test_order_is_kept_where_it_matters(real: Real) -> None:
    """`first-fit` in queue order: the head blocks, so starts must follow the order of submission."""
    sizes = (10, 9, 14, 3, 20, 6, 24, 5)
    for at, gpus in enumerate(sizes):
        real.submit(f"job{at}", gpus, 1)
    real.run(real.controller(Planner(policy="first-fit")))
    starts = {run.name: run.start_s for run in real.runs()}
    plan_order = [starts[f"job{at}"] for at in range(len(sizes))]
    for at, earlier in enumerate(plan_order):
        for later, start_s in enumerate(plan_order[at + 1 :], start=at + 1):
            if sizes[at] + sizes[later] > 24:  # they cannot run side by side
                assert earlier < start_s, (at, later)


def test_equal_splits_keep_their_id_and_unequal_ones_say_whose_place_they_take(real: Real) -> None:
    single, whole = real.submit("single", 8, 1), real.submit("whole", 24, 1)
    real.run(real.controller())
    runs = {run.name: run for run in real.runs()}
    assert runs["single"].job_id == str(single)
    assert runs["whole"].job_id != str(whole)
    assert runs["whole"].servers == {"n1": 4, "n2": 4, "n3": 8, "n4": 8}
    jobs = real.jobs()
    assert jobs[whole].state == "CANCELLED"
    assert f'"origin":{whole}' in jobs[int(runs["whole"].job_id)].comment
