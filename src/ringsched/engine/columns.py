"""The jobs of a scenario as columns: read once, however often it is planned or simulated."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from ringsched.engine.eligibility import Floats, Integers
from ringsched.model import Scenario
from ringsched.model.derived import derived_once
from ringsched.model.job import Restriction, restricted_jobs

_of_kind = attrgetter("gpus", "gradient_mb", "minibatch", "forward_ms", "backward_ms", "buckets")


class JobColumns(NamedTuple):
    """What is known of each job, and which jobs have what few have. The arrays are read only."""

    kind_of: Integers
    first: Integers  # of each kind: the first job of it
    iterations: Integers  # still to be done
    submit_s: Floats
    slack: Floats
    restricted: dict[int, Restriction]
    running: tuple[int, ...]
    limited: tuple[int, ...]
    estimated: tuple[int, ...]


class _Numbers(dict[Hashable, int]):
    """Numbers keys as they are asked for."""

    def __missing__(self, key: Hashable) -> int:
        number = self[key] = len(self)
        return number


@derived_once
def job_columns(scenario: Scenario) -> JobColumns:
    """Return the columns of a scenario: reading a million jobs takes longer than the rest."""
    jobs, restricted = scenario.jobs, restricted_jobs(scenario.jobs)
    keys: Iterable[Hashable] = map(_of_kind, jobs)
    if restricted:
        keys = ((key, restricted.get(at)) for at, key in enumerate(keys))
    number_of = _Numbers()
    kind_of = np.fromiter(map(number_of.__getitem__, keys), dtype=np.int64, count=len(jobs))
    first = np.zeros(len(number_of), dtype=np.int64)
    first[kind_of[::-1]] = np.arange(len(jobs))[::-1]  # of each kind, the last written is the first job
    running = _having([job.running_on for job in jobs])
    iterations = np.array([job.iterations for job in jobs], dtype=np.int64)
    for at in running:
        iterations[at] = jobs[at].remaining_iterations
    return JobColumns(
        kind_of=kind_of,
        first=first,
        iterations=iterations,
        submit_s=np.array([job.submit_s for job in jobs], dtype=np.float64),
        slack=np.array([job.server_slack for job in jobs], dtype=np.float64),
        restricted=restricted,
        running=running,
        limited=_having([job.limit_s for job in jobs]),
        estimated=_having([job.estimate_s for job in jobs]),
    )


def _having(values: list[object]) -> tuple[int, ...]:
    """Return where there is a value."""
    if values.count(None) == len(values):
        return ()
    return tuple(at for at, value in enumerate(values) if value is not None)
