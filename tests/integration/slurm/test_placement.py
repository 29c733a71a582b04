"""Plans are carried out to the GPU, and no job gets a new id."""

from __future__ import annotations

import random

import pytest
from tests.integration.slurm.real import Real, assert_no_gpu_twice, real_cluster

from ringsched.clusters.planning import Planner
from ringsched.clusters.slurm.local import LocalNode

pytestmark = [pytest.mark.slurm, pytest.mark.compiled]

TWENTY = (4, 8, 8, 8, 12, 12, 12, 12, 16, 16, 16, 16, 16, 16, 16, 20, 20, 24, 24, 24)
# Eight GPUs in twelve ways; those that state nodes or GPUs per node keep two nodes with four GPUs.
WAYS: dict[str, tuple[str, ...]] = {
    "tasks": ("--ntasks=8", "--gpus-per-task=1"),
    "tasks-cpus": ("--ntasks=8", "--gpus-per-task=1", "--cpus-per-task=2"),
    "gpus": ("--gpus=8",),
    "gpus-tasks": ("--gpus=8", "--ntasks=8"),
    "gpus-cpus": ("--gpus=8", "--cpus-per-gpu=2"),
    "tasks-per-gpu": ("--gpus=8", "--ntasks-per-gpu=1"),
    "nodes": ("--nodes=2", "--gpus-per-node=4"),
    "nodes-gres": ("--nodes=2", "--gres=gpu:4", "--ntasks-per-node=1"),
    "nodes-gres-tasks": ("--nodes=2", "--gres=gpu:4", "--ntasks-per-node=4"),
    "nodes-gpus": ("--nodes=2", "--gpus=8"),
    "nodes-range": ("--nodes=2-4", "--gpus=8"),
    "nodes-tasks": ("--nodes=2", "--ntasks=8", "--gpus-per-task=1"),
}


def test_twenty_nodes_have_300_gpus() -> None:
    assert (len(TWENTY), sum(TWENTY)) == (20, 300)


def test_twelve_ways_of_submitting(real: Real) -> None:
    ids = {name: real.sbatch(name, 8, *options) for name, options in WAYS.items()}
    real.run(real.controller())
    runs = {run.name: run for run in real.runs()}
    assert {name: run.job_id for name, run in runs.items()} == ids
    for name, run in runs.items():
        assert run.servers == real.released[run.job_id], name
        assert sum(run.servers.values()) == 8, name
        if name.startswith("nodes"):
            assert sorted(run.servers.values()) == [4, 4], name
    assert_no_gpu_twice(list(runs.values()))


def test_a_plain_srun_in_the_script_fits_the_layout(real: Real) -> None:
    """For every way whose layout may change: the script's own `srun` starts a rank for each GPU or node."""
    script = real.folder / "job.sh"
    script.write_text(
        "#!/bin/bash\nsrun bash -c 'echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES' > $1/$2.out 2>&1\n"
    )
    real.commands.tell(
        "scontrol", "update", "nodename=n3,n4", "state=drain", "reason=so that it must be split"
    )
    for name in ("tasks", "tasks-cpus", "gpus", "gpus-tasks", "tasks-per-gpu"):
        real.sbatch(name, 8, *WAYS[name])
    real.run(real.controller())
    for name, ranks in (
        ("tasks", 8),
        ("tasks-cpus", 8),
        ("gpus", 2),
        ("gpus-tasks", 8),
        ("tasks-per-gpu", 8),
    ):
        lines = (real.folder / f"{name}.out").read_text().split("\n")[:-1]
        assert len(lines) == ranks, (name, lines)
        assert {line.split()[0] for line in lines} == {"n1", "n2"}, name


@pytest.mark.parametrize("number", [40, pytest.param(100, marks=pytest.mark.slow)])
def test_many_jobs_keep_their_ids(number: int) -> None:
    draw = random.Random(1)
    with real_cluster(TWENTY) as real:
        sizes = {f"job{at}": draw.choice((3, 4, 8, 12, 16, 24, 32, 48)) for at in range(number)}
        ids = {name: real.submit(name, gpus, draw.choice((0.3, 1))) for name, gpus in sizes.items()}
        real.run(real.controller(Planner(policy="first-fit")))
        runs = real.runs()
    assert {run.name: run.job_id for run in runs} == ids
    assert len(runs) == number
    for run in runs:
        assert run.servers == real.released[run.job_id], run.name
        assert sum(run.servers.values()) == sizes[run.name]
        assert len(set(run.servers.values())) == 1
    assert_no_gpu_twice(runs)
    assert len([run for run in runs if len(run.servers) > 1]) > number // 20


def test_order_is_kept_where_it_matters(real: Real) -> None:
    """`fifo`: the head blocks, so starts must follow the order of submission."""
    sizes = (8, 8, 16, 4, 16, 6)
    for at, gpus in enumerate(sizes):
        real.submit(f"job{at}", gpus, 0.2)
    real.run(real.controller(Planner(policy="fifo")))
    starts = {run.name: run.start_s for run in real.runs()}
    plan_order = [starts[f"job{at}"] for at in range(len(sizes))]
    for at, earlier in enumerate(plan_order):
        for later, start_s in enumerate(plan_order[at + 1 :], start=at + 1):
            if sizes[at] + sizes[later] > 24:  # they cannot run side by side
                assert earlier < start_s, (at, later)


GENERAL = (
    LocalNode(gpus=4, gpu_type="a100", features="ib,fast"),
    LocalNode(gpus=4, gpu_type="a100", features="ib"),
    LocalNode(gpus=4, gpu_type="v100", features="fast"),
    LocalNode(gpus=8, gpu_type="v100", cpus=8),
)
MORE = """\
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=10
PartitionName=short Nodes=n[1-2] MaxTime=10 PriorityTier=5
"""


def test_a_general_cluster_refuses_nothing() -> None:
    """Types, features, memory, CPUs, excluded and required nodes, partitions: no job is released in vain."""
    with real_cluster(GENERAL, more=MORE) as real:
        one, eight = ("--ntasks=4", "--gpus-per-task=1"), ("--ntasks=8", "--gpus-per-task=1")
        where = {
            real.sbatch("typed", 4, "--ntasks=4", "--gpus-per-task=v100:1"): {"n3", "n4"},
            real.sbatch("typed-gpus", 8, "--gpus=a100:8"): {"n1", "n2"},
            real.sbatch("feature", 4, *one, "--constraint=fast&ib"): {"n1"},
            real.sbatch("either", 4, *one, "--constraint=(fast|ib)", "--exclude=n1,n2"): {"n3"},
            real.sbatch("excluded", 4, *one, "--exclude=n1,n2,n3"): {"n4"},
            real.sbatch("required", 4, *one, "--nodelist=n2"): {"n2"},
            real.sbatch("memory", 4, *one, "--mem=3900"): {"n1", "n2", "n3", "n4"},
            real.sbatch("cpus", 8, *eight, "--cpus-per-task=2"): {"n1", "n2", "n3", "n4"},
            real.sbatch("short", 4, *one, "--partition=short", "--time=5"): {"n1", "n2"},
            real.sbatch("either-partition", 4, *one, "--partition=gpu,short"): {"n1", "n2", "n3", "n4"},
            real.sbatch("exclusive", 4, *one, "--exclusive"): {"n1", "n2", "n3"},
            real.sbatch("one-node", 4, "--nodes=1", "--gres=gpu:4"): {"n1", "n2", "n3", "n4"},
        }
        nowhere = real.sbatch("nowhere", 4, *one, "--constraint=ib", "--exclude=n1,n2")
        too_long = real.sbatch("too-long", 4, *one, "--partition=short", "--time=30")
        cycles = real.run(real.controller(partitions=("gpu", "short")))
        jobs = real.jobs()
        runs = {run.job_id: run for run in real.runs()}
    assert runs.keys() == where.keys()
    for job_id, nodes in where.items():
        assert set(runs[job_id].servers) <= nodes, runs[job_id].name
    assert_no_gpu_twice(list(runs.values()))
    assert {job_id: jobs[job_id].held for job_id in (nowhere, too_long)} == {nowhere: True, too_long: True}
    left = cycles[-1].snapshot.left
    assert "has what it asks for: features ib" in left[f"job-{nowhere}"]
    assert "more than the 600 s of partition short" in left[f"job-{too_long}"]
    assert not [
        decision for cycle in cycles for decision in cycle.decisions if decision.name not in cycle.started
    ]


def test_reservations_and_maintenance(real: Real) -> None:
    """A reserved node is avoided, but for jobs of the reservation; so is one before maintenance."""
    create = ("scontrol", "create", "reservation", "Duration=60", "Users=root")
    real.commands.tell(*create, "ReservationName=theirs", "StartTime=now", "Nodes=n3", "Flags=IGNORE_JOBS")
    real.commands.tell(
        *create, "ReservationName=service", "StartTime=now+30minutes", "Nodes=n4", "Flags=MAINT"
    )
    one = ("--ntasks=4", "--gpus-per-task=1")
    inside = real.sbatch("inside", 4, *one, "--reservation=theirs", "--time=5")
    brief = real.sbatch("brief", 8, "--gpus=8", "--nodes=1", "--time=20")
    endless = real.sbatch("endless", 4, *one)
    never = real.sbatch("never", 8, "--gpus=8", "--nodes=1", "--time=40")
    cycles = real.run(real.controller())
    found = {run.job_id: set(run.servers) for run in real.runs()}
    assert found[endless] in ({"n1"}, {"n2"})
    assert found == {inside: {"n3"}, brief: {"n4"}, endless: found[endless]}
    assert "in equal parts" in cycles[-1].snapshot.left[f"job-{never}"]
