"""The jobs that wait, by rank, and what is kept while jobs come and go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.contention.traffic import NUM_CONTENDED
from ringsched.engine.events import log
from ringsched.engine.state import NUM_IDLE, NUM_PACED, Arrays, Floats, Integers, State
from ringsched.jit import by_pointer, kernel, part
from ringsched.rules.shared import Queue, Scratch
from ringsched.rules.table import Place

NO_JOB = -1
_NONE = 2**31 - 1  # GPUs of a rank at which no job waits


@by_pointer
class Waiting(NamedTuple):
    """A binary tree over ranks; a node knows the least of all below it, the root is node 1."""

    gpus: NDArray[np.int32]  # fewest GPUs
    duration: Floats  # shortest best case
    first_leaf: int


def new_waiting(num_jobs: int) -> Waiting:
    """Return a tree for `num_jobs` ranks without any waiting job."""
    first_leaf = 1 << max(0, num_jobs - 1).bit_length()
    return Waiting(
        gpus=np.full(2 * first_leaf, _NONE, dtype=np.int32),
        duration=np.full(2 * first_leaf, np.inf),
        first_leaf=first_leaf,
    )


@kernel
def join(waiting: Waiting, rank: int, gpus: int, duration: float) -> None:
    """Let a job wait."""
    node = waiting.first_leaf + rank
    waiting.gpus[node] = gpus
    waiting.duration[node] = duration
    node >>= 1
    while node > 0 and (gpus < waiting.gpus[node] or duration < waiting.duration[node]):
        waiting.gpus[node] = min(waiting.gpus[node], gpus)
        waiting.duration[node] = min(waiting.duration[node], duration)
        node >>= 1


@kernel
def leave(waiting: Waiting, rank: int) -> None:
    """Let a job wait no longer."""
    node = waiting.first_leaf + rank
    waiting.gpus[node] = _NONE
    waiting.duration[node] = np.inf
    node >>= 1
    while node > 0:
        gpus = min(waiting.gpus[2 * node], waiting.gpus[2 * node + 1])
        duration = min(waiting.duration[2 * node], waiting.duration[2 * node + 1])
        if gpus == waiting.gpus[node] and duration == waiting.duration[node]:
            break
        waiting.gpus[node] = gpus
        waiting.duration[node] = duration
        node >>= 1


@part
def waits(waiting: Waiting, rank: int) -> bool:
    """Whether the job of that rank waits."""
    return waiting.gpus[waiting.first_leaf + rank] != _NONE


@kernel
def head(waiting: Waiting) -> int:
    """Return the first rank at which a job waits, or NO_JOB."""
    return next_candidate(waiting, 0, _NONE - 1, 0.0, _NONE - 1)


@kernel
def next_candidate(waiting: Waiting, rank: int, most_gpus: int, most_duration: float, extra: int) -> int:
    """Return the first rank from `rank` on of a job that may step past the head, or NO_JOB.

    That is one of at most `most_gpus` GPUs that is short enough, or of at most `extra` GPUs. A node whose
    least values do not pass has no such job below it; one whose values pass may have none either, as
    they can be those of two jobs.
    """
    if rank >= waiting.first_leaf:
        return NO_JOB
    node = waiting.first_leaf + rank
    while True:
        gpus = waiting.gpus[node]
        if gpus <= most_gpus and (waiting.duration[node] <= most_duration or gpus <= extra):
            if node >= waiting.first_leaf:
                return node - waiting.first_leaf
            node *= 2
            continue
        while node & 1:  # a right child: the subtree of its parent is done
            node >>= 1
        if node == 0:
            return NO_JOB
        node += 1


# Places in `counts`.
NUM_ARRIVED = 0
NUM_WAITING = 1
PROMISED = 2  # the job at the head that the promise is for, or NO_JOB if there is no valid promise
LAST_PROMISED = 3  # the job that the last promise was for
EXTRA = 4  # GPUs left over when it is kept
NUM_RECORDS = 5
PROMISED_AFTER = 6  # changes of the state: at a later change the promise may be another
OLDEST = 7  # place in the order of arrivals: all jobs before it have started
_NUM_COUNTS = 8


@by_pointer
class Course(NamedTuple):
    """Beside the state of the engine."""

    counts: Integers
    duration: Floats  # of each job: its best case, as it is believed
    done: Integers  # of each job: iterations before time 0
    promise: Floats  # one number: when the head starts at the latest
    believed_until: Floats  # one number: until then nothing ends, by what was believed at the promise
    alike: Integers  # of each job: a number for all jobs of its size, for which a rule chooses the same GPUs
    unplaced_at: Integers  # of each such number: the changes after which no such job found a place ...
    rejected_at: Integers  # ... or one that would outlast the promise was not admitted
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
    kappa: int
    longest_wait: float  # a job that has waited so long goes before all that have not


def new_course(duration: Floats, done: Integers, alike: Integers, num_records: int) -> Course:
    """Return a course at its beginning; `duration` is the believed best case of each job."""
    num_jobs, num_kinds = len(duration), int(alike.max(initial=-1)) + 1
    counts = np.zeros(_NUM_COUNTS, dtype=np.int64)
    counts[PROMISED] = counts[LAST_PROMISED] = NO_JOB
    return Course(
        counts=counts,
        duration=duration,
        done=done,
        promise=np.zeros(1),
        believed_until=np.zeros(1),
        alike=alike,
        unplaced_at=np.full(num_kinds, -1, dtype=np.int64),
        rejected_at=np.full(num_kinds, -1, dtype=np.int64),
        promised=np.full(num_jobs, np.inf),
        backfilled=np.zeros(num_jobs, dtype=np.bool_),
        time=np.zeros(num_records),
        queue=np.zeros(num_records, dtype=np.int32),
        busy=np.zeros(num_records, dtype=np.int32),
        contended=np.zeros(num_records, dtype=np.int32),
    )


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
