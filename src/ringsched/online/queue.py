"""The jobs that wait, by rank, and what is kept while jobs come and go."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.contention.traffic import NUM_CONTENDED
from ringsched.engine.events import log
from ringsched.engine.state import NUM_CHANGES, NUM_IDLE, NUM_PACED, Arrays, Floats, Integers, State
from ringsched.jit import by_pointer, kernel, part
from ringsched.rules.shared import Queue, Scratch
from ringsched.rules.table import Place

NO_JOB = -1
_NO_RANK = 2**62
_ANY_DURATION = 1e300  # longer than every job


@by_pointer
class Waiting(NamedTuple):
    """The jobs that wait, those of each size by rank in a separate binary tree.

    A node knows the shortest job below it, its children are nodes 2n and 2n + 1, and the root is node 1. So
    a job that is too large or too long is never looked at, however long the queue is.
    """

    gpus: Integers  # of each size, ascending
    node_first: Integers  # of each size: where the nodes of its tree begin, node 0 included
    num_leaves: Integers  # of each size: a power of 2
    shortest: Floats  # of each node: the shortest best case; infinity if no job waits below it
    rank_first: Integers  # of each size: where its ranks begin ...
    ranks: Integers  # ... of each leaf: its rank, ascending within a size
    size_of: Integers  # of each rank
    leaf_of: Integers  # of each rank
    first: Integers  # of each size: the first rank that waits, or _NO_RANK
    found: Integers  # of each size: the next candidate of a scan, or _NO_RANK


def new_waiting(gpus: Integers) -> Waiting:
    """Return the trees without any waiting job; `gpus` are those of each rank."""
    jobs_of = np.bincount(gpus)
    sizes = np.flatnonzero(jobs_of)
    counts = jobs_of[sizes]
    number_of = np.zeros(len(jobs_of), dtype=np.int64)
    number_of[sizes] = np.arange(len(sizes))
    size_of = number_of[gpus]
    ranks = np.argsort(size_of.astype(np.int16) if len(sizes) < 2**15 else size_of, kind="stable")
    rank_first = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    leaf_of = np.zeros(len(gpus), dtype=np.int64)
    leaf_of[ranks] = np.arange(len(gpus)) - rank_first[size_of[ranks]]
    num_leaves = np.array([1 << (int(count) - 1).bit_length() for count in counts], dtype=np.int64)
    node_first = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(2 * num_leaves)))
    return Waiting(
        gpus=sizes.astype(np.int64),
        node_first=node_first,
        num_leaves=num_leaves,
        shortest=np.full(node_first[-1], np.inf),
        rank_first=rank_first,
        ranks=ranks,
        size_of=size_of,
        leaf_of=leaf_of,
        first=np.full(len(sizes), _NO_RANK, dtype=np.int64),
        found=np.full(len(sizes), _NO_RANK, dtype=np.int64),
    )


@kernel
def join(waiting: Waiting, rank: int, duration: float) -> None:
    """Let a job wait."""
    size = waiting.size_of[rank]
    root, node = waiting.node_first[size], waiting.num_leaves[size] + waiting.leaf_of[rank]
    while node > 0 and duration < waiting.shortest[root + node]:
        waiting.shortest[root + node] = duration
        node >>= 1
    waiting.first[size] = min(waiting.first[size], rank)


@kernel
def leave(waiting: Waiting, rank: int) -> None:
    """Let a job wait no longer."""
    size = waiting.size_of[rank]
    root, node = waiting.node_first[size], waiting.num_leaves[size] + waiting.leaf_of[rank]
    waiting.shortest[root + node] = np.inf
    node >>= 1
    while node > 0:
        duration = min(waiting.shortest[root + 2 * node], waiting.shortest[root + 2 * node + 1])
        if duration == waiting.shortest[root + node]:
            break
        waiting.shortest[root + node] = duration
        node >>= 1
    if waiting.first[size] == rank:
        waiting.first[size] = _next_rank(waiting, size, waiting.leaf_of[rank] + 1, _ANY_DURATION)


@part
def waits(waiting: Waiting, rank: int) -> bool:
    """Whether the job of that rank waits."""
    size = waiting.size_of[rank]
    leaf = waiting.node_first[size] + waiting.num_leaves[size] + waiting.leaf_of[rank]
    return waiting.shortest[leaf] < math.inf


@kernel
def head(waiting: Waiting) -> int:
    """Return the first rank at which a job waits, or NO_JOB."""
    rank = _NO_RANK
    for first in waiting.first:
        rank = min(rank, first)
    return rank if rank != _NO_RANK else NO_JOB


@kernel
def _next_rank(waiting: Waiting, size: int, leaf: int, longest: float) -> int:
    """Return the first rank from a leaf on of a waiting job of a size that is no longer than `longest`."""
    root, num_leaves = waiting.node_first[size], waiting.num_leaves[size]
    if leaf >= num_leaves:
        return _NO_RANK
    node = num_leaves + leaf
    while True:
        if waiting.shortest[root + node] <= longest:
            if node >= num_leaves:
                return waiting.ranks[waiting.rank_first[size] + node - num_leaves]
            node *= 2
            continue
        while node & 1:  # a right child: the subtree of its parent is done
            node >>= 1
        if node == 0:
            return _NO_RANK
        node += 1


# A scan for candidates, which may step past the head: those of at most `idle` GPUs that are short enough, or
# that have at most `extra` GPUs. Each size has its next candidate; the first of these is the next of all.


@kernel
def begin_scan(waiting: Waiting, rank: int, idle: int, window: float, extra: int) -> None:
    """Find the first candidate of each size from `rank` on."""
    for size in range(len(waiting.gpus)):
        first, leaf = waiting.first[size], 0
        is_possible = waiting.gpus[size] <= idle and first != _NO_RANK
        if is_possible:
            leaf = waiting.leaf_of[first] if rank <= first else _leaf_from(waiting, size, rank)
        longest = _ANY_DURATION if waiting.gpus[size] <= extra else window
        waiting.found[size] = _next_rank(waiting, size, leaf, longest) if is_possible else _NO_RANK


@kernel
def begin_scan_at(waiting: Waiting, rank: int, idle: int, window: float, extra: int) -> None:
    """Find this one candidate, if it is one: all others are known to be none."""
    size = waiting.size_of[rank]
    waiting.found[:] = _NO_RANK
    if waiting.gpus[size] <= idle:
        leaf = waiting.node_first[size] + waiting.num_leaves[size] + waiting.leaf_of[rank]
        if waiting.gpus[size] <= extra or waiting.shortest[leaf] <= window:
            waiting.found[size] = rank


@part
def _leaf_from(waiting: Waiting, size: int, rank: int) -> int:
    """Return the first leaf of a size with this rank or a later one."""
    begin = waiting.rank_first[size]
    low, high = begin, waiting.rank_first[size + 1]
    while low < high:
        middle = (low + high) // 2
        if waiting.ranks[middle] < rank:
            low = middle + 1
        else:
            high = middle
    return low - begin


@kernel
def next_candidate(waiting: Waiting) -> int:
    """Return the rank of the next candidate of the scan, or NO_JOB."""
    rank = _NO_RANK
    for found in waiting.found:
        rank = min(rank, found)
    return rank if rank != _NO_RANK else NO_JOB


@kernel
def pass_over(waiting: Waiting, rank: int, window: float, extra: int) -> None:
    """Go on behind a candidate that does not start."""
    size = waiting.size_of[rank]
    longest = _ANY_DURATION if waiting.gpus[size] <= extra else window
    waiting.found[size] = _next_rank(waiting, size, waiting.leaf_of[rank] + 1, longest)


@part
def pass_over_size(waiting: Waiting, rank: int) -> None:
    """Go on with the other sizes: no job of this size is a candidate any more."""
    waiting.found[waiting.size_of[rank]] = _NO_RANK


@kernel
def fits(waiting: Waiting, idle: int) -> bool:
    """Whether any waiting job needs no more than so many GPUs."""
    for size in range(len(waiting.gpus)):
        if waiting.gpus[size] > idle:
            break
        if waiting.first[size] != _NO_RANK:
            return True
    return False


# Places in `counts`.
NUM_ARRIVED = 0
NUM_WAITING = 1
PROMISED = 2  # the job at the head that the promise is for, or NO_JOB if there is no valid promise
LAST_PROMISED = 3  # the job that the last promise was for
EXTRA = 4  # GPUs left over when it is kept
NUM_RECORDS = 5
PROMISED_AFTER = 6  # changes of the state: at a later change the promise may be another
OLDEST = 7  # place in the order of arrivals: all jobs before it have started
NUM_PROMISES = 8  # so far
SCANNED_AFTER = 9  # changes and promises after which all who wait were found to be no candidates
IS_UNSURE = 10  # whether time alone can make one of them a candidate
COUNTS_ONLY = 11  # whether the ghost knows only how many GPUs are idle, and not which
IS_AT_PROMISE = 12  # whether the ghost is at the promised start, with all jobs that then run
IDLE_AHEAD = 13  # GPUs when the head starts in the last forward simulation
_NUM_COUNTS = 14


@by_pointer
class Course(NamedTuple):
    """Beside the state of the engine."""

    counts: Integers
    duration: Floats  # of each job: its best case, as it is believed
    done: Integers  # of each job: iterations before time 0
    promise: Floats  # one number: when the head starts at the latest
    believed_until: Floats  # one number: until then nothing ends, by what was believed at the promise
    unplaced_at: Integers  # of each size: the changes after which no such job found a place ...
    rejected_at: Integers  # ... and promises after which one that outlasts the promise was not admitted
    soonest: Integers  # scratch: a heap of jobs that end next in the ghost
    promised: Floats  # of each job: the promise it was given when it came to the head; infinity if none
    backfilled: NDArray[np.bool_]  # of each job: it stepped past the head
    # The series: a record at every instant at which something happened.
    time: Floats
    queue: NDArray[np.int32]
    busy: NDArray[np.int32]
    contended: NDArray[np.int32]


@by_pointer
class Stage(NamedTuple):
    """Everything that a simulation over time works on."""

    arrays: Arrays
    believed: Arrays  # the same with the estimates
    state: State
    ghost: State  # for looking ahead
    scratch: Scratch
    queue: Queue
    waiting: Waiting
    course: Course
    num_gpus: int
    rule: int
    own: Place | None  # a rule of the user's
    by_links: bool  # whether the rule may refuse a job for what is on links
    by_count: bool  # whether it places every job for which enough GPUs are idle
    by_size: bool  # whether it chooses the same GPUs for all jobs of a size until one starts or ends
    is_monotone: bool  # whether more idle GPUs and fewer jobs on links never cost a job its place
    kappa: int
    longest_wait: float  # a job that has waited so long goes before all that have not


def new_course(duration: Floats, done: Integers, num_sizes: int, num_records: int) -> Course:
    """Return a course at its beginning; `duration` is the believed best case of each job."""
    num_jobs = len(duration)
    counts = np.zeros(_NUM_COUNTS, dtype=np.int64)
    counts[PROMISED] = counts[LAST_PROMISED] = NO_JOB
    counts[SCANNED_AFTER] = -1
    return Course(
        counts=counts,
        duration=duration,
        done=done,
        promise=np.zeros(1),
        believed_until=np.zeros(1),
        unplaced_at=np.full(num_sizes, -1, dtype=np.int64),
        rejected_at=np.full(num_sizes, -1, dtype=np.int64),
        soonest=np.zeros(num_jobs + 1, dtype=np.int64),
        promised=np.full(num_jobs, np.inf),
        backfilled=np.zeros(num_jobs, dtype=np.bool_),
        time=np.zeros(num_records),
        queue=np.zeros(num_records, dtype=np.int32),
        busy=np.zeros(num_records, dtype=np.int32),
        contended=np.zeros(num_records, dtype=np.int32),
    )


@part
def version(stage: Stage) -> int:
    """Return a number that grows with every change of the state and with every promise."""
    return stage.state.counts[NUM_CHANGES] + stage.course.counts[NUM_PROMISES]


@part
def size_of(stage: Stage, job: int) -> int:
    """Return the number of a job's size."""
    return stage.waiting.size_of[stage.queue.rank[job]]


@kernel
def outlive(stage: Stage, job: int) -> None:
    """Believe that a job needs twice as many iterations in all, those before time 0 included."""
    stage.believed.iterations[job] += stage.believed.iterations[job] + stage.course.done[job]
    log(stage.state, stage.state.paced, NUM_PACED, job)


@kernel
def note_instant(stage: Stage) -> None:
    """Note how things are now, after all that happens at this instant, if anything is different."""
    state, course = stage.state, stage.course
    queue = course.counts[NUM_WAITING]
    busy = stage.num_gpus - state.counts[NUM_IDLE]
    contended = state.traffic.counts[NUM_CONTENDED]
    at = course.counts[NUM_RECORDS]
    last = max(at - 1, 0)
    is_same = (
        course.queue[last] == queue and course.busy[last] == busy and course.contended[last] == contended
    )
    if at > 0 and is_same:
        return
    course.time[at] = state.now[0]
    course.queue[at] = queue
    course.busy[at] = busy
    course.contended[at] = contended
    course.counts[NUM_RECORDS] = at + 1
