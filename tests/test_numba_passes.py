"""The passes that compile a kernel: they run once, and leave what the kernel computes as it is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core import untyped_passes
from numpy.typing import NDArray

from ringsched import jit, numba_compiler

pytestmark = pytest.mark.compiled


@jit.by_pointer
class Board(NamedTuple):
    whole: NDArray[np.int64]
    small: NDArray[np.int32]
    real: NDArray[np.float64]
    flags: NDArray[np.bool_]
    table: NDArray[np.int64]


def _board() -> Board:
    return Board(
        whole=np.arange(7, dtype=np.int64),
        small=np.arange(10, 17, dtype=np.int32),
        real=np.linspace(0.0, 1.0, 7),
        flags=np.arange(7) % 2 == 0,
        table=np.arange(14, dtype=np.int64).reshape(7, 2),
    )


@jit.part
def _larger(one: float, other: float) -> float:
    if one > other:
        return one
    return other


@jit.part
def _highest(board: Board, first: int) -> float:
    found = 0.0
    for at in range(first, len(board.real)):
        found = _larger(found, board.real[at]) if board.flags[at] else found
    return found


@jit.kernel
def play(board: Board, start: int) -> float:
    total, last = 0.0, start
    while last > 0:
        total += _highest(board, last)
        board.whole[-last] += board.small[-1]
        board.whole[0] = board.whole[last] - 3
        board.flags[last] = board.whole[last] % 3 == 0
        board.small[last] = board.whole[last]
        board.real[-1] = total
        board.table[last, 1] = board.table[last, 0] + last
        last = last - 1 if board.flags[last] else last - 2
    return total


def test_a_compiled_kernel_reads_and_writes_the_items_that_python_does() -> None:
    board, twin_board = _board(), _board()
    expected, found = play(board, 6), jit.compiled(play)(twin_board, 6)
    assert found == expected
    pairs: Any = zip(board, twin_board, strict=True)
    assert all(np.array_equal(member, twin_member) for member, twin_member in pairs)


def test_parts_are_inlined_before_the_passes_run(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    run_pass: Any = untyped_passes.GenericRewrites.run_pass

    def counted(itself: Any, state: Any) -> Any:
        compiled.append(state.func_id.func_name)
        return run_pass(itself, state)

    @jit.kernel
    def highest_of(board: Board) -> float:
        return _highest(board, 0) + _larger(1.0, 2.0)

    monkeypatch.setattr(untyped_passes.GenericRewrites, "run_pass", counted)
    assert jit.compiled(highest_of)(_board()) == 3.0
    ours = {"highest_of", "_highest", "_larger"}
    assert [name for name in compiled if name in ours] == ["highest_of"]


def test_numba_is_changed_only_while_it_compiles_a_kernel() -> None:
    twin = jit.compiled(play)  # which loads our changes
    places = {(place, name) for place, name, _ in numba_compiler._CHANGES}
    before = {each: vars(each[0]).get(each[1]) for each in places}
    seen: list[bool] = []
    run_pass: Any = untyped_passes.GenericRewrites.run_pass

    @jit.kernel
    def largest(board: Board) -> float:
        return _highest(board, 0)

    def noted(itself: Any, state: Any) -> Any:
        seen.append(all(vars(place)[name] is new for place, name, new in numba_compiler._CHANGES))
        return run_pass(itself, state)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(untyped_passes.GenericRewrites, "run_pass", noted)
        jit.compiled(largest)(_board())
    assert seen
    assert all(seen)
    assert {each: vars(each[0]).get(each[1]) for each in places} == before
    assert twin(_board(), 6) > 0
