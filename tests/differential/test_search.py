"""The search's kernels against plain Python that reads like their description."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import scenarios

from ringsched.engine.problem import Problem, problem_of
from ringsched.engine.simulate import LiveCluster
from ringsched.engine.state import Arrays, Integers, Run, arrays_of, run_of
from ringsched.model import Scenario
from ringsched.model.objective import (
    COMPLETION,
    EXCESS,
    LAST_FINISH,
    MEAN_COMPLETION,
    SLOWDOWN,
    TARDINESS,
)
from ringsched.policies.policy import ORDERS, Settings, priorities, solve_once
from ringsched.rules.runner import queue_of
from ringsched.rules.shared import new_scratch
from ringsched.search.chance import new_chance
from ringsched.search.checkpoints import new_checkpoints
from ringsched.search.modes import (
    FLEXIBLE,
    FREE,
    MODES,
    MOVED,
    MOVED_ONLINE,
    NUM_MODES,
    PAIRED,
    PATIENT,
    QUIET,
    usable_modes,
)
from ringsched.search.moves import change, new_wheel
from ringsched.search.schedule import FROM_START, PRUNED, decode
from ringsched.search.solution import NEVER, Solution, new_solution, new_trace, new_walk, task_of

TARGET_S = 3.0


def idle_gpus(problem: Problem, cluster: LiveCluster) -> dict[int, list[int]]:
    """Of each server."""
    return {
        server: [
            gpu
            for gpu in range(problem.first_gpu[server], problem.first_gpu[server + 1])
            if cluster.is_idle(gpu)
        ]
        for server in range(problem.num_servers)
    }


def chosen(problem: Problem, cluster: LiveCluster, job: int, mode: int) -> list[int] | None:
    """Where the job goes now, or None if it waits."""
    wanted, network = problem.gpus[job], problem.network
    idle = idle_gpus(problem, cluster)
    fitting = [server for server in idle if len(idle[server]) >= wanted]
    if fitting:
        return idle[min(fitting, key=lambda server: (len(idle[server]), server))][:wanted]
    if mode == PATIENT and any(problem.network.capacity[server] >= wanted for server in idle):
        return None
    paths = {server: list(network.path(server)) for server in idle}
    busiest = {server: max(int(cluster.on_links()[node]) for node in paths[server]) for server in idle}
    levels = sorted({0, *(busiest[server] for server in idle if idle[server])})
    most = {QUIET: 0, PAIRED: 1}.get(mode, math.inf)
    for level in (level for level in levels if level <= most):
        below: defaultdict[int, list[int]] = defaultdict(list)  # servers behind quiet links up to each switch
        for server, path in paths.items():
            for link, switch in pairwise(path):
                if cluster.on_links()[link] > level:
                    break
                below[switch].append(server)
        total = {switch: sum(len(idle[server]) for server in below[switch]) for switch in below}
        enough = [switch for switch in below if total[switch] >= wanted]
        if enough:
            return packed(idle, below[min(enough, key=lambda switch: (total[switch], switch))], wanted)
        quiet = [server for server in idle if busiest[server] <= level]
        if sum(len(idle[server]) for server in quiet) >= wanted:
            return packed(idle, quiet, wanted)
    return None


def packed(idle: dict[int, list[int]], servers: list[int], wanted: int) -> list[int]:
    """The emptiest servers, and as the last one the fullest that holds the rest."""
    gpus: list[int] = []
    left = list(servers)
    while rest := wanted - len(gpus):
        fitting = [server for server in left if len(idle[server]) >= rest]
        server = (
            min(fitting, key=lambda server: (len(idle[server]), server))
            if fitting
            else max(left, key=lambda server: (len(idle[server]), -server))
        )
        left.remove(server)
        gpus += idle[server][:rest]
    return gpus


def by_hand(problem: Problem, order: list[int], mode: list[int], blocks: list[bool], max_wait: float) -> Run:
    cluster, waiting = LiveCluster(problem), list(order)

    def starts(job: int) -> bool:
        gpus = chosen(problem, cluster, job, mode[job])
        if gpus is not None:
            cluster.start(job, gpus)
            waiting.remove(job)
        return gpus is not None

    def start_jobs() -> None:
        came = sorted(waiting, key=lambda job: (problem.release[job], job))
        for job in came:
            if problem.release[job] + max_wait <= cluster.now and not starts(job):
                return
        for job in list(waiting):
            if problem.release[job] <= cluster.now and not starts(job) and blocks[job]:
                return

    while True:
        start_jobs()
        cluster.settle()
        releases = [problem.release[job] for job in waiting if problem.release[job] > cluster.now]
        time = min([cluster.next_completion(), *releases])
        if time == math.inf:
            assert not waiting
            return cluster.run()
        cluster.advance(time)


def cost_of(problem: Problem, cost: int, finishes: list[float]) -> float:
    if cost == LAST_FINISH:
        return max(finishes)
    if cost == TARDINESS:
        target = problem.clock.units(TARGET_S)
        return sum(
            gpus * max(0.0, finish - target) for gpus, finish in zip(problem.gpus, finishes, strict=True)
        )
    if cost in (SLOWDOWN, EXCESS):
        submits = [problem.clock.units(job.submit_s - problem.origin_s) for job in problem.scenario.jobs]
        slowdowns = [
            (finish - submit) / best
            for finish, submit, best in zip(finishes, submits, problem.best_case, strict=True)
        ]
        if cost == SLOWDOWN:
            return max(slowdowns)
        return sum(max(0.0, each - problem.clock.units(TARGET_S)) for each in slowdowns)
    return sum(finishes)


class Simulated:
    """The kernels of the search with all that they need."""

    def __init__(self, problem: Problem, solution: Solution, max_wait: float = math.inf) -> None:
        self.problem, self.solution = problem, solution
        self.arrays: Arrays = arrays_of(problem)
        self.task = task_of(
            problem,
            self.arrays,
            MEAN_COMPLETION,
            target=TARGET_S,
            usable=MOVED,
            max_wait_s=problem.clock.seconds(max_wait),
        )
        self.queue = queue_of(problem, self.arrays, problem.release)
        self.scratch = new_scratch(self.arrays)
        self.walk = new_walk(self.task, len(problem.queued))
        num_events = 2 * problem.num_jobs + 1
        self.trace = new_trace(problem.num_jobs, num_events)
        self.state, self.checkpoints = new_checkpoints(
            self.arrays, self.walk.values, self.walk.kept, num_events
        )

    def run(
        self, cost: int = COMPLETION, limit: float = math.inf, start: int = FROM_START, records: bool = False
    ) -> float:
        return decode(
            self.arrays,
            self.state,
            self.scratch,
            self.queue,
            self.task,
            self.solution,
            self.walk,
            self.trace,
            self.checkpoints,
            cost,
            limit,
            start,
            records,
        )

    def outcome(self) -> Run:
        return run_of(self.arrays, self.state)


def integers(values: list[int]) -> Integers:
    return np.array(values, dtype=np.int64)


def drawn_solution(problem: Problem, data: st.DataObject, modes: tuple[int, ...]) -> Solution:
    size = problem.num_jobs
    order = data.draw(st.permutations(problem.queued))
    mode = data.draw(st.lists(st.sampled_from(modes), min_size=size, max_size=size))
    blocks = data.draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
    return new_solution(size, integers(order), integers(mode), integers(blocks))


@given(scenarios(), st.data())
def test_a_queue_is_run_as_described(scenario: Scenario, data: st.DataObject) -> None:
    problem = problem_of(scenario)
    solution = drawn_solution(problem, data, (FLEXIBLE, PATIENT, QUIET, PAIRED))
    max_wait = data.draw(st.sampled_from([math.inf, 0.0, 5.0]))
    lists = (values.tolist() for values in (solution.order, solution.mode, solution.blocks))
    expected = by_hand(problem, *lists, max_wait)
    simulated = Simulated(problem, solution, max_wait)
    for cost in (LAST_FINISH, TARDINESS, COMPLETION, SLOWDOWN, EXCESS):
        value = simulated.run(cost)
        assert simulated.outcome() == expected
        assert value == pytest.approx(cost_of(problem, cost, list(expected.finishes)), rel=1e-12)
        # Giving up early never changes an answer that is within the limit.
        assert simulated.run(cost, value * (1 + 1e-12)) == value
        assert simulated.run(cost, value / 2) in (PRUNED, value)


@given(scenarios(), st.sampled_from(list(ORDERS)), st.data())
def test_a_solution_expresses_every_rule(scenario: Scenario, order: str, data: st.DataObject) -> None:
    problem = problem_of(scenario)
    mode = data.draw(st.sampled_from(usable_modes(problem)))
    key = priorities(problem, order)
    size = problem.num_jobs
    solution = new_solution(
        size,
        integers(sorted(problem.queued, key=lambda job: (key[job], job))),
        integers([mode] * size),
        integers([1] * size),
    )
    largest = max(problem.network.capacity[: problem.num_servers])
    kappa = {FREE: problem.fabric.model.lanes, PATIENT: largest}.get(mode, MODES[mode].kappa)
    candidate = solve_once(problem, Settings(order=order), MODES[mode].rule, kappa=kappa)
    simulated = Simulated(problem, solution)
    simulated.run()
    assert candidate is not None
    assert simulated.outcome() == candidate.run


@given(scenarios(max_jobs=12), st.data())
def test_the_tail_alone_gives_the_same_schedule(scenario: Scenario, data: st.DataObject) -> None:
    """After random moves, from the checkpoint that they allow: as if simulated from the start."""
    problem = problem_of(scenario)
    if not problem.queued:
        return
    max_wait = data.draw(st.sampled_from([math.inf, 0.0, 5.0]))
    simulated = Simulated(problem, drawn_solution(problem, data, usable_modes(problem)), max_wait)
    chance, wheel = new_chance(str(data.draw(st.integers(0, 10**6)))), new_wheel()
    simulated.run(records=True)
    late = integers(list(problem.queued[:3]))
    for _ in range(8):
        first = NEVER
        for turn in range(data.draw(st.integers(1, 2))):
            first = min(
                first,
                change(
                    simulated.arrays,
                    simulated.task,
                    simulated.trace,
                    simulated.solution,
                    late,
                    wheel,
                    turn,
                    chance,
                ),
            )
        expected = Simulated(problem, simulated.solution, max_wait)
        value = expected.run()
        if first == NEVER:
            assert expected.outcome() == simulated.outcome()
            continue
        checkpoint = min(first // simulated.checkpoints.stride, int(simulated.checkpoints.counts[0]) - 1)
        assert simulated.run(start=checkpoint) == value
        assert simulated.outcome() == expected.outcome()
        simulated.run(start=checkpoint, records=True)  # goes on from there


def test_the_placement_modes_differ() -> None:
    assert len({(MODES[mode].rule.name, MODES[mode].kappa) for mode in range(NUM_MODES)}) == NUM_MODES
    assert set(MOVED_ONLINE) < set(MOVED) < set(range(NUM_MODES))
