"""What is kept while jobs come and go: who waits, what was promised, and how things were over time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.contention.traffic import NUM_CONTENDED
from ringsched.engine.arrays import Arrays, Floats, Integers
from ringsched.engine.state import NUM_IDLE, State
from ringsched.jit import kernel
from ringsched.online.waiting import NOBODY, Waiting
from ringsched.placement.scratch import Scratch
from ringsched.placement.trial import Queue

# Places in `counts`.
NUM_ARRIVED = 0
NUM_WAITING = 1
PROMISED = 2  # the job at the head that the promise is for, or NOBODY if it has to be made anew
LAST_PROMISED = 3  # the job that the last promise was for
EXTRA = 4  # GPUs left over when it is kept
NUM_RECORDS = 5
NUM_AHEAD = 6  # forward simulations
_NUM_COUNTS = 7


class Course(NamedTuple):
    """Beside the state of the engine."""

    counts: Integers
    duration: Floats  # of each job: its best case, as it is believed
    done: Integers  # of each job: iterations before time 0
    promise: Floats  # one number: when the head starts at the latest
    promised: Floats  # of each job: the promise it was given when it came to the head; infinity if none
    backfilled: NDArray[np.bool_]  # of each job: it stepped past the head
    # The series: a record at every instant at which something happened.
    time: Floats
    queue: NDArray[np.int32]
    busy: NDArray[np.int32]
    contended: NDArray[np.int32]


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
    kappa: int


def new_course(duration: Floats, done: Integers, num_records: int) -> Course:
    """Return a course at its beginning; `duration` is the believed best case of each job."""
    num_jobs = len(duration)
    counts = np.zeros(_NUM_COUNTS, dtype=np.int64)
    counts[PROMISED] = counts[LAST_PROMISED] = NOBODY
    return Course(
        counts=counts,
        duration=duration,
        done=done,
        promise=np.zeros(1),
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


@kernel
def record(stage: Stage) -> None:
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
