"""What a contention model is: how jobs that share links slow each other.

A model is one file of this package, or a class of the user's. The simple kind counts the jobs on a link
(`CountingModel`) and runs at full speed. The general kind (`PythonModel`) is asked for the iteration
times of all jobs that run at a time, and runs as plain Python.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from ringsched.contention.iteration_time import Ring

NO_LINK = -1

# The kernels that share links among jobs (contention/sharing.py).
COUNTING, MAX_MIN, PHASES, PYTHON = range(4)


class Pace(NamedTuple):
    """How fast a job goes among others."""

    tau: float  # seconds per iteration
    link: int  # the lowest of those that keep it from going faster, or NO_LINK


class ContentionModel(ABC):
    """How jobs that share links slow each other.

    Attributes
    ----------
    name
        As scenario files have it.
    is_counting
        Whether a job's share of a link depends on the number of jobs there alone. Then one job less
        never slows another, which some policies rely on.
    silent_jobs_contend
        Whether a job that sends nothing still slows the other jobs on its links.
    lanes
        How many jobs a link carries side by side without slowing each other.
    takes, needs
        Which fields of `[contention]` belong to it, and which of these must be given.
    """

    name: str = ""
    kernel: ClassVar[int]
    is_counting: ClassVar[bool] = False
    silent_jobs_contend: ClassVar[bool] = True
    lanes: int = 1
    takes: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def factor(self, num_jobs: int) -> float:
        """Return f >= 1: by how much `num_jobs` jobs on one link slow each of them at most.

        It must not fall as the number rises: the worst case rests on it.
        """

    def alone_factor(self) -> float:
        """Return by how much a job that is alone on a link has less than all of it: exact, not a limit."""
        return 1.0

    def settings(self) -> Mapping[str, float | str]:
        """Return what tells two models of one class apart, for checksums of scenarios."""
        return {}

    def worst_case_tau(self, ring: Ring, alone_gbps: float, crowded_gbps: float) -> float:
        """Return a tau that no job like this one exceeds.

        Parameters
        ----------
        alone_gbps, crowded_gbps
            The speed of the slowest link it may cross: all of it, and over f with as many jobs as can be.
        """
        del alone_gbps
        return ring.tau(crowded_gbps)

    def link_time_s(
        self, ring: Ring, uplink_gbps: float, most_jobs: int, lasts_s: Callable[[float], float]
    ) -> float:
        """Return how much time of a link one iteration takes, at least: bounds rest on it.

        However jobs share a link, their parts of its time must add up to at most all of it. 0 claims nothing.

        Parameters
        ----------
        uplink_gbps
            The speed of the link.
        most_jobs
            No more than so many jobs are on the link at a time, this one included.
        lasts_s
            How long an iteration of so many seconds takes on the clock of the scenario.
        """
        del ring, uplink_gbps, most_jobs, lasts_s
        return 0.0


class CountingModel(ContentionModel):
    """Every job on a link has the same part of it, 1/f(n) of n jobs; its slowest link counts."""

    kernel = COUNTING
    is_counting = True

    def alone_factor(self) -> float:
        """Return f(1), which is exact here."""
        return self.factor(1)

    def link_time_s(
        self, ring: Ring, uplink_gbps: float, most_jobs: int, lasts_s: Callable[[float], float]
    ) -> float:
        """Return the least of tau / n: each of n jobs has 1/n of the link's time."""
        return min(
            lasts_s(ring.tau(uplink_gbps / self.factor(num_jobs))) / num_jobs
            for num_jobs in range(1, most_jobs + 1)
        )


class PythonModel(ContentionModel):
    """A model of the user's, asked at every change of the running jobs; kernels run as plain Python then."""

    kernel = PYTHON

    @abstractmethod
    def iteration_times(self, rings: Mapping[int, Ring], uplink_gbps: Sequence[float]) -> Mapping[int, Pace]:
        """Return the pace of each of these jobs, which run at the same time and cross links."""
