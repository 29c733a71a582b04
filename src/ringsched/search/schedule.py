"""From a solution to its schedule: a queue in which jobs overtake others, unless those block."""

from __future__ import annotations

import math

from ringsched.engine.events import advance, next_event, next_release, start
from ringsched.engine.state import NOT_STARTED, NUM_IDLE, Arrays, Floats, State, reset
from ringsched.jit import kernel, part
from ringsched.model.objective import COMPLETION, EXCESS, LAST_FINISH, SLOWDOWN, TARDINESS
from ringsched.rules.shared import MAX_LOAD, Queue, Scratch
from ringsched.rules.table import fixed, place
from ringsched.search.checkpoints import Checkpoints, restore, save
from ringsched.search.modes import NUM_MODES, PATIENT
from ringsched.search.solution import (
    AREA,
    EVENT,
    LEAST,
    NEVER,
    NUM_ARRIVED,
    NUM_EVENTS,
    NUM_WAITING,
    STAMP,
    WAITING_SINCE,
    WAITING_WEIGHT,
    Solution,
    Task,
    Trace,
    Walk,
)

PRUNED = math.inf
FROM_START = -1
_NO_RANK = -1
_MANY = 8  # jobs that come at once, for which the queue is made again
_ROUNDING = 1 + 1e-8  # what is one instant may end that much earlier


@kernel
def decode(
    arrays: Arrays,
    state: State,
    scratch: Scratch,
    queue: Queue,
    task: Task,
    solution: Solution,
    walk: Walk,
    trace: Trace,
    checkpoints: Checkpoints,
    cost: int,
    limit: float,
    checkpoint: int,
    records: bool,
) -> float:
    """Simulate a solution; return the cost of its schedule.

    At every event each job in the queue is tried in order and starts if its rule finds GPUs. If it does not
    and blocks, those behind it are not tried. Returns PRUNED as soon as the cost must exceed `limit`.

    With a `checkpoint` it goes on from there; until then the schedule is that of the trace. With `records`
    it writes trace and checkpoints.
    """
    if checkpoint == FROM_START:
        _begin(arrays, state, queue, task, walk, cost)
    else:
        restore(checkpoints, checkpoint, state, walk.values, walk.kept)
        walk.counts[NUM_ARRIVED], walk.counts[EVENT] = walk.kept[NUM_ARRIVED], walk.kept[EVENT]
    _line_up(state, queue, task, solution, walk)
    if records:
        _forget(queue, trace, walk.counts[EVENT])
    head, highest = len(solution.order), limit * _ROUNDING
    while True:
        event = walk.counts[EVENT]
        if records:
            number = event // checkpoints.stride
            if event % checkpoints.stride == 0 and number < checkpoints.most:
                walk.kept[NUM_ARRIVED], walk.kept[EVENT] = walk.counts[NUM_ARRIVED], event
                save(checkpoints, number, walk.values, walk.kept)
            if event < len(trace.idle):
                trace.idle[event] = state.counts[NUM_IDLE]
        _admit(state, queue, task, solution, walk, trace, records)
        _pass(arrays, state, scratch, queue, task, solution, walk, trace, cost, highest, records)
        least = walk.values[LEAST]
        if cost == COMPLETION:
            least += state.now[0] * walk.values[WAITING_WEIGHT] - walk.values[WAITING_SINCE]
        elif cost == LAST_FINISH:
            least = max(least, state.now[0] + walk.values[AREA] / task.num_gpus)
        if least > highest:
            return PRUNED
        next_arrival = next_release(queue.release, queue.arrivals, walk.counts[NUM_ARRIVED])
        time = next_event(arrays, state, next_arrival, walk.next_rank[head] != _NO_RANK)
        if time == math.inf:
            break
        advance(arrays, state, time)
        walk.counts[EVENT] += 1
        walk.counts[NUM_EVENTS] += 1
    if walk.next_rank[head] != _NO_RANK:
        return PRUNED
    if records:
        for job in queue.arrivals:
            trace.starts[job] = state.start[job]
    return total_cost(arrays, state, task, cost)


@part
def _begin(arrays: Arrays, state: State, queue: Queue, task: Task, walk: Walk, cost: int) -> None:
    """Return to time 0 with the running jobs."""
    reset(arrays, state)
    scratch_values, area = walk.values, 0.0
    for job in queue.running:
        fixed(arrays, state, job, queue.planned)
        start(arrays, state, job, queue.charge[job])
    for job in queue.arrivals:
        area += float(arrays.gpus[job]) * float(task.best_case[job])
    scratch_values[WAITING_WEIGHT] = 0.0
    scratch_values[WAITING_SINCE] = 0.0
    scratch_values[AREA] = area
    least = 0.0
    for job in range(len(arrays.gpus)):
        least = _with(arrays, task, cost, least, job, queue.release[job] + task.best_case[job])
    scratch_values[LEAST] = least
    walk.counts[NUM_ARRIVED] = 0
    walk.counts[EVENT] = 0


@kernel
def _line_up(state: State, queue: Queue, task: Task, solution: Solution, walk: Walk) -> None:
    """Make the queue of the jobs that have come and not started."""
    head = len(solution.order)
    walk.next_rank[head] = _NO_RANK
    walk.waiting[:] = 0
    walk.counts[NUM_WAITING] = 0
    if walk.counts[NUM_ARRIVED] == 0:
        return
    last = queue.release[queue.arrivals[walk.counts[NUM_ARRIVED] - 1]]
    for rank in range(head - 1, -1, -1):
        job = solution.order[rank]
        if queue.release[job] <= last and state.heap_place[job] == NOT_STARTED:
            walk.next_rank[rank] = walk.next_rank[head]
            walk.next_rank[head] = rank
            walk.waiting[task.kind[job] * NUM_MODES + solution.mode[job]] += 1
            walk.counts[NUM_WAITING] += 1


@part
def _forget(queue: Queue, trace: Trace, event: int) -> None:
    """Forget what happened from an event on."""
    for job in queue.arrivals:
        if trace.stopped[job] >= event:
            trace.stopped[job] = NEVER


@part
def _admit(
    state: State, queue: Queue, task: Task, solution: Solution, walk: Walk, trace: Trace, records: bool
) -> None:
    """Let the jobs that have come by now join the queue."""
    first = walk.counts[NUM_ARRIVED]
    while walk.counts[NUM_ARRIVED] < len(queue.arrivals):
        job = queue.arrivals[walk.counts[NUM_ARRIVED]]
        if queue.release[job] > state.now[0]:
            break
        walk.counts[NUM_ARRIVED] += 1
        walk.values[WAITING_WEIGHT] += task.weight[job]
        walk.values[WAITING_SINCE] += task.weight[job] * queue.release[job]
        if records:
            trace.arrived[job] = walk.counts[EVENT]
    if walk.counts[NUM_ARRIVED] - first > _MANY:
        _line_up(state, queue, task, solution, walk)
        return
    for at in range(first, walk.counts[NUM_ARRIVED]):
        job = queue.arrivals[at]
        walk.counts[NUM_WAITING] += 1
        walk.waiting[task.kind[job] * NUM_MODES + solution.mode[job]] += 1
        before, rank = len(solution.order), solution.rank[job]
        while walk.next_rank[before] != _NO_RANK and walk.next_rank[before] < rank:
            before = walk.next_rank[before]
        walk.next_rank[rank] = walk.next_rank[before]
        walk.next_rank[before] = rank


@part
def _pass(
    arrays: Arrays,
    state: State,
    scratch: Scratch,
    queue: Queue,
    task: Task,
    solution: Solution,
    walk: Walk,
    trace: Trace,
    cost: int,
    highest: float,
    records: bool,
) -> None:
    """Go through the queue once and start each job that can be placed.

    Jobs of one kind and mode are alike: if one of them cannot be placed, neither can the other jobs until
    another job has started.
    """
    walk.counts[STAMP] += 1
    if task.max_wait < math.inf and not _start_overdue(
        arrays, state, scratch, queue, task, solution, walk, trace, cost, records
    ):
        return
    now, values = state.now[0], walk.values
    num_open, largest_idle = walk.counts[NUM_WAITING], _largest_idle(state)
    before = len(solution.order)
    rank = walk.next_rank[before]
    while rank != _NO_RANK and num_open > 0 and state.counts[NUM_IDLE] > 0:
        job = solution.order[rank]
        mode = solution.mode[job]
        number = task.kind[job] * NUM_MODES + mode
        is_placed = False
        if walk.failed[number] != walk.counts[STAMP]:
            # Most often no server can hold the job, which is seen at once.
            waits = mode == PATIENT and largest_idle < arrays.gpus[job] <= task.largest[job]
            is_placed = not waits and _place(arrays, state, scratch, queue, task, job, mode)
            if is_placed:
                _launch(arrays, state, queue, task, solution, walk, trace, cost, before, records)
                num_open, largest_idle = walk.counts[NUM_WAITING], _largest_idle(state)
            elif task.alike[mode]:
                walk.failed[number] = walk.counts[STAMP]
                num_open -= walk.waiting[number]
            else:
                num_open -= 1
        if not is_placed:
            before = rank
            if cost in (LAST_FINISH, SLOWDOWN):  # it starts later than now
                values[LEAST] = _with(arrays, task, cost, values[LEAST], job, now + task.best_case[job])
            if solution.blocks[job] == 1:
                if records and trace.stopped[job] == NEVER:
                    trace.stopped[job] = walk.counts[EVENT]
                break
        if values[LEAST] > highest:
            break
        rank = walk.next_rank[rank]


@part
def _start_overdue(
    arrays: Arrays,
    state: State,
    scratch: Scratch,
    queue: Queue,
    task: Task,
    solution: Solution,
    walk: Walk,
    trace: Trace,
    cost: int,
    records: bool,
) -> bool:
    """Start the jobs that have waited too long, in the order in which they came; False if one cannot."""
    for at in range(walk.counts[NUM_ARRIVED]):
        job = queue.arrivals[at]
        if queue.release[job] + task.max_wait > state.now[0]:
            break
        if state.heap_place[job] != NOT_STARTED:
            continue
        if not _place(arrays, state, scratch, queue, task, job, solution.mode[job]):
            return False
        before = len(solution.order)
        while walk.next_rank[before] != solution.rank[job]:
            before = walk.next_rank[before]
        _launch(arrays, state, queue, task, solution, walk, trace, cost, before, records)
    return True


@part
def _largest_idle(state: State) -> int:
    """Return the most GPUs that are idle in one server."""
    largest = 0
    for idle in state.num_idle:
        largest = max(largest, idle)
    return largest


@part
def _place(
    arrays: Arrays, state: State, scratch: Scratch, queue: Queue, task: Task, job: int, mode: int
) -> bool:
    kappa = task.largest[job] if mode == PATIENT else task.kappa[mode]
    limit = MAX_LOAD - queue.charge[job]
    return place(arrays, state, scratch, queue, task.rule[mode], None, job, limit, kappa)


@kernel
def _launch(
    arrays: Arrays,
    state: State,
    queue: Queue,
    task: Task,
    solution: Solution,
    walk: Walk,
    trace: Trace,
    cost: int,
    before: int,
    records: bool,
) -> None:
    """Start the job behind the rank `before` in the queue on the chosen GPUs."""
    rank = walk.next_rank[before]
    job = solution.order[rank]
    start(arrays, state, job, queue.charge[job])
    walk.next_rank[before] = walk.next_rank[rank]
    walk.counts[STAMP] += 1
    walk.counts[NUM_WAITING] -= 1
    walk.waiting[task.kind[job] * NUM_MODES + solution.mode[job]] -= 1
    _count_start(arrays, queue, task, walk.values, cost, job, state.now[0])
    if records:
        trace.began[job] = walk.counts[EVENT]


@part
def _count_start(
    arrays: Arrays, queue: Queue, task: Task, values: Floats, cost: int, job: int, now: float
) -> None:
    """Update the least cost, now that the job is known to start at this instant."""
    best = float(task.best_case[job])
    values[AREA] -= float(arrays.gpus[job]) * best
    if cost in (LAST_FINISH, SLOWDOWN):
        values[LEAST] = _with(arrays, task, cost, values[LEAST], job, now + best)
        return
    before = _with(arrays, task, cost, 0.0, job, queue.release[job] + best)
    values[LEAST] += _with(arrays, task, cost, 0.0, job, now + best) - before
    values[WAITING_WEIGHT] -= task.weight[job]
    values[WAITING_SINCE] -= task.weight[job] * queue.release[job]


@kernel
def total_cost(arrays: Arrays, state: State, task: Task, cost: int) -> float:
    """Return what the schedule in the state costs."""
    total = 0.0
    for job in range(len(state.finished)):
        total = _with(arrays, task, cost, total, job, state.finished[job])
    return total


@part
def _with(arrays: Arrays, task: Task, cost: int, total: float, job: int, finish: float) -> float:
    """Return the total with one job more."""
    if cost == LAST_FINISH:
        return max(total, finish)
    if cost == TARDINESS:
        return total + float(arrays.gpus[job]) * max(0.0, finish - task.target)
    if cost == SLOWDOWN:
        return max(total, slowdown(task, job, finish))
    if cost == EXCESS:
        return total + max(0.0, slowdown(task, job, finish) - task.target)
    return total + float(task.weight[job]) * finish


@kernel
def slowdown(task: Task, job: int, finish: float) -> float:
    """Return the job's completion over its best case, if it ends then."""
    return float((finish - task.submit[job]) * task.per_best_case[job])
