"""Random scenarios for hypothesis: deep networks, tables, submit times, running jobs, both time models.

Numbers are chosen so that floats and fractions cannot disagree about ties: two jobs compare equal only
if they are alike, and an arrival in continuous time never falls on a completion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from tests.reference import formulas

from ringsched.errors import InputError
from ringsched.model import Cluster, Contention, Job, Scenario, Server, Switch, Time

FORWARD_MS = (0.0, 0.7313, 2.2361)
BACKWARD_MS = (1.6180, 2.7183, 31.4159)
GRADIENT_MB = (0.0, 3.1623, 14.1421, 99.2)
UPLINK_GBPS = (None, None, 4.4721, 25.0)
SWITCH_GBPS = (6.7082, 40.0)
SUBMIT_STEP = 0.7390851332151607


@st.composite
def networks(
    draw: st.DrawFn, max_depth: int = 4, speeds: Sequence[float] = SWITCH_GBPS
) -> tuple[Switch, ...]:
    """Switches of up to so many levels, in any order, some of them perhaps unused.

    At times one root is above all the others and has no uplink; then every server needs a switch.
    """
    is_rooted = max_depth > 1 and draw(st.integers(0, 3)) == 0
    depth: dict[str | None, int] = {None: 0}
    switches: list[Switch] = []
    for at in range(draw(st.integers(0, 5))):
        above = [name for name, levels in depth.items() if levels < max_depth]
        if is_rooted and at > 0:
            above.remove(None)
        parent = draw(st.sampled_from(above))
        uplink_gbps = None if is_rooted and at == 0 else draw(st.sampled_from(speeds))
        switches.append(Switch(name=f"r{at}", uplink_gbps=uplink_gbps, parent=parent))
        depth[f"r{at}"] = depth[parent] + 1
    return tuple(draw(st.permutations(switches)))


def switches_of(switches: Sequence[Switch]) -> list[str | None]:
    """What servers may hang on: any of the switches, or the core, unless a root has no uplink."""
    has_bare_root = any(switch.uplink_gbps is None for switch in switches)
    return [*([] if has_bare_root else [None]), *sorted(switch.name for switch in switches)]


@st.composite
def clusters(draw: st.DrawFn, max_servers: int = 5, max_gpus: int = 6, max_depth: int = 4) -> Cluster:
    switches = draw(networks(max_depth))
    servers = []
    for at in range(draw(st.integers(1, max_servers))):
        gpus = draw(st.integers(1, max_gpus))
        servers.append(
            Server(
                name=f"s{at}",
                gpus=gpus,
                switch=draw(st.sampled_from(switches_of(switches))),
                uplink_gbps=draw(st.sampled_from(UPLINK_GBPS)),
                unavailable=tuple(draw(st.sets(st.integers(0, gpus - 1), max_size=2))),
            )
        )
    if not any(server.capacity for server in servers):
        servers[0] = replace(servers[0], unavailable=())
    return Cluster(
        servers=tuple(servers),
        switches=switches,
        inter_server_gbps=10.0,
        intra_server_gbps=draw(st.sampled_from([100.0, 7.7460, {2: 100.0, 3: 6.5, 5: 4.0}])),
        reduce_gbps=400.0,
    )


@st.composite
def contentions(draw: st.DrawFn) -> Contention:
    latency = draw(st.sampled_from([0.0, 0.2]))
    if draw(st.integers(0, 4)) == 0:
        return Contention(model="reserved", server_latency_ms=latency, lanes=draw(st.integers(1, 4)))
    if draw(st.booleans()):
        steps = draw(st.lists(st.sampled_from([0.0, 0.5, 1.3]), min_size=1, max_size=4))
        table = [1.0]
        for step in steps:
            table.append(table[-1] + step)
        return Contention(server_latency_ms=latency, table=tuple(table))
    return Contention(
        server_latency_ms=latency,
        share=draw(st.sampled_from([1.0, 0.74, 0.2])),
        degradation=draw(st.sampled_from([0.0, 0.2745])),
    )


def fair_contentions() -> st.SearchStrategy[Contention]:
    models = [(model, ms) for model in ("max-min", "phases") for ms in (0.0, 0.2)]
    return st.sampled_from([Contention(model=model, server_latency_ms=ms) for model, ms in models])


@st.composite
def job_fields(draw: st.DrawFn, capacity: int) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "gpus": draw(st.integers(1, capacity)),
        "iterations": draw(st.integers(1, 60)),
        "gradient_mb": draw(st.sampled_from(GRADIENT_MB)),
        "minibatch": draw(st.integers(1, 3)),
        "forward_ms": draw(st.sampled_from(FORWARD_MS)),
        "backward_ms": draw(st.sampled_from(BACKWARD_MS)),
        "buckets": draw(st.sampled_from([1, 1, 2, 3, 25])),
        "server_slack": draw(st.sampled_from([1.0, 1.5, 4.0])),
        "weight": draw(st.sampled_from([1.0, 1.0, 2.5])),
    }
    return fields


@st.composite
def scenarios(
    draw: st.DrawFn,
    *,
    model: str | None = None,
    min_jobs: int = 2,
    max_jobs: int = 9,
    plain: bool = False,
    contention: st.SearchStrategy[Contention] | None = None,
) -> Scenario:
    """Any scenario; `plain` leaves out submit times, running jobs, estimates and horizons."""
    cluster = draw(clusters())
    free = [
        (server.name, gpu)
        for server in cluster.servers
        for gpu in range(server.gpus)
        if gpu not in server.unavailable
    ]
    free = draw(st.permutations(free))
    jobs = []
    for at in range(draw(st.integers(min_jobs, max_jobs))):
        fields = draw(job_fields(cluster.capacity))
        if not plain and fields["gpus"] <= len(free) and draw(st.integers(0, 4)) == 0:
            held: dict[str, list[int]] = {}
            for _ in range(fields["gpus"]):
                server, gpu = free.pop()
                held.setdefault(server, []).append(gpu)
            fields |= {"running_on": held, "done_iterations": draw(st.integers(0, fields["iterations"] - 1))}
        jobs.append(Job(name=f"j{at}", **fields))
    scenario = Scenario(
        cluster=cluster,
        jobs=tuple(jobs),
        contention=draw(contentions() if contention is None else contention),
        time=Time(model="continuous"),
    )
    scenario = _timed(draw, scenario, model or draw(st.sampled_from(["slotted", "continuous"])))
    return scenario if plain else _with_submits_and_horizon(draw, scenario)


def _timed(draw: st.DrawFn, scenario: Scenario, model: str) -> Scenario:
    """Slots are a little longer than the longest iteration, so that rounding down matters."""
    longest_tau = max((float(formulas.worst_case_tau(scenario, job)) for job in scenario.jobs), default=1.0)
    factor = draw(st.sampled_from([1.0001, 1.9, 7.3]))
    return scenario.replace(time=Time(model=model, slot_s=longest_tau * factor))


def _with_submits_and_horizon(draw: st.DrawFn, scenario: Scenario) -> Scenario:
    slot_s = scenario.time.slot_s
    step = slot_s if scenario.time.slotted else slot_s * SUBMIT_STEP
    jobs = []
    for job in scenario.jobs:
        changes: dict[str, Any] = {}
        if not job.is_running and draw(st.booleans()):
            offset = draw(st.sampled_from([0.0, 0.37])) if scenario.time.slotted else 0.0
            changes["submit_s"] = (draw(st.integers(0, 40)) + offset) * step
        if draw(st.integers(0, 3)) == 0:
            best_s = float(formulas.best_case_duration_s(scenario, job))
            changes["estimate_s"] = best_s * draw(st.sampled_from([0.31, 1.7]))
        jobs.append(job.replace(**changes))
    scenario = scenario.replace(jobs=tuple(jobs))
    tightness = draw(st.sampled_from([None, 1.2, 1.6, 2.5, 4.0]))
    if tightness is None or not jobs:
        return scenario
    horizon_s = float(formulas.lower_bound(scenario)) * tightness
    return scenario.replace(time=scenario.time.replace(horizon_s=horizon_s))


WINDOW_STEP = 0.5671432904097838  # no window begins or ends with a job


@st.composite
def restricted(draw: st.DrawFn, scenario: Scenario) -> Scenario:
    """The scenario with labels, windows, time limits, layouts, priorities and deadlines on top.

    What would leave a queued job without any placement is left out.
    """
    slot_s = scenario.time.slot_s
    servers = []
    for server in scenario.cluster.servers:
        windows = []
        for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
            begin = draw(st.integers(0, 30)) * WINDOW_STEP * slot_s
            windows.append((begin, begin + draw(st.integers(1, 20)) * WINDOW_STEP * slot_s))
        kind = draw(st.sampled_from(["old", "new", "new"]))
        servers.append(server.replace(labels={"gpu": kind}, unavailable_windows=tuple(windows)))
    cluster = scenario.cluster.replace(servers=tuple(servers))
    scenario = scenario.replace(cluster=cluster)
    jobs = list(scenario.jobs)
    for at, job in enumerate(jobs):
        changes: dict[str, Any] = {
            "requires": draw(st.sampled_from([{}, {}, {"gpu": "new"}, {"gpu": "old"}])),
            "layout": draw(st.sampled_from(["any", "balanced"])),
            "priority": draw(st.integers(-1, 1)),
            "deadline_s": draw(st.sampled_from([None, 7.0 * slot_s, 20.0 * slot_s])),
        }
        if draw(st.integers(0, 3)) == 0:
            best_s = float(formulas.best_case_duration_s(scenario, job))
            changes["limit_s"] = best_s * draw(st.sampled_from([0.6137, 1.0912, 3.0]))
        if draw(st.integers(0, 3)) == 0:
            changes["servers"] = draw(
                st.sampled_from([k for k in range(1, job.gpus + 1) if job.gpus % k == 0])
            )
        simpler: dict[str, Any] = {"requires": {}, "servers": None}
        for fields in (changes, changes | simpler, changes | simpler | {"layout": "any"}):
            try:
                changed = job.replace(**fields)
                scenario.replace(jobs=(changed,) if not job.is_running else ())
            except InputError:
                continue
            jobs[at] = changed
            break
    return scenario.replace(jobs=tuple(jobs))


@st.composite
def arriving(
    draw: st.DrawFn, *, model: str | None = None, max_jobs: int = 12, estimates: bool | None = None
) -> Scenario:
    """Small clusters and many jobs soon after one another, so that a queue forms; most jobs are small.

    `estimates` says whether jobs may state `estimate_s`; by default now and then.
    """
    cluster = draw(clusters(max_servers=4, max_gpus=4))
    free = draw(
        st.permutations(
            [(s.name, gpu) for s in cluster.servers for gpu in range(s.gpus) if gpu not in s.unavailable]
        )
    )
    jobs = []
    for at in range(draw(st.integers(4, max_jobs))):
        largest = draw(st.sampled_from([1, 2, 3, cluster.capacity]))
        fields = draw(job_fields(min(largest, cluster.capacity)))
        if fields["gpus"] <= len(free) and draw(st.integers(0, 7)) == 0:
            held: dict[str, list[int]] = {}
            for _ in range(fields["gpus"]):
                server, gpu = free.pop()
                held.setdefault(server, []).append(gpu)
            fields |= {"running_on": held, "done_iterations": draw(st.integers(0, fields["iterations"] - 1))}
        jobs.append(Job(name=f"j{at}", **fields))
    scenario = Scenario(
        cluster=cluster, jobs=tuple(jobs), contention=draw(contentions()), time=Time(model="continuous")
    )
    scenario = _timed(draw, scenario, model or draw(st.sampled_from(["slotted", "continuous"])))
    if estimates is None:
        estimates = draw(st.booleans())
    return scenario.replace(jobs=tuple(_arriving(draw, scenario, job, estimates) for job in scenario.jobs))


def _arriving(draw: st.DrawFn, scenario: Scenario, job: Job, estimates: bool) -> Job:
    slot_s, changes = scenario.time.slot_s, dict[str, Any]()
    if not job.is_running:
        offset = draw(st.sampled_from([0.0, 0.37])) if scenario.time.slotted else 0.0
        step = slot_s if scenario.time.slotted else slot_s * SUBMIT_STEP
        changes["submit_s"] = (draw(st.integers(0, 12)) + offset) * step
    if estimates and draw(st.booleans()):
        best_s = float(formulas.best_case_duration_s(scenario, job))
        changes["estimate_s"] = best_s * draw(st.sampled_from([0.1103, 0.3107, 1.7013, 5.3091]))
    return job.replace(**changes)
