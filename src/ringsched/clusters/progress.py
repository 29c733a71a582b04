"""The progress of running jobs, according to the model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ringsched.contention.over_time import Stay, iterations_done
from ringsched.model import Cluster, Contention, Job, Placement

_OUTLIVED_SHARE = 20  # a job that exceeds its prediction gets another twentieth, repeatedly


def done_iterations(
    running: Sequence[Stay], over: Sequence[Stay], cluster: Cluster, contention: Contention
) -> dict[str, float]:
    """Return the completed iterations of running jobs by name, with contention.

    Parameters
    ----------
    running
        Where each of them is from its start until now.
    over
        Where jobs were that have ended, some of them beside those that run.

    Examples
    --------
    >>> job = Job(
    ...     name="a", gpus=1, iterations=99, gradient_mb=9, minibatch=1, forward_ms=0, backward_ms=200
    ... )
    >>> stay = Stay(job, 0.0, 10.0, Placement({"s0": [3]}))
    >>> done_iterations([stay], [], Cluster.of_servers(1), Contention(degradation=0.2745))
    {'a': 50.0}
    """
    earliest_s = min((stay.start_s for stay in running), default=math.inf)
    seen = [*running, *(stay for stay in over if stay.end_s > earliest_s)]
    done = iterations_done(seen, cluster, contention)
    return {stay.job.name: count for stay, count in zip(running, done, strict=False)}


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
