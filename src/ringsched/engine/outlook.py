"""Looking ahead from the present instant, for rules that weigh starting against waiting."""

from __future__ import annotations

from ringsched.engine.arrays import Arrays
from ringsched.engine.clock import done_at, duration_at, rate_at
from ringsched.engine.state import NOT_STARTED, State
from ringsched.jit import kernel


@kernel
def remaining_now(arrays: Arrays, state: State, job: int) -> float:
    """Return the iterations a running job has left, also of one that has started in this instant."""
    if state.heap_place[job] == NOT_STARTED:
        return float(arrays.iterations[job])
    return state.remaining[job] - done_at(arrays.slotted, state.now[0] - state.since[job], state.rate[job])


@kernel
def time_for(arrays: Arrays, iterations: float, tau: float) -> float:
    """Return how long so many iterations take at a constant tau, in the clock's units."""
    return duration_at(arrays.slotted, iterations, rate_at(arrays.slotted, arrays.unit_s, tau))


@kernel
def done_in(arrays: Arrays, elapsed: float, tau: float) -> float:
    """Return how many iterations are done in `elapsed` at a constant tau."""
    return done_at(arrays.slotted, elapsed, rate_at(arrays.slotted, arrays.unit_s, tau))
