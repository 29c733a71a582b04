"""The arguments behind bounds beyond the core, each evaluated anew at the terms that the plan states.

Each holds whatever its terms are (docs/concepts/bounds.md has the proofs), so that nothing is searched
for here: a planner that chose them badly has a weaker bound, not a wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from ringsched.verify.fastest import Facts

Terms = Mapping[str, float | int | str]
# Continuous durations that differ only in their last digits count as equal.
ALIKE = 1 - 1e-12


class BadTerms(Exception):
    """The terms of a bound do not say what its argument needs."""


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
    """Jobs inside servers take units, spread ones more GPU-time; a price on units weighs the two."""
    release, unit = instant(facts, terms, "release_s"), whole(terms, "unit", facts.capacity)
    jobs = facts.scenario.jobs
    setter = next((at for at, job in enumerate(jobs) if job.name == terms.get("job")), None)
    if setter is None:
        raise BadTerms("names no job of the scenario as its job")
    # The price of a unit-second is extra / taken; all is multiplied by what is taken.
    extra = jobs[setter].gpus * (facts.spread[setter] - facts.inside[setter])
    taken = jobs[setter].gpus // unit * facts.inside[setter]
    if not (0 < extra < math.inf and taken):
        raise BadTerms(f"cannot take its price from job {jobs[setter].name!r}, which has no choice")
    paid: float = 0
    for at in _released(facts, release):
        gpus, inside, spread = jobs[at].gpus, facts.inside[at], facts.spread[at]
        paid += min((taken * gpus + extra * (gpus // unit)) * inside, taken * gpus * spread)
    available = sum(server.capacity // unit for server in facts.network.servers)
    pace = taken * facts.capacity + extra * available
    return release + (-(-paid // pace) if facts.scenario.time.slotted else paid / pace)


MAKESPAN: Mapping[str, Callable[[Facts, Terms], float]] = {
    "work-left": work_left,
    "side-by-side": side_by_side,
    "wide-jobs": wide_jobs,
    "long-jobs": long_jobs,
    "server-classes": server_classes,
}


def _after(facts: Facts, begin: float, amount: Callable[[int], int], capacity: int) -> float:
    """Return when all work that must lie after an instant can be done, at what is there of it at a time."""
    pairs = list(zip(facts.scenario.jobs, facts.releases, facts.best, strict=True))
    # No later than some job's earliest end: from there on nothing need be left.
    begin = min(begin, max(release + best for _, release, best in pairs))
    left = sum(amount(job.gpus) * max(0, min(best, release + best - begin)) for job, release, best in pairs)
    return begin + facts.clock.spread(left, capacity)


def _released(facts: Facts, release: float) -> Iterator[int]:
    found = [at for at, each in enumerate(facts.releases) if each >= release]
    if not found:
        raise BadTerms("counts from an instant at or after which no job is released")
    yield from found


def instant(facts: Facts, terms: Terms, term: str) -> float:
    """Return the instant, from the origin on, or the duration that a term states."""
    value = terms.get(term)
    if value is None or isinstance(value, str):
        raise BadTerms(f"lacks the term {term}")
    return facts.clock.length(value)


def whole(terms: Terms, term: str, most: int) -> int:
    """Return the whole number, at least 1, that a term states."""
    value = terms.get(term)
    if not isinstance(value, int) or not 1 <= value <= most:
        raise BadTerms(f"needs a term {term} from 1 to {most}")
    return value


def above_0(terms: Terms, term: str) -> float:
    """Return the number above 0 that a term states."""
    value = terms.get(term)
    if value is None or isinstance(value, str) or value <= 0:
        raise BadTerms(f"needs a term {term} above 0")
    return value
