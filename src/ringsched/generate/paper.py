"""The workload of the paper's section 7."""

from __future__ import annotations

from ringsched.engine.problem import problem_of
from ringsched.errors import InputError
from ringsched.generate.draw import JOBS, SERVERS, Draw
from ringsched.generate.load import scale_for, scaled
from ringsched.generate.mixes import SIZE_MIXES, apportioned
from ringsched.model import Cluster, Contention, Job, Scenario, Server, Time
from ringsched.model.checks import integer, number

NUM_JOBS = 160
MOST_JOBS = 10_000  # a bound on patience, not on the model
NUM_SERVERS = 20
MOST_SERVERS = 10_000
SERVER_SIZES = (4, 8, 16, 32)
HORIZON_S = 1200.0  # T, at a slot of one second
CONTENTION = 0.15  # "within 15 % of the total actual execution time"
DEGRADATION = 0.2745  # α as Wang et al. measured it; the paper gives none
ITERATIONS = (1000, 6000)
# tau is drawn in hundredths of a millisecond, so that its ranges hold exactly.
TAU_UNITS_PER_S = 100_000
TAU_UNITS = (1000, 5000)  # 0.01 to 0.05 slots of one second
DURATION_S = (50, 300)  # iterations times tau
# Before scaling: the paper gives neither; only their ratios matter.
GRADIENT_MB = (0.5, 2.0)
SERVER_LATENCY_MS = 0.1


def generate_paper(
    seed: int = 0,
    servers: int = NUM_SERVERS,
    contention: float = CONTENTION,
    horizon_s: float | None = HORIZON_S,
    *,
    jobs: int = NUM_JOBS,
    share_servers: int | None = None,
) -> Scenario:
    """Return the paper's workload: 160 jobs on servers of 4, 8, 16 or 32 GPUs, in slots of a second.

    Parameters
    ----------
    seed
        Draws jobs and servers. For one seed the first n servers are the same whatever `servers` is,
        and the jobs are the same but for the factor on their gradients.
    contention
        The contention share to reach, within 0.005, by scaling all gradients and the latency.
    horizon_s
        T; None leaves it out.
    jobs
        How many jobs, in the proportions of the paper's 160.
    share_servers
        Reach the share on that many servers instead of on `servers`, so that the jobs of a sweep over
        servers are the same in every field.

    Raises
    ------
    InputError
        The servers do not hold the largest job, or the share cannot be reached in slots of a second.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.generate_paper(seed=1)
    >>> len(scenario.jobs), len(scenario.cluster.servers)
    (160, 20)
    >>> abs(ringsched.contention_share(scenario) - 0.15) <= 0.005
    True
    """
    share = number(contention, "contention", minimum=0, maximum=1)
    drawn = _Drawn(
        seed=integer(seed, "seed", minimum=0),
        num_jobs=integer(jobs, "jobs", minimum=1, maximum=MOST_JOBS),
        time=Time(horizon_s=None if horizon_s is None else number(horizon_s, "horizon_s", above=0)),
    )
    scenario = drawn.on(servers, "servers")
    if share_servers is None:
        return scaled(scenario, scale_for(scenario, share))
    scale = scale_for(drawn.on(share_servers, "share_servers"), share)
    return _checked(scaled(scenario, scale), share)


class _Drawn:
    """The jobs of a seed, to be put on the first n of its servers."""

    def __init__(self, seed: int, num_jobs: int, time: Time) -> None:
        self._seed = seed
        self._jobs = _jobs(Draw(seed, JOBS), num_jobs)
        self._time = time

    def on(self, num_servers: int, field: str) -> Scenario:
        """Return the scenario on the first `num_servers` servers, if they hold every job."""
        integer(num_servers, field, minimum=1, maximum=MOST_SERVERS)
        servers = _servers(Draw(self._seed, SERVERS), num_servers)
        capacity, largest = sum(server.gpus for server in servers), max(job.gpus for job in self._jobs)
        if capacity < largest:
            raise InputError(
                f"= {num_servers} is too few: with seed {self._seed} they hold {capacity} GPUs, and the "
                f"largest job needs {largest}",
                field=field,
            )
        return Scenario(
            name=f"paper, seed {self._seed}",
            time=self._time,
            cluster=Cluster(
                servers=servers, inter_server_gbps=10.0, intra_server_gbps=200.0, reduce_gbps=400.0
            ),
            contention=Contention(degradation=DEGRADATION, server_latency_ms=SERVER_LATENCY_MS),
            jobs=self._jobs,
        )


def _servers(draw: Draw, number_of: int) -> tuple[Server, ...]:
    return tuple(Server(name=f"s{at}", gpus=draw.choice(SERVER_SIZES)) for at in range(number_of))


def _jobs(draw: Draw, number_of: int) -> tuple[Job, ...]:
    sizes = draw.shuffled(apportioned(SIZE_MIXES["paper"], number_of))
    return tuple(_job(draw, f"job-{at}", gpus) for at, gpus in enumerate(sizes))


def _job(draw: Draw, name: str, gpus: int) -> Job:
    low, high = (seconds * TAU_UNITS_PER_S for seconds in DURATION_S)
    while True:
        iterations, tau = draw.integer(*ITERATIONS), draw.integer(*TAU_UNITS)
        if low <= iterations * tau <= high:
            break
    forward = 2 * tau // 5  # forward and backward split 2 : 3; only their sum matters
    units_per_ms = TAU_UNITS_PER_S // 1000
    return Job(
        name=name,
        gpus=gpus,
        iterations=iterations,
        gradient_mb=draw.uniform(*GRADIENT_MB),
        minibatch=1,
        forward_ms=forward / units_per_ms,
        backward_ms=(tau - forward) / units_per_ms,
    )


def _checked(scenario: Scenario, share: float) -> Scenario:
    """Return the scenario, or say that what fits a slot on other servers does not fit it on these."""
    try:
        problem_of(scenario)
    except InputError:
        raise InputError(
            f"= {share:g} on those servers asks for gradients at which the worst case of an iteration no "
            f"longer fits a slot on {len(scenario.cluster.servers)} servers",
            field="contention",
        ) from None
    return scenario
