"""What generators of known models have in common."""

from __future__ import annotations

from collections.abc import Mapping

from ringsched.engine.problem import problem_of
from ringsched.errors import InputError
from ringsched.generate.draw import Draw
from ringsched.generate.known_jobs import Kind
from ringsched.generate.mixes import apportioned, model_mix, size_mix
from ringsched.model import Scenario, Time
from ringsched.model.checks import integer, number

MOST_JOBS = 1_000_000
MOST_HOURS = 1e6
SECONDS_PER_HOUR = 3600


def drawn_kinds(
    draw: Draw,
    jobs: int,
    sizes: str | Mapping[int, float],
    models: str | Mapping[str, float],
    capacity: int,
) -> list[Kind]:
    """Return GPUs and model of each job: as many of each as the mixes say, who gets what is drawn."""
    num_jobs = integer(jobs, "jobs", minimum=1, maximum=MOST_JOBS)
    job_sizes = apportioned(size_mix(sizes, "sizes"), num_jobs)
    if max(job_sizes) > capacity:
        raise InputError(
            f"asks for a job of {max(job_sizes)} GPUs, but the cluster has {capacity}", field="sizes"
        )
    job_models = apportioned(model_mix(models, "models"), num_jobs)
    return list(zip(draw.shuffled(job_sizes), draw.shuffled(job_models), strict=True))


def drawn_durations_s(draw: Draw, number_of: int, min_hours: float, max_hours: float) -> list[float]:
    """Return best-case durations, log-uniform between two numbers of hours."""
    low_s = number(min_hours, "min_hours", above=0, maximum=MOST_HOURS) * SECONDS_PER_HOUR
    high_s = number(max_hours, "max_hours", above=0, maximum=MOST_HOURS) * SECONDS_PER_HOUR
    if low_s > high_s:
        raise InputError(f"= {min_hours:g} is above the longest, {max_hours:g}", field="min_hours")
    return [draw.log_uniform(low_s, high_s) for _ in range(number_of)]


def time_of(slot_s: float | None) -> Time:
    """Return slotted time with this slot, or continuous time."""
    if slot_s is None:
        return Time(model="continuous")
    return Time(slot_s=number(slot_s, "slot_s", above=0))


def plannable(scenario: Scenario) -> Scenario:
    """Return the scenario if it can be planned: its slot long enough, its links fast enough."""
    try:
        problem_of(scenario)
    except InputError as error:
        if not scenario.time.slotted or error.field != "an iteration":
            raise
        raise InputError(
            f"= {scenario.time.slot_s:g} is shorter than an iteration of {error.place} in the worst case; "
            "leave it out for continuous time",
            field="slot_s",
        ) from None
    return scenario
