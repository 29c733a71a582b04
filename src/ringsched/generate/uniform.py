"""Mixes of known models on like servers, as large as one wants."""

from __future__ import annotations

from collections.abc import Mapping

from ringsched.generate.cluster import CONTENTION, like_servers
from ringsched.generate.draw import JOBS, Draw
from ringsched.generate.mixes import (
    MOST_HOURS,
    SECONDS_PER_HOUR,
    drawn_durations_s,
    drawn_kinds,
    known_jobs,
    plannable,
    time_of,
)
from ringsched.model import Scenario
from ringsched.model.checks import integer, number


def generate_uniform(
    seed: int = 0,
    servers: int = 1250,
    gpus_per_server: int = 8,
    jobs: int = 10_000,
    *,
    switches: int = 0,
    sizes: str | Mapping[int, float] = "paper",
    models: str | Mapping[str, float] = "uniform",
    min_hours: float = 0.5,
    max_hours: float = 8.0,
    submit_hours: float = 0.0,
    inter_server_gbps: float = 100.0,
    switch_uplink_gbps: float | None = None,
    slot_s: float | None = None,
) -> Scenario:
    """Return jobs of known models on like servers.

    Parameters
    ----------
    switches
        How many switches the servers hang on, split as evenly as possible; 0 for none.
    sizes, models
        A named mix, an inline one such as "1:80,2:14" or "resnet50:3,vgg16", or a mapping to weights.
        The numbers of jobs follow the weights as closely as whole jobs can; who gets what is drawn.
    min_hours, max_hours
        Between these the best-case durations are log-uniform.
    submit_hours
        Submit times are uniform from 0 to this; 0 submits all at the start.
    switch_uplink_gbps
        If absent, a quarter of what the most servers below one switch can send, but no less than one can.
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
    cluster = like_servers(servers, gpus_per_server, switches, inter_server_gbps, switch_uplink_gbps)
    kinds = drawn_kinds(draw, jobs, sizes, models, cluster.capacity)
    durations_s = drawn_durations_s(draw, len(kinds), min_hours, max_hours)
    last_s = number(submit_hours, "submit_hours", minimum=0, maximum=MOST_HOURS) * SECONDS_PER_HOUR
    submits_s = sorted(round(draw.uniform(0, last_s), 3) for _ in kinds)
    return plannable(
        Scenario(
            name=f"uniform, seed {seed}",
            time=time_of(slot_s),
            cluster=cluster,
            contention=CONTENTION,
            jobs=known_jobs(kinds, durations_s, submits_s, cluster),
        )
    )
