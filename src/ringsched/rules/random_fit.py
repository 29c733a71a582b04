"""Random: any eligible GPUs, each set equally likely."""

from __future__ import annotations

from ringsched.engine.state import IDLE, Arrays, State
from ringsched.jit import kernel
from ringsched.rules.shared import Queue, Scratch, sort


@kernel
def random_fit(
    arrays: Arrays, state: State, scratch: Scratch, queue: Queue, job: int, limit: int, kappa: int
) -> bool:
    """Choose by Fisher-Yates, for the first places only, with the next of the queue's random numbers.

    Numbers are used up only when the job can be placed.
    """
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
