"""The verifier's own copy of the bounds on mean completions."""

from __future__ import annotations

from bisect import insort

from ringsched.verify.fastest import Facts


def earliest_ends(facts: Facts) -> list[float]:
    """Return when each job would end if it were alone."""
    return [release + best for release, best in zip(facts.releases, facts.best, strict=True)]


def squashed_ends(facts: Facts, weighted: bool) -> list[float]:
    """Return the mean instant of each job's work plus half its shortest duration.

    The work is done on all GPUs at once, by the weight per GPU-time, and is interrupted when a job with
    more of it comes: from one release to the next, take from the front of the queue.
    """
    jobs = facts.scenario.jobs
    lengths = [job.gpus * best / facts.capacity for job, best in zip(jobs, facts.best, strict=True)]
    left = lengths.copy()
    moments = [0.0] * len(jobs)
    queue: list[tuple[float, int]] = []
    instants = sorted(set(facts.releases))
    coming: dict[float, list[int]] = {}
    for at, release in enumerate(facts.releases):
        coming.setdefault(release, []).append(at)
    for now, until in zip(instants, [*instants[1:], float("inf")], strict=True):
        for at in coming[now]:
            insort(queue, (-lengths[at] / (jobs[at].weight if weighted else 1.0), at))
        begin: float = now
        while queue and begin < until:
            at = queue[-1][1]
            end = min(until, begin + left[at])
            moments[at] += (end - begin) * (begin + end) / 2
            left[at] -= end - begin
            begin = end
            if end < until or left[at] <= 1e-12 * lengths[at]:
                queue.pop()
    return [
        moment / length + best / 2 for moment, length, best in zip(moments, lengths, facts.best, strict=True)
    ]
