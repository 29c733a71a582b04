"""Whatever users do: dependencies, scancel, requeue, hold, release past the plan, arrays, salloc and srun."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections import Counter
from threading import Thread

import pytest
from tests.integration.slurm.real import SLEEPS, Real, assert_no_gpu_twice

from ringsched.clusters.planning import Planner
from ringsched.clusters.slurm.comments import comment_of

pytestmark = [pytest.mark.slurm, pytest.mark.compiled]
FOUR = ("--ntasks=4", "--gpus-per-task=1")


def test_dependencies_follow_the_real_job(real: Real) -> None:
    """The first one needs two nodes; afterany and afterok fire when it really ends."""
    first = real.sbatch("first", 16, "--gpus=16", sleep_s=1.5, seconds=2)
    fails = real.sbatch("fails", 4, *FOUR, code=3)
    real.sbatch("after-any", 4, *FOUR, f"--dependency=afterany:{first}")
    real.sbatch("after-ok", 4, *FOUR, f"--dependency=afterok:{first}")
    never = real.sbatch("never", 4, *FOUR, f"--dependency=afterok:{fails}")
    cycles = real.run(real.controller())
    runs = {run.name: run for run in real.runs()}
    assert set(runs) == {"first", "fails", "after-any", "after-ok"}
    end_s = runs["first"].end_s
    assert end_s is not None
    assert min(runs["after-any"].start_s, runs["after-ok"].start_s) > end_s
    assert "waits for afterok" in cycles[-1].snapshot.left[f"job-{never}"]


def test_dependencies_of_every_kind_are_not_left_to_slurms_minute(real: Real) -> None:
    """On all tasks of an array, task by task, on a start, and on any one of two."""
    array = real.sbatch("array", 4, *FOUR, "--array=0-1", sleep_s=1, seconds=1)
    fails = real.sbatch("fails", 4, *FOUR, code=3)
    kinds = {
        "after-all": f"afterok:{array}", "after-start": f"after:{array}_0",
        "after-either": f"afterok:{fails}?afternotok:{fails}", "never": f"afterok:{array},afterok:{fails}",
    }  # fmt: skip
    ids = {name: real.sbatch(name, 4, *FOUR, f"--dependency={kind}") for name, kind in kinds.items()}
    corresponding = real.sbatch("task", 4, *FOUR, "--array=0-1", f"--dependency=aftercorr:{array}")
    real.run(real.controller(), 40)  # Slurm would take up to a minute
    ran = Counter(run.name for run in real.runs())
    assert ran == {"array": 2, "fails": 1, "task": 2} | dict.fromkeys(ids.keys() - {"never"}, 1)
    assert real.jobs()[ids["never"]].held
    tasks = {run.job_id: run for run in real.runs() if run.name in ("array", "task")}
    assert len(tasks) == 4
    assert real.jobs()[f"{corresponding}_1"].state == "COMPLETED"


def test_scancel_at_random_moments_is_final(real: Real) -> None:
    draw = random.Random(3)
    ids = [real.sbatch(f"job{at}", 8, "--gpus=8", sleep_s=2, seconds=2) for at in range(20)]

    cancelled_s: dict[str, float] = {}

    def cancel() -> None:
        for job_id in ids:
            time.sleep(draw.uniform(0, 0.15))
            real.commands.tell("scancel", job_id)
            cancelled_s[job_id] = time.time()

    thread = Thread(target=cancel)
    thread.start()
    real.run(real.controller())
    thread.join()
    real.run(real.controller())
    states = {job_id: job.state for job_id, job in real.jobs().items()}
    assert states.keys() == set(ids)  # no other job was made
    assert set(states.values()) <= {"CANCELLED", "COMPLETED"}
    ended = [run for run in real.runs() if run.end_s is not None]
    assert {run.job_id for run in ended} >= {
        job_id for job_id, state in states.items() if state == "COMPLETED"
    }
    # Whoever was cancelled before its start did not come to its end.
    assert all(run.start_s < cancelled_s[run.job_id] for run in ended)


def test_arrays_run_as_many_tasks_as_they_allow(real: Real) -> None:
    array = real.sbatch("task", 4, *FOUR, "--array=0-4%2", sleep_s=0.5)
    other = real.sbatch("other", 8, "--gpus=8")
    real.run(real.controller())
    runs = real.runs()
    assert sorted(run.name for run in runs) == ["other", *["task"] * 5]
    done = {job_id for job_id, job in real.jobs().items() if job.state == "COMPLETED"}
    assert done == {other, *(f"{array}_{task}" for task in range(5))}
    assert_no_gpu_twice(runs)
    tasks = [run for run in runs if run.name == "task"]
    for run in tasks:
        beside = [each for each in tasks if each.start_s <= run.start_s < (each.end_s or 0)]
        assert len(beside) <= 2


def test_hold_uhold_and_release_past_the_plan(real: Real) -> None:
    held = real.sbatch("held", 4, *FOUR)
    early = real.sbatch("early", 8, "--gpus=8", sleep_s=1, seconds=1)
    real.sbatch("planned", 16, "--gpus=16")
    real.commands.tell("scontrol", "hold", held)  # by an operator
    real.commands.tell("scontrol", "release", early)  # past the plan
    cycles = real.run(real.controller())
    assert sorted(run.name for run in real.runs()) == ["early", "planned"]
    assert cycles[-1].snapshot.left == {f"job-{held}": "is held by an operator"}
    real.commands.tell("scontrol", "uhold", held)  # the owner's hold, which the plan may lift
    real.run(real.controller())
    assert sorted(run.name for run in real.runs()) == ["early", "held", "planned"]
    assert_no_gpu_twice(real.runs())


def test_a_requeued_job_runs_again_under_its_id(real: Real) -> None:
    job_id = real.sbatch("job", 16, "--gpus=16", sleep_s=2, seconds=2)
    controller = real.controller()
    controller.cycle()
    real.wait(lambda: len(real.runs()) == 1)
    real.commands.tell("scontrol", "requeue", job_id)
    real.wait(lambda: not real.jobs()[job_id].holding)
    controller.cycle()
    assert real.jobs()[job_id].held  # taken back, since Slurm delays its start
    real.start_soon(job_id)
    real.run(controller)
    assert [run.job_id for run in real.runs()] == [job_id, job_id]
    assert real.jobs()[job_id].record["restart_cnt"] == 1


def test_salloc_and_srun_wait_for_their_place(real: Real) -> None:
    """Interactive jobs are held and released like others; two nodes of four GPUs each."""
    comment = comment_of({**SLEEPS, "gpus": 8, "iterations": 1})
    environment = os.environ | {"SLURM_CONF": str(real.local.config)}
    real.commands.tell(
        "scontrol", "update", "nodename=n3,n4", "state=drain", "reason=so that it must be split"
    )
    waiting = [
        subprocess.Popen([*words, "--hold", "--gpus=8", "--ntasks=8", f"--comment={comment}", *rest],
                         env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for words, rest in ((["salloc"], ["printenv", "SLURM_JOB_NUM_NODES"]), (["srun"], ["hostname"]))
    ]  # fmt: skip
    try:
        real.wait(lambda: len(real.jobs()) == 2)
        real.run(real.controller())
        said = [process.communicate(timeout=30)[0] for process in waiting]
    finally:
        for process in waiting:
            process.kill()
    assert said[0].split()[-1:] == ["2"]
    assert len(said[1].split()) == 8


def test_a_large_job_is_not_starved(real: Real) -> None:
    """Sixteen GPUs in a stream of small jobs, with the default policy."""
    for at in range(6):
        real.sbatch(f"first{at}", 4, *FOUR, sleep_s=3, seconds=3)
    large = real.sbatch("large", 16, "--gpus=16")
    controller = real.controller(Planner(iterations=200))
    for at in range(40):
        if at % 2:
            real.sbatch(f"small{at}", 4, *FOUR, sleep_s=3, seconds=3)
        controller.cycle()
        if any(run.job_id == large for run in real.runs()):
            return
        time.sleep(0.4)
    raise AssertionError("it never started")


def test_a_job_that_slurm_refuses_is_set_aside_and_blocks_no_other(real: Real) -> None:
    """The partition is changed after it was read, so that Slurm refuses the placement."""
    wide = real.sbatch("wide", 8, "--nodes=2", "--gpus-per-node=4")
    controller = real.controller()
    backend, read = controller.backend, controller.backend.snapshot

    def late() -> object:
        snapshot = read()
        real.commands.tell("scontrol", "update", "partitionname=gpu", "MaxNodes=1")
        return snapshot

    backend.snapshot = late  # type: ignore[method-assign, assignment]
    controller.cycle()
    backend.snapshot = read  # type: ignore[method-assign]
    real.sbatch("small", 8, "--nodes=1", "--gpus-per-node=8")
    real.wait(lambda: controller.cycle().snapshot.is_idle)
    assert [run.name for run in real.runs()] == ["small"]
    job = real.jobs()[wide]
    assert job.held
    assert "refused" in job.comment
