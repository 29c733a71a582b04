"""Following a plan: every job starts on the GPUs planned for it, until the next plan is made."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ringsched.engine.events import advance, next_event, next_release, remaining_now
from ringsched.engine.state import ENDED, NUM_IDLE, NUM_RUNNING, Arrays, Floats, Integers
from ringsched.jit import by_pointer, kernel, part
from ringsched.online.backfill import admits, latest_start, promise
from ringsched.online.dispatch import DONE, MORE, STUCK, arrive, start_past, start_waiting
from ringsched.online.queue import (
    EXTRA,
    NO_JOB,
    NUM_ARRIVED,
    NUM_WAITING,
    PROMISED,
    Stage,
    note_instant,
    outlive,
)
from ringsched.rules.eligible import may_start_as_planned
from ringsched.rules.shared import MAX_LOAD, alone
from ringsched.rules.table import FREE_LINKS, fixed, place

# How a stretch of events ends, besides those of `dispatch`.
PLAN = 3  # jobs have come that are not in the plan

_FREE_LINKS = FREE_LINKS.number

# Places in `counts`.
NUM_ORDERED = 0
NUM_PLANNED = 1
_STAMP = 2
_NUM_COUNTS = 3


@by_pointer
class Agenda(NamedTuple):
    """The plan in force; the GPUs of each job are in `queue.planned`."""

    counts: Integers
    order: Integers  # planned jobs by start, then those that came since; started ones are left in
    start: Floats  # of each job: when the plan starts it
    trigger: Integers  # of each job: the one whose end starts it in the plan, or NO_JOB
    next_plan: Floats  # one number: no new plan before
    left: Floats  # of each running job: iterations, as they are believed when a plan is made
    claimed: Integers  # of each GPU: stamped if a job that goes first is to have it


def new_agenda(arrays: Arrays) -> Agenda:
    """Return an empty agenda."""
    num_jobs = len(arrays.gpus)
    return Agenda(
        counts=np.zeros(_NUM_COUNTS, dtype=np.int64),
        order=np.zeros(num_jobs, dtype=np.int64),
        start=np.full(num_jobs, np.inf),
        trigger=np.full(num_jobs, NO_JOB, dtype=np.int64),
        next_plan=np.full(1, -np.inf),
        left=np.zeros(num_jobs),
        claimed=np.zeros(len(arrays.server_of), dtype=np.int64),
    )


@kernel
def follow(stage: Stage, agenda: Agenda, backfills: bool, exact: bool, most_events: int) -> int:
    """Go through so many events, or to the end, or until a plan is wanted."""
    arrays, state, queue, course = stage.arrays, stage.state, stage.queue, stage.course
    for _ in range(most_events):
        first = course.counts[NUM_ARRIVED]
        for at in range(first, first + arrive(stage)):
            agenda.order[agenda.counts[NUM_ORDERED]] = queue.arrivals[at]
            agenda.counts[NUM_ORDERED] += 1
        is_behind = agenda.counts[NUM_ORDERED] > agenda.counts[NUM_PLANNED]
        if is_behind and state.now[0] >= agenda.next_plan[0]:
            return PLAN
        blocked = _start_planned(stage, agenda)
        if backfills and blocked != NO_JOB:
            if course.counts[PROMISED] != blocked or not exact:
                promise(stage, blocked, agenda.start[blocked])
            _start_others(stage, agenda, blocked)
        next_arrival = next_release(queue.release, queue.arrivals, course.counts[NUM_ARRIVED])
        jobs_wait = course.counts[NUM_WAITING] > 0
        time = min(next_event(arrays, state, next_arrival, jobs_wait), _next_planned(stage, agenda))
        note_instant(stage)
        if is_behind:
            time = min(time, agenda.next_plan[0])
        if time == math.inf:
            return DONE if course.counts[NUM_WAITING] == 0 else STUCK
        advance(arrays, state, time)
    return MORE


@part
def _start_planned(stage: Stage, agenda: Agenda) -> int:
    """Start the jobs that are due in the plan; return the first that has to wait, or NO_JOB.

    No job takes a GPU that is planned for a job before it. A job waits for the completion that starts it in
    the plan, or until its planned time if that completion is late.
    """
    state, planned = stage.state, stage.queue.planned
    agenda.counts[_STAMP] += 1
    num_planned = agenda.counts[NUM_PLANNED]
    num_kept, at = 0, 0
    while at < num_planned and (state.counts[NUM_IDLE] > 0 or num_kept == 0):
        job = agenda.order[at]
        at += 1
        trigger = agenda.trigger[job]
        is_due = state.now[0] >= agenda.start[job] or (
            trigger != NO_JOB and state.heap_place[trigger] == ENDED
        )
        if (
            is_due
            and _is_unclaimed(stage, agenda, job)
            and may_start_as_planned(stage.arrays, state, job, planned)
            and fixed(stage.arrays, state, job, planned)
        ):
            start_waiting(stage, job)
            stage.course.counts[PROMISED] = NO_JOB
            agenda.counts[NUM_PLANNED] -= 1
        else:
            _claim(stage, agenda, job)
            agenda.order[num_kept] = job
            num_kept += 1
    _close_gap(agenda, num_kept, at)
    return agenda.order[0] if agenda.counts[NUM_PLANNED] > 0 else NO_JOB


@part
def _start_others(stage: Stage, agenda: Agenda, blocked: int) -> None:
    """Start those behind the first, before their time, that do not move its start.

    Each starts on its planned GPUs, or on one server. None takes a GPU that is planned for another job
    before it, and none crosses a link in use: a plan in which jobs wait for links would be worth nothing.
    """
    arrays, state, course = stage.arrays, stage.state, stage.course
    num_planned = agenda.counts[NUM_PLANNED]
    agenda.counts[_STAMP] += 1  # the first has no claim: `admits` asks whether it is kept waiting
    num_kept, at = 1, 1
    while at < agenda.counts[NUM_ORDERED] and state.counts[NUM_IDLE] > 0:
        job = agenda.order[at]
        is_planned = at < num_planned
        window = latest_start(arrays, course) - state.now[0]
        may_fit = course.duration[job] <= window or arrays.gpus[job] <= course.counts[EXTRA]
        if (
            may_fit
            and arrays.gpus[job] <= state.counts[NUM_IDLE]
            and _finds_free_place(stage, agenda, job, is_planned)
            and admits(stage, blocked, job)
        ):
            start_past(stage, job)
            agenda.counts[NUM_PLANNED] -= int(is_planned)
        else:
            if is_planned:
                _claim(stage, agenda, job)
            agenda.order[num_kept] = job
            num_kept += 1
        at += 1
    _close_gap(agenda, num_kept, at)


@part
def _finds_free_place(stage: Stage, agenda: Agenda, job: int, is_planned: bool) -> bool:
    """Choose the planned GPUs, or those of `free-links`, on one server if there is a plan for the job."""
    arrays, state, queue = stage.arrays, stage.state, stage.queue
    found = (
        is_planned
        and _is_unclaimed(stage, agenda, job)
        and may_start_as_planned(arrays, state, job, queue.planned)
        and fixed(arrays, state, job, queue.planned)
    )
    if not found:
        limit, last = MAX_LOAD - queue.charge[job], arrays.gpus[job] - 1
        found = place(arrays, state, stage.scratch, queue, _FREE_LINKS, None, job, limit, 1)
        on_one = arrays.server_of[state.chosen[0]] == arrays.server_of[state.chosen[last]]
        found = found and (on_one or not is_planned)
        for at in range(arrays.gpus[job]):
            found = found and agenda.claimed[state.chosen[at]] != agenda.counts[_STAMP]
    return found and not alone(arrays, state, stage.scratch, job)[1]


@part
def _close_gap(agenda: Agenda, first: int, end: int) -> None:
    """Take the jobs from `first` to `end` off the agenda."""
    if first == end:
        return
    for at in range(end, agenda.counts[NUM_ORDERED]):
        agenda.order[first + at - end] = agenda.order[at]
    agenda.counts[NUM_ORDERED] -= end - first


@part
def _is_unclaimed(stage: Stage, agenda: Agenda, job: int) -> bool:
    """Whether no job before this one on the agenda is to have one of its GPUs."""
    offset = stage.arrays.gpu_first[job]
    for at in range(offset, offset + stage.arrays.gpus[job]):
        if agenda.claimed[stage.queue.planned[at]] == agenda.counts[_STAMP]:
            return False
    return True


@part
def _claim(stage: Stage, agenda: Agenda, job: int) -> None:
    offset = stage.arrays.gpu_first[job]
    for at in range(offset, offset + stage.arrays.gpus[job]):
        agenda.claimed[stage.queue.planned[at]] = agenda.counts[_STAMP]


@part
def _next_planned(stage: Stage, agenda: Agenda) -> float:
    """Return the next time at which the plan starts a job."""
    for at in range(agenda.counts[NUM_PLANNED]):  # by start
        if agenda.start[agenda.order[at]] > stage.state.now[0]:
            return agenda.start[agenda.order[at]]
    return math.inf


@kernel
def believe_left(stage: Stage, agenda: Agenda) -> None:
    """Set how many iterations each running job is believed to have left; see `look_ahead`."""
    arrays, believed, state = stage.arrays, stage.believed, stage.state
    for at in range(state.counts[NUM_RUNNING]):
        job = state.heap[at]
        left = remaining_now(arrays, state, job)
        while left + (believed.iterations[job] - arrays.iterations[job]) <= 0:
            outlive(stage, job)
        agenda.left[job] = left + (believed.iterations[job] - arrays.iterations[job])
