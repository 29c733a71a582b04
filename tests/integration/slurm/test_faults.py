"""Whatever dies, every job runs as often as it should, and none is lost."""

from __future__ import annotations

import multiprocessing
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from tests.clusters.backends import Ended, Ending
from tests.integration.slurm.real import Real, assert_no_gpu_twice, real_cluster

from ringsched.clusters.planning import Planner
from ringsched.clusters.slurm.local import LocalNode

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


def _control(real: Real, policy: str) -> None:
    real.run(real.controller(Planner(policy=policy)), 300)


class Controllers:
    """Controllers in processes of their own, which have everything loaded already; none survives a test."""

    def __init__(self) -> None:
        self._started: list[multiprocessing.process.BaseProcess] = []

    def start(self, real: Real, policy: str = "first-fit") -> multiprocessing.process.BaseProcess:
        if not self._started:
            Planner(policy=policy).plan(real.backend().snapshot().scenario)  # loads what a cycle needs
        process = multiprocessing.get_context("fork").Process(target=_control, args=(real, policy))
        process.start()
        self._started.append(process)
        return process

    def run(self, real: Real) -> None:
        """One more, to the end."""
        process = self.start(real)
        process.join(300)
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
    names = [f"job{at}" for at in range(20)]
    for name in names:
        real.submit(name, draw.choice((3, 4, 6, 7, 8, 16)), 0.3)
    for _ in range(20):
        process = controllers.start(real)
        time.sleep(draw.uniform(0.02, 0.4))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL, "it had ended before"
    controllers.run(real)
    assert_each_once(real, names)
    assert len(real.jobs()) == len(names)


def test_a_crash_before_every_single_command(real: Real) -> None:
    """Note, layout, CPUs, release: the controller ends before each in turn."""
    names = []
    for point in range(1, 5):
        names.append(f"job{point}")
        real.submit(names[-1], 16, 0.2)
        with pytest.raises(Ended):
            real.controller(commands=Ending(real.commands, point)).cycle()
        real.run(real.controller())
        assert_each_once(real, names)


def test_slurmctld_stopped_and_started(real: Real, controllers: Controllers) -> None:
    names = [f"job{at}" for at in range(5)]
    for at, name in enumerate(names):
        real.submit(name, (8, 8, 16, 6)[at % 4], 1.5 if at < 2 else 0.2)
    process = controllers.start(real)
    real.wait(lambda: len(real.runs()) >= 2)
    real.local.stop_daemon("slurmctld")
    real.wait(lambda: sum(run.end_s is not None for run in real.runs()) >= 2)  # without anyone to tell
    real.local.start_daemon("slurmctld")
    real.local.wait_for_nodes(4)
    process.join(90)
    assert process.exitcode == 0
    assert_each_once(real, names)


def test_a_node_goes_down_and_comes_back(real: Real, controllers: Controllers) -> None:
    real.submit("on-n4", 8, 3)
    real.submit("on-n3", 8, 3)
    real.submit("all", 16, 0.2)
    process = controllers.start(real, "longest-first")  # each on a server of its own
    real.wait(lambda: len(real.runs()) == 2)
    lost = next(run for run in real.runs() if "n4" in run.servers)
    real.local.stop_daemon("n4", signal.SIGKILL)
    real.commands.tell("scontrol", "update", "nodename=n4", "state=down", "reason=lost")
    real.start_soon(lost.job_id)
    real.wait(lambda: any(run.name == lost.name and "n4" not in run.servers for run in real.runs()))
    real.local.start_daemon("n4")
    process.join(90)
    assert process.exitcode == 0
    runs = Counter(run.name for run in real.runs())
    assert runs == {"on-n4": 1, "on-n3": 1, "all": 1} | {lost.name: 2}  # as often as Slurm requeued it
    assert next(job.record["restart_cnt"] for job in real.jobs().values() if job.id == lost.job_id) == 1


@pytest.mark.parametrize("real", ["MessageTimeout=3\n"], indirect=True, ids=["short-timeout"])
def test_a_job_on_two_nodes_loses_one(real: Real, controllers: Controllers) -> None:
    """Slurm requeues it, and it gets another layout under the same id."""
    job_id = real.submit("job", 8, 2)
    real.commands.tell("scontrol", "update", "nodename=n3,n4", "state=drain", "reason=later")
    process = controllers.start(real)
    real.wait(lambda: len(real.runs()) == 1)
    assert real.runs()[0].servers == {"n1": 4, "n2": 4}
    real.commands.tell("scontrol", "update", "nodename=n3,n4", "state=resume")
    real.local.stop_daemon("n1", signal.SIGKILL)
    real.commands.tell("scontrol", "update", "nodename=n1", "state=down", "reason=lost")
    real.start_soon(job_id)
    process.join(90)
    assert process.exitcode == 0
    runs = real.runs()
    assert [run.job_id for run in runs] == [job_id, job_id]
    assert runs[1].servers in ({"n3": 8}, {"n4": 8})


def test_a_job_that_fails_and_one_that_is_cancelled(real: Real, controllers: Controllers) -> None:
    real.submit("fails", 16, 0.2, code=3)
    endless = real.submit("endless", 16, 1000, seconds=1)
    real.submit("after", 16, 0.2)
    never = real.submit("never", 20, 1)
    process = controllers.start(real)
    real.wait(lambda: any(run.name == "endless" for run in real.runs()))
    real.commands.tell("scancel", never)
    time.sleep(1.5)  # it outlives its estimate
    assert {run.name for run in real.runs() if run.end_s is None} == {"endless"}
    real.commands.tell("scancel", endless)
    process.join(60)
    assert process.exitcode == 0
    runs = Counter(run.name for run in real.runs())
    assert runs == {"fails": 1, "endless": 1, "after": 1}


MIXED = (4, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 16, 16, 16, 16)


def nodes() -> list[LocalNode]:
    kinds = ("", "a100", "v100")
    return [
        LocalNode(gpus=gpus, gpu_type=kinds[1 + at % 2], features="ib" if at % 3 == 0 else "")
        for at, gpus in enumerate(MIXED)
    ]


def submit_mixed(real: Real, number: int, draw: random.Random) -> dict[str, str]:
    """Jobs of every kind; return the names by id of those that must end well, each once."""
    good: dict[str, str] = {}
    last = ""
    for at in range(number):
        name, sleep_s = f"job{at}", draw.choice((0.3, 0.6, 1.0))
        gpus, options, code = draw.choice(
            [
                (16, ("--gpus=16",), 0),
                (8, ("--ntasks=8", "--gpus-per-task=1"), 0),
                (4, ("--nodes=1", "--gres=gpu:4"), 0),
                (8, ("--nodes=2", "--gpus-per-node=4"), 0),
                (4, ("--ntasks=4", "--gpus-per-task=a100:1"), 0),
                (8, ("--gpus=v100:8",), 0),
                (4, ("--ntasks=4", "--gpus-per-task=1", "--constraint=ib"), 0),
                (2, ("--gpus=2", "--time=10"), 0),
                (2, ("--gpus=2", f"--dependency=afterany:{last}") if last else ("--gpus=2",), 0),
                (2, ("--gpus=2", "--array=0-1"), 0),
                (4, ("--gpus=4",), 3),
            ]
        )
        name += "-fails" if code else ""
        job_id = real.sbatch(name, gpus, *options, sleep_s=sleep_s, code=code)
        last = job_id if "--array=0-1" not in options else last
        tasks = ("_0", "_1") if "--array=0-1" in options else ("",)
        good |= {f"{job_id}{task}": name for task in tasks}
    return good


@pytest.mark.parametrize(
    ("number", "kills"), [(25, 5), pytest.param(200, 20, marks=pytest.mark.slow)], ids=["short", "long"]
)
def test_mixed_jobs_through_kills_a_restart_and_a_lost_node(number: int, kills: int) -> None:
    """Every job exactly once, no GPU twice, no id changed; Slurm requeues what was on the lost node."""
    draw = random.Random(11)
    controllers = Controllers()
    with real_cluster(nodes(), more="MinJobAge=3600\n") as real:  # all are still known in the end
        good = submit_mixed(real, number, draw)
        cancelled = draw.sample(sorted(job_id for job_id in good if "_" not in job_id), number // 20)
        lost, end_s = "", time.monotonic() + 600
        try:
            for at in range(kills):
                if at == kills // 2:
                    on_it = real.sbatch("on-it", 8, "--gpus=8", "--nice=-100", sleep_s=3, seconds=3)
                    good[on_it] = "on-it"
                process = controllers.start(real, "first-fit")
                time.sleep(draw.uniform(0.05, 1.5))
                if at == kills // 2:
                    real.wait(lambda on_it=on_it: bool(real.jobs()[on_it].placement), 60)  # type: ignore[misc]
                    lost = next(iter(real.jobs()[on_it].placement))
                    real.lose(lost)
                process.kill()
                process.join()
                if at == kills // 3:
                    real.local.stop_daemon("slurmctld")
                    real.local.start_daemon("slurmctld")
                    real.local.wait_for_nodes(len(MIXED))
                    real.commands.tell("scontrol", "update", "nodename=n20", "state=drain", "reason=fan")
                if at == kills // 2:
                    real.commands.tell("scancel", *cancelled)
                if at == 2 * kills // 3:
                    real.local.start_daemon(lost)
                    real.commands.tell("scontrol", "update", "nodename=n20", "state=resume")
            real.local.wait_for_nodes(len(MIXED))  # it is back
            while any(not job.done for job in real.jobs().values()):  # some may be set aside for a while
                assert time.monotonic() < end_s, "jobs are left"
                controllers.run(real)
        finally:
            controllers.kill()
        jobs, runs = real.jobs(), real.runs()
    assert set(jobs) == set(good)  # no other id, and none is gone
    assert jobs[on_it].record["restart_cnt"] == 1
    assert_no_gpu_twice(runs)
    starts, ends = Counter[str](), Counter[str]()
    for run in runs:
        starts[run.name] += 1
        ends[run.name] += run.end_s is not None
    for name in set(good.values()):
        mine = [job for job_id, job in jobs.items() if good[job_id] == name]
        if any(job.state == "CANCELLED" for job in mine):
            assert {job.id for job in mine} <= set(cancelled), name
            continue
        assert {job.state for job in mine} == {"FAILED" if name.endswith("-fails") else "COMPLETED"}, [
            (job.reason, job.comment[-400:]) for job in mine
        ]
        assert ends[name] == len(mine), name
        assert starts[name] == len(mine) + sum(job.record["restart_cnt"] for job in mine), name
