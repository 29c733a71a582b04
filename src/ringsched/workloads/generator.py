"""A scenario out of a workload and a seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ringsched.engine.problem import problem_of
from ringsched.errors import InputError
from ringsched.formats.catalogue import TIMED
from ringsched.model import Cluster, Contention, Job, Scenario, Server
from ringsched.model.checks import instance, integer
from ringsched.workloads.draw import JOBS, SERVERS, Draw
from ringsched.workloads.load import best_taus, scale_for, scaled
from ringsched.workloads.mixes import apportioned, model_mix, size_mix
from ringsched.workloads.workload import SECONDS_PER_HOUR, DrawnServers, Workload

Kind = tuple[int, str]  # GPUs and model

# Section 7 of the paper.
SERVER_SIZES = (4, 8, 16, 32)
ITERATIONS = (1000, 6000)
# tau is drawn in hundredths of a millisecond, so that its ranges hold exactly.
TAU_UNITS_PER_S = 100_000
TAU_UNITS = (1000, 5000)  # 0.01 to 0.05 slots of one second
DURATION_S = (50, 300)  # iterations times tau
GRADIENT_MB = (0.5, 2.0)  # before scaling: the paper gives none, only their ratios matter


def generate(workload: Workload, *, seed: int = 0) -> Scenario:
    """Return the scenario that a seed draws from a workload; the same arguments give the same bytes.

    Raises
    ------
    InputError
        Drawn servers do not hold the largest job, the contention share cannot be reached, or the slot is
        too short.

    Examples
    --------
    >>> import ringsched
    >>> workload = ringsched.Workload.uniform(jobs=40, cluster=ringsched.Cluster.of_servers(16, switches=4))
    >>> ringsched.generate(workload, seed=3).name
    'uniform, seed 3'
    """
    instance(workload, "workload", Workload)
    draw = Draw(integer(seed, "seed", minimum=0), JOBS)
    sizes = draw.shuffled(apportioned(size_mix(workload.sizes, "sizes"), workload.jobs))
    servers, largest = workload.cluster, max(sizes)
    cluster = servers if isinstance(servers, Cluster) else _drawn(servers.servers, "servers", seed, largest)
    jobs_of = _paper_jobs if workload.models is None else _known_jobs
    scenario = Scenario(
        name=f"{workload.name}, seed {seed}",
        time=workload.time,
        cluster=cluster,
        contention=workload.contention,
        jobs=jobs_of(draw, sizes, workload, cluster),
    )
    if workload.contention_share is None:
        return _plannable(scenario)
    if not isinstance(servers, DrawnServers) or servers.share_servers is None:
        return scaled(scenario, scale_for(scenario, workload.contention_share))
    there = _drawn(servers.share_servers, "share_servers", seed, largest)
    scale = scale_for(scenario.replace(cluster=there), workload.contention_share)
    return _still_plannable(scaled(scenario, scale), workload.contention_share)


def _drawn(num_servers: int, field: str, seed: int, largest: int) -> Cluster:
    """Return the first servers of a seed, if they hold the largest job."""
    draw = Draw(seed, SERVERS)
    cluster = Cluster(
        servers=tuple(Server(name=f"s{at}", gpus=draw.choice(SERVER_SIZES)) for at in range(num_servers)),
        inter_server_gbps=10.0,
        intra_server_gbps=200.0,
        reduce_gbps=400.0,
    )
    if cluster.capacity < largest:
        raise InputError(
            f"= {num_servers} is too few: with seed {seed} they hold {cluster.capacity} GPUs, and the "
            f"largest job needs {largest}",
            field=field,
        )
    return cluster


def _submits_s(
    draw: Draw, sizes: Sequence[int], durations_s: Sequence[float], workload: Workload, cluster: Cluster
) -> list[float]:
    gpu_seconds = sum(gpus * duration_s for gpus, duration_s in zip(sizes, durations_s, strict=True))
    return workload.arrivals.submits_s(draw, len(sizes), gpu_seconds, cluster.capacity)


def _paper_jobs(draw: Draw, sizes: Sequence[int], workload: Workload, cluster: Cluster) -> tuple[Job, ...]:
    """Return jobs without a model; how long they exchange is left to the scale."""
    low, high = (seconds * TAU_UNITS_PER_S for seconds in DURATION_S)
    drawn = []
    for _ in sizes:
        iterations, tau = draw.integer(*ITERATIONS), draw.integer(*TAU_UNITS)
        while not low <= iterations * tau <= high:
            iterations, tau = draw.integer(*ITERATIONS), draw.integer(*TAU_UNITS)
        drawn.append((iterations, tau, draw.uniform(*GRADIENT_MB)))
    durations_s = [iterations * tau / TAU_UNITS_PER_S for iterations, tau, _ in drawn]
    submits_s = _submits_s(draw, sizes, durations_s, workload, cluster)
    units_per_ms = TAU_UNITS_PER_S // 1000
    return tuple(
        Job(
            name=f"job-{at}",
            gpus=gpus,
            iterations=iterations,
            gradient_mb=gradient_mb,
            minibatch=1,
            # Forward and backward split 2 : 3; only their sum matters.
            forward_ms=(2 * tau // 5) / units_per_ms,
            backward_ms=(tau - 2 * tau // 5) / units_per_ms,
            submit_s=submit_s,
        )
        for at, (gpus, (iterations, tau, gradient_mb), submit_s) in enumerate(
            zip(sizes, drawn, submits_s, strict=True)
        )
    )


def _known_jobs(draw: Draw, sizes: Sequence[int], workload: Workload, cluster: Cluster) -> tuple[Job, ...]:
    """Return jobs of models of the catalogue, with the iterations their durations take in the best case."""
    assert workload.models is not None
    models = draw.shuffled(apportioned(model_mix(workload.models, "models"), workload.jobs))
    kinds = list(zip(sizes, models, strict=True))
    low_s, high_s = workload.min_hours * SECONDS_PER_HOUR, workload.max_hours * SECONDS_PER_HOUR
    durations_s = [draw.log_uniform(low_s, high_s) for _ in kinds]
    submits_s = _submits_s(draw, sizes, durations_s, workload, cluster)
    tau_s = known_taus(kinds, cluster, workload.contention)
    return tuple(
        known_job(f"{kind[1]}-{at}", kind, iterations_of(duration_s, tau_s[kind]), submit_s)
        for at, (kind, duration_s, submit_s) in enumerate(zip(kinds, durations_s, submits_s, strict=True))
    )


def known_job(name: str, kind: Kind, iterations: int, submit_s: float) -> Job:
    """Return a job of a model of the catalogue."""
    gpus, model = kind
    return Job(name=name, gpus=gpus, iterations=iterations, submit_s=submit_s, **TIMED[model].fields())


def known_taus(kinds: Iterable[Kind], cluster: Cluster, contention: Contention) -> dict[Kind, float]:
    """Return the best-case seconds per iteration of each kind."""
    probes = {kind: known_job(f"{kind[1]} on {kind[0]} GPUs", kind, 1, 0.0) for kind in sorted(set(kinds))}
    return best_taus(probes, cluster, contention)


def iterations_of(duration_s: float, tau_s: float) -> int:
    """Return how many iterations come nearest to a duration, at least one."""
    return max(1, round(duration_s / tau_s))


def _plannable(scenario: Scenario) -> Scenario:
    """Return the scenario if it can be planned: its slot long enough, its links fast enough."""
    try:
        problem_of(scenario)
    except InputError as error:
        if not scenario.time.slotted or error.field != "an iteration":
            raise
        raise InputError(
            f"= {scenario.time.slot_s:g} is shorter than an iteration of {error.place} in the worst case; "
            "leave it out for continuous time",
            field="slot_s",
        ) from None
    return scenario


def _still_plannable(scenario: Scenario, share: float) -> Scenario:
    """Return the scenario, or raise if its iterations do not fit into a slot on these servers."""
    try:
        problem_of(scenario)
    except InputError:
        raise InputError(
            f"= {share:g} on those servers asks for gradients at which the worst case of an iteration no "
            f"longer fits a slot on {len(scenario.cluster.servers)} servers",
            field="contention_share",
        ) from None
    return scenario
