"""The constraints on planned jobs: each by itself, and no GPU held by two at once, constraint (2)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ringsched.model import Cluster, Job, PlannedJob, Scenario, Server
from ringsched.verify.clock import Clock
from ringsched.verify.verdict import Violation, shown

Gpu = tuple[str, int]


def held_gpus(planned: PlannedJob) -> set[Gpu]:
    """Return the GPUs a planned job holds, each once."""
    return {(server, gpu) for server, gpus in planned.gpus.items() for gpu in gpus}


def check_names(scenario: Scenario, names: Sequence[str]) -> Iterator[Violation]:
    """Check that every job of the scenario is there, once, in order, and no other."""
    position = {job.name: at for at, job in enumerate(scenario.jobs)}
    counts = Counter(names)
    for name in position:
        if not counts[name]:
            yield _violation("job-missing", name, "is in the scenario, but not in the plan")
    for name, count in counts.items():
        if name not in position:
            yield _violation("job-unknown", name, "is in the plan, but not in the scenario")
        if count > 1:
            yield _violation("job-duplicate", name, f"is in the plan {count} times, expected once")
    known = [name for name in counts if name in position]
    for found, expected in zip(known, sorted(known, key=position.__getitem__), strict=True):
        if found != expected:
            problem = f"is listed where job {expected!r} is expected: jobs must be in the scenario's order"
            yield _violation("job-order", found, problem)
            return


def check_gang(planned: PlannedJob, job: Job) -> Iterator[Violation]:
    """Check that the job holds exactly as many GPUs as it needs, constraint (1)."""
    found = sum(len(set(gpus)) for gpus in planned.gpus.values())
    if found != job.gpus:
        yield _violation("gang-size", job.name, f"holds {found} GPUs, expected {job.gpus}")
    for server, gpus in planned.gpus.items():
        if not gpus:
            yield _violation("gang-size", job.name, f"lists server {server!r} without any GPU")
        for gpu, count in Counter(gpus).items() if len(set(gpus)) < len(gpus) else ():
            if count > 1:
                problem = f"names GPU {gpu} of server {server!r} {count} times, expected once"
                yield _violation("gang-size", job.name, problem)


def check_location(planned: PlannedJob, held: set[Gpu], servers: Mapping[str, Server]) -> Iterator[Violation]:
    """Check that the GPUs exist and are in use, constraint (2)."""
    for name in planned.gpus:
        if name not in servers:
            yield _violation(
                "server-unknown", planned.name, f"is on server {name!r}, which is not in the cluster"
            )
    for name, gpu in sorted(held):
        server = servers.get(name)
        if server is None:
            continue
        if not 0 <= gpu < server.gpus:
            problem = f"holds GPU {gpu} of server {name!r}, which has only GPUs 0 to {server.gpus - 1}"
            yield _violation("gpu-unknown", planned.name, problem)
        elif gpu in server.unavailable:
            problem = f"holds GPU {gpu} of server {name!r}, which is unavailable"
            yield _violation("gpu-unavailable", planned.name, problem)


def check_eligible(planned: PlannedJob, job: Job, servers: Mapping[str, Server]) -> Iterator[Violation]:
    """Check that a queued job has servers with the labels it requires, and the layout."""
    if job.running_on is not None:
        return
    for label, value in job.requires.items():
        for name in planned.gpus:
            found = servers[name].labels.get(label) if name in servers else value
            if found != value:
                has = "without that label" if found is None else f"where it is {found!r}"
                problem = f"requires {label} = {value!r}, but is on server {name!r}, {has}"
                yield _violation("server-label", job.name, problem)
    if job.layout != "balanced" and job.servers is None:
        return
    sizes = {server: len(set(gpus)) for server, gpus in planned.gpus.items() if gpus}
    if job.layout == "balanced" and len(set(sizes.values())) > 1:
        listed = ", ".join(f"{count} on {server!r}" for server, count in sizes.items())
        yield _violation("layout", job.name, f"must have equally many GPUs on each server, but has {listed}")
    if job.servers is not None and len(sizes) != job.servers:
        problem = f"must be on exactly {job.servers} of the servers, but is on {len(sizes)}"
        yield _violation("layout", job.name, problem)


def check_windows(hold: Hold, job: Job, servers: Mapping[str, Server], clock: Clock) -> Iterator[Violation]:
    """Check that a queued job holds no GPU of a server while it is unavailable."""
    if job.running_on is not None:
        return
    for name in sorted({server for server, _ in hold.gpus} & servers.keys()):
        for from_s, to_s in servers[name].unavailable_windows:
            begin = max(hold.start, clock.slot_before(from_s))
            end = min(hold.end, clock.release(to_s))
            if end > begin and clock.overlaps(begin, end, hold.end - hold.start):
                problem = (
                    f"holds GPUs of server {name!r} from {shown(clock.seconds(hold.start))} s to "
                    f"{shown(clock.seconds(hold.end))} s, "
                    f"which is unavailable from {shown(from_s)} s to {shown(to_s)} s"
                )
                yield _violation("server-window", job.name, problem)


def check_start(planned: PlannedJob, submit_s: float, clock: Clock) -> Iterator[Violation]:
    """Check that the job starts on the grid and not before it is known, constraints (4)-(5)."""
    start_s = planned.start_s
    on_grid = clock.on_grid(start_s)
    if not on_grid:
        nearest_s = shown(clock.seconds(clock.instant(start_s)))
        problem = f"starts at {shown(start_s)} s, between two slots; the nearest slot starts at {nearest_s} s"
        yield _violation("start-grid", planned.name, problem)
    early = clock.instant(start_s) < clock.release(submit_s) if on_grid else start_s < submit_s
    if early:
        problem = f"starts at {shown(start_s)} s, before it is submitted at {shown(submit_s)} s"
        yield _violation("start-before-submit", planned.name, problem)


def check_running(planned: PlannedJob, held: set[Gpu], job: Job, clock: Clock) -> Iterator[Violation]:
    """Check that a job that runs already is left where it is, constraint (3)."""
    if job.running_on is None:
        return
    if not clock.is_at(planned.start_s, 0):
        problem = f"runs already, so it starts at 0 s, not at {shown(planned.start_s)} s"
        yield _violation("running-start", job.name, problem)
    expected = {(server, gpu) for server, gpus in job.running_on.items() for gpu in gpus}
    if held != expected:
        problem = f"runs already on {_listed(expected)}, but the plan has it on {_listed(held)}"
        yield _violation("running-place", job.name, problem)


def labels_above(cluster: Cluster) -> dict[str, tuple[str, ...]]:
    """Return how messages name each server and all switches above it."""
    parent, word = {switch.name: switch.parent for switch in cluster.switches}, cluster.switch_words.one
    labels: dict[str, tuple[str, ...]] = {}
    for server in cluster.servers:
        path, switch = [f"server {server.name!r}"], server.switch
        while switch is not None:
            path.append(f"{word} {switch!r}")
            switch = parent[switch]
        labels[server.name] = tuple(path)
    return labels


def check_ring(
    planned: PlannedJob, held: set[Gpu], labels: Mapping[str, Sequence[str]]
) -> Iterator[Violation]:
    """Check that the ring has every GPU of the job once, and enters each server and switch once."""
    listed = set(planned.ring)
    missing, foreign, repeated = held - listed, listed - held, set[Gpu]()
    if len(listed) < len(planned.ring):
        repeated = {gpu for gpu, count in Counter(planned.ring).items() if count > 1}
    for gpus, problem in ((missing, "lacks"), (foreign, "names the foreign"), (repeated, "repeats")):
        if gpus:
            yield _violation("ring-gpus", planned.name, f"has a ring that {problem} {_listed(gpus)}")
    # A server that is not in the cluster is below no switch.
    paths = [labels.get(server, (f"server {server!r}",)) for server, _ in planned.ring]
    entered: Counter[str] = Counter()
    for at, path in enumerate(paths):
        before = paths[at - 1]  # the ring is closed, so the last one precedes the first
        if path is not before:
            entered.update(node for node in path if node not in before)
    for node, times in entered.items():
        if times > 1:
            problem = f"has a ring that enters {node} {times} times, expected once"
            yield _violation("ring-order", planned.name, problem)


def _listed(gpus: Iterable[Gpu]) -> str:
    named = [f"GPU {gpu} of server {server!r}" for server, gpu in sorted(gpus)]
    return ", ".join(named) if named else "no GPU"


def _violation(constraint: str, job: str, problem: str) -> Violation:
    return Violation(constraint=constraint, message=f"job {job!r} {problem}", job=job)


# All jobs on one GPU clash in quadratically many pairs; more than this are not listed.
MOST_PAIRS = 10_000


@dataclass(frozen=True, slots=True)
class Hold:
    """A job holds its GPUs from `start` up to, not including, `end`."""

    job: str
    gpus: set[Gpu]
    start: float
    end: float


def check_overlaps(holds: Iterable[Hold], clock: Clock) -> Iterator[Violation]:
    """Yield one violation for every pair of jobs that hold a GPU at the same time."""
    clashes: dict[tuple[int, int], list[Gpu]] = {}
    # The same name twice is one job named twice, which is reported as that.
    numbered = list({hold.job: hold for hold in reversed(list(holds))}.values())[::-1]
    for first, second, gpu in _clashes(numbered, clock):
        pair = (min(first, second), max(first, second))
        if pair not in clashes and len(clashes) == MOST_PAIRS:
            message = (
                f"more than {MOST_PAIRS} pairs of jobs hold GPUs at the same time; the rest is not listed"
            )
            yield Violation(constraint="gpu-overlap", message=message)
            break
        clashes.setdefault(pair, []).append(gpu)
    for (first, second), gpus in sorted(clashes.items()):
        yield _overlap(numbered[first], numbered[second], sorted(gpus), clock)


def _clashes(holds: list[Hold], clock: Clock) -> Iterator[tuple[int, int, Gpu]]:
    """Yield (hold, hold, GPU) for every clash, sweeping over each GPU in the order of time."""
    by_gpu: defaultdict[Gpu, list[int]] = defaultdict(list)
    for at in sorted(range(len(holds)), key=lambda at: holds[at].start):
        for gpu in holds[at].gpus:
            by_gpu[gpu].append(at)
    for gpu in sorted(by_gpu):
        active: list[int] = []
        for at in by_gpu[gpu]:
            active = [other for other in active if holds[other].end > holds[at].start]
            for other in active:
                first, second = holds[other], holds[at]
                shorter = min(first.end - first.start, second.end - second.start)
                if clock.overlaps(*_shared(first, second), shorter):
                    yield other, at, gpu
            active.append(at)


def _shared(first: Hold, second: Hold) -> tuple[float, float]:
    return max(first.start, second.start), min(first.end, second.end)


def _overlap(first: Hold, second: Hold, gpus: list[Gpu], clock: Clock) -> Violation:
    begin, end = _shared(first, second)
    server, gpu = gpus[0]
    others = f" (and {len(gpus) - 1} more GPUs)" if len(gpus) > 1 else ""
    message = (
        f"jobs {first.job!r} and {second.job!r} both hold GPU {gpu} of server {server!r}{others} "
        f"from {shown(clock.seconds(begin))} s to {shown(clock.seconds(end))} s"
    )
    return Violation(constraint="gpu-overlap", message=message, job=second.job)
