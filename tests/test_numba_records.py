"""Named tuples that compiled kernels pass by pointer: they read and write what Python reads and writes."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from ringsched import jit
from ringsched.numba_records import Record, call_with


@jit.by_pointer
class Inside(NamedTuple):
    """A record in a record."""

    flags: Any  # array of bool
    small: Any  # array of int32


@jit.by_pointer
class Outside(NamedTuple):
    """A member of every kind that ours have."""

    size: int
    nothing: None
    is_odd: bool
    numbers: Any
    inside: Inside
    share: float
    table: Any  # an array of two dimensions
    cube: Any  # and of three
    strided: Any  # an array that is no block of memory


def outside(*, is_odd: bool = True) -> Outside:
    return Outside(
        size=7,
        nothing=None,
        is_odd=is_odd,
        numbers=np.array([5, -3, 8], dtype=np.int64),
        inside=Inside(np.array([True, False, True]), np.array([1, 2], dtype=np.int32)),
        share=0.1,
        table=np.arange(6.0).reshape(2, 3),
        cube=np.arange(24).reshape(2, 3, 4),
        strided=np.arange(10)[::3],
    )


@jit.kernel
def _add(record: Outside, at: int, value: int) -> None:
    record.numbers[at] += value


@jit.kernel
def _work(record: Outside, result: Any) -> int:
    """Read every member, write some, and pass the record on."""
    total = 0.0
    for at in range(len(record.numbers)):
        if record.inside.flags[at] == record.is_odd:
            _add(record, at, record.size)
        total += record.numbers[at] * record.share
    for row in range(record.table.shape[0]):
        for column in range(record.table.shape[1]):
            total += record.table[row, column] * (row + 1)
    record.table[1, 2] = total
    record.cube[1, 2, 3] = record.cube[1, 1, 1] + len(record.cube)
    record.inside.small[1] = record.inside.small[-1] + record.strided[2]
    row_of_cube = record.cube[0, 1]
    result[0], result[1], result[2] = total, row_of_cube[3], record.cube.size + record.table.nbytes
    record.numbers[1:] = 4
    return int(record.strided[-1])


@pytest.mark.compiled
@pytest.mark.parametrize("is_odd", [False, True])
def test_a_compiled_kernel_does_to_a_record_what_python_does(is_odd: bool) -> None:
    plain, native = outside(is_odd=is_odd), outside(is_odd=is_odd)
    plain_result, native_result = np.zeros(3), np.zeros(3)
    assert _work(plain, plain_result) == jit.compiled(_work)(native, native_result) == 9
    assert plain_result.tolist() == native_result.tolist()
    for name in ("numbers", "table", "cube", "strided"):
        assert getattr(plain, name).tolist() == getattr(native, name).tolist()
    assert plain.inside.small.tolist() == native.inside.small.tolist() == [1, 8]


@jit.kernel
def _sum(one: Outside, nothing: None, other: Outside, at: int, share: float, is_odd: bool) -> int:
    """Read two records, write one, and use numbers of every kind."""
    one.numbers[at] += other.numbers[at] + other.inside.small[0]
    one.cube[1, 2, 3] += other.size
    return int(one.numbers[at] * share) + int(is_odd == one.is_odd)


@pytest.mark.compiled
def test_a_kernel_that_keeps_its_records_does_the_same_with_each_number() -> None:
    def pair() -> tuple[Any, ...]:
        return tuple(outside()._replace(strided=np.arange(3), size=size) for size in (7, 9))

    plain, native = pair(), pair()
    run = call_with(jit.compiled(_sum), (native[0], None, native[1]), 0, 0.5, True)
    for at, share, is_odd in ((0, 0.5, True), (2, 3.0, False), (0, 1.5, True)):
        assert run(at, share, is_odd) == _sum(plain[0], None, plain[1], at, share, is_odd)
    assert native[0].numbers.tolist() == plain[0].numbers.tolist()
    assert native[0].cube.tolist() == plain[0].cube.tolist()


@pytest.mark.compiled
def test_the_type_of_a_record_is_known_by_its_members() -> None:
    jit.compiled(_work)
    type_of: Any = numba.typeof
    known, other = type_of(outside()), type_of(outside()._replace(strided=np.arange(3.0)))
    assert isinstance(known, Record)
    assert known == type_of(outside())
    assert known != other
    assert pickle.loads(pickle.dumps(known)) == known  # as the cache does


@pytest.mark.compiled
def test_what_is_no_array_is_refused_in_a_record() -> None:
    twin, result = jit.compiled(_work), np.zeros(3)
    twin(outside(), result)
    with pytest.raises(Exception, match="table"):
        twin(outside()._replace(table="none"), result)
