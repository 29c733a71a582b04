"""The verifier's own copy of the core bounds, and of the scenarios that are refused."""

from __future__ import annotations

import math

from ringsched.errors import InputError
from ringsched.model import Job, Scenario
from ringsched.verify.clock import Clock
from ringsched.verify.iteration_time import Network


def refuse_endless_jobs(scenario: Scenario, network: Network, clock: Clock) -> None:
    """Raise if a job could, in its worst case, stand still or take longer than a float holds."""
    for at, job in enumerate(scenario.jobs):
        tau_s = network.worst_tau_s(job)
        place = f"jobs[{at}] {job.name!r}"
        if scenario.time.slotted and clock.pace(tau_s) < 1:
            raise InputError(
                f"takes {tau_s:g} s per iteration in its worst case, which does not fit into a slot of "
                f'{scenario.time.slot_s:g} s; make slot_s longer or set time.model = "continuous"',
                place=place,
            )
        if not scenario.time.slotted and not math.isfinite(job.iterations * tau_s):
            raise InputError(
                f"takes {tau_s:g} s per iteration in its worst case: {job.iterations} of them last for ever",
                place=place,
            )


def core_bounds(scenario: Scenario, network: Network, clock: Clock) -> dict[str, float]:
    """Return, by name, the instants before which no plan can have finished all jobs."""
    capacity = scenario.cluster.capacity
    bounds: dict[str, float] = {}
    area: float = 0  # GPU-instants of the jobs released at or after r
    in_turn: float = 0  # durations of those of them that need more than half the cluster, one after another
    releases = [(_release(job, clock), at) for at, job in enumerate(scenario.jobs)]
    for release, at in sorted(releases, reverse=True):
        job = scenario.jobs[at]
        best = best_case(job, network, clock)
        area += job.gpus * best
        in_turn += best if 2 * job.gpus > capacity else 0
        ends = {"longest-job": release + best, "area": release + clock.spread(area, capacity)}
        ends |= {"large-jobs": release + in_turn} if in_turn else {}
        bounds |= {name: max(bounds.get(name, 0), end) for name, end in ends.items()}
    return bounds


def _release(job: Job, clock: Clock) -> float:
    return 0 if job.running_on is not None else clock.release(job.submit_s)


def best_case(job: Job, network: Network, clock: Clock) -> float:
    """Return the best-case duration; of a running job what remains, at its own place."""
    if job.running_on is None:
        tau_s = network.best_tau_s(job)
    else:
        # As if nobody shared its links.
        tau_s = network.tau_s(
            job, network.shape({server: len(gpus) for server, gpus in job.running_on.items()})
        )
    return clock.duration(job.remaining_iterations, clock.pace(tau_s))
