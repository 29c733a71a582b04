"""How far running jobs are, as the model sees it: Slurm knows only since when they run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringsched.contention.stays import Stay, iterations_done
from ringsched.model import Cluster, Contention, Job, Placement

_OUTLIVED_SHARE = 20  # a job that outlives its prediction is given a twentieth more, again and again
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
    """Return the iterations each job has behind it, by name, with all who shared links with it.

    Examples
    --------
    >>> from ringsched.generate.like_servers import CONTENTION, like_servers
    >>> job = Job(
    ...     name="a", gpus=1, iterations=99, gradient_mb=9, minibatch=1, forward_ms=0, backward_ms=200
    ... )
    >>> stint = Stint(job=job, start_s=0.0, end_s=None, gpus=Placement({"s0": [3]}))
    >>> done_iterations([stint], like_servers(1, 8), CONTENTION.replace(server_latency_ms=0), 10.0)
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
    """Return the whole iterations behind a job that still runs, whatever the prediction said.

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
    """Return a placement with these counts: which GPUs of a server does not matter for the pace."""
    return Placement({server: range(count) for server, count in counts.items()})
