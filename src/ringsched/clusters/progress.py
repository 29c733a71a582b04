"""The progress of running jobs, according to the model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringsched.contention.over_time import Stay, iterations_done
from ringsched.model import Cluster, Contention, Job, Placement

_OUTLIVED_SHARE = 20  # a job that exceeds its prediction gets another twentieth, repeatedly


_MOMENT_S = 1e-3  # Slurm's clock has whole seconds: a start may seem to lie ahead


@dataclass(frozen=True, slots=True, kw_only=True)
class Stint:
    """A job on its GPUs since `start_s`; `end_s` is None while it runs."""

    job: Job
    start_s: float
    end_s: float | None
    gpus: Placement


def done_iterations(
    stints: Sequence[Stint], cluster: Cluster, contention: Contention, now_s: float
) -> dict[str, float]:
    """Return the completed iterations of each job by name, with contention.

    Examples
    --------
    >>> job = Job(
    ...     name="a", gpus=1, iterations=99, gradient_mb=9, minibatch=1, forward_ms=0, backward_ms=200
    ... )
    >>> stint = Stint(job=job, start_s=0.0, end_s=None, gpus=Placement({"s0": [3]}))
    >>> done_iterations([stint], Cluster.of_servers(1), Contention(degradation=0.2745), 10.0)
    {'a': 50.0}
    """
    earliest_s = min((stint.start_s for stint in stints if stint.end_s is None), default=math.inf)
    seen = [stint for stint in stints if stint.end_s is None or stint.end_s > earliest_s]
    stays = [
        Stay(
            stint.job,
            stint.start_s,
            max(now_s if stint.end_s is None else stint.end_s, stint.start_s + _MOMENT_S),
            stint.gpus,
        )
        for stint in seen
    ]
    done = iterations_done(stays, cluster, contention)
    return {stint.job.name: count for stint, count in zip(seen, done, strict=True)}


def counted(job: Job, done: float) -> int:
    """Return the whole iterations that a running job has completed, at most all but one.

    Examples
    --------
    >>> job = Job(
    ...     name="a", gpus=1, iterations=100, gradient_mb=9, minibatch=1, forward_ms=0, backward_ms=200
    ... )
    >>> counted(job, 50.7), counted(job, 130.0)
    (50, 95)
    """
    if done < job.iterations:
        return math.floor(done)
    return job.iterations - max(1, job.iterations // _OUTLIVED_SHARE)


def placed_somewhere(counts: Mapping[str, int]) -> Placement:
    """Return a placement with these counts; which GPUs of a server they are does not matter."""
    return Placement({server: range(count) for server, count in counts.items()})


def known_by_end(name: str, held: Mapping[str, Sequence[int]], left_s: float) -> Job:
    """Return a running job of one iteration, as long as it still takes."""
    placement = Placement(held)
    return Job(
        name=name,
        gpus=placement.num_gpus,
        iterations=1,
        gradient_mb=0.0,
        minibatch=1,
        forward_ms=0.0,
        backward_ms=left_s * 1e3,
        running_on=placement,
    )
