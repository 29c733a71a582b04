"""What the ledger says of one job, of one link, and of one job's effect on another."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAccount:
    """Where a job's time goes: `best_case_s + spreading_s + contention_s + rounding_s = duration_s`.

    Parameters
    ----------
    waiting_s, waited_for
        From submit to start; the jobs that left the job's GPUs at that very instant.
    duration_s
        From start to finish; of a job that runs already, from time 0.
    best_case_s
        Its iterations at the fastest tau any placement could give, without slots; of a job that runs
        already, what remains at its own placement.
    spreading_s
        By how much they take longer on the job's own GPUs with nobody else around. Not below 0.
    contention_s
        By how much they take longer with the others around. Not below 0.
    rounding_s
        What is left: parts of slots in which no whole iteration fits. In continuous time what floats and
        the one instant of completions 1e-9 apart leave.
    links
        Labels of the uplinks that the job crosses.
    """

    name: str
    gpus: int
    num_servers: int
    links: tuple[str, ...]
    submit_s: float
    start_s: float
    finish_s: float
    waiting_s: float
    waited_for: tuple[str, ...]
    duration_s: float
    best_case_s: float
    spreading_s: float
    contention_s: float
    rounding_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkAccount:
    """What happens on one uplink, that of a server or of a switch.

    Parameters
    ----------
    label
        The server's name, or what files call a switch and its name: see `Cluster.switch_words`.
    contention_s
        What jobs lose because of it, all together.
    contended_s
        For how long it is slower for each job on it than for one alone.
    jobs
        How many jobs cross it, all in all.
    times_s, num_jobs
        A step function: from each of `times_s` until the next so many jobs are on it; in the end none.
    """

    label: str
    kind: str  # server, or what a switch is called
    name: str
    uplink_gbps: float
    contention_s: float
    contended_s: float
    jobs: int
    times_s: tuple[float, ...]
    num_jobs: tuple[int, ...]

    @property
    def most_jobs(self) -> int:
        """The most jobs on it at a time."""
        return max(self.num_jobs, default=0)

    def most_jobs_between(self, start_s: float, end_s: float) -> int:
        """Return the most jobs on it at a time from `start_s` up to `end_s`."""
        first = max(0, bisect_right(self.times_s, start_s) - 1)
        return max(self.num_jobs[first : bisect_left(self.times_s, end_s)], default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """So many seconds of the victim's contention are due to the culprit, on that link."""

    victim: str
    culprit: str
    link: str
    seconds: float
