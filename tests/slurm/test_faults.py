"""Whatever dies, every job runs as often as it should, and none is lost."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections import Counter

import pytest
from tests.slurm.real import Real, assert_no_gpu_twice

from ringsched.slurm.planning import Planner

pytestmark = [pytest.mark.slurm, pytest.mark.compiled]


def _control(real: Real) -> None:
    """A controller in a process of its own; one that is started has everything loaded already."""
    os.setpgid(0, 0)
    real.run(real.controller(Planner(policy="first-fit")))


def start_controller(real: Real) -> multiprocessing.process.BaseProcess:
    process = multiprocessing.get_context("fork").Process(target=_control, args=(real,))
    process.start()
    return process


def run_to_the_end(real: Real, timeout_s: float = 90.0) -> None:
    process = start_controller(real)
    process.join(timeout_s)
    if process.is_alive():
        process.kill()
        process.join()
        raise AssertionError("jobs are left")
    assert process.exitcode == 0


def assert_each_once(real: Real, names: list[str]) -> None:
    runs = real.runs()
    assert Counter(run.name for run in runs) == Counter(names)
    assert all(run.end_s is not None for run in runs)
    assert_no_gpu_twice(runs)


def test_sigkill_of_the_controller_at_twenty_random_points(real: Real) -> None:
    draw = random.Random(7)
    names = [f"job{at}" for at in range(30)]
    for name in names:
        real.submit(name, draw.choice((3, 5, 6, 7, 9, 11)), 1)
    for _ in range(20):
        process = start_controller(real)
        time.sleep(draw.uniform(0.02, 1.2))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL, "it had ended before"
    run_to_the_end(real)
    assert_each_once(real, names)
    unequal = [run for run in real.runs() if len(set(run.servers.values())) > 1]
    assert len(unequal) >= 5


@pytest.mark.parametrize("point", range(1, 12))
def test_a_crash_after_every_single_command_of_a_resubmission(real: Real, point: int) -> None:
    """Unequal splits take the most commands; the controller ends before each of them in turn."""

    class Ended(Exception):
        pass

    class Ending:
        def __init__(self) -> None:
            self.count = 0

        def ask(self, *arguments: str, **more: object) -> str:
            return real.commands.ask(*arguments, **more)  # type: ignore[arg-type]

        def tell(self, *arguments: object, **more: object) -> str:
            self.count += 1
            if self.count == point:
                raise Ended
            return real.commands.tell(*arguments, **more)  # type: ignore[arg-type]

    real.submit("job", 24, 1)
    controller = real.controller()
    controller.commands = Ending()
    if point <= 8:  # three files, sbatch, mark, cancel, update, release
        with pytest.raises(Ended):
            controller.cycle()
    else:
        controller.cycle()
    run_to_the_end(real)
    assert_each_once(real, ["job"])


def test_slurmctld_stopped_and_started(real: Real) -> None:
    names = [f"job{at}" for at in range(8)]
    for at, name in enumerate(names):
        real.submit(name, 5 + at % 3, 2)
    process = start_controller(real)
    real.wait(lambda: len(real.runs()) >= 2)
    real.local.stop_daemon("slurmctld")
    time.sleep(2)
    real.local.start_daemon("slurmctld")
    real.local.wait_for_nodes(4)
    process.join(90)
    assert process.exitcode == 0
    assert_each_once(real, names)


def test_a_node_goes_down_and_comes_back(real: Real) -> None:
    real.submit("on-n4", 8, 3)
    real.submit("on-n3", 8, 3)
    real.submit("all", 24, 1)
    process = start_controller(real)
    real.wait(lambda: len(real.runs()) == 2)
    lost = next(run for run in real.runs() if "n4" in run.servers)
    real.commands.tell("scontrol", "update", "nodename=n4", "state=down", "reason=test")
    real.wait(lambda: any(run.name == lost.name and "n4" not in run.servers for run in real.runs()))
    real.commands.tell("scontrol", "update", "nodename=n4", "state=resume")
    process.join(90)
    if process.is_alive() or process.exitcode:
        process.kill()
    run_to_the_end(real)
    runs = Counter(run.name for run in real.runs())
    assert runs == {"on-n4": 1, "on-n3": 1, "all": 1} | {lost.name: 2}  # as often as Slurm requeued it
    assert next(job.restarts for job in real.jobs().values() if job.id == int(lost.job_id)) == 1


def test_a_job_that_fails_and_one_that_is_cancelled(real: Real) -> None:
    real.submit("fails", 24, 1, code=3)
    endless = real.submit("endless", 8, 1000, seconds=2)
    real.submit("after", 24, 1)
    real.submit("never", 20, 1)
    process = start_controller(real)
    real.wait(lambda: any(run.name == "endless" for run in real.runs()))
    cancelled = next(job for job in real.jobs().values() if job.held and job.tasks == 20)
    real.commands.tell("scancel", str(cancelled.id))
    time.sleep(3)  # it outlives its estimate
    assert {run.name for run in real.runs() if run.end_s is None} == {"endless"}
    real.commands.tell("scancel", str(endless))
    process.join(60)
    assert process.exitcode == 0
    runs = Counter(run.name for run in real.runs())
    assert runs == {"fails": 1, "endless": 1, "after": 1}
