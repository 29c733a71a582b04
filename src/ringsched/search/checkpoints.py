"""The state of a schedule at some of its events, so that a changed one is simulated from there on only."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.engine.state import Floats, Integers, State
from ringsched.jit import by_pointer, kernel

_MOST = 32
_MOST_BYTES = 24 * 2**20  # of one chain


@by_pointer
class Checkpoints(NamedTuple):
    """Several states, each as a row of floats, one of integers and one of small integers."""

    floats: Floats
    integers: Integers
    places: NDArray[np.int32]
    num_floats: int  # of a row
    num_integers: int
    num_places: int
    stride: int  # events from one to the next
    most: int  # how many there can be
    counts: Integers  # one number: how many there are


def new_checkpoints(state: State, values: Floats, counts: Integers, num_events: int) -> Checkpoints:
    """Return space for as many as fit, over so many events; with each state go these values and counts."""
    unused = np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
    sizes = _carry_all(Checkpoints(*unused, 0, 0, 0, 1, 0, counts[:0]), 0, state, values, counts, _MEASURES)
    num_bytes = 8 * sizes[0] + 8 * sizes[1] + 4 * sizes[2]
    most = max(2, min(_MOST, _MOST_BYTES // num_bytes))
    return Checkpoints(
        floats=np.zeros(most * sizes[0]),
        integers=np.zeros(most * sizes[1], dtype=np.int64),
        places=np.zeros(most * sizes[2], dtype=np.int32),
        num_floats=sizes[0],
        num_integers=sizes[1],
        num_places=sizes[2],
        stride=max(1, -(-num_events // most)),
        most=most,
        counts=np.zeros(1, dtype=np.int64),
    )


_MEASURES = 0
_SAVES = 1
_RESTORES = 2


@kernel
def save(checkpoints: Checkpoints, number: int, state: State, values: Floats, counts: Integers) -> None:
    """Keep a state; those with higher numbers are forgotten."""
    _carry_all(checkpoints, number, state, values, counts, _SAVES)
    checkpoints.counts[0] = number + 1


@kernel
def restore(checkpoints: Checkpoints, number: int, state: State, values: Floats, counts: Integers) -> None:
    """Return to a state."""
    _carry_all(checkpoints, number, state, values, counts, _RESTORES)
    state.traffic.filling.seen[:] = 0  # its stamps may be of a later time


@kernel
def _carry_all(
    checkpoints: Checkpoints, number: int, state: State, values: Floats, counts: Integers, how: int
) -> tuple[int, int, int]:
    """Carry all that changes to a row, or back; return how much that is of each kind."""
    traffic, row, begin = state.traffic, checkpoints.floats, number * checkpoints.num_floats
    at = _carry(values, row, begin, how)
    at = _carry(state.now, row, at, how)
    at = _carry(state.idle_share, row, at, how)
    at = _carry(state.rest_load, row, at, how)
    at = _carry(state.start, row, at, how)
    at = _carry(state.finished, row, at, how)
    at = _carry(state.since, row, at, how)
    at = _carry(state.remaining, row, at, how)
    at = _carry(state.rate, row, at, how)
    at = _carry(state.finish, row, at, how)
    at = _carry(traffic.shared_gbps, row, at, how)
    at = _carry(traffic.free_gbps, row, at, how)
    at = _carry(traffic.gbps, row, at, how)
    at = _carry(traffic.tau, row, at, how)
    num_floats = at - begin
    whole, begin = checkpoints.integers, number * checkpoints.num_integers
    at = _carry(counts, whole, begin, how)
    at = _carry(state.counts, whole, at, how)
    at = _carry(state.holder, whole, at, how)
    at = _carry(state.num_idle, whole, at, how)
    at = _carry(state.idle, whole, at, how)
    at = _carry(state.load, whole, at, how)
    at = _carry(state.server_load, whole, at, how)
    at = _carry(state.whole_load, whole, at, how)
    at = _carry(state.gpus_of, whole, at, how)
    at = _carry(state.heap, whole, at, how)
    at = _carry(state.heap_place, whole, at, how)
    at = _carry(traffic.counts, whole, at, how)
    at = _carry(traffic.num_on_link, whole, at, how)
    at = _carry(traffic.num_links, whole, at, how)
    at = _carry(traffic.num_servers, whole, at, how)
    at = _carry(traffic.touched, whole, at, how)
    at = _carry(traffic.touched_at, whole, at, how)
    at = _carry(traffic.limit, whole, at, how)
    num_integers = at - begin
    small, begin = checkpoints.places, number * checkpoints.num_places
    at = _carry(traffic.on_link, small, begin, how)
    at = _carry(traffic.entry_link, small, at, how)
    at = _carry(traffic.entry_place, small, at, how)
    return num_floats, num_integers, at - begin


@kernel
def _carry(array: NDArray[Any], row: NDArray[Any], at: int, how: int) -> int:
    """Carry an array of any type to its place in a row of that type, or back; return where the next is."""
    if how == _SAVES:
        for place in range(len(array)):
            row[at + place] = array[place]
    elif how == _RESTORES:
        for place in range(len(array)):
            array[place] = row[at + place]
    return at + len(array)


@kernel
def copy(source: Integers, target: Integers) -> None:
    """Copy an array to one of the same length; a slice would allocate memory."""
    for at in range(len(source)):
        target[at] = source[at]
