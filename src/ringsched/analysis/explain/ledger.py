"""The ledger: accounts of jobs, links and pairs of jobs."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ringsched import api
from ringsched.analysis.explain.losses import Losses, losses_of
from ringsched.analysis.explain.parts import Floats, Integers, Parts
from ringsched.analysis.planned_run import same_time
from ringsched.contention.sharing import model_of
from ringsched.errors import UnknownName
from ringsched.formatting import counted, duration, one_line
from ringsched.model import Outcome, Plan, Scenario
from ringsched.model.checks import settle


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAccount:
    """Where a job's time goes: `best_case_s + spreading_s + contention_s + rounding_s = duration_s`.

    Parameters
    ----------
    waiting_s, waited_for
        From submit to start; the jobs that released the job's GPUs at that instant.
    duration_s
        From start to finish; for a running job, from time 0.
    best_case_s
        Its iterations at the best-case tau, without slots; for a running job, its remaining iterations at
        its own placement.
    spreading_s
        Additional time on the job's GPUs without other jobs. At least 0.
    contention_s
        Additional time because of other jobs. At least 0.
    rounding_s
        The rest: time in slots in which no whole iteration fits. In continuous time, only rounding errors
        and the tolerance of 1e-9 between completions.
    hidden_s
        Communication that the backward pass hides, which adds no time; 0 without `buckets`. The other parts
        contain only exposed communication.
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
    hidden_s: float = 0.0

    @property
    def parts(self) -> Parts:
        """The parts of the duration."""
        return Parts(
            best_case_s=self.best_case_s,
            spreading_s=self.spreading_s,
            contention_s=self.contention_s,
            rounding_s=self.rounding_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkAccount:
    """The account of one uplink of a server or a switch.

    Parameters
    ----------
    label
        The server's name, or the kind and name of a switch: see `Cluster.switch_words`.
    contention_s
        Total contention of all jobs on it.
    contended_s
        How long the jobs on it slow each other.
    jobs
        Number of jobs that cross it.
    times_s, num_jobs
        A step function: the number of jobs on it from each of `times_s` until the next; finally 0.
    """

    label: str
    kind: str  # server, or the kind of switch
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

    def __repr__(self) -> str:
        most = f"at most {self.most_jobs} at once"
        lost = f"{duration(self.contention_s)} lost to contention"
        return one_line("LinkAccount", self.label, counted(self.jobs, "job"), most, lost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """Seconds of the victim's contention that are due to the culprit, on one link."""

    victim: str
    culprit: str
    link: str
    seconds: float


class Entries(NamedTuple):
    """The attributed contention as columns, jobs and links by index; there may be millions of rows."""

    victim: Integers
    culprit: Integers
    link: Integers
    seconds: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ledger:
    """Where the time of every job of a plan goes, and which jobs slow it on which links.

    Parameters
    ----------
    scenario, plan
        The inputs.
    origin_s
        The first release, where the plan's time begins.
    jobs
        In the scenario's order.
    links
        The uplinks of all servers, then of all switches, unused ones included.
    entries
        The attributed contention in columns; `attributions()` returns objects.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> ledger = ringsched.explain(scenario, ringsched.plan(scenario, "first-fit"))
    >>> worst = ledger.attributions()[0]
    >>> print(worst.culprit, "slows", worst.victim, "on", worst.link)
    gpt2-finetune slows vgg-sweep-1 on node-2
    """

    scenario: Scenario
    plan: Plan
    origin_s: float
    jobs: tuple[JobAccount, ...]
    links: tuple[LinkAccount, ...]
    entries: Entries
    _index: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        settle(self, _index={account.name: at for at, account in enumerate(self.jobs)})

    def __repr__(self) -> str:
        lost_s = math.fsum(account.contention_s for account in self.jobs)
        jobs = counted(len(self.jobs), "job")
        return one_line(
            "Ledger", jobs, f"policy {self.plan.policy}", f"{duration(lost_s)} lost to contention"
        )

    @property
    def is_counting(self) -> bool:
        """Whether removing a job from a link never slows another, under the scenario's contention model."""
        return model_of(self.scenario.contention).is_counting

    @property
    def losses(self) -> Losses:
        """Which shares of the GPU time go to spreading, contention and rounding."""
        return losses_of([account.gpus for account in self.jobs], [account.parts for account in self.jobs])

    def job(self, name: str) -> JobAccount:
        """Return the account of a job."""
        if name not in self._index:
            raise UnknownName("job", name, self._index)
        return self.jobs[self._index[name]]

    def attributions(
        self, *, victim: str | None = None, culprit: str | None = None, most: int | None = None
    ) -> tuple[Blame, ...]:
        """Return which jobs slow which on which link, the largest first; at most `most` of them."""
        wanted = np.ones(len(self.entries.seconds), dtype=np.bool_)
        for name, column in ((victim, self.entries.victim), (culprit, self.entries.culprit)):
            if name is not None:
                wanted &= column == self._index[self.job(name).name]
        rows = np.flatnonzero(wanted)
        rows = rows[np.argsort(-self.entries.seconds[rows], kind="stable")][:most]
        columns = (column[rows].tolist() for column in self.entries)
        return tuple(
            Blame(
                victim=self.jobs[hurt].name,
                culprit=self.jobs[by].name,
                link=self.links[link].label,
                seconds=seconds,
            )
            for hurt, by, link, seconds in zip(*columns, strict=True)
        )

    def by_culprit(self) -> dict[str, float]:
        """Return the seconds that each job costs all other jobs, the largest first, without zeros."""
        totals = np.bincount(self.entries.culprit, weights=self.entries.seconds, minlength=len(self.jobs))
        worst = np.argsort(-totals, kind="stable").tolist()
        return {self.jobs[at].name: float(totals[at]) for at in worst if totals[at] > 0}

    def by_victim(self) -> dict[str, float]:
        """Return the seconds that each job loses to contention, the largest first, without zeros."""
        losses = [(account.contention_s, at) for at, account in enumerate(self.jobs)]
        return {
            self.jobs[at].name: lost
            for lost, at in sorted(losses, key=lambda loss: (-loss[0], loss[1]))
            if lost
        }

    def by_link(self) -> dict[str, float]:
        """Return the seconds lost on each link, the largest first, without zeros."""
        worst = sorted(self.links, key=lambda link: -link.contention_s)
        return {link.label: link.contention_s for link in worst if link.contention_s}

    def matrix(self) -> dict[tuple[str, str], float]:
        """Return seconds by (victim, culprit), over all links, without zeros."""
        names = [account.name for account in self.jobs]
        columns = (column.tolist() for column in self._pairs())
        return {(names[hurt], names[by]): seconds for hurt, by, seconds in zip(*columns, strict=True)}

    def worst_culprits(self) -> dict[str, str]:
        """Return the job that costs each victim most, over all links; ties go to the first job."""
        victims, culprits, seconds = self._pairs()
        order = np.lexsort((culprits, -seconds, victims))
        found, first = np.unique(victims[order], return_index=True)
        worst = culprits[order][first].tolist()
        return {
            self.jobs[hurt].name: self.jobs[by].name for hurt, by in zip(found.tolist(), worst, strict=True)
        }

    def without(self, name: str) -> WithoutJob:
        """Return the result without one job, if all other jobs keep their GPUs and starts."""
        return without_job(self.scenario, self.plan, self.job(name).name)

    def _pairs(self) -> tuple[Integers, Integers, Floats]:
        """Return victims, culprits and seconds, each pair once."""
        num_jobs = max(1, len(self.jobs))
        pairs, at = np.unique(self.entries.victim * num_jobs + self.entries.culprit, return_inverse=True)
        seconds = np.bincount(at, weights=self.entries.seconds, minlength=len(pairs)).astype(np.float64)
        return pairs // num_jobs, pairs % num_jobs, seconds


ROUNDING = 1e-8  # several tolerances of 1e-9 may add up


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """A job whose finish would change."""

    job: str
    finish_s: float  # then
    gain_s: float  # negative if it would lose


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutJob:
    """The result without one job, if all other jobs keep their GPUs and starts.

    `gains` lists the jobs whose finish would change, from the largest gain to the largest loss. A job can
    lose only on fairly shared links, where jobs that the removed one held back take more of its links.
    """

    job: str
    makespan_s: float
    mean_completion_s: float  # of the other jobs
    gains: tuple[Gain, ...]

    @property
    def total_gain_s(self) -> float:
        """Total gain of the other jobs, minus their losses."""
        return sum(gain.gain_s for gain in self.gains)

    def gain_of(self, job: str) -> float:
        """Return the gain of a job in seconds; negative if it would lose."""
        return next((gain.gain_s for gain in self.gains if gain.job == job), 0.0)


def without_job(scenario: Scenario, plan: Plan, name: str) -> WithoutJob:
    """Simulate a plan again without one of its jobs."""
    others = scenario.replace(jobs=tuple(job for job in scenario.jobs if job.name != name))
    rest = plan.replace(jobs=tuple(job for job in plan.jobs if job.name != name))
    outcome = api.replay(others, rest)
    return WithoutJob(
        job=name,
        makespan_s=outcome.makespan_s,
        mean_completion_s=outcome.mean_completion_s,
        gains=_gains(others, rest, outcome),
    )


def _gains(scenario: Scenario, before: Plan, after: Outcome) -> tuple[Gain, ...]:
    finish_s = {job.name: job.finish_s for job in before.jobs}
    since_s = min((job.submit_s for job in scenario.jobs), default=0.0)
    gains = [
        Gain(job=job.name, finish_s=then_s, gain_s=finish_s[job.name] - then_s)
        for job, then_s in zip(scenario.jobs, after.finishes_s, strict=True)
        if not same_time(finish_s[job.name], then_s, since_s=since_s, share=ROUNDING)
    ]
    return tuple(sorted(gains, key=lambda gain: -gain.gain_s))
