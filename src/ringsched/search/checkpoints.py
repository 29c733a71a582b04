"""The state of a schedule at some of its events, so that a changed one is simulated from there on only."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.contention.traffic import Traffic
from ringsched.engine.state import Arrays, Floats, Integers, State, new_state
from ringsched.jit import by_pointer, kernel

_MOST = 32
_MOST_BYTES = 24 * 2**20  # of one chain
_TYPES = (np.float64, np.int64, np.int32)
_SCRATCH = ("chosen", "moved", "paced", "below")  # arrays of a state that an event need not find as they were


@by_pointer
class Checkpoints(NamedTuple):
    """All arrays of a state that change, as parts of three, and several copies of these as rows."""

    floats: Floats
    integers: Integers
    places: NDArray[np.int32]
    kept_floats: Floats
    kept_integers: Integers
    kept_places: NDArray[np.int32]
    kept_values: Floats  # what else belongs to each
    kept_counts: Integers
    stride: int  # events from one to the next
    most: int  # how many there can be
    counts: Integers  # one number: how many there are


def new_checkpoints(
    arrays: Arrays, values: Floats, counts: Integers, num_events: int
) -> tuple[State, Checkpoints]:
    """Return a state, and space for as many copies of it as fit, over so many events.

    With each copy go these values and counts.
    """
    state = new_state(arrays)
    carried = [*_carried(state).values(), *_carried(state.traffic).values()]
    blocks = [np.concatenate([each for each in carried if each.dtype == dtype]) for dtype in _TYPES]
    free = {block.dtype: block for block in blocks}

    def part(array: NDArray[Any]) -> Any:
        whole, end = free[array.dtype], len(array)
        free[array.dtype] = whole[end:]
        return whole[:end]

    traffic = {name: part(array) for name, array in _carried(state.traffic).items()}
    own = {name: part(array) for name, array in _carried(state).items()}
    most = max(2, min(_MOST, _MOST_BYTES // sum(block.nbytes for block in blocks)))
    floats, integers, places = blocks

    def rows(array: NDArray[Any]) -> NDArray[Any]:
        return np.zeros(most * len(array), dtype=array.dtype)

    checkpoints = Checkpoints(
        floats=floats,
        integers=integers,
        places=places,
        kept_floats=rows(floats),
        kept_integers=rows(integers),
        kept_places=rows(places),
        kept_values=rows(values),
        kept_counts=rows(counts),
        stride=max(1, -(-num_events // most)),
        most=most,
        counts=np.zeros(1, dtype=np.int64),
    )
    return state._replace(traffic=state.traffic._replace(**traffic), **own), checkpoints


def _carried(record: State | Traffic) -> dict[str, NDArray[Any]]:
    return {
        name: array
        for name, array in record._asdict().items()
        if isinstance(array, np.ndarray) and name not in _SCRATCH
    }


@kernel
def save(checkpoints: Checkpoints, number: int, values: Floats, counts: Integers) -> None:
    """Keep the state; copies with higher numbers are forgotten."""
    _put(checkpoints.floats, checkpoints.kept_floats, number)
    _put(checkpoints.integers, checkpoints.kept_integers, number)
    _put(checkpoints.places, checkpoints.kept_places, number)
    _put(values, checkpoints.kept_values, number)
    _put(counts, checkpoints.kept_counts, number)
    checkpoints.counts[0] = number + 1


@kernel
def restore(checkpoints: Checkpoints, number: int, state: State, values: Floats, counts: Integers) -> None:
    """Return to a state that was kept."""
    _take(checkpoints.floats, checkpoints.kept_floats, number)
    _take(checkpoints.integers, checkpoints.kept_integers, number)
    _take(checkpoints.places, checkpoints.kept_places, number)
    _take(values, checkpoints.kept_values, number)
    _take(counts, checkpoints.kept_counts, number)
    state.traffic.filling.seen[:] = 0  # its stamps may be of a later time


@kernel
def _put(array: NDArray[Any], rows: NDArray[Any], number: int) -> None:
    first = number * len(array)
    for place in range(len(array)):
        rows[first + place] = array[place]


@kernel
def _take(array: NDArray[Any], rows: NDArray[Any], number: int) -> None:
    first = number * len(array)
    for place in range(len(array)):
        array[place] = rows[first + place]


@kernel
def copy(source: Integers, target: Integers) -> None:
    """Copy an array to one of the same length; a slice would allocate memory."""
    for at in range(len(source)):
        target[at] = source[at]
