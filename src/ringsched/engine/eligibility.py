"""Where and when the jobs of a problem may run: by server, by window of time, by layout, and how long."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.engine.clock import Clock
from ringsched.jit import by_pointer, kernel
from ringsched.model import Job, Server
from ringsched.model.eligibility import ANY_PARTS, NO_LABELS, Labels, Windows, matching
from ringsched.model.job import Restriction

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Durations and instants are in the clock's units, and instants count from the problem's origin.

    Attributes
    ----------
    classes
        Jobs that require the same labels are a class. Of each class: whether it may use each server.
        The first class may use all of them.
    class_of, parts, limit
        Of each job: its class, into how many parts it must be split, and how long it runs at most.
    windows
        Of each server: when it is unavailable.
    """

    classes: tuple[tuple[bool, ...], ...]
    class_of: tuple[int, ...]
    parts: tuple[int, ...]
    limit: tuple[float, ...]
    windows: tuple[Windows, ...]

    @property
    def has_windows(self) -> bool:
        """Whether any server is unavailable at times."""
        return any(self.windows)

    @property
    def last_reopening(self) -> float:
        """The end of the last window; 0 if there is none."""
        return max((end for of_server in self.windows for _, end in of_server), default=0)

    def may_use(self, job: int) -> tuple[int, ...]:
        """Return the servers that the job may use, outside of their windows."""
        return tuple(at for at, allowed in enumerate(self.classes[self.class_of[job]]) if allowed)

    def suits(self, job: int, servers: Iterable[int]) -> bool:
        """Whether the job may use these servers, one for each of its GPUs, outside of their windows."""
        held: dict[int, int] = {}
        for server in servers:
            held[server] = held.get(server, 0) + 1
        allowed, parts = self.classes[self.class_of[job]], self.parts[job]
        is_balanced = parts == ANY_PARTS or len(set(held.values())) <= 1
        return is_balanced and (parts <= 0 or len(held) == parts) and all(allowed[server] for server in held)

    def is_open(self, servers: Iterable[int], begin: float, end: float) -> bool:
        """Whether none of these servers is unavailable at some time from `begin` to `end`."""
        return not any(
            window_begin < end and begin < window_end
            for server in set(servers)
            for window_begin, window_end in self.windows[server]
        )

    def part(self, jobs: Sequence[int], *, now: float, started: Mapping[int, float]) -> Eligibility:
        """Return what holds for some of the jobs from `now` on; of those that run, their start is given."""
        limit = self.limit
        return Eligibility(
            classes=self.classes,
            class_of=tuple(self.class_of[job] for job in jobs),
            parts=tuple(self.parts[job] for job in jobs),
            limit=tuple(limit[job] - (now - started[job] if job in started else 0) for job in jobs),
            windows=tuple(
                tuple((max(0, begin - now), end - now) for begin, end in of_server if end > now)
                for of_server in self.windows
            ),
        )


def eligibility_of(
    jobs: Sequence[Job],
    limited: Iterable[int],
    restricted: Mapping[int, Restriction],
    servers: Sequence[Server],
    clock: Clock,
    origin: float,
) -> Eligibility:
    """Return the eligibility of a scenario's jobs."""
    number_of: dict[Labels, int] = {NO_LABELS: 0}
    class_of, parts = [0] * len(jobs), [ANY_PARTS] * len(jobs)
    for at, (requires, number) in restricted.items():
        class_of[at], parts[at] = number_of.setdefault(requires, len(number_of)), number
    limit: list[float] = [math.inf] * len(jobs)
    for at in limited:
        limit[at] = clock.release(jobs[at].limit_s or 0.0)
    return Eligibility(
        classes=tuple(matching(servers, requires) for requires in number_of),
        class_of=tuple(class_of),
        parts=tuple(parts),
        limit=tuple(limit),
        windows=tuple(
            tuple(
                (max(0, clock.floor(begin) - origin), clock.release(end) - origin)
                for begin, end in server.unavailable_windows
                if clock.release(end) > origin
            )
            for server in servers
        ),
    )


@by_pointer
class Permits(NamedTuple):
    """Eligibility, as kernels read it."""

    restricted: Booleans  # of each job: whether it may not have any GPUs at any time
    class_of: Integers  # of each job
    allowed: Booleans  # of each class and server
    parts: Integers  # of each job: ANY_PARTS, EQUAL_PARTS, or how many equal parts
    limit: Floats  # of each job: how long it runs at most ...
    longest: Floats  # ... and how long it can take, whatever the plan
    window_first: Integers  # of each server, and their number at the end
    window_begin: Floats
    window_end: Floats
    reopenings: Floats  # all ends of windows, ascending


def permits_of(eligibility: Eligibility, worst_case: Floats) -> Permits:
    """Return the arrays of an eligibility; `worst_case` is how long each job can take."""
    class_of = _column(eligibility.class_of, 0, np.int64)
    parts = _column(eligibility.parts, ANY_PARTS, np.int64)
    windows = [window for of_server in eligibility.windows for window in of_server]
    sizes = [len(of_server) for of_server in eligibility.windows]
    return Permits(
        restricted=(class_of > 0) | (parts != ANY_PARTS) | eligibility.has_windows,
        class_of=class_of,
        allowed=np.array(eligibility.classes, dtype=np.bool_),
        parts=parts,
        limit=_column(eligibility.limit, math.inf, np.float64),
        longest=worst_case,
        window_first=np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64))),
        window_begin=np.array([begin for begin, _ in windows], dtype=np.float64),
        window_end=np.array([end for _, end in windows], dtype=np.float64),
        reopenings=np.array(sorted({end for _, end in windows}), dtype=np.float64),
    )


def _column(values: Sequence[float], usual: float, kind: type[Any]) -> NDArray[Any]:
    """Return values as an array; most often all of them are the usual one."""
    is_usual = values.count(usual) == len(values)
    return np.full(len(values), usual, dtype=kind) if is_usual else np.array(values, dtype=kind)


@kernel
def may_start(permits: Permits, job: int, server: int, now: float) -> bool:
    """Whether the job may start on a server now: it has the labels, and no window begins too early.

    Other jobs can slow it after its start, so it must end in time in its worst case.
    """
    if not permits.allowed[permits.class_of[job], server]:
        return False
    for at in range(permits.window_first[server], permits.window_first[server + 1]):
        if permits.window_end[at] > now and permits.window_begin[at] < now + permits.longest[job]:
            return False
    return True


@kernel
def next_reopening(permits: Permits, now: float) -> float:
    """Return the next end of a window of any server; infinity if there is none."""
    first, end = 0, len(permits.reopenings)
    while first < end:
        middle = (first + end) // 2
        if permits.reopenings[middle] <= now:
            first = middle + 1
        else:
            end = middle
    return permits.reopenings[first] if first < len(permits.reopenings) else math.inf
