"""The bound by prices on GPUs, places and links, evaluated at the prices that a plan states."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cache, cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

from ringsched.verify.bounds import Facts, weights_of
from ringsched.verify.placements import Placements, Way, fit_at_once
from ringsched.verify.terms import BadTerms, Terms, numbers

MOST_INSTANTS = 1000
INSTANTS = "instants_s"
EXPECTED = ("expected_from_s", "expected_until_s")
MOST_NUMBER = 10**6  # in the name of a resource


class Steps:
    """The steps between the instants of a plan's terms, and the GPUs that are free in each."""

    def __init__(self, placements: Placements, terms: Terms) -> None:
        self.placements, self.terms = placements, terms
        self.instants_s = numbers(terms, INSTANTS, MOST_INSTANTS)
        unit_s = placements.facts.scenario.time.unit_s
        self.edges = [time_s / unit_s for time_s in self.instants_s]
        if any(later <= earlier for earlier, later in pairwise(self.edges)):
            raise BadTerms(f"needs a term {INSTANTS} with instants in order")
        self.lengths = [later - earlier for earlier, later in pairwise(self.edges)]
        self._free: dict[int, dict[str, int]] = {}

    def free(self, step: int) -> dict[str, int]:
        """Return the GPUs of each server that need not be held all the time until the end of a step."""
        if step not in self._free:
            self._free[step] = self.placements.free(self.edges[step + 1])
        return self._free[step]

    @cached_property
    def expected(self) -> list[frozenset[int]]:
        """Return the jobs that are expected to run in the middle of each step."""
        queued = self.placements.queued
        from_s, until_s = (numbers(self.terms, term, len(queued)) for term in EXPECTED)
        if not len(from_s) == len(until_s) == len(queued):
            raise BadTerms(f"needs terms {' and '.join(EXPECTED)} with a number for each queued job")
        runs = list(zip(queued, from_s, until_s, strict=True))
        middles_s = [(earlier + later) / 2 for earlier, later in pairwise(self.instants_s)]
        return [frozenset(at for at, begin, end in runs if begin <= middle < end) for middle in middles_s]


class Resource(NamedTuple):
    """What ways of jobs take of something, for how long before their ends, and how much of it there is."""

    amount: Callable[[int, Way, int], float]  # of a job, its way, and a step
    capacity: Callable[[int], float]  # in a step
    length: Callable[[int, Way], float] = lambda _, way: way.duration


class Priced(NamedTuple):
    """A resource with its price in each step."""

    resource: Resource
    prices: list[float]


def priced_placements_s(facts: Facts, terms: Terms, weighted: bool) -> float:
    """Return the least weighted mean of completions if jobs paid these prices, less the price of all."""
    placements = Placements(facts)
    weights = weights_of(facts.scenario, weighted)
    whole_weight = sum(weights)
    weights = [weight / whole_weight for weight in weights]
    total = sum(weights[at] * end for at, end in placements.ends.items())
    if placements.queued:
        steps = Steps(placements, terms)
        names = [name for name in terms if name not in (INSTANTS, *EXPECTED)]
        priced = [Priced(_resource(steps, name), _prices(steps, name)) for name in names]
        # Without a price the capacity makes no difference, and is not asked for.
        total -= math.fsum(
            price * length * resource.capacity(step)
            for resource, prices in priced
            for step, (price, length) in enumerate(zip(prices, steps.lengths, strict=True))
            if price > 0
        )
        for at in placements.queued:
            total += min(_cheapest(at, way, weights[at], priced, steps) for way in placements.ways(at))
    origin_s = facts.clock.origin_s
    submits_s = sum(
        weight * (job.submit_s - origin_s) for weight, job in zip(weights, facts.scenario.jobs, strict=True)
    )
    return facts.clock.length_s(total) - submits_s


def _cheapest(at: int, way: Way, weight: float, priced: list[Priced], steps: Steps) -> float:
    """Return the least of weight x end + payments: at an end where some price begins or ceases to be paid."""
    rates: dict[float, list[float]] = {}  # what the way pays in a unit of time, by how long before its end
    for resource, prices in priced:
        rate = rates.setdefault(resource.length(at, way), [0.0] * len(prices))
        for step, price in enumerate(prices):
            if price > 0:
                rate[step] += price * resource.amount(at, way, step)
    paid = {length: _paid(rate, steps) for length, rate in rates.items()}
    first = way.start + way.duration
    ends = {first, *steps.edges}.union(*([edge + length for edge in steps.edges] for length in paid))
    return min(
        weight * end + sum(until(end) - until(end - length) for length, until in paid.items())
        for end in ends
        if end >= first
    )


def _paid(rate: list[float], steps: Steps) -> Callable[[float], float]:
    """Return a function of an instant: what is paid until then."""
    edges = steps.edges
    paid = [0.0, *accumulate(each * length for each, length in zip(rate, steps.lengths, strict=True))]

    def until(time: float) -> float:
        step = bisect_right(edges, time) - 1
        if step < 0 or step >= len(rate):
            return 0.0 if step < 0 else paid[-1]
        return paid[step] + (time - edges[step]) * rate[step]

    return until


def _prices(steps: Steps, name: str) -> list[float]:
    prices = numbers(steps.terms, name, MOST_INSTANTS)
    if len(prices) != len(steps.lengths):
        raise BadTerms(f"needs a term {name} with a price for each step of {INSTANTS}")
    if name.startswith("links") and any(later > earlier for earlier, later in pairwise(prices)):
        raise BadTerms(f"has a price for {name!r} that rises")
    return prices


def _resource(steps: Steps, name: str) -> Resource:
    for pattern, resource in KINDS.items():
        match = re.fullmatch(pattern, name, re.ASCII)
        if match is not None and all(1 <= int(number) <= MOST_NUMBER for number in match.groups()):
            return resource(steps, *map(int, match.groups()))
    raise BadTerms(f"has a price for {name!r}, which is not known")


def _gpus(steps: Steps, *setter: int) -> Resource:
    sizes, free = _sizes_and_free(steps, *setter)
    return Resource(lambda at, _way, _step: sizes[at], free)


def _sizes_and_free(steps: Steps, *setter: int) -> tuple[dict[int, int], Callable[[int], int]]:
    """Return the GPUs of the queued jobs, and those free in a step; perhaps only on the servers of a job.

    Then a job that may use other servers, too, counts as none.
    """
    placements = steps.placements
    jobs = placements.jobs
    if not setter:
        return {at: jobs[at].gpus for at in placements.queued}, lambda step: sum(steps.free(step).values())
    (number,) = setter
    if number > len(jobs):
        raise BadTerms(f"has a price for the servers of job {number}, and there is none")
    names = {server.name for server in placements.servers_of(jobs[number - 1])}
    return (
        {at: jobs[at].gpus * placements.is_within(jobs[at], names) for at in placements.queued},
        lambda step: sum(gpus for name, gpus in steps.free(step).items() if name in names),
    )


def _in_units(steps: Steps, *setter_and_unit: int) -> Resource:
    """GPUs counted in units, beside the jobs that are expected to run.

    Of the jobs that run unexpectedly, take the GPUs, and of those that do not run as expected, the GPUs
    as a negative number. Together these are at most the GPUs that are left. What numbers are worth adds up
    to at most what their sum is worth.
    """
    *setter, unit = setter_and_unit
    sizes, free = _sizes_and_free(steps, *setter)

    @cache
    def left(step: int) -> int:
        return free(step) - sum(sizes[at] for at in steps.expected[step])

    def worth(gpus: int, step: int) -> int:
        rest = left(step) % unit
        return gpus // unit * (unit - rest) + max(0, gpus % unit - rest)

    def amount(at: int, step: int) -> int:
        return -worth(-sizes[at], step) if at in steps.expected[step] else worth(sizes[at], step)

    return Resource(
        lambda at, _way, step: amount(at, step),
        lambda step: worth(left(step), step) + sum(amount(at, step) for at in steps.expected[step]),
    )


def _places(steps: Steps, least: int) -> Resource:
    placements = steps.placements
    sizes = [placements.jobs[at].gpus for at in placements.queued if placements.jobs[at].gpus >= least]
    return Resource(
        lambda at, _way, _step: placements.jobs[at].gpus >= least,
        lambda step: fit_at_once(sizes, sum(steps.free(step).values())),
    )


def _slots(steps: Steps, unit: int) -> Resource:
    placements = steps.placements
    num_servers = len(placements.facts.network.servers)

    def amount(at: int, way: Way, step: int) -> float:
        del step
        gpus = placements.jobs[at].gpus
        if way.in_one:
            return gpus // unit
        # All servers hold one GPU less than the unit, if that is enough; every unit more fills one of them.
        beyond = gpus - min(gpus, num_servers) * (unit - 1)
        return max(0, math.ceil(beyond / unit))

    return Resource(amount, lambda step: sum(number // unit for number in steps.free(step).values()))


def _links(steps: Steps, depth: int) -> Resource:
    nodes, uses = steps.placements.links_at(depth)

    def use(at: int) -> tuple[int, float]:
        return uses.get(at, (0, 0.0))

    return Resource(
        lambda at, _way, _step: use(at)[0],
        lambda _step: len(nodes),
        lambda at, way: min(use(at)[1], way.duration),
    )


# By the pattern of its name, with the numbers in it.
KINDS: dict[str, Callable[..., Resource]] = {
    r"gpus": _gpus,
    r"gpus_for_(\d+)": _gpus,
    r"gpus_by_(\d+)": _in_units,
    r"gpus_for_(\d+)_by_(\d+)": _in_units,
    r"jobs_of_(\d+)": _places,
    r"slots_of_(\d+)": _slots,
    r"links_(\d+)": _links,
}
