"""Iteration time, best and worst case, and the core bounds, as model.md writes them.

Everything is exact: each float of the scenario becomes the `Fraction` it stands for. Where a
function takes `number`, `float` may be given instead, to run large instances in plain floats.

A *tick* is a slot when time is slotted and a second when it is continuous: the unit of theta, T
and the charges. Durations are whole ticks (int) when slotted, `Fraction` seconds when continuous.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TypeAlias

from tests.reference.phases import Phased, phased

from ringsched.model import Contention, Job, Scenario, Server

Amount: TypeAlias = Fraction | float  # float includes int
Number: TypeAlias = type[Fraction] | type[float]
Gpus: TypeAlias = Mapping[str, Sequence[int]]  # server name -> GPU indices
Node: TypeAlias = tuple[str, str]  # ("server", name) or ("switch", name)
Above: TypeAlias = Mapping[str, Sequence[Node]]  # server name -> the server, and all switches above it

SLACK = Fraction(1, 10**9)


# --- the network tree -------------------------------------------------------------------------


def uplinks(scenario: Scenario, number: Number = Fraction) -> dict[Node, Amount]:
    """Speed of every node's uplink in Gbit/s; a server's own one, else `inter_server_gbps`."""
    cluster = scenario.cluster
    speeds: dict[Node, Amount] = {}
    for server in cluster.servers:
        own = cluster.inter_server_gbps if server.uplink_gbps is None else server.uplink_gbps
        speeds["server", server.name] = number(own)
    for switch in cluster.switches:
        if switch.uplink_gbps is not None:  # a root above everything needs none
            speeds["switch", switch.name] = number(switch.uplink_gbps)
    return speeds


def nodes_above(scenario: Scenario) -> Above:
    """The server itself and all switches above it, for every server."""
    parent = {switch.name: switch.parent for switch in scenario.cluster.switches}
    above: dict[str, list[Node]] = {}
    for server in scenario.cluster.servers:
        above[server.name] = [("server", server.name)]
        switch = server.switch
        while switch is not None:
            above[server.name].append(("switch", switch))
            switch = parent[switch]
    return above


def capacities(scenario: Scenario) -> dict[Node, int]:
    """Available GPUs at or below every node with an uplink."""
    below = dict.fromkeys(uplinks(scenario), 0)
    above = nodes_above(scenario)
    for server in scenario.cluster.servers:
        for node in above[server.name]:
            if node in below:
                below[node] += server.gpus - len(server.unavailable)
    return below


def workers_below(placement: Gpus, above: Above) -> dict[Node, int]:
    """y_j(v), for the nodes v where it is not zero."""
    below: Counter[Node] = Counter()
    for name, held in placement.items():
        for node in above[name] if held else ():
            below[node] += len(held)
    return dict(below)


def crossed(job: Job, placement: Gpus, above: Above) -> list[Node]:
    """Nodes whose uplink the job crosses: 0 < y_j(v) < G_j, eq. (6) for any node."""
    return [node for node, y in workers_below(placement, above).items() if 0 < y < job.gpus]


# --- iteration time ---------------------------------------------------------------------------


def contention_factor(contention: Contention, num_jobs: int, number: Number = Fraction) -> Amount:
    """f at `num_jobs` jobs on a link."""
    if contention.model in ("max-min", "phases"):
        return number(num_jobs)
    if contention.model == "reserved":
        assert contention.lanes is not None
        return number(max(contention.lanes, num_jobs))
    if contention.table is not None:
        return _from_table([number(factor) for factor in contention.table], num_jobs)
    assert contention.share is not None
    assert contention.degradation is not None
    k = max(number(1), number(contention.share) * num_jobs)
    return k + number(contention.degradation) * (k - 1)


def _from_table(table: Sequence[Amount], num_jobs: int) -> Amount:
    """Entry of the table; beyond its end the last step's slope goes on."""
    if num_jobs <= len(table):
        return table[num_jobs - 1]
    return table[-1] + (num_jobs - len(table)) * (table[-1] - table[-2])


def tau_at(
    scenario: Scenario, job: Job, bandwidth: Amount | None, num_servers: int, number: Number = Fraction
) -> Amount:
    """tau in seconds at bandwidth B in Gbit/s and so many servers used; B is not needed for w = 1."""
    w = job.gpus
    gigabits = number(job.gradient_mb) * 8 / 1000 * (w - 1) / w  # m (w - 1) / w
    exchange = number(0) if bandwidth is None else 2 * gigabits / bandwidth
    reduction = gigabits / number(scenario.cluster.reduce_gbps)
    latency = number(scenario.contention.server_latency_ms) / 1000 * num_servers
    compute = (number(job.forward_ms) * job.minibatch + number(job.backward_ms)) / 1000
    communication = exchange + reduction + latency
    # Bucket by bucket: it is ready when its part of the backward pass is done, and sent after the one before.
    backward, end = number(job.backward_ms) / 1000, number(0)
    for bucket in range(1, job.buckets + 1):
        end = max(end, backward * bucket / job.buckets) + communication / job.buckets
    return compute - backward + end


def iteration_times(
    scenario: Scenario, running: Iterable[tuple[Job, Gpus]], number: Number = Fraction
) -> dict[str, Amount]:
    """tau_j in seconds of every job, by name, when exactly these jobs run on these GPUs."""
    above = nodes_above(scenario)
    speeds = uplinks(scenario, number)
    crossing = [(job, placement, crossed(job, placement, above)) for job, placement in running]
    if scenario.contention.model == "max-min":
        return _fair_iteration_times(scenario, crossing, speeds, number)
    if scenario.contention.model == "phases":
        return {name: tau for name, (tau, _) in phased_iteration_times(scenario, crossing).items()}
    n = Counter(v for _, _, nodes in crossing for v in nodes)
    taus = {}
    for job, placement, nodes in crossing:
        links = [speeds[v] / contention_factor(scenario.contention, n[v], number) for v in nodes]
        links += [number(inside(scenario, len(held))) for held in placement.values() if len(held) >= 2]
        num_servers = sum(1 for held in placement.values() if held)
        taus[job.name] = tau_at(scenario, job, min(links, default=None), num_servers, number)
    return taus


def _fair_iteration_times(
    scenario: Scenario,
    crossing: Sequence[tuple[Job, Gpus, list[Node]]],
    speeds: Mapping[Node, Amount],
    number: Number,
) -> dict[str, Amount]:
    """tau_j = bits_j / r_j with r the max-min fair allocation, all demands capped at r_solo."""
    taus: dict[str, Amount] = {}
    bits, wanted, links_of = {}, {}, {}
    for job, placement, nodes in crossing:
        links = [speeds[v] for v in nodes]
        links += [number(inside(scenario, len(held))) for held in placement.values() if len(held) >= 2]
        num_servers = sum(1 for held in placement.values() if held)
        taus[job.name] = tau_at(scenario, job, min(links, default=None), num_servers, number)
        exchanged = 2 * number(job.gradient_mb) * 8 / 1000 * (job.gpus - 1) / job.gpus
        if nodes and exchanged > 0:
            bits[job.name], links_of[job.name] = exchanged, nodes
            wanted[job.name] = exchanged / taus[job.name]
    for name, rate in _max_min(wanted, links_of, speeds).items():
        taus[name] = bits[name] / rate
    return taus


def phased_iteration_times(
    scenario: Scenario, crossing: Sequence[tuple[Job, Gpus, list[Node]]]
) -> dict[str, tuple[Amount, Node | None]]:
    """tau_j, and the link on which the job is slowed, of exchanges that meet by chance."""
    speeds = {node: Fraction(speed) for node, speed in uplinks(scenario).items()}
    found: dict[str, tuple[Amount, Node | None]] = {}
    rings, links_of = {}, {}
    for job, placement, nodes in crossing:
        links = [speeds[v] for v in nodes]
        links += [Fraction(inside(scenario, len(held))) for held in placement.values() if len(held) >= 2]
        num_servers = sum(1 for held in placement.values() if held)
        found[job.name] = tau_at(scenario, job, min(links, default=None), num_servers), None
        gbit = 2 * Fraction(job.gradient_mb) * 8 / 1000 * (job.gpus - 1) / job.gpus
        if nodes and gbit > 0:
            tau = partial(_tau_by_rate, scenario, job, num_servers)
            rings[job.name] = Phased(gbit, min(links), tau)
            links_of[job.name] = [node for node in speeds if node in nodes]  # servers in order, then switches
    wanted = {name: ring.gbps for name, ring in rings.items()}
    crowded = {name: Fraction(rate) for name, rate in _max_min(wanted, links_of, speeds).items()}
    for name, (rate, node) in phased(rings, links_of, speeds, crowded).items():
        found[name] = rings[name].tau(rate), node
    return found


def _tau_by_rate(scenario: Scenario, job: Job, num_servers: int, rate: Fraction) -> Fraction:
    return Fraction(tau_at(scenario, job, rate, num_servers))


def _max_min(
    wanted: Mapping[str, Amount], links_of: Mapping[str, list[Node]], speeds: Mapping[Node, Amount]
) -> dict[str, Amount]:
    """Raise all rates together, from event to event: a demand is met, or a link is full."""
    rates: dict[str, Amount] = dict.fromkeys(wanted, Fraction(0))
    rising = set(wanted)
    while rising:
        used = {v: sum(rates[name] for name in wanted if v in links_of[name]) for v in speeds}
        sharers = {v: sum(v in links_of[name] for name in rising) for v in speeds}
        steps = [wanted[name] - rates[name] for name in rising]
        steps += [(speeds[v] - used[v]) / sharers[v] for v in speeds if sharers[v]]
        step = min(steps)
        for name in rising:
            rates[name] += step
        full = {v for v in speeds if sharers[v] and used[v] + step * sharers[v] >= speeds[v]}
        rising -= {name for name in rising if rates[name] >= wanted[name] or full & set(links_of[name])}
    return rates


def iteration_time(
    scenario: Scenario, job: Job, placement: Gpus, others: Iterable[tuple[Job, Gpus]] = ()
) -> Fraction:
    """tau_j in seconds on these GPUs, next to the other running jobs."""
    return Fraction(iteration_times(scenario, [(job, placement), *others])[job.name])


def iterations_per_slot(scenario: Scenario, tau: Amount, number: Number = Fraction) -> int:
    """phi = floor(slot_s / tau + 1e-9); a job with less than one is refused as input."""
    phi = math.floor(number(scenario.time.slot_s) / tau + number(1) / 10**9)
    if phi < 1:
        raise ValueError(f"an iteration of {float(tau)} s does not fit into a slot")
    return phi


# --- durations and releases -------------------------------------------------------------------


def tick_s(scenario: Scenario) -> Fraction:
    """Seconds in a tick: slot_s when slotted, 1 when continuous."""
    return Fraction(scenario.time.slot_s) if scenario.time.slotted else Fraction(1)


def duration_ticks(scenario: Scenario, iterations: int, tau: Amount) -> Amount:
    """ceil(F / phi) slots when slotted, F * tau seconds when continuous."""
    if scenario.time.slotted:
        return math.ceil(Fraction(iterations, iterations_per_slot(scenario, tau)))
    return iterations * tau


def release_ticks(scenario: Scenario, job: Job) -> Amount:
    """When the job enters the queue: the first slot boundary at or after it (1e-9 slack) when slotted."""
    if scenario.time.slotted:
        slots = Fraction(job.submit_s) / Fraction(scenario.time.slot_s)
        return math.ceil(slots - SLACK - 2 * Fraction(math.ulp(slots)))
    return Fraction(job.submit_s)


def origin_ticks(scenario: Scenario) -> Amount:
    """The first release, which makespan, bounds and horizon count from; 0 if a job runs, or without jobs."""
    if any(job.is_running for job in scenario.jobs):
        return 0
    return min((release_ticks(scenario, job) for job in scenario.jobs), default=0)


def inside(scenario: Scenario, held: int) -> float:
    """The speed inside a server of which a job holds so many GPUs."""
    table = (
        dict(scenario.cluster.expanded()["intra_server_gbps"]) if scenario.cluster.intra_server_steps else {}
    )
    reached = [int(gpus) for gpus in table if int(gpus) <= held]
    return float(table[str(max(reached))]) if reached else scenario.cluster.intra_server_gbps


def best_case_tau(scenario: Scenario, job: Job) -> Fraction:
    """The shorter of one server (a) and the fewest servers, at least two (b), of those with its labels."""
    servers = [server for server in scenario.cluster.servers if has_labels(server, job)]
    sizes = sorted((server.capacity for server in servers), reverse=True)
    speeds = [uplinks(scenario)["server", server.name] for server in servers]
    options = []
    if sizes[0] >= job.gpus and (job.servers in (None, 1) or job.is_running):
        options.append(tau_at(scenario, job, Fraction(inside(scenario, job.gpus)), 1))
    if job.gpus >= 2 and len(sizes) >= 2:
        if job.layout == "balanced" and not job.is_running:
            enough = [k for k in range(2, len(sizes) + 1) if is_divided(job, k, sizes[k - 1])]
        else:
            enough = [k for k in range(2, len(sizes) + 1) if sum(sizes[:k]) >= job.gpus]
        fastest = max(speeds) / contention_factor(scenario.contention, 1)
        options += [tau_at(scenario, job, fastest, k) for k in enough[:1]]
    return Fraction(min(options))


def has_labels(server: Server, job: Job) -> bool:
    """Whether the job may ever use the server; where a job runs already is not asked."""
    return job.is_running or all(label in server.labels.items() for label in job.requires.items())


def is_divided(job: Job, num_servers: int, smallest: int) -> bool:
    """Whether the job's GPUs can be on so many servers in equal parts, the smallest of this size."""
    is_wanted = job.servers in (None, num_servers)
    return is_wanted and job.gpus % num_servers == 0 and job.gpus // num_servers <= smallest


def limit_ticks(scenario: Scenario, job: Job) -> Amount | float:
    """How long the job may run: whole slots, the last one counted, or seconds; infinity without a limit."""
    if job.limit_s is None:
        return math.inf
    if scenario.time.slotted:
        slots = Fraction(job.limit_s) / Fraction(scenario.time.slot_s)
        return math.ceil(slots - SLACK - 2 * Fraction(math.ulp(slots)))
    return Fraction(job.limit_s)


def windows_ticks(scenario: Scenario, server: Server) -> list[tuple[Amount, Amount]]:
    """When the server is unavailable: whole slots if a part of them is, or seconds."""
    if not scenario.time.slotted:
        return [(Fraction(begin), Fraction(end)) for begin, end in server.unavailable_windows]
    windows: list[tuple[Amount, Amount]] = []
    for window in server.unavailable_windows:
        begin, end = (Fraction(time) / Fraction(scenario.time.slot_s) for time in window)
        slack_begin, slack_end = (SLACK + 2 * Fraction(math.ulp(ratio)) for ratio in (begin, end))
        windows.append((math.floor(begin + slack_begin), math.ceil(end - slack_end)))
    return windows


def worst_case_tau(scenario: Scenario, job: Job) -> Fraction:
    """Every node as full of contending jobs as it can be; a one-GPU job's worst case is its best case."""
    if job.gpus == 1:
        return best_case_tau(scenario, job)
    num_servers = min(job.gpus, len(scenario.cluster.servers))
    rings = sum(1 for other in scenario.jobs if other.gpus >= 2)
    capacity = capacities(scenario)
    most = max(2, min(job.gpus, max(server.capacity for server in scenario.cluster.servers)))
    intra = Fraction(min(inside(scenario, held) for held in range(2, most + 1)))
    links: list[Amount] = [intra]
    if num_servers >= 2:
        for v, speed in uplinks(scenario).items():
            n = max(1, min(capacity[v], rings))
            links.append(speed / contention_factor(scenario.contention, n))
    if scenario.contention.model == "max-min" and num_servers >= 2:
        alone = tau_at(scenario, job, min(intra, *uplinks(scenario).values()), num_servers)
        exchanged = 2 * Fraction(job.gradient_mb) * 8 / 1000 * (job.gpus - 1) / job.gpus
        return Fraction(max(alone, exchanged / min(links[1:])))
    return Fraction(tau_at(scenario, job, min(links), num_servers))


def best_case_ticks(scenario: Scenario, job: Job) -> Amount:
    """Best-case duration of the whole job; it bounds every placement from below."""
    return _cut(scenario, job, duration_ticks(scenario, job.iterations, best_case_tau(scenario, job)))


def _cut(scenario: Scenario, job: Job, duration: Amount) -> Amount:
    limit = limit_ticks(scenario, job)
    return duration if duration <= limit else Fraction(limit)


def worst_case_ticks(scenario: Scenario, job: Job) -> Amount:
    """Worst-case duration of what the job has still to do (all of it, unless it runs already)."""
    duration = duration_ticks(scenario, job.remaining_iterations, worst_case_tau(scenario, job))
    return _cut(scenario, job, duration)


def remaining_best_case_ticks(scenario: Scenario, job: Job) -> Amount:
    """A running job's remaining best case: at its own placement without contention."""
    assert job.running_on is not None
    tau = iteration_time(scenario, job, job.running_on)
    return _cut(scenario, job, duration_ticks(scenario, job.remaining_iterations, tau))


def best_case_duration_s(scenario: Scenario, job: Job) -> Fraction:
    """Best-case duration in seconds."""
    return Fraction(best_case_ticks(scenario, job)) * tick_s(scenario)


def worst_case_duration_s(scenario: Scenario, job: Job) -> Fraction:
    """Worst-case duration in seconds."""
    return Fraction(worst_case_ticks(scenario, job)) * tick_s(scenario)


def remaining_best_case_s(scenario: Scenario, job: Job) -> Fraction:
    """A running job's remaining best case in seconds."""
    return Fraction(remaining_best_case_ticks(scenario, job)) * tick_s(scenario)


# --- core bounds ------------------------------------------------------------------------------


def core_bounds(scenario: Scenario) -> tuple[Fraction, Fraction, Fraction]:
    """The three core bounds on the makespan in seconds: longest job, area, jobs over half the cluster."""
    total = scenario.cluster.capacity
    origin = origin_ticks(scenario)
    released = {job.name: release_ticks(scenario, job) - origin for job in scenario.jobs}
    shortest = {job.name: _shortest_ticks(scenario, job) for job in scenario.jobs}
    longest = area = wide = Fraction(0)
    for r in released.values():
        later = [job for job in scenario.jobs if released[job.name] >= r]
        work = Fraction(sum(job.gpus * shortest[job.name] for job in later)) / total
        area = max(area, Fraction(r) + (math.ceil(work) if scenario.time.slotted else work))
        wide = max(wide, Fraction(r + sum(shortest[job.name] for job in later if 2 * job.gpus > total)))
    for name, r in released.items():
        longest = max(longest, Fraction(r + shortest[name]))
    unit = tick_s(scenario)
    return longest * unit, area * unit, wide * unit


def _shortest_ticks(scenario: Scenario, job: Job) -> Amount:
    if job.running_on is not None:
        return remaining_best_case_ticks(scenario, job)
    return best_case_ticks(scenario, job)


def lower_bound(scenario: Scenario) -> Fraction:
    """The largest core bound on the makespan, in seconds; 0 without jobs."""
    return max(core_bounds(scenario))
