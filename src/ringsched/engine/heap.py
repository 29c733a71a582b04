"""Binary heaps in arrays, for the kernels.

The function `is_before(context, one, other)` defines the order. `moved(context, item, place)` is called with
the new place of each item. The compiler inlines both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ringsched.jit import part

if TYPE_CHECKING:
    from ringsched.engine.state import Integers

IsBefore = Callable[[Any, int, int], bool]
Moved = Callable[[Any, int, int], None]


@part
def not_noted(_context: Any, _item: int, _place: int) -> None:
    """Note nothing, for a heap whose items need not know their places."""


@part
def rise(heap: Integers, place: int, is_before: IsBefore, moved: Moved, context: Any) -> int:
    """Move the item at `place` up to where it belongs; return where that is."""
    item = heap[place]
    while place > 0:
        parent = (place - 1) // 2
        if not is_before(context, item, heap[parent]):
            break
        heap[place] = heap[parent]
        moved(context, heap[place], place)
        place = parent
    heap[place] = item
    moved(context, item, place)
    return place


@part
def sink(heap: Integers, size: int, place: int, is_before: IsBefore, moved: Moved, context: Any) -> None:
    """Move the item at `place` down to where it belongs among the first `size`."""
    item = heap[place]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and is_before(context, heap[child + 1], heap[child]):
            child += 1
        if not is_before(context, heap[child], item):
            break
        heap[place] = heap[child]
        moved(context, heap[place], place)
        place = child
    heap[place] = item
    moved(context, item, place)


@part
def heapify(heap: Integers, size: int, is_before: IsBefore, moved: Moved, context: Any) -> None:
    """Make a heap of the first `size` items."""
    for place in range(size // 2 - 1, -1, -1):
        sink(heap, size, place, is_before, moved, context)
