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
from ringsched.engine.state import Run, arrays_of, new_state, run_of
from ringsched.model import Scenario
from ringsched.model.objective import COMPLETION, LAST_FINISH, MEAN_COMPLETION, TARDINESS
from ringsched.rules.shared import new_scratch
from ringsched.search.schedule import FLEXIBLE, NUM_MODES, PATIENT, PRUNED, QUIET, decode, task_of

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
    for level in [0] if mode == QUIET else levels:
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


def by_hand(problem: Problem, order: list[int], mode: list[int]) -> Run:
    cluster, waiting = LiveCluster(problem), list(order)
    while True:
        for job in list(waiting):
            if problem.release[job] <= cluster.now:
                gpus = chosen(problem, cluster, job, mode[job])
                if gpus is not None:
                    cluster.start(job, gpus)
                    waiting.remove(job)
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
    return sum(finishes)


@given(scenarios(), st.data())
def test_a_queue_is_run_as_described(scenario: Scenario, data: st.DataObject) -> None:
    problem = problem_of(scenario)
    order = data.draw(st.permutations(problem.queued))
    modes = st.lists(st.integers(0, NUM_MODES - 1), min_size=problem.num_jobs, max_size=problem.num_jobs)
    mode = data.draw(modes)
    expected = by_hand(problem, order, mode)
    arrays = arrays_of(problem)
    state, scratch = new_state(arrays), new_scratch(arrays)
    task = task_of(problem, arrays, MEAN_COMPLETION, TARGET_S)
    solution = np.array(order, dtype=np.int64), np.array(mode, dtype=np.int64)
    next_rank = np.zeros(len(order) + 1, dtype=np.int64)

    def run(cost: int, limit: float) -> float:
        return decode(arrays, state, scratch, task, *solution, next_rank, cost, limit)

    for cost in (LAST_FINISH, TARDINESS, COMPLETION):
        value = run(cost, math.inf)
        assert run_of(arrays, state) == expected
        assert value == pytest.approx(cost_of(problem, cost, list(expected.finishes)), rel=1e-12)
        # Giving up early never changes an answer that is within the limit.
        assert run(cost, value * (1 + 1e-12)) == value
        if value > 0:
            assert run(cost, value * (1 - 1e-9)) in (PRUNED, value)
        assert run(cost, value / 2) in (PRUNED, value)


def test_the_placement_modes_differ() -> None:
    assert len({FLEXIBLE, PATIENT, QUIET}) == NUM_MODES
