"""What changes while jobs run: GPUs, links, and when each job will be done."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.engine.arrays import Arrays, Floats, Integers
from ringsched.engine.run import Run
from ringsched.jit import kernel

IDLE = -1
UNAVAILABLE = -2
# Places in the heap of jobs that do not run.
NOT_STARTED = -1
ENDED = -2

# Places in `counts`.
NUM_IDLE = 0
NUM_RUNNING = 1
NUM_TOUCHED = 2
STAMP = 3
LOAD_VERSION = 4
NUM_CONTENDED = 5  # links that two or more jobs cross
_NUM_COUNTS = 6


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
    num_on_link: Integers
    shared_gbps: Floats  # uplink / f(jobs on it)
    on_link: NDArray[np.int32]  # entries of the jobs on each link
    entry_link: NDArray[np.int32]  # of each entry: its link
    entry_place: NDArray[np.int32]  # of each entry: its place among those on the link
    num_links: Integers  # of each job
    rack_gpus: Integers  # of each node, scratch
    # fair sharing, scratch but for `fair_tau`
    fair_links: Integers  # links to be shared
    fair_seen: Integers  # of each link: stamped if it is one of them
    fair_left: Floats  # of each link: speed not given to anybody yet
    fair_open: Integers  # of each link: jobs that have not got theirs yet
    fair_full: NDArray[np.bool_]  # of each link: those have all that is left
    fair_wish: Floats  # of each job: the rate it asks for; negative once it has its own
    fair_rate: Floats  # of each job: the rate it got
    fair_rings: Integers  # jobs that exchange over links
    fair_on_link: NDArray[np.int32]  # those on each link
    fair_path: NDArray[np.int32]  # of each of their entries: the links in order
    fair_alone: Floats  # of each job: the rate it has with its links for itself
    fair_rest: Floats  # of each job: seconds per iteration in which it does not exchange
    fair_met: Floats  # of each job: the part of its time in which it exchanges, so that others meet it
    fair_spread: Floats  # of each job: the variance of that
    fair_loading: Floats  # of each job: by how much it makes the others that one job meets more; scratch
    fair_others: Integers  # those who are met
    fair_tau: Floats  # of each job: seconds per iteration at the rate it got
    # jobs
    gpus_of: Integers
    start: Floats
    finished: Floats
    num_servers: Integers
    free_gbps: Floats
    since: Floats
    remaining: Floats
    rate: Floats
    finish: Floats
    heap: Integers  # running jobs, the earliest (finish, job) on top
    heap_place: Integers  # of each job
    touched: Integers
    touched_at: Integers


def new_state(arrays: Arrays) -> State:
    """Return a state with room for everything that can happen."""
    num_gpus, num_servers = len(arrays.server_of), len(arrays.rack_of)
    num_nodes, num_jobs = len(arrays.capacity), len(arrays.gpus)
    num_entries = len(arrays.entry_job)
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
        num_on_link=_integers(num_nodes),
        shared_gbps=np.zeros(num_nodes),
        on_link=np.zeros(arrays.link_first[-1], dtype=np.int32),
        entry_link=np.zeros(num_entries, dtype=np.int32),
        entry_place=np.zeros(num_entries, dtype=np.int32),
        num_links=_integers(num_jobs),
        rack_gpus=_integers(num_nodes),
        fair_links=_integers(num_nodes if arrays.is_fair else 0),
        fair_seen=_integers(num_nodes if arrays.is_fair else 0),
        fair_left=np.zeros(num_nodes if arrays.is_fair else 0),
        fair_open=_integers(num_nodes if arrays.is_fair else 0),
        fair_full=np.zeros(num_nodes if arrays.is_fair else 0, dtype=np.bool_),
        fair_wish=np.zeros(num_jobs if arrays.is_fair else 0),
        fair_rate=np.zeros(num_jobs if arrays.is_fair else 0),
        fair_rings=_integers(num_jobs if arrays.is_phased else 0),
        fair_on_link=np.zeros(arrays.link_first[-1] if arrays.is_phased else 0, dtype=np.int32),
        fair_path=np.zeros(num_entries if arrays.is_phased else 0, dtype=np.int32),
        fair_alone=np.zeros(num_jobs if arrays.is_phased else 0),
        fair_rest=np.zeros(num_jobs if arrays.is_phased else 0),
        fair_met=np.zeros(num_jobs if arrays.is_phased else 0),
        fair_spread=np.zeros(num_jobs if arrays.is_phased else 0),
        fair_loading=np.full(num_jobs if arrays.is_phased else 0, -1.0),
        fair_others=_integers(num_jobs if arrays.is_phased else 0),
        fair_tau=np.zeros(num_jobs if arrays.is_fair else 0),
        gpus_of=_integers(arrays.gpu_first[-1]),
        start=np.zeros(num_jobs),
        finished=np.zeros(num_jobs),
        num_servers=_integers(num_jobs),
        free_gbps=np.zeros(num_jobs),
        since=np.zeros(num_jobs),
        remaining=np.zeros(num_jobs),
        rate=np.zeros(num_jobs),
        finish=np.zeros(num_jobs),
        heap=_integers(num_jobs),
        heap_place=_integers(num_jobs),
        touched=_integers(num_jobs),
        touched_at=_integers(num_jobs),
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
    state.num_on_link[:] = 0
    for link in range(len(arrays.uplink_gbps)):
        state.shared_gbps[link] = arrays.uplink_gbps[link]
    state.heap_place[:] = NOT_STARTED
    state.touched_at[:] = 0
    state.fair_seen[:] = 0
    for server in range(len(arrays.rack_of)):
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


@kernel
def touch(state: State, job: int) -> None:
    """Note that the rate of a job may change; `settle` sets it."""
    if state.touched_at[job] != state.counts[STAMP] + 1:
        state.touched_at[job] = state.counts[STAMP] + 1
        state.touched[state.counts[NUM_TOUCHED]] = job
        state.counts[NUM_TOUCHED] += 1
