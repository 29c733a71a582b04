"""A plan with one job less, everything else as it is."""

from __future__ import annotations

from dataclasses import dataclass

from ringsched import api
from ringsched.analysis.rounding import same_time
from ringsched.model import Outcome, Plan, Scenario

ROUNDING = 1e-8  # completions 1e-9 apart are one instant, and some such may add up


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """A job that would end sooner, or later."""

    job: str
    finish_s: float  # then
    gain_s: float  # below 0 what it would lose


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutJob:
    """What would happen without a job, the others on their GPUs and from their starts as before.

    `gains` has those who would end at another time, who gains most first and who loses most last. Only where
    links are shared fairly may one lose: others that the job held back elsewhere then take more of its links.
    """

    job: str
    makespan_s: float
    mean_completion_s: float  # of the others
    gains: tuple[Gain, ...]

    @property
    def total_gain_s(self) -> float:
        """What the others would gain, all together, less what they would lose."""
        return sum(gain.gain_s for gain in self.gains)

    def gain_of(self, job: str) -> float:
        """Return what a job would gain, in seconds; below 0 what it would lose."""
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
