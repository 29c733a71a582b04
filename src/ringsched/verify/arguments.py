"""The arguments behind bounds beyond the core, each recomputed from the terms that the plan states."""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate

from ringsched.model import Bound, Plan
from ringsched.verify.bounds import (
    Facts,
    core_bounds,
    is_makespan,
    is_slowdown,
    is_weighted,
    max_slowdown,
    objective_s,
    weights_of,
)
from ringsched.verify.placements import Placements, after_running, few_at_once, required_servers, shared_links
from ringsched.verify.prices import priced_placements_s
from ringsched.verify.terms import BadTerms, Terms, above_0, instant, whole
from ringsched.verify.verdict import Violation, shown

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


def squashed_s(facts: Facts, terms: Terms, weighted: bool) -> float:  # noqa: ARG001
    """Return the mean of completions at these ends."""
    return _mean_s(
        facts, squashed_ends(facts, weighted), "weighted-completion" if weighted else "mean-completion"
    )


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


# Continuous durations that differ only in their last digits count as equal.
ALIKE = 1 - 1e-12


def work_left(facts: Facts, terms: Terms) -> float:
    """What jobs lack at an instant must fit into all GPUs after it."""
    return _after(facts, instant(facts, terms, "from_s"), lambda gpus: gpus, facts.capacity)


def side_by_side(facts: Facts, terms: Terms) -> float:
    """No more units fit side by side than go into the whole cluster."""
    unit = whole(terms, "unit", facts.capacity)
    return _after(facts, instant(facts, terms, "from_s"), lambda gpus: gpus // unit, facts.capacity // unit)


def wide_jobs(facts: Facts, terms: Terms) -> float:
    """A job that leaves fewer than `least` GPUs is alone among those of `least` or more."""
    least, capacity = whole(terms, "least", facts.capacity), facts.capacity

    def amount(gpus: int) -> int:
        if gpus < least:
            return 0
        return capacity if gpus > capacity - least else gpus

    return _after(facts, instant(facts, terms, "from_s"), amount, capacity)


def long_jobs(facts: Facts, terms: Terms) -> float:
    """A GPU with a job of `long` has no time for one of `short` before long + short."""
    release = instant(facts, terms, "release_s")
    short, long = instant(facts, terms, "short_s"), instant(facts, terms, "long_s")
    free = facts.capacity
    taken: float = 0
    for at in _released(facts, release):
        gpus, duration = facts.scenario.jobs[at].gpus, facts.best[at]
        if duration >= short * ALIKE:
            if duration >= long * ALIKE:
                free -= gpus
            else:
                taken += gpus * duration
    if free <= 0:
        return release + (long + short if free < 0 or taken > 0 else 0)
    return release + min(long + short, facts.clock.spread(taken, free))


def server_classes(facts: Facts, terms: Terms) -> float:
    """Packed jobs take units, spread ones more GPU-time; a price on units weighs the two."""
    release, unit = instant(facts, terms, "release_s"), whole(terms, "unit", facts.capacity)
    jobs = facts.scenario.jobs
    setter = next((at for at, job in enumerate(jobs) if job.name == terms.get("job")), None)
    if setter is None:
        raise BadTerms("names no job of the scenario as its job")
    # The price of a unit-second is extra / taken; all is multiplied by what is taken.
    extra = jobs[setter].gpus * (facts.spread[setter] - facts.packed[setter])
    taken = jobs[setter].gpus // unit * facts.packed[setter]
    if not (0 < extra < math.inf and taken):
        raise BadTerms(f"cannot take its price from job {jobs[setter].name!r}, which has no choice")
    paid: float = 0
    for at in _released(facts, release):
        gpus, packed, spread = jobs[at].gpus, facts.packed[at], facts.spread[at]
        paid += min((taken * gpus + extra * (gpus // unit)) * packed, taken * gpus * spread)
    available = sum(server.capacity // unit for server in facts.network.servers)
    pace = taken * facts.capacity + extra * available
    return release + (-(-paid // pace) if facts.scenario.time.slotted else paid / pace)


MAKESPAN: Mapping[str, Callable[[Facts, Terms], float]] = {
    "work-left": work_left,
    "side-by-side": side_by_side,
    "wide-jobs": wide_jobs,
    "long-jobs": long_jobs,
    "server-classes": server_classes,
    "after-running": after_running,
    "few-at-once": few_at_once,
    "required-servers": required_servers,
    "shared-links": shared_links,
}
# The same for means; of a weighted one if the last argument is true.
MEANS: Mapping[str, Callable[[Facts, Terms, bool], float]] = {
    "squashed-area": squashed_s,
    "priced-gpus": priced_s,
    "priced-placements": priced_placements_s,
}


DUE_MARGIN = 2e-11  # relative: as much work as fits but for rounding is no contradiction


def due_work(facts: Facts, terms: Terms) -> float:
    """Return the largest slowdown at which more work is due within a window than its GPUs can do.

    Each job must end by its submit + slowdown x best case. As the slowdown falls, the part of its run that
    must lie in the window grows at the pace of its best case, until it is what its earliest end leaves for
    the window. A running job is in it until its earliest end.
    """
    unit_s, clock = facts.scenario.time.unit_s, facts.clock
    begin, end = instant(facts, terms, "from_s"), above_0(terms, "until_s") / unit_s
    if end <= begin:
        raise BadTerms("needs a term until_s after from_s")
    slack = facts.capacity * (end - begin) * (1 + DUE_MARGIN)
    bends: list[tuple[float, float]] = []  # slowdown, and by how much GPU-time grows faster below it
    for job, (soonest, duration), own_s in zip(
        facts.scenario.jobs, Placements(facts).spans, facts.best_cases_s, strict=True
    ):
        most = min(duration, soonest - begin, end - begin)
        if most <= 0:
            continue
        if job.running_on is not None:  # since 0, whatever its deadline
            slack -= job.gpus * most
            continue
        pace, late = own_s / unit_s, end + duration - (job.submit_s - clock.origin_s) / unit_s
        bends += [(late / pace, job.gpus * pace), ((late - most) / pace, -job.gpus * pace)]
    due, growth, last = 0.0, 0.0, math.inf
    for slowdown, change in sorted(bends, key=lambda bend: -bend[0]):
        more = growth * (last - slowdown) if growth > 0 else 0.0
        if due + more > slack:
            return last - (slack - due) / growth
        due, growth, last = due + more, growth + change, slowdown
    return 0.0


def _after(facts: Facts, begin: float, amount: Callable[[int], int], capacity: int) -> float:
    """Return when all work that must lie after an instant can be done, at what is there of it at a time."""
    pairs = list(zip(facts.scenario.jobs, facts.releases, facts.best, strict=True))
    # No later than some job's earliest end: from there on nothing need be left.
    begin = min(begin, max(release + best for _, release, best in pairs))
    left = sum(amount(job.gpus) * max(0, min(best, release + best - begin)) for job, release, best in pairs)
    return begin + facts.clock.spread(left, capacity)


def _released(facts: Facts, release: float) -> Iterator[int]:
    slack = facts.clock.merge_slack(release)  # a stated instant is rounded
    found = [at for at, each in enumerate(facts.releases) if each + slack >= release]
    if not found:
        raise BadTerms("counts from an instant at or after which no job is released")
    yield from found


def check_bounds(facts: Facts, plan: Plan) -> tuple[list[float], list[Violation]]:
    """Return the bounds that hold, and what is wrong with those that the plan lists.

    A plan need not list any, but what it lists must be right. Its own bound is the largest of those it
    lists and of those that every plan must know: the core's, or of a mean the best cases.
    """
    jobs = facts.scenario.jobs
    if not jobs:
        return [], [_unknown(bound, []) for bound in plan.bounds]
    known = _known(facts, plan.objective)
    # Submits may be Unix seconds, and what is counted from the first of them is rounded as they are.
    rounded = max(job.submit_s for job in jobs)
    if is_slowdown(plan.objective):
        rounded /= min(facts.best_cases_s)
    values, wrong = list(known.values()), []
    for bound in plan.bounds:
        try:
            expected = _value(facts, plan.objective, bound, known)
        except BadTerms as error:
            wrong.append(_violation(f"bound {bound.name!r} {error}"))
            continue
        if expected is None:
            wrong.append(_unknown(bound, [*known, *_further(plan.objective)]))
            continue
        values.append(expected)
        if not facts.clock.agree(bound.value_s, expected, rounded):
            stated = f"{shown(bound.value_s)} in the plan, but {shown(expected)} recomputed"
            wrong.append(_violation(f"bound {bound.name!r} is {stated}"))
    return values, wrong


def _known(facts: Facts, objective: str) -> dict[str, float]:
    clock = facts.clock
    if is_makespan(objective):
        return {name: clock.length_s(bound) for name, bound in core_bounds(facts).items()}
    ends = earliest_ends(facts)
    if is_slowdown(objective):
        return {"best-cases": max_slowdown(facts, [clock.length_s(end) for end in ends])}
    return {"best-cases": _mean_s(facts, ends, objective)}


def _further(objective: str) -> list[str]:
    if is_slowdown(objective):
        return ["earliest-ends", "due-work"]
    return [*MAKESPAN] if is_makespan(objective) else [*MEANS]


def _value(facts: Facts, objective: str, bound: Bound, known: Mapping[str, float]) -> float | None:
    """Return what a listed bound should be; None if there is none of that name."""
    if bound.name in known:
        return known[bound.name]
    if bound.name not in _further(objective):
        return None
    if is_makespan(objective):
        return facts.clock.length_s(MAKESPAN[bound.name](facts, bound.terms))
    if is_slowdown(objective):
        if bound.name == "due-work":
            return due_work(facts, bound.terms)
        return max_slowdown(facts, [facts.clock.length_s(end) for end, _ in Placements(facts).spans])
    return MEANS[bound.name](facts, bound.terms, is_weighted(objective))


def _mean_s(facts: Facts, ends: list[float], objective: str) -> float:
    """Return the mean of completions."""
    clock = facts.clock
    return objective_s(facts.scenario, [clock.length_s(end) for end in ends], objective, clock.origin_s)


def _unknown(bound: Bound, names: list[str]) -> Violation:
    return _violation(f"there is no bound {bound.name!r} here, only {', '.join(names) or 'none'}")


def _violation(message: str) -> Violation:
    return Violation(constraint="bounds", message=message)
