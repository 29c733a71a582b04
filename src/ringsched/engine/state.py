"""A problem as read-only arrays, and what changes while jobs run: GPUs, links, and when each job ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.contention.fabric import links_of, new_traffic, offsets, works_of
from ringsched.contention.traffic import Links, Traffic, clear
from ringsched.engine.eligibility import Permits, permits_of
from ringsched.engine.problem import Problem, objective_value
from ringsched.jit import by_pointer, kernel
from ringsched.model import Outcome, PlannedJob
from ringsched.model.derived import derived_once
from ringsched.model.objective import ALL

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@by_pointer
class Arrays(NamedTuple):
    """What does not change while jobs run. Nodes are servers, then switches."""

    slotted: bool
    python_only: bool  # kernels call a user's own Python
    unit_s: float
    num_servers: int
    first_gpu: Integers  # of each server, and the number of GPUs at the end
    server_of: Integers  # of each GPU
    available: NDArray[np.bool_]  # of each GPU
    capacity: Integers  # of each node
    gpus: Integers  # of each job
    gpu_first: Integers  # of each job, and their sum at the end
    iterations: Integers
    permits: Permits
    links: Links


@derived_once
def arrays_of(problem: Problem) -> Arrays:
    """Return the arrays of a problem."""
    fabric, columns = problem.fabric, problem.columns
    gpus = columns.gpus
    capacity = np.array(fabric.network.capacity, dtype=np.int64)
    links = links_of(
        fabric.network,
        fabric.model,
        fabric.latency_s,
        works_of([kind.work for kind in problem.kinds], columns.kind_of),
        gpus=gpus,
        # At most an uplink of every level for each of its GPUs.
        most_links=fabric.network.num_levels * gpus,
        # A job crosses a link only with a GPU below it, so no more jobs than GPUs are ever on it.
        most_jobs=np.minimum(capacity, problem.num_jobs),
    )
    return Arrays(
        slotted=problem.clock.slotted,
        python_only=links.python is not None,
        unit_s=problem.clock.unit_s,
        num_servers=fabric.network.num_servers,
        first_gpu=np.array(problem.first_gpu, dtype=np.int64),
        server_of=np.array(problem.server_of, dtype=np.int64),
        available=np.array(problem.available, dtype=np.bool_),
        capacity=capacity,
        gpus=gpus,
        gpu_first=offsets(gpus),
        iterations=columns.iterations,
        permits=permits_of(problem.eligibility, columns.worst_case),
        links=links,
    )


IDLE = -1
UNAVAILABLE = -2
# Places in the heap of jobs that do not run.
NOT_STARTED = -1
ENDED = -2

# Places in `counts`.
NUM_IDLE = 0
NUM_RUNNING = 1
LOAD_VERSION = 2
IS_LOGGED = 3  # whether changes are written down, for a copy that follows this state
NUM_CHANGES = 4  # so far, if they are
NUM_MOVED = 5
NUM_PACED = 6
_NUM_COUNTS = 7

LOG_SIZE = 256  # changes; where there are more, a copy is made afresh


@by_pointer
class State(NamedTuple):
    """Preallocated arrays; a trial resets them and starts over."""

    now: Floats  # one number
    counts: Integers
    # GPUs and servers
    holder: Integers  # of each GPU: the job on it, IDLE or UNAVAILABLE
    num_idle: Integers  # of each server
    idle_share: Floats  # of each server: idle of its available GPUs
    idle: Integers  # idle GPUs, server by server, each by (load, GPU)
    load: Integers  # of each GPU: U_g
    server_load: Integers
    whole_load: Integers  # of each server: load per GPU, rounded down ...
    rest_load: Floats  # ... and what is left of it; both together compare exactly
    chosen: Integers  # what a placement rule answers with
    # links
    traffic: Traffic
    # jobs
    gpus_of: Integers
    start: Floats
    finished: Floats
    since: Floats
    remaining: Floats
    rate: Floats
    finish: Floats
    heap: Integers  # running jobs, the earliest (finish, job) on top
    heap_place: Integers  # of each job
    # the log: as many of the last changes as it holds; `counts` has how many there were
    moved: Integers  # jobs that started or ended
    paced: Integers  # jobs whose rate changed


def new_state(arrays: Arrays) -> State:
    """Return an empty state; its arrays are large enough for all jobs."""
    num_gpus, num_servers, num_jobs = len(arrays.server_of), arrays.num_servers, len(arrays.gpus)
    return State(
        now=np.zeros(1),
        counts=_integers(_NUM_COUNTS),
        holder=_integers(num_gpus),
        num_idle=_integers(num_servers),
        idle_share=np.zeros(num_servers),
        idle=_integers(num_gpus),
        load=_integers(num_gpus),
        server_load=_integers(num_servers),
        whole_load=_integers(num_servers),
        rest_load=np.zeros(num_servers),
        chosen=_integers(arrays.gpus.max(initial=1)),
        traffic=new_traffic(arrays.links),
        gpus_of=_integers(arrays.gpu_first[-1]),
        start=np.zeros(num_jobs),
        finished=np.zeros(num_jobs),
        since=np.zeros(num_jobs),
        remaining=np.zeros(num_jobs),
        rate=np.zeros(num_jobs),
        finish=np.zeros(num_jobs),
        heap=_integers(num_jobs),
        heap_place=_integers(num_jobs),
        moved=_integers(LOG_SIZE),
        paced=_integers(LOG_SIZE),
    )


def _integers(size: int) -> Integers:
    return np.zeros(size, dtype=np.int64)


def run_of(arrays: Arrays, state: State) -> Run:
    """Return a copy of what happened, once all jobs have ended."""
    gpus, first = state.gpus_of.tolist(), arrays.gpu_first.tolist()
    return Run(
        state.start.tolist(),
        state.finished.tolist(),
        [gpus[first[job] : first[job + 1]] for job in range(len(arrays.gpus))],
    )


@kernel
def reset(arrays: Arrays, state: State) -> None:
    """Return to time 0 with nothing running and no load."""
    state.now[0] = 0.0
    state.counts[:] = 0
    state.load[:] = 0
    state.server_load[:] = 0
    state.whole_load[:] = 0
    state.rest_load[:] = 0.0
    state.heap_place[:] = NOT_STARTED
    clear(arrays.links, state.traffic)
    for server in range(arrays.num_servers):
        first = arrays.first_gpu[server]
        num_idle = 0
        for gpu in range(first, arrays.first_gpu[server + 1]):
            if arrays.available[gpu]:
                state.holder[gpu] = IDLE
                state.idle[first + num_idle] = gpu
                num_idle += 1
            else:
                state.holder[gpu] = UNAVAILABLE
        state.num_idle[server] = num_idle
        state.idle_share[server] = 1.0
        state.counts[NUM_IDLE] += num_idle


@dataclass(frozen=True, slots=True)
class Run:
    """Instants from the problem's origin, in the clock's units; GPUs by number; in the order of the jobs."""

    starts: Sequence[float]
    finishes: Sequence[float]
    gpus: Sequence[Sequence[int]]

    @property
    def makespan(self) -> float:
        """The last finish."""
        return max(self.finishes, default=0)


def outcome_of(problem: Problem, run: Run) -> Outcome:
    """Return a run in seconds, with its totals."""
    return Outcome(
        starts_s=tuple(problem.seconds_at(start) for start in run.starts),
        finishes_s=tuple(problem.seconds_at(finish) for finish in run.finishes),
        **{objective.field: objective_value(problem, run.finishes, objective) for objective in ALL},
    )


def planned_jobs(problem: Problem, run: Run) -> tuple[PlannedJob, ...]:
    """Return a run as the jobs of a plan."""
    return tuple(
        PlannedJob(
            name=job.name,
            start_s=problem.seconds_at(run.starts[at]),
            finish_s=problem.seconds_at(run.finishes[at]),
            ring=problem.ring(run.gpus[at]),
            gpus=problem.placement(run.gpus[at]),
        )
        for at, job in enumerate(problem.scenario.jobs)
    )
