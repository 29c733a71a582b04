"""Whatever dies, every job runs as often as it should, and none is lost."""

from __future__ import annotations

import multiprocessing
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from tests.integration.slurm.real import Real, assert_no_gpu_twice

from ringsched.clusters.slurm.controller import Planner

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


def _control(real: Real, policy: str) -> None:
    real.run(real.controller(Planner(policy=policy)))


class Controllers:
    """Controllers in processes of their own, which have everything loaded already; none survives a test."""

    def __init__(self) -> None:
        self._started: list[multiprocessing.process.BaseProcess] = []

    def start(self, real: Real, policy: str = "first-fit") -> multiprocessing.process.BaseProcess:
        process = multiprocessing.get_context("fork").Process(target=_control, args=(real, policy))
        process.start()
        self._started.append(process)
        return process

    def run(self, real: Real) -> None:
        """One more, to the end."""
        process = self.start(real)
        process.join(90)
        assert process.exitcode == 0, "jobs are left"

    def kill(self) -> None:
        for process in self._started:
            process.kill()
            process.join()


@pytest.fixture
def controllers(real: Real) -> Iterator[Controllers]:
    started = Controllers()
    yield started
    started.kill()


def assert_each_once(real: Real, names: list[str]) -> None:
    runs = real.runs()
    assert Counter(run.name for run in runs) == Counter(names)
    assert all(run.end_s is not None for run in runs)
    assert_no_gpu_twice(runs)


def test_sigkill_of_the_controller_at_twenty_random_points(real: Real, controllers: Controllers) -> None:
    draw = random.Random(7)
    names = [f"job{at}" for at in range(30)]
    for name in names:
        real.submit(name, draw.choice((3, 5, 6, 7, 9, 11)), 1)
    for _ in range(20):
        process = controllers.start(real)
        time.sleep(draw.uniform(0.02, 1.2))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL, "it had ended before"
    controllers.run(real)
    assert_each_once(real, names)
    unequal = [run for run in real.runs() if len(set(run.servers.values())) > 1]
    assert len(unequal) >= 5


class Ended(Exception):
    pass


class Ending:
    """Commands up to one that is never given."""

    def __init__(self, real: Real, point: int) -> None:
        self._real, self._left = real, point

    def ask(self, *arguments: str, **more: object) -> str:
        return self._real.commands.ask(*arguments, **more)  # type: ignore[arg-type]

    def tell(self, *arguments: object, **more: object) -> str:
        self._left -= 1
        if self._left == 0:
            raise Ended
        return self._real.commands.tell(*arguments, **more)  # type: ignore[arg-type]


def test_a_crash_before_every_single_command_of_a_resubmission(real: Real, controllers: Controllers) -> None:
    """Three files, sbatch, mark, cancel, update, release: the controller ends before each in turn."""
    names = []
    for point in range(1, 9):
        names.append(f"job{point}")
        real.submit(names[-1], 24, 0.2)
        controller = real.controller()
        controller.commands = Ending(real, point)
        with pytest.raises(Ended):
            controller.cycle()
        real.run(real.controller())
        assert_each_once(real, names)


def test_slurmctld_stopped_and_started(real: Real, controllers: Controllers) -> None:
    names = [f"job{at}" for at in range(8)]
    for at, name in enumerate(names):
        real.submit(name, 5 + at % 3, 2)
    process = controllers.start(real)
    real.wait(lambda: len(real.runs()) >= 2)
    real.local.stop_daemon("slurmctld")
    time.sleep(2)
    real.local.start_daemon("slurmctld")
    real.local.wait_for_nodes(4)
    process.join(90)
    assert process.exitcode == 0
    assert_each_once(real, names)


def test_a_node_goes_down_and_comes_back(real: Real, controllers: Controllers) -> None:
    real.submit("on-n4", 8, 3)
    real.submit("on-n3", 8, 3)
    real.submit("all", 24, 1)
    process = controllers.start(real, "longest-first")  # each on a server of its own
    real.wait(lambda: len(real.runs()) == 2)
    lost = next(run for run in real.runs() if "n4" in run.servers)
    real.local.stop_daemon("n4", signal.SIGKILL)
    real.commands.tell("scontrol", "update", "nodename=n4", "state=down", "reason=lost")
    real.wait(lambda: any(run.name == lost.name and "n4" not in run.servers for run in real.runs()))
    real.local.start_daemon("n4")
    process.join(90)
    controllers.run(real)
    runs = Counter(run.name for run in real.runs())
    assert runs == {"on-n4": 1, "on-n3": 1, "all": 1} | {lost.name: 2}  # as often as Slurm requeued it
    assert next(job.restarts for job in real.jobs().values() if job.id == int(lost.job_id)) == 1


def test_a_heterogeneous_job_loses_a_node(real: Real, controllers: Controllers) -> None:
    """Slurm requeues it in the same shape; only a new job can have another one."""
    first = real.submit("job", 11, 3)
    process = controllers.start(real)
    real.wait(lambda: len(real.runs()) == 1)
    lost = real.runs()[0]
    assert lost.servers == {"n1": 4, "n2": 4, "n3": 3}
    real.local.stop_daemon("n1", signal.SIGKILL)
    real.commands.tell("scontrol", "update", "nodename=n1", "state=down", "reason=lost")
    process.join(90)
    assert process.exitcode == 0
    runs = real.runs()
    assert [run.name for run in runs] == ["job", "job"]
    assert runs[1].servers == {"n2": 4, "n3": 7}
    assert len({str(first), runs[0].job_id, runs[1].job_id}) == 3


def test_a_job_that_fails_and_one_that_is_cancelled(real: Real, controllers: Controllers) -> None:
    real.submit("fails", 24, 1, code=3)
    endless = real.submit("endless", 8, 1000, seconds=2)
    real.submit("after", 24, 1)
    real.submit("never", 20, 1)
    process = controllers.start(real)
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
