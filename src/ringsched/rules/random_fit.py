"""Random: any eligible GPUs, each set equally likely."""

from __future__ import annotations

from ringsched.engine.state import IDLE, Arrays, State
from ringsched.jit import kernel, part
from ringsched.model.eligibility import ANY_PARTS
from ringsched.rules.layout import find_parts, is_split, take_part
from ringsched.rules.shared import ANY_NUMBER, Queue, Scratch, sort


@kernel
def random_fit(
    arrays: Arrays, state: State, scratch: Scratch, queue: Queue, job: int, limit: int, kappa: int
) -> bool:
    """Choose by Fisher-Yates, for the first places only, with the next of the queue's random numbers.

    Numbers are used up only when the job can be placed.
    """
    if arrays.permits.parts[job] != ANY_PARTS:
        return _equal_parts(arrays, state, scratch, queue, job, limit)
    eligible, wanted, size = scratch.eligible, arrays.gpus[job], 0
    for gpu in range(len(arrays.server_of)):
        if state.holder[gpu] == IDLE and state.load[gpu] <= limit:
            eligible[size] = gpu
            size += 1
    if size < wanted:
        return False
    for place in range(wanted):
        drawn = place + int(queue.uniforms[scratch.drawn[0]] * (size - place))
        scratch.drawn[0] += 1
        eligible[place], eligible[drawn] = eligible[drawn], eligible[place]
    for place in range(wanted):
        state.chosen[place] = eligible[place]
    sort(state.chosen, wanted)
    return True


@part
def _equal_parts(arrays: Arrays, state: State, scratch: Scratch, queue: Queue, job: int, limit: int) -> bool:
    """Choose the first eligible GPUs of random servers, as few servers as possible."""
    wanted = arrays.gpus[job]
    for num_parts in range(1, min(wanted, arrays.num_servers) + 1):
        if not is_split(arrays, job, num_parts):
            continue
        each = wanted // num_parts
        num_fitting = find_parts(arrays, state, scratch, num_parts, each, limit, ANY_NUMBER)
        if num_fitting >= num_parts:
            for at in range(num_parts):
                drawn = int(queue.uniforms[scratch.drawn[0]] * (num_fitting - at))
                scratch.drawn[0] += 1
                server = -1
                while drawn >= 0:  # the next one that fits and is not taken
                    server += 1
                    drawn -= not scratch.taken[server]
                scratch.taken[server] = True
                take_part(arrays, state, server, at * each, each, limit, False)
            sort(state.chosen, wanted)
            return True
    return False
