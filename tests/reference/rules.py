"""The placement rules of model.md, each a plain sort over all GPUs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from tests.reference.formulas import SLACK, best_case_ticks, limit_ticks, remaining_best_case_ticks

from ringsched.model import Job, Scenario

Gpu: TypeAlias = tuple[int, int]  # (server index, GPU index)

MILLION = 10**6
RULES = ("first-fit", "list-scheduling", "random", "fa-ffp", "lbsgf", "best-fit", "kappa", "lwf")


@dataclass
class State:
    """What a rule sees: the available GPUs, which of them are idle, and the load U charged to each."""

    capacity: list[int]  # per server
    idle: dict[Gpu, bool]  # in (server, GPU) order
    load: dict[Gpu, int]  # U in millionths of a tick

    @classmethod
    def empty(cls, scenario: Scenario) -> State:
        """All available GPUs idle, U = 0."""
        servers = scenario.cluster.servers
        gpus = [
            (at, gpu)
            for at, server in enumerate(servers)
            for gpu in range(server.gpus)
            if gpu not in server.unavailable
        ]
        capacity = [server.gpus - len(server.unavailable) for server in servers]
        return cls(capacity, dict.fromkeys(gpus, True), dict.fromkeys(gpus, 0))

    def only(self, seen: Sequence[bool]) -> State:
        """What a rule sees if it may look at some of the servers only."""
        return State(
            [capacity if here else 0 for capacity, here in zip(self.capacity, seen, strict=True)],
            {gpu: is_idle and seen[gpu[0]] for gpu, is_idle in self.idle.items()},
            self.load,
        )

    def num_idle(self) -> list[int]:
        """Idle GPUs of every server."""
        num = [0] * len(self.capacity)
        for (server, _), is_idle in self.idle.items():
            num[server] += is_idle
        return num

    def average_loads(self) -> dict[int, Fraction]:
        """Sum of U / capacity (the sort of Alg. 3) of the servers that have available GPUs."""
        total = [0] * len(self.capacity)
        for (server, _), u in self.load.items():
            total[server] += u
        return {at: Fraction(total[at], capacity) for at, capacity in enumerate(self.capacity) if capacity}

    def busy_shares(self) -> dict[int, Fraction]:
        """GPUs held by running jobs / capacity, of the servers that have available GPUs."""
        idle = self.num_idle()
        return {
            at: Fraction(capacity - idle[at], capacity)
            for at, capacity in enumerate(self.capacity)
            if capacity
        }

    def eligible(self, charge: int, theta: int | None) -> list[Gpu]:
        """GPUs that are idle, available and stay within theta ticks, in (server, GPU) order."""
        return [
            gpu
            for gpu, is_idle in self.idle.items()
            if is_idle and (theta is None or self.load[gpu] + charge <= theta * MILLION)
        ]


def charges(scenario: Scenario) -> dict[str, int]:
    """round(10^6 * estimate / u) for every job, u = max(1, max estimate / best case).

    Of a running job both are those of what remains.
    """
    best = {
        job.name: float(
            remaining_best_case_ticks(scenario, job) if job.is_running else best_case_ticks(scenario, job)
        )
        for job in scenario.jobs
    }
    estimates = {job.name: _estimate(scenario, job, best[job.name]) for job in scenario.jobs}
    u = max([1.0, *(estimates[name] / best[name] for name in estimates)])
    return {name: round(1e6 * estimate / u) for name, estimate in estimates.items()}


def _estimate(scenario: Scenario, job: Job, best: float) -> float:
    """rho_hat in ticks, no more than the job may run; of a running job the part of it that remains."""
    if job.estimate_s is None:
        return best
    whole = job.estimate_s / scenario.time.slot_s if scenario.time.slotted else job.estimate_s
    return min(whole * (job.remaining_iterations / job.iterations), float(limit_ticks(scenario, job)))


def choose(
    rule: str,
    state: State,
    job: Job,
    charge: int,
    theta: int | None,
    *,
    kappa: int | None = None,
    slack: float | None = None,
    rng: random.Random | None = None,
) -> list[Gpu] | None:
    """GPUs for the job by the named rule, or None if it cannot be placed now; theta None: no limit."""
    if job.layout == "balanced":
        by_kappa_rule = {"kappa": ("fa-ffp", "lbsgf"), "lwf": ("list-scheduling", "lbsgf")}
        if rule in by_kappa_rule:
            assert kappa is not None
            rule = by_kappa_rule[rule][job.gpus > kappa]
        return in_equal_parts(rule, state, job, charge, theta, rng)
    match rule:
        case "first-fit":
            return first_fit(state, job, charge, theta)
        case "list-scheduling":
            return list_scheduling(state, job, charge, theta)
        case "random":
            assert rng is not None
            return random_fit(state, job, charge, theta, rng)
        case "fa-ffp":
            return fragment_aware(state, job, charge, theta)
        case "lbsgf":
            return least_busy_servers(state, job, charge, theta, slack)
        case "best-fit":
            return best_fit(state, job)
        case "kappa":
            assert kappa is not None
            return by_kappa(state, job, charge, theta, kappa, slack)
        case "lwf":
            assert kappa is not None
            return least_workload(state, job, kappa)
    raise ValueError(f"no rule {rule!r}; there are {', '.join(RULES)}")


def _first(gpus: Sequence[Gpu], num: int) -> list[Gpu] | None:
    return list(gpus[:num]) if len(gpus) >= num else None


def first_fit(state: State, job: Job, charge: int, theta: int | None) -> list[Gpu] | None:
    """Eligible GPUs by (server, GPU)."""
    return _first(sorted(state.eligible(charge, theta)), job.gpus)


def list_scheduling(state: State, job: Job, charge: int, theta: int | None) -> list[Gpu] | None:
    """Eligible GPUs by (U, server, GPU)."""
    gpus = sorted(state.eligible(charge, theta), key=lambda gpu: (state.load[gpu], gpu))
    return _first(gpus, job.gpus)


def random_fit(
    state: State, job: Job, charge: int, theta: int | None, rng: random.Random
) -> list[Gpu] | None:
    """Uniformly among the eligible: a partial Fisher-Yates, drawn only when the job can be placed."""
    gpus = sorted(state.eligible(charge, theta))
    n = len(gpus)
    if n < job.gpus:
        return None
    for i in range(job.gpus):
        j = i + int(rng.random() * (n - i))
        gpus[i], gpus[j] = gpus[j], gpus[i]
    return gpus[: job.gpus]


def fragment_aware(state: State, job: Job, charge: int, theta: int | None) -> list[Gpu] | None:
    """FA-FFP (Alg. 2) with model.md's tie rule: by (U, -busy share, server, GPU), sorted once."""
    shares = state.busy_shares()
    # The rank of a share orders like the share itself and is cheaper to compare.
    distinct = sorted(set(shares.values()))
    rank = {server: distinct.index(share) for server, share in shares.items()}
    gpus = sorted(state.eligible(charge, theta), key=lambda gpu: (state.load[gpu], -rank[gpu[0]], gpu))
    return _first(gpus, job.gpus)


def least_busy_servers(
    state: State, job: Job, charge: int, theta: int | None, slack: float | None = None
) -> list[Gpu] | None:
    """LBSGF (Alg. 3): the least loaded servers that are large enough together, then by (U, server, GPU)."""
    loads = state.average_loads()
    servers = sorted(loads, key=lambda server: (loads[server], server))
    wanted = Fraction(job.server_slack if slack is None else slack) * job.gpus - SLACK
    selected: list[int] = []
    for server in servers:
        if sum(state.capacity[at] for at in selected) >= wanted:
            break
        selected.append(server)
    gpus = [gpu for gpu in state.eligible(charge, theta) if gpu[0] in selected]
    return _first(sorted(gpus, key=lambda gpu: (state.load[gpu], gpu)), job.gpus)


def by_kappa(
    state: State, job: Job, charge: int, theta: int | None, kappa: int, slack: float | None = None
) -> list[Gpu] | None:
    """The choice in the inner loop of Alg. 1: FA-FFP if G_j <= kappa, else LBSGF."""
    if job.gpus <= kappa:
        return fragment_aware(state, job, charge, theta)
    return least_busy_servers(state, job, charge, theta, slack)


def least_workload(state: State, job: Job, kappa: int) -> list[Gpu] | None:
    """LWF-kappa: idle GPUs by U, or server by server by average U if the job has more than kappa."""
    loads = state.average_loads()
    gpus = [gpu for gpu, is_idle in state.idle.items() if is_idle]
    if job.gpus <= kappa:
        return _first(sorted(gpus, key=lambda gpu: (state.load[gpu], gpu)), job.gpus)
    return _first(sorted(gpus, key=lambda gpu: (loads[gpu[0]], gpu[0], state.load[gpu], gpu[1])), job.gpus)


def best_fit(state: State, job: Job, closed: Sequence[int] = ()) -> list[Gpu] | None:
    """The fullest server that fits, else the emptiest servers one after the other; theta does not apply.

    In the second case not the `closed` ones.
    """
    idle = state.num_idle()
    fitting = [server for server in range(len(idle)) if idle[server] >= job.gpus]
    if fitting:
        order = [min(fitting, key=lambda server: (idle[server], server))]
    else:
        usable = [server for server in range(len(idle)) if server not in closed]
        order = sorted(usable, key=lambda server: (-idle[server], server))
    gpus = [gpu for gpu, is_idle in state.idle.items() if is_idle and gpu[0] in order]
    return _first(sorted(gpus, key=lambda gpu: (order.index(gpu[0]), gpu)), job.gpus)


# --- balanced layouts -------------------------------------------------------------------------


def numbers_of_parts(state: State, job: Job) -> list[int]:
    """On how many servers the job can be in equal parts, the fewest first."""
    numbers = range(1, len(state.capacity) + 1)
    return [parts for parts in numbers if job.gpus % parts == 0 and job.servers in (None, parts)]


def in_equal_parts(
    rule: str, state: State, job: Job, charge: int, theta: int | None, rng: random.Random | None
) -> list[Gpu] | None:
    """The first k servers in the rule's own order that have G/k eligible GPUs, k in ascending order."""
    for parts in numbers_of_parts(state, job):
        if rule == "best-fit":
            gpus = best_fit_in_parts(state, job.gpus, parts)
        else:
            gpus = _first_parts(rule, state, job.gpus, parts, state.eligible(charge, theta), rng)
        if gpus is not None:
            return gpus
    return None


def best_fit_in_parts(
    state: State, num_gpus: int, parts: int, closed: Sequence[int] = ()
) -> list[Gpu] | None:
    """One server: the fullest that fits; several: the emptiest, not the `closed` ones."""
    idle, each = state.num_idle(), num_gpus // parts
    fitting = [server for server in range(len(idle)) if idle[server] >= each]
    if parts == 1:
        fitting.sort(key=lambda server: idle[server])
    else:
        fitting = [server for server in fitting if server not in closed]
        fitting.sort(key=lambda server: -idle[server])
    if len(fitting) < parts:
        return None
    return [
        gpu
        for server in fitting[:parts]
        for gpu in [gpu for gpu, is_idle in state.idle.items() if is_idle and gpu[0] == server][:each]
    ]


def _first_parts(
    rule: str, state: State, num_gpus: int, parts: int, eligible: list[Gpu], rng: random.Random | None
) -> list[Gpu] | None:
    each = num_gpus // parts
    by_server: dict[int, list[Gpu]] = {}
    for gpu in sorted(eligible):
        by_server.setdefault(gpu[0], []).append(gpu)
    servers = [server for server, gpus in by_server.items() if len(gpus) >= each]
    if len(servers) < parts:
        return None
    if rule == "random":
        assert rng is not None
        servers = [servers.pop(int(rng.random() * len(servers))) for _ in range(parts)]
    least = {server: min(state.load[gpu] for gpu in by_server[server]) for server in servers}
    if rule == "list-scheduling":
        servers.sort(key=lambda server: least[server])
    elif rule == "fa-ffp":
        shares = state.busy_shares()
        servers.sort(key=lambda server: (least[server], -shares[server]))
    elif rule == "lbsgf":
        loads = state.average_loads()
        servers.sort(key=lambda server: loads[server])
    if rule not in ("first-fit", "random"):
        for gpus in by_server.values():
            gpus.sort(key=lambda gpu: (state.load[gpu], gpu))
    return [gpu for server in servers[:parts] for gpu in by_server[server][:each]]
