"""Mixes of known models on like servers, as large as one wants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringsched.engine.problem import problem_of
from ringsched.errors import InputError
from ringsched.generate.draw import JOBS, Draw
from ringsched.generate.known_jobs import known_jobs
from ringsched.generate.like_servers import CONTENTION, like_servers
from ringsched.generate.mixes import apportioned, model_mix, size_mix
from ringsched.model import Scenario, Time
from ringsched.model.checks import integer, number

MOST_JOBS = 1_000_000
MOST_HOURS = 1e6
SECONDS_PER_HOUR = 3600


def generate_uniform(
    seed: int = 0,
    servers: int = 1250,
    gpus_per_server: int = 8,
    jobs: int = 10_000,
    *,
    racks: int = 0,
    sizes: str | Mapping[int, float] = "paper",
    models: str | Mapping[str, float] = "uniform",
    min_hours: float = 0.5,
    max_hours: float = 8.0,
    submit_hours: float = 0.0,
    inter_server_gbps: float = 100.0,
    rack_uplink_gbps: float | None = None,
    slot_s: float | None = None,
) -> Scenario:
    """Return jobs of known models on like servers.

    Parameters
    ----------
    racks
        How many racks the servers are split into, as evenly as possible; 0 for none.
    sizes, models
        A named mix, an inline one such as "1:80,2:14" or "resnet50:3,vgg16", or a mapping to weights.
        The numbers of jobs follow the weights as closely as whole jobs can; who gets what is drawn.
    min_hours, max_hours
        Between these the best-case durations are log-uniform.
    submit_hours
        Submit times are uniform from 0 to this; 0 submits all at the start.
    rack_uplink_gbps
        If absent, a quarter of what the servers of the largest rack can send, but no less than one can.
    slot_s
        Slotted time with this slot instead of continuous time.

    Raises
    ------
    InputError
        A value is out of range, a job is larger than the cluster, or the slot is too short.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.generate_uniform(servers=4, jobs=20, sizes="1:3,4:1", models="bert-base")
    >>> sum(job.gpus == 4 for job in scenario.jobs), scenario.cluster.capacity
    (5, 32)
    """
    draw = Draw(integer(seed, "seed", minimum=0), JOBS)
    cluster = like_servers(servers, gpus_per_server, racks, inter_server_gbps, rack_uplink_gbps)
    num_jobs = integer(jobs, "jobs", minimum=1, maximum=MOST_JOBS)
    job_sizes = apportioned(size_mix(sizes, "sizes"), num_jobs)
    _check_sizes(job_sizes, cluster.capacity)
    job_models = apportioned(model_mix(models, "models"), num_jobs)
    kinds = list(zip(draw.shuffled(job_sizes), draw.shuffled(job_models), strict=True))
    low_s = number(min_hours, "min_hours", above=0, maximum=MOST_HOURS) * SECONDS_PER_HOUR
    high_s = number(max_hours, "max_hours", above=0, maximum=MOST_HOURS) * SECONDS_PER_HOUR
    if low_s > high_s:
        raise InputError(f"= {min_hours:g} is above the longest, {max_hours:g}", field="min_hours")
    durations_s = [draw.log_uniform(low_s, high_s) for _ in kinds]
    last_s = number(submit_hours, "submit_hours", minimum=0, maximum=MOST_HOURS) * SECONDS_PER_HOUR
    submits_s = sorted(round(draw.uniform(0, last_s), 3) for _ in kinds)
    return _checked(
        Scenario(
            name=f"uniform, seed {seed}",
            time=Time(model="continuous")
            if slot_s is None
            else Time(slot_s=number(slot_s, "slot_s", above=0)),
            cluster=cluster,
            contention=CONTENTION,
            jobs=known_jobs(kinds, durations_s, submits_s, cluster),
        )
    )


def _check_sizes(sizes: Sequence[int], capacity: int) -> None:
    if max(sizes) > capacity:
        raise InputError(
            f"asks for a job of {max(sizes)} GPUs, but the cluster has {capacity}",
            field="sizes",
        )


def _checked(scenario: Scenario) -> Scenario:
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
