"""The controller on a Slurm in memory: what a real one cannot be made to show."""

from __future__ import annotations

import gc
import json
import sys

import pytest
from tests.slurm_double import SlurmDouble

from ringsched.clusters.slurm import release
from ringsched.clusters.slurm.commands import DryRun, Owner
from ringsched.clusters.slurm.comments import parse_comment, parse_note
from ringsched.clusters.slurm.controller import Controller, Planner
from ringsched.clusters.slurm.network import Network
from ringsched.clusters.slurm.run import run
from ringsched.errors import AdapterError

pytestmark = pytest.mark.compiled


@pytest.fixture(autouse=True)
def any_owner(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    def owner_of(uid: int, gid: int | None = None) -> Owner:
        return Owner(uid=uid, gid=gid or uid, name="ann", home=tmp_path)  # type: ignore[arg-type]

    monkeypatch.setattr(release, "owner_of", owner_of)


def sleeping(gpus: int, seconds: int = 10) -> dict[str, object]:
    return {
        "gpus": gpus, "iterations": seconds, "gradient_mb": 0, "minibatch": 1, "forward_ms": 0,
        "backward_ms": 1000,
    }  # fmt: skip


def controller_of(slurm: SlurmDouble, **more: object) -> Controller:
    options = {"planner": Planner(policy="longest-first")} | more
    return Controller(
        commands=slurm, clock=slurm.clock, network=Network(), partition="gpu", **options  # type: ignore[arg-type]
    )  # fmt: skip


def run_all(slurm: SlurmDouble, controller: Controller, **more: object) -> None:
    run(controller, interval_s=1, wait=slurm.pass_time, until_idle=True, **more)  # type: ignore[arg-type]


def states(slurm: SlurmDouble) -> dict[int, str]:
    return {job_id: job["job_state"] for job_id, job in slurm.jobs.items()}


def test_a_queue_runs_to_its_end() -> None:
    slurm = SlurmDouble({"a": 4, "b": 4})
    for gpus in (4, 4, 3, 8):
        slurm.add(sleeping(gpus), tasks=gpus)
    run_all(slurm, controller_of(slurm))
    assert states(slurm) == dict.fromkeys(range(1, 5), "COMPLETED")


def test_nothing_is_planned_while_nothing_happens() -> None:
    slurm = SlurmDouble({"a": 4})
    slurm.add(sleeping(4, 100), tasks=4, length_s=100)
    slurm.add(sleeping(4, 100), tasks=4)
    controller = controller_of(slurm)
    planned = []
    for _ in range(50):
        planned.append(controller.cycle().planned is not None)
        slurm.pass_time(1)
    assert planned == [True] + [False] * 49


def test_the_queue_is_planned_anew_when_a_job_outlives_its_estimate() -> None:
    slurm = SlurmDouble({"a": 4})
    slurm.add(sleeping(4, 20), tasks=4, length_s=1000)
    slurm.add(sleeping(4, 20), tasks=4)
    controller = controller_of(slurm)
    finishes = []
    for _ in range(60):
        cycle = controller.cycle()
        if cycle.planned is not None:
            finishes.append(slurm.now_s - 1_000_000 + cycle.planned.plan.jobs[0].finish_s)
        slurm.pass_time(1)
    assert len(finishes) > 2
    assert finishes == sorted(finishes)
    assert finishes[-1] > 50


def test_a_released_job_whose_node_is_lost_is_taken_back_and_placed_elsewhere() -> None:
    slurm = SlurmDouble({"a": 4, "b": 4})
    job_id = slurm.add(sleeping(4), tasks=4)
    controller = controller_of(slurm)
    controller.cycle()
    slurm.states["a"] = ("down", ["NOT_RESPONDING"])
    controller.cycle()  # takes it back
    controller.cycle()
    slurm.pass_time(1)
    assert slurm.jobs[job_id]["nodes"] == "b"


def test_a_job_that_slurm_does_not_start_is_left_alone_for_a_while() -> None:
    slurm = SlurmDouble({"a": 4})
    job_id = slurm.add(sleeping(4), tasks=4)
    controller = controller_of(slurm)
    controller.cycle()
    slurm.now_s += 61  # it does not start, though nothing is in its way
    slurm.jobs[job_id]["state_reason"] = "Licenses"
    controller.cycle()
    assert slurm.jobs[job_id]["priority"] == 0
    assert parse_note(slurm.jobs[job_id]["admin_comment"]).refused == "did not start within 60 s (Licenses)"
    told = len(slurm.told)
    controller.cycle()
    assert len(slurm.told) == told
    slurm.now_s += 600
    assert controller.cycle().released == {"job-1": "1"}


def test_an_operators_note_is_kept() -> None:
    slurm = SlurmDouble({"a": 4})
    job_id = slurm.add(sleeping(4), tasks=4, admin_comment="ask Bob")
    controller_of(slurm).cycle()
    note = json.loads(slurm.jobs[job_id]["admin_comment"])
    assert note["before"] == "ask Bob"
    assert note["ringsched"]["servers"] == {"a": 4}


def test_a_job_that_its_owner_cancels_in_the_middle_of_a_resubmission_stays_cancelled() -> None:
    """Between reading and marking it: the mark fails, and the new job must not run."""

    class Meddled(SlurmDouble):
        def tell(self, *arguments: object, **more: object) -> str:
            said = super().tell(*arguments, **more)  # type: ignore[arg-type]
            if arguments[0] == "sbatch":
                super().tell("scancel", "1")
            return said

    slurm = Meddled({"a": 4, "b": 2})
    slurm.add(sleeping(6), tasks=6)
    run_all(slurm, controller_of(slurm))
    assert states(slurm) == {1: "CANCELLED", 2: "CANCELLED"}


@pytest.mark.parametrize("printed", ["2", "3", "--user=bob", "2,3", "NEW", "", "999"])
def test_what_sbatch_prints_as_the_owner_cannot_reach_another_job(printed: str) -> None:
    """It runs in the owner's environment, LD_PRELOAD and all: its word alone must not steer an operator."""

    class Forged(SlurmDouble):
        def tell(self, *arguments: object, **more: object) -> str:
            said = super().tell(*arguments, **more)  # type: ignore[arg-type]
            return f"{printed}\n" if arguments[0] == "sbatch" else said

    slurm = Forged({"a": 4, "b": 2})
    slurm.add(sleeping(6), tasks=6)
    slurm.add("", tasks=1, user_id=9)
    slurm.add(sleeping(1) | {"origin": 1}, tasks=1, state_reason="JobHeldAdmin", job_state="CANCELLED")
    before = {job_id: dict(slurm.jobs[job_id]) for job_id in (1, 2, 3)}
    controller_of(slurm).cycle()
    assert {words[:3] for words in slurm.told if words[0] != "sbatch"} == {("scontrol", "update", "jobid=1")}
    assert {job_id: slurm.jobs[job_id] for job_id in (2, 3)} == {job_id: before[job_id] for job_id in (2, 3)}
    assert slurm.jobs[1]["job_state"] == "PENDING"
    assert "did not print the id of the replacing job" in str(
        parse_note(slurm.jobs[1]["admin_comment"]).refused
    )


def test_one_bad_job_does_not_keep_others_from_running() -> None:
    slurm = SlurmDouble({"a": 4})
    slurm.add(sleeping(1) | {"gpus": True}, tasks=1)
    slurm.add("ringsched: please run this", tasks=1)
    slurm.add(sleeping(9), tasks=9)
    slurm.add(sleeping(2) | {"gradient_mb": 1e300, "iterations": 2**53}, tasks=2)  # it would take for ever
    slurm.add(sleeping(1), tasks=2)
    slurm.add(sleeping(1), tasks=1)
    controller = controller_of(slurm)
    run_all(slurm, controller)
    assert [job_id for job_id, state in states(slurm).items() if state == "COMPLETED"] == [6]
    snapshot = controller.cycle().snapshot
    assert snapshot is not None
    assert snapshot.left[1] == "comment: gpus must be an integer >= 1, not true"
    assert "is not valid JSON" in snapshot.left[2]
    assert snapshot.left[3] == "needs 9 GPUs, but 4 are available now"
    assert "will be tried again later" in snapshot.left[4]
    assert snapshot.left[5] == "has 2 tasks, but its comment has 1 GPUs; use one task per GPU"


def test_a_bad_job_that_its_owner_released_does_not_end_the_controller() -> None:
    slurm = SlurmDouble({"a": 4})
    absurd = sleeping(2) | {"gradient_mb": 1e300, "iterations": 2**53, "estimate_s": 1e300}
    slurm.add(absurd, tasks=2, priority=1, shape=[("a", 2)], length_s=30)
    slurm.add(absurd, tasks=2)
    slurm.add(sleeping(1), tasks=1)
    slurm.pass_time(1)
    run_all(slurm, controller_of(slurm))
    assert states(slurm)[3] == "COMPLETED"
    assert states(slurm)[2] == "PENDING"


def test_silence_ends_a_cycle_and_the_next_looks_again() -> None:
    """After a timeout nobody knows whether a job was released: nothing more is done before looking."""

    class Silent(SlurmDouble):
        silent = True

        def tell(self, *arguments: object, **more: object) -> str:
            said = super().tell(*arguments, **more)  # type: ignore[arg-type]
            if arguments[1] == "release" and self.silent:
                self.silent = False
                raise AdapterError("scontrol release 1 did not answer within 30 s")
            return said

    slurm = Silent({"a": 4})
    for _ in range(2):
        slurm.add(sleeping(2), tasks=2)
    said: list[str] = []
    run_all(slurm, controller_of(slurm, say=said.append))
    assert states(slurm) == {1: "COMPLETED", 2: "COMPLETED"}
    assert said[0] == "Slurm: scontrol release 1 did not answer within 30 s; retrying in 1 s"
    assert [words for words in slurm.told if words[1] == "release"] == [
        ("scontrol", "release", "1"), ("scontrol", "release", "2")
    ]  # fmt: skip


def test_a_dry_run_changes_nothing() -> None:
    slurm = SlurmDouble({"a": 4, "b": 2})
    slurm.add(sleeping(6), tasks=6)
    lines: list[str] = []
    before = json.dumps(slurm.jobs)
    controller = controller_of(slurm)
    controller.commands = DryRun(real=slurm, show=lines.append)
    controller.cycle()
    assert json.dumps(slurm.jobs) == before
    assert lines[0].startswith("[as ann] sbatch --parsable --hold --propagate=NONE --export=NONE")
    assert lines[-1] == "scontrol release NEW"


@pytest.mark.slow
def test_memory_is_flat_over_ten_thousand_cycles() -> None:
    """Jobs come and go all the time, some in unequal splits; only what Slurm remembers is there."""
    slurm = SlurmDouble({"a": 4, "b": 2})
    controller = controller_of(slurm)
    blocks = {}
    for at in range(10_001):
        if at % 25 == 0:
            gpus = (3, 6, 2)[at // 25 % 3]
            slurm.add(sleeping(gpus), tasks=gpus)
        controller.cycle()
        slurm.pass_time(1)
        slurm.told.clear()
        if at in (2000, 10_000):
            parse_comment.cache_clear()  # it is bounded, but fills for a while
            gc.collect()
            blocks[at] = sys.getallocatedblocks()
    assert slurm._last > 400
    assert blocks[10_000] - blocks[2000] < 1000  # an eighth of one a cycle
