"""The waiting jobs as a policy in Python sees them: a sequence kept in order while jobs come and go."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, overload

from ringsched.engine.state import Integers
from ringsched.formatting import counted, one_line
from ringsched.policies.custom import JobView


class LiveQueue(Sequence[JobView]):
    """Waiting jobs by their keys, those of one key by their place in the scenario.

    A loop over it may start jobs: it goes on behind the job it has shown last.
    """

    def __init__(self, numbers: Integers) -> None:
        self._entries: list[tuple[Any, int]] = []  # key and number of each waiting job, in order
        self._numbers = numbers  # the numbers alone, for kernels
        self._views: dict[int, JobView] = {}
        self._keys: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, at: int) -> JobView: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[JobView, ...]: ...

    def __getitem__(self, at: int | slice) -> JobView | tuple[JobView, ...]:
        if isinstance(at, slice):
            return tuple(self._views[number] for _, number in self._entries[at])
        return self._views[self._entries[at][1]]

    def __iter__(self) -> Iterator[JobView]:
        at = 0
        while at < len(self._entries):
            entry = self._entries[at]
            yield self._views[entry[1]]
            at += 1
            if not (at <= len(self._entries) and self._entries[at - 1] == entry):  # jobs have started
                at = bisect_right(self._entries, entry)

    def __repr__(self) -> str:
        return one_line("LiveQueue", counted(len(self), "job"))

    def add(self, number: int, view: JobView, key: Any) -> None:
        """Let a job wait."""
        at = bisect_left(self._entries, (key, number))
        self._numbers[at + 1 : len(self) + 1] = self._numbers[at : len(self)]
        self._numbers[at] = number
        self._entries.insert(at, (key, number))
        self._views[number], self._keys[number] = view, key

    def remove(self, number: int) -> None:
        """Let a job wait no longer."""
        at = self.place(number)
        self._numbers[at : len(self) - 1] = self._numbers[at + 1 : len(self)]
        del self._entries[at], self._views[number], self._keys[number]

    def place(self, number: int) -> int:
        """Return how many jobs are before a waiting one."""
        return bisect_left(self._entries, (self._keys[number], number))

    def entry(self, at: int) -> tuple[Any, int]:
        """Return the key and the number of the job at a place."""
        return self._entries[at]

    def place_behind(self, entry: tuple[Any, int]) -> int:
        """Return the place behind a job, which may wait no longer."""
        return bisect_right(self._entries, entry)
