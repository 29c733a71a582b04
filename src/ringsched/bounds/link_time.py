"""How long jobs that must cross links use them at least, and the bound on the makespan that follows."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from ringsched.bounds.fastest import spread_speeds
from ringsched.bounds.ways import Ways
from ringsched.contention.network import Network, Shape
from ringsched.engine.problem import Problem
from ringsched.model import Bound
from ringsched.model.derived import derived_once

SLACK = 1e-9  # of a quotient that is rounded up to whole slots


class Use(NamedTuple):
    """What a job that fits below no node of a level takes of its links, at least."""

    links: int  # it crosses so many of them ...
    time: float  # ... and would have each for itself so long, in the clock's units


@dataclass(frozen=True, slots=True)
class Level:
    """The nodes at one depth of the tree: every server is one of them, or below one.

    A job with GPUs at or below two of them crosses the uplinks of both.
    """

    depth: int  # 1 is below the core; servers are as deep as the deepest, too
    nodes: tuple[int, ...]
    uses: dict[int, Use]  # of each queued job that must cross links of this level


@derived_once
def levels_of(problem: Problem) -> list[Level]:
    """Return the levels that some queued job must cross."""
    found = []
    for depth in range(1, problem.network.num_levels + 1):
        nodes = nodes_at(problem.network, depth)
        uses = dict(_uses(problem, nodes))
        if uses:
            found.append(Level(depth, nodes, uses))
    return found


def nodes_at(network: Network, depth: int) -> tuple[int, ...]:
    """Return the nodes with available GPUs at a depth, and servers that hang higher."""
    nodes = set()
    for server in range(network.num_servers):
        if network.capacity[server]:
            path = list(network.path(server))
            nodes.add(path[-min(depth, len(path))])
    return tuple(sorted(nodes))


def _uses(problem: Problem, nodes: tuple[int, ...]) -> Iterator[tuple[int, Use]]:
    """Yield the jobs that fit below none of the nodes, with their use of the uplinks.

    Whenever n jobs are on a link, each has 1/n of its time, which adds up to all of it. An iteration beside
    n - 1 other jobs takes tau(n) or longer, so it takes tau(n) / n of the link's time, for the best n.
    """
    network, model = problem.network, problem.fabric.model
    sizes = sorted((network.capacity[node] for node in nodes), reverse=True)
    held = list(accumulate(sizes))
    # A job that its time limit ends may not have used all that it needs.
    unlimited = [job for job in problem.queued if problem.limit[job] == math.inf]
    crossing = [job for job in unlimited if problem.gpus[job] > sizes[0]]
    if not crossing:
        return
    speeds = spread_speeds(network, sorted({problem.gpus[job] for job in crossing}))
    fastest_gbps = max(network.uplink_gbps[node] for node in nodes)
    several = [gpus for gpus in problem.gpus if gpus >= 2]
    for job in crossing:
        gpus = problem.gpus[job]
        most_jobs = min(sizes[0], len(several), 1 + (problem.num_gpus - gpus) // min(several))
        shape = Shape(
            (), min(speed.num_servers for speed in speeds[gpus]), max(speed[0] for speed in speeds[gpus])
        )
        ring = problem.fabric.ring(problem.works[job], shape)
        per_iteration_s = model.link_time_s(ring, fastest_gbps, most_jobs, problem.clock.lasts_s)
        if per_iteration_s > 0:
            time = problem.clock.units(problem.iterations[job] * per_iteration_s)
            yield job, Use(bisect_left(held, gpus) + 1, time)


def shared_links(problem: Problem, ways: Ways, levels: list[Level]) -> Bound | None:
    """The jobs that start at or after r and must cross links of a level need all their time on them."""
    best: tuple[float, float, int] | None = None
    starts = {way.job: way.start for way in ways.queued if not way.packed}
    for level in levels:
        total = 0.0
        for job in sorted(level.uses, key=lambda job: -starts[job]):
            use = level.uses[job]
            total += use.links * use.time
            end = starts[job] + whole(problem, total / len(level.nodes))
            if best is None or end > best[0]:
                best = end, starts[job], level.depth
    if best is None:
        return None
    seconds = problem.clock.seconds
    end, start, depth = best
    return Bound(
        name="shared-links",
        value_s=seconds(end),
        terms={
            "from_s": seconds(start),
            "level": depth,
            "links": len(next(level.nodes for level in levels if level.depth == depth)),
        },
    )


def whole(problem: Problem, duration: float) -> float:
    """Return a duration, rounded up to whole slots when slotted."""
    return math.ceil(duration - SLACK * max(1.0, duration)) if problem.clock.slotted else duration
