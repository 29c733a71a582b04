"""A policy of the user's own, in plain Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ringsched.engine.problem import Problem
from ringsched.errors import InputError, PolicyError
from ringsched.model import Placement
from ringsched.model.checks import shown
from ringsched.policies.policy import OWN_ORDER, Policy, Settings, priorities
from ringsched.search.bisection import Candidate

if TYPE_CHECKING:
    from ringsched.engine.simulate import LiveCluster


class CustomPolicy(Protocol):
    """What `ringsched.plan(policy=...)` takes besides a name.

    It may also have a `name`, and a method `order(job)` that returns a sort key (lowest first,
    ties by position in the scenario; queue order if there is none).
    """

    def place(self, job: JobView, cluster: ClusterView) -> Mapping[str, Sequence[int]] | None:
        """Return GPUs by server name for the job at the head of the queue, or None to wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """What a policy may know of a job."""

    name: str
    gpus: int
    iterations: int
    gradient_mb: float
    submit_s: float
    weight: float
    server_slack: float
    best_case_s: float
    estimate_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerView:
    """A server as it stands now."""

    name: str
    switch: str | None
    capacity: int  # available GPUs
    idle: tuple[int, ...]
    uplink_gbps: float
    jobs_on_uplink: int  # running jobs whose rings cross its uplink
    jobs_on_switch_uplinks: tuple[int, ...]  # the same for the switches above it, from its own one up


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """The cluster as it stands now."""

    now_s: float
    servers: tuple[ServerView, ...]


def policy_of(custom: CustomPolicy) -> Policy:
    """Return the user's object as an entry like those of the table."""
    if isinstance(custom, type):
        raise InputError(f"is the class {custom.__name__}; pass an object of it", field="policy")
    if not callable(getattr(custom, "place", None)):
        raise InputError("must be the name of a policy or an object with a method place", field="policy")
    return Policy(
        name=name_of(custom),
        order=OWN_ORDER if callable(getattr(custom, "order", None)) else "fifo",
        rule="its own",
        summary="a policy in Python",
        solve=partial(solve_custom, custom),
    )


def solve_custom(custom: CustomPolicy, problem: Problem, settings: Settings) -> Candidate | None:
    """Run the queue with the user's placements, and the user's order unless the caller names one."""
    from ringsched.engine.simulate import simulate

    jobs = [_job_view(problem, job) for job in range(problem.num_jobs)]
    if settings.order == OWN_ORDER:
        priority = [custom.order(job) for job in jobs]  # type: ignore[attr-defined]
    else:
        priority = priorities(problem, settings.order)

    def place(cluster: LiveCluster, job: int) -> list[int] | None:
        answer = custom.place(jobs[job], _cluster_view(problem, cluster))
        return None if answer is None else _checked(custom, problem, cluster, job, answer)

    run = simulate(problem, priority, place)
    settings.on_trial()
    return None if run is None else Candidate(run, {})


def name_of(policy: object) -> str:
    """Return the policy's own name, or that of its class."""
    name = getattr(policy, "name", None)
    return name if isinstance(name, str) and name.strip() else type(policy).__name__


def _job_view(problem: Problem, index: int) -> JobView:
    job = problem.scenario.jobs[index]
    best_case_s = problem.clock.seconds(problem.best_case[index])
    return JobView(
        name=job.name,
        gpus=job.gpus,
        iterations=job.iterations,
        gradient_mb=job.gradient_mb,
        submit_s=job.submit_s,
        weight=job.weight,
        server_slack=job.server_slack,
        best_case_s=best_case_s,
        estimate_s=best_case_s if job.estimate_s is None else job.estimate_s,
    )


def _cluster_view(problem: Problem, cluster: LiveCluster) -> ClusterView:
    first = problem.first_gpu
    paths = [tuple(problem.network.path(at))[1:] for at in range(problem.num_servers)]
    servers = tuple(
        ServerView(
            name=server.name,
            switch=server.switch,
            capacity=server.capacity,
            idle=tuple(gpu for gpu in range(server.gpus) if cluster.is_idle(first[at] + gpu)),
            uplink_gbps=problem.network.uplink_gbps[at],
            jobs_on_uplink=cluster.num_jobs_on(at),
            jobs_on_switch_uplinks=tuple(map(cluster.num_jobs_on, paths[at])),
        )
        for at, server in enumerate(problem.scenario.cluster.servers)
    )
    return ClusterView(now_s=problem.seconds_at(cluster.now), servers=servers)


def _checked(policy: object, problem: Problem, cluster: LiveCluster, job: int, answer: object) -> list[int]:
    """Return the answer as GPU numbers, or say what is wrong with it."""
    who = f"policy {name_of(policy)!r}, job {problem.scenario.jobs[job].name!r}"
    try:
        placement = Placement(answer)  # type: ignore[arg-type]
    except InputError as error:
        raise PolicyError(f"{who}: place() answered {shown(answer)}: {error}") from None
    index = problem.server_index
    gpus: list[int] = []
    for name, held in placement.items():
        if name not in index:
            raise PolicyError(f"{who}: there is no server {name!r}")
        first, end = problem.first_gpu[index[name]], problem.first_gpu[index[name] + 1]
        for gpu in held:
            if not 0 <= gpu < end - first or not cluster.is_idle(first + gpu) or first + gpu in gpus:
                raise PolicyError(f"{who}: GPU {gpu} of server {name!r} is not idle, or named twice")
            gpus.append(first + gpu)
    if len(gpus) != problem.gpus[job]:
        raise PolicyError(f"{who}: placed on {len(gpus)} GPUs, needs {problem.gpus[job]}")
    return gpus
