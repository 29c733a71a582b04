"""Two users and an operator without root: each job runs as its owner, and nobody reaches another's job."""

from __future__ import annotations

import pytest
from tests.integration.slurm.real import real_cluster
from tests.integration.slurm.users import needs_accounting, needs_root, new_users, register

from ringsched.clusters.slurm.lease import Fenced, Lease
from ringsched.errors import AdapterError

pytestmark = [pytest.mark.slurm, pytest.mark.compiled, needs_root]


def test_two_users() -> None:
    with real_cluster((4, 4, 8, 8)) as real, new_users(real, 2) as (first, second):
        ids = {
            f"{user.name}-{gpus}": user.sbatch(real, f"{user.name}-{gpus}", gpus)
            for user in (first, second)
            for gpus in (8, 16)
        }
        mine = ids[f"{first.name}-8"]
        for command in (["scontrol", "release", mine], ["scontrol", "update", f"jobid={mine}", "Nice=5"]):
            with pytest.raises(AdapterError):
                second.tell(*command)
        with pytest.raises(AdapterError):  # nor its note
            second.tell("scontrol", "update", f"jobid={mine}", "Comment=x")
        real.run(real.controller())
        runs = {run.name: run for run in real.runs()}
    assert {name: run.job_id for name, run in runs.items()} == ids
    for name, run in runs.items():
        assert name.startswith(f"{run.user}-")


def test_a_user_without_rights_cannot_be_the_controller() -> None:
    with real_cluster((4,)) as real, new_users(real, 2) as (first, second):
        job_id = first.sbatch(real, "job", 4)
        with pytest.raises(AdapterError, match="needs operator rights"):
            Lease(commands=second).acquire()
        cycle = real.controller(commands=second).cycle()
        assert cycle.started == frozenset()
        assert real.jobs()[job_id].held
        assert "ringsched_note" not in real.jobs()[job_id].comment


@needs_accounting
def test_an_operator_without_root() -> None:
    """Operator rights suffice for the lease, for every layout and for the QOS; jobs stay their owners'."""
    with (
        real_cluster((4, 4, 8, 8), with_accounts=True) as real,
        new_users(real, 3) as (first, second, operator),
    ):
        for qos in (("high", "priority=100"), ("few", "MaxTRESPerUser=gres/gpu=4")):
            real.commands.tell("sacctmgr", "--immediate", "add", "qos", *qos)
        register(real, [first, second], [operator], qos="normal,high,few")
        ids = {
            "low": first.sbatch(real, "low", 16, "--qos=normal"),
            "split": second.sbatch(real, "split", 8, "--qos=normal"),
            "high": second.sbatch(real, "high", 16, "--qos=high"),
            "few-a": first.sbatch(real, "few-a", 4, "--qos=few"),
        }
        refused = first.sbatch(real, "few-b", 8, "--qos=few")
        lease = Lease(commands=operator)
        assert lease.acquire()
        real.run(real.controller(commands=Fenced(real=operator, lease=lease)))
        lease.release()
        runs = {run.name: run for run in real.runs()}
        assert {name: run.job_id for name, run in runs.items()} == ids
        assert runs["high"].start_s < runs["low"].start_s
        assert {name: run.user for name, run in runs.items()} == {
            "low": first.name, "split": second.name, "high": second.name, "few-a": first.name
        }  # fmt: skip
        job = real.jobs()[refused]
        assert job.held
        assert "QOS" in job.comment
