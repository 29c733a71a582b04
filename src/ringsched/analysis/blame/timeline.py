"""Who crosses which uplink, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ringsched.contention.network import Shape
from ringsched.engine.run import Run

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """The jobs on one uplink in the order of their starts, and how many there are from each instant on.

    Instants are in the clock's units.
    """

    jobs: Integers
    starts: Floats
    finishes: Floats
    instants: Floats  # at which a job comes or goes, ascending
    num_jobs: Integers  # from each of them until the next; in the end none

    def num_jobs_from(self, instants: Floats) -> Integers:
        """Return how many jobs are on the link from each of `instants` on, none of them before the first."""
        at: Integers = np.searchsorted(self.instants, instants, side="right") - 1
        return self.num_jobs[at]

    def changes_within(self, start: float, finish: float) -> Floats:
        """Return the instants of change from `start` up to `finish`."""
        first, last = np.searchsorted(self.instants, (start, finish))
        return self.instants[first:last]

    def present_within(self, start: float, finish: float) -> Integers:
        """Return the positions of the jobs that are there at some time between `start` and `finish`."""
        begun = int(np.searchsorted(self.starts, finish))
        return np.flatnonzero(self.finishes[:begun] > start)


def timelines_of(run: Run, shapes: Sequence[Shape], num_nodes: int) -> tuple[Timeline, ...]:
    """Return the timeline of every node's uplink."""
    on_link: list[list[int]] = [[] for _ in range(num_nodes)]
    for job in sorted(range(len(shapes)), key=lambda job: (run.starts[job], job)):
        for link in shapes[job].links:
            on_link[link].append(job)
    starts, finishes = np.array(run.starts, dtype=np.float64), np.array(run.finishes, dtype=np.float64)
    return tuple(_timeline(np.array(jobs, dtype=np.int64), starts, finishes) for jobs in on_link)


def _timeline(jobs: Integers, all_starts: Floats, all_finishes: Floats) -> Timeline:
    starts, finishes = all_starts[jobs], all_finishes[jobs]
    instants = np.unique(np.concatenate([starts, finishes]))
    come = np.searchsorted(starts, instants, side="right")
    gone = np.searchsorted(np.sort(finishes), instants, side="right")
    return Timeline(jobs, starts, finishes, instants, come - gone)
