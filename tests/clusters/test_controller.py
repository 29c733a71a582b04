"""The controller on every backend: ends before any write, the first job of the queue, priority classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clusters.backends import WORLDS, Ended, InMemory, World, job_of
from tests.effort import examples

from ringsched.clusters.controller import Controller, SetAside, Snapshot, TakeBack, decide, run
from ringsched.clusters.planning import PlannedQueue, Planner
from ringsched.errors import AdapterError, InputError
from ringsched.model import Cluster, Scenario, Server

pytestmark = pytest.mark.compiled
QUICK = Planner(policy="longest-first")
SIZES = (2, 4, 1, 8, 2, 4, 1, 2)


def finish(world: World, planner: Planner = QUICK, most_s: int = 200) -> None:
    controller = Controller(backend=world.backend(), planner=planner)
    for _ in range(most_s):
        controller.cycle()
        world.pass_time(1)
        if not world.unfinished():
            return
    raise AssertionError(f"left: {world.unfinished()}")


@pytest.mark.parametrize("new_world", WORLDS)
def test_a_controller_that_ends_before_any_single_write(new_world: Callable[[], World]) -> None:
    """Whatever was done before, the next controller starts every job once, and none is lost."""
    point, ended = 0, True
    while ended:
        point, ended = point + 1, False
        world = new_world()
        names = [world.submit(gpus, 3) for gpus in SIZES]
        controller = Controller(backend=world.backend(point), planner=QUICK)
        try:
            for _ in range(40):
                controller.cycle()
                world.pass_time(1)
        except Ended:
            ended = True
        finish(world)
        assert Counter(world.starts()) == Counter(names), f"before write {point}"
    assert point > len(SIZES)


@pytest.mark.parametrize("new_world", WORLDS)
@examples(30)
@given(st.lists(st.tuples(st.integers(1, 8), st.integers(1, 6)), min_size=1, max_size=8), st.data())
def test_controllers_that_end_again_and_again(
    new_world: Callable[[], World], jobs: list[tuple[int, int]], data: st.DataObject
) -> None:
    world = new_world()
    names = [world.submit(1 << (gpus.bit_length() - 1), seconds) for gpus, seconds in jobs]
    for writes in data.draw(st.lists(st.integers(1, 12), max_size=5)):
        controller = Controller(backend=world.backend(writes), planner=QUICK)
        try:
            for _ in range(3):
                controller.cycle()
                world.pass_time(1)
        except Ended:
            pass
    finish(world)
    assert Counter(world.starts()) == Counter(names)


def test_a_large_job_in_a_stream_of_small_ones_starts() -> None:
    """The small ones come faster than they end, and each fits at once."""
    world = InMemory((4, 4))
    for _ in range(4):
        world.submit(2, 10)
    large = world.submit(8, 5)
    controller = Controller(backend=world.backend(), planner=Planner(iterations=50))
    for at in range(60):
        if at % 2 == 0:
            world.submit(2, 10)
        controller.cycle()
        world.pass_time(1)
    assert large in world.starts()
    assert world.starts().index(large) < 12


def test_a_large_job_starts_though_every_other_user_underestimates() -> None:
    """Jobs say one second and take ten: they seem to end before the large job's turn."""
    world = InMemory((4, 4))
    lying = iter(range(1000))

    def lie() -> None:
        name = f"lie-{next(lying)}"
        world.waiting[name] = job_of(name, 2, 10).replace(iterations=1, backward_ms=1000)
        world.lengths[name] = 10

    world.lengths = {}  # type: ignore[attr-defined]
    world.pass_time = lambda seconds: _pass_time(world, seconds)  # type: ignore[method-assign]
    for _ in range(4):
        lie()
    controller = Controller(backend=world.backend(), planner=QUICK)
    controller.cycle()
    large = world.submit(8, 5)
    for at in range(300):
        if at % 2 == 0:
            lie()
        controller.cycle()
        world.pass_time(1)
    assert large in world.starts()


def _pass_time(world: InMemory, seconds: float) -> None:
    """Jobs take as long as they take, not as long as they say."""
    world.now_s += seconds
    for name, (job, placed, start_s) in list(world.running.items()):
        if world.now_s >= start_s + world.lengths.get(name, job.iterations):  # type: ignore[attr-defined]
            for server, held in placed.items():
                world.free[server] |= set(held)
            del world.running[name]


SERVERS = Cluster(
    servers=(Server(name="a", gpus=4), Server(name="b", gpus=4)),
    inter_server_gbps=10, intra_server_gbps=100, reduce_gbps=100,
)  # fmt: skip


def queue(*jobs: tuple[str, int, int, int]) -> Scenario:
    return Scenario(
        cluster=SERVERS,
        jobs=tuple(
            job_of(name, gpus, seconds).replace(priority=level) for name, gpus, seconds, level in jobs
        ),
    )


def test_a_higher_class_starts_first() -> None:
    planned = QUICK.plan(queue(("low", 8, 5, 0), ("high", 8, 5, 7)))
    assert planned.starts == ("high",)
    assert planned.promise == ("low", 5.0)


def test_a_lower_class_fills_gaps_that_delay_no_higher_job() -> None:
    jobs = (("high", 4, 10, 7), ("next", 8, 5, 7), ("short", 4, 10, 0), ("long", 4, 11, 0))
    assert set(QUICK.plan(queue(*jobs)).starts) == {"high", "short"}
    assert set(QUICK.plan(queue(jobs[0], jobs[1], jobs[3])).starts) == {"high"}


@examples(100)
@given(
    st.lists(
        st.tuples(st.sampled_from([1, 2, 4, 8]), st.integers(1, 9), st.integers(0, 2)), min_size=1, max_size=8
    )
)
def test_the_first_job_of_the_highest_class_is_never_delayed(jobs: list[tuple[int, int, int]]) -> None:
    """It starts when it would start alone; and whoever starts now holds GPUs of its own."""
    scenario = queue(*((f"j{at}", *job) for at, job in enumerate(jobs)))
    planned = QUICK.plan(scenario)
    first = max(scenario.jobs, key=lambda job: job.priority)
    assert first.name in planned.starts
    held = [
        (name, gpu)
        for job in planned.starts
        for name, gpus in planned.entries[job].gpus.items()
        for gpu in gpus
    ]
    assert len(held) == len(set(held))
    assert set(planned.entries) == {job.name for job in scenario.jobs}


def test_no_gpu_is_planned_twice_at_a_time() -> None:
    """The first job starts now though the policy would start longer ones; these are planned around it."""
    jobs = [("first", 8, 1, 0), *((f"long{at}", 4, 2, 0) for at in range(3))]
    planned = Planner(policy="longest-first").plan(queue(*jobs))
    assert planned.starts == ("first",)
    for one, other in combinations(planned.entries.values(), 2):
        if one.start_s < other.finish_s and other.start_s < one.finish_s:
            assert set(one.ring).isdisjoint(other.ring), (one.name, other.name)


def test_decisions_are_pure() -> None:
    astray = (TakeBack(name="job-1", reason="n1 is gone"),)
    snapshot = Snapshot(now_s=0.0, scenario=queue(("job-2", 8, 5, 0)), astray=astray)
    assert decide(snapshot, None) == astray
    planned = QUICK.plan(snapshot.scenario)
    assert decide(snapshot, planned) == decide(snapshot, planned)
    assert decide(snapshot, planned)[0] is astray[0]
    refused = PlannedQueue(entries={}, left={"job-2": InputError("takes for ever")})
    assert decide(snapshot, refused)[1] == SetAside(name="job-2", reason="takes for ever")


def test_nothing_is_planned_while_nothing_happens() -> None:
    world = InMemory((4,))
    for _ in range(2):
        world.submit(4, 100)
    controller = Controller(backend=world.backend(), planner=QUICK)
    planned = []
    for _ in range(50):
        planned.append(controller.cycle().planned is not None)
        world.pass_time(1)
    assert planned == [True] + [False] * 49


def test_silence_is_retried_with_growing_delays() -> None:
    class Silent(InMemory):
        silences = 3

        def snapshot(self) -> Snapshot:
            if self.silences:
                self.silences -= 1
                raise AdapterError("sinfo did not respond within 30 s")
            return super().snapshot()

    world, said, waits = Silent(), [], []
    world.submit(1, 1)

    def wait(seconds: float) -> None:
        waits.append(seconds)
        world.pass_time(1)

    controller = Controller(backend=world, planner=QUICK, say=said.append)
    run(controller, interval_s=1, wait=wait, until_idle=True)
    assert waits[:3] == [1, 2, 4]
    assert said[0] == "Slurm: sinfo did not respond within 30 s; retrying in 1 s"
