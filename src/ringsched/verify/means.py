"""The verifier's own copy of the bounds on mean completions."""

from __future__ import annotations

from bisect import bisect_right, insort
from itertools import accumulate

from ringsched.verify.arguments import BadTerms, Terms, above_0, instant, whole
from ringsched.verify.fastest import Facts
from ringsched.verify.objective import weights_of

MOST_STEPS = 1000


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
            # By durations: what is left of a short job is below the rounding of instants days later.
            step = min(left[at], until - begin)
            moments[at] += step * (begin - facts.releases[at] + step / 2)
            left[at] -= step
            begin = until if step == until - begin else begin + step
            if left[at] <= 1e-12 * lengths[at]:
                queue.pop()
    return [
        release + moment / length + best / 2
        for release, moment, length, best in zip(facts.releases, moments, lengths, facts.best, strict=True)
    ]


def priced_s(facts: Facts, terms: Terms, weighted: bool) -> float:
    """Return the weighted mean of completions less what N GPUs cost, at the prices that the terms state."""
    steps = whole(terms, "steps", MOST_STEPS)
    start = instant(facts, terms, "from_s")
    end = above_0(terms, "until_s") / facts.scenario.time.unit_s
    width = (end - start) / steps
    if width <= 0:
        raise BadTerms("needs a term until_s after from_s")
    first, exponent = above_0(terms, "first_price"), above_0(terms, "exponent")
    edges = [start + step * width for step in range(steps + 1)]
    prices = [first * float((1 - step / steps) ** exponent) for step in range(steps)]
    spent = [0.0, *accumulate(price * width for price in prices)]

    def rent(time: float) -> float:
        step = bisect_right(edges, time) - 1
        if step < 0 or step >= steps:
            return 0.0 if step < 0 else spent[-1]
        return spent[step] + (time - edges[step]) * prices[step]

    jobs, weights = facts.scenario.jobs, weights_of(facts.scenario, weighted)
    whole_weight = sum(weights)
    weights = [weight / whole_weight for weight in weights]
    total: float = -facts.capacity * spent[-1]
    for job, weight, release, best in zip(jobs, weights, facts.releases, facts.best, strict=True):
        starts = {
            release,
            *(max(release, edge) for edge in edges),
            *(max(release, edge - best) for edge in edges),
        }
        total += min(weight * (at + best) + job.gpus * (rent(at + best) - rent(at)) for at in starts)
    origin_s = facts.clock.origin_s
    submits_s = sum(weight * (job.submit_s - origin_s) for weight, job in zip(weights, jobs, strict=True))
    return facts.clock.length_s(total) - submits_s
