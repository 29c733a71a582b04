"""The bound by prices on GPUs, places and links, evaluated at the prices that a plan states."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import NamedTuple

from ringsched.verify.bounds import Facts, weights_of
from ringsched.verify.placements import Placements, Way, fit_at_once
from ringsched.verify.terms import BadTerms, Terms, numbers

MOST_INSTANTS = 1000
INSTANTS = "instants_s"
MOST_NUMBER = 10**6  # in the name of a resource

# How much of a resource a way of a job takes, and for how long before its end.
Takes = Callable[[int, Way], tuple[float, float]]


class Priced(NamedTuple):
    """A resource with its price, and what all of it costs."""

    takes: Takes
    rent: Callable[[float], float]  # from the beginning to an instant
    cost_of_all: float


def priced_placements_s(facts: Facts, terms: Terms, weighted: bool) -> float:
    """Return the least weighted mean of completions if jobs paid these prices, less the price of all."""
    placements = Placements(facts)
    weights = weights_of(facts.scenario, weighted)
    whole_weight = sum(weights)
    weights = [weight / whole_weight for weight in weights]
    total = sum(weights[at] * end for at, end in placements.ends.items())
    if placements.queued:
        unit_s = facts.scenario.time.unit_s
        edges = [time_s / unit_s for time_s in numbers(terms, INSTANTS, MOST_INSTANTS)]
        if any(later <= earlier for earlier, later in pairwise(edges)):
            raise BadTerms(f"needs a term {INSTANTS} with instants in order")
        priced = [_priced(placements, name, terms, edges) for name in terms if name != INSTANTS]
        total -= sum(each.cost_of_all for each in priced)
        for at in placements.queued:
            total += min(_cheapest(at, way, weights[at], priced, edges) for way in placements.ways(at))
    origin_s = facts.clock.origin_s
    submits_s = sum(
        weight * (job.submit_s - origin_s) for weight, job in zip(weights, facts.scenario.jobs, strict=True)
    )
    return facts.clock.length_s(total) - submits_s


def _cheapest(at: int, way: Way, weight: float, priced: list[Priced], edges: list[float]) -> float:
    """Return the least of weight x end + payments: at an end where some price begins or ceases to be paid."""
    first = way.start + way.duration
    taken = [(*each.takes(at, way), each.rent) for each in priced]
    ends = {first, *edges}
    for length in {length for _, length, _ in taken}:
        ends |= {edge + length for edge in edges}
    return min(
        weight * end + sum(amount * (rent(end) - rent(end - length)) for amount, length, rent in taken)
        for end in ends
        if end >= first
    )


def _priced(placements: Placements, name: str, terms: Terms, edges: list[float]) -> Priced:
    prices = numbers(terms, name, MOST_INSTANTS)
    if len(prices) != len(edges) - 1:
        raise BadTerms(f"needs a term {name} with a price for each step of {INSTANTS}")
    kind, _, number = name.rpartition("_") if name != "gpus" else (name, "", "1")
    if kind not in KINDS or not number.isdecimal() or not 1 <= int(number) <= MOST_NUMBER:
        raise BadTerms(f"has a price for {name!r}, which is not known")
    if kind == "links" and any(later > earlier for earlier, later in pairwise(prices)):
        raise BadTerms(f"has a price for {name!r} that rises")
    takes, capacity = KINDS[kind](placements, int(number))
    lengths = [later - earlier for earlier, later in pairwise(edges)]
    spent = [0.0, *accumulate(price * length for price, length in zip(prices, lengths, strict=True))]

    def rent(time: float) -> float:
        step = bisect_right(edges, time) - 1
        if step < 0 or step >= len(prices):
            return 0.0 if step < 0 else spent[-1]
        return spent[step] + (time - edges[step]) * prices[step]

    # Without a price the capacity makes no difference, and is not asked for.
    cost = math.fsum(
        price * length * capacity(until)
        for price, length, until in zip(prices, lengths, edges[1:], strict=True)
        if price > 0
    )
    return Priced(takes, rent, cost)


# What ways take, and how much there is up to an instant, in the step before it.
Kind = Callable[[Placements, int], tuple[Takes, Callable[[float], float]]]


def _gpus(placements: Placements, number: int) -> tuple[Takes, Callable[[float], float]]:
    del number
    return (
        lambda at, way: (placements.jobs[at].gpus, way.duration),
        lambda until: sum(placements.free(until).values()),
    )


def _required(placements: Placements, number: int) -> tuple[Takes, Callable[[float], float]]:
    if number > len(placements.jobs):
        raise BadTerms(f"has a price for the servers of job {number}, and there is none")
    names = {server.name for server in placements.servers_of(placements.jobs[number - 1])}
    within = {at for at in placements.queued if placements.is_within(placements.jobs[at], names)}
    return (
        lambda at, way: (placements.jobs[at].gpus if at in within else 0, way.duration),
        lambda until: sum(gpus for name, gpus in placements.free(until).items() if name in names),
    )


def _places(placements: Placements, least: int) -> tuple[Takes, Callable[[float], float]]:
    sizes = [placements.jobs[at].gpus for at in placements.queued if placements.jobs[at].gpus >= least]
    return (
        lambda at, way: (1 if placements.jobs[at].gpus >= least else 0, way.duration),
        lambda until: fit_at_once(sizes, sum(placements.free(until).values())),
    )


def _slots(placements: Placements, unit: int) -> tuple[Takes, Callable[[float], float]]:
    num_servers = len(placements.facts.network.servers)

    def takes(at: int, way: Way) -> tuple[float, float]:
        gpus = placements.jobs[at].gpus
        if way.in_one:
            return gpus // unit, way.duration
        # All servers hold one GPU less than the unit, if that is enough; every unit more fills one of them.
        beyond = gpus - min(gpus, num_servers) * (unit - 1)
        return max(0, math.ceil(beyond / unit)), way.duration

    return takes, lambda until: sum(number // unit for number in placements.free(until).values())


def _links(placements: Placements, depth: int) -> tuple[Takes, Callable[[float], float]]:
    nodes, uses = placements.links_at(depth)

    def takes(at: int, way: Way) -> tuple[float, float]:
        number, time = uses.get(at, (0, 0.0))
        return number, min(time, way.duration)

    return takes, lambda _: len(nodes)


KINDS: dict[str, Kind] = {
    "gpus": _gpus,
    "gpus_for": _required,
    "jobs_of": _places,
    "slots_of": _slots,
    "links": _links,
}
