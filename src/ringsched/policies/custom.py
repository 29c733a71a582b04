"""A policy of the user's own, in plain Python."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ringsched.engine.problem import Problem
from ringsched.engine.state import Integers
from ringsched.errors import InputError, PolicyError, UnknownName
from ringsched.model import Placement
from ringsched.model.checks import shown
from ringsched.policies.policy import (
    OWN_ORDER,
    Candidate,
    Policy,
    Settings,
    priorities,
    reported_errors,
)
from ringsched.rules.table import Rule

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
    requires: Mapping[str, str]  # labels that its servers must have
    layout: str
    limit_s: float | None
    priority: int
    deadline_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerView:
    """The present state of a server."""

    name: str
    switch: str | None
    capacity: int  # available GPUs
    idle: tuple[int, ...]
    labels: Mapping[str, str]
    uplink_gbps: float
    jobs_on_uplink: int  # running jobs whose rings cross its uplink
    jobs_on_switch_uplinks: tuple[int, ...]  # the same for the switches above it, from its own one up


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """The present state of the cluster."""

    now_s: float
    servers: tuple[ServerView, ...]


def policy_of(custom: CustomPolicy | Policy | PolicyFile) -> Policy:
    """Return the user's object as an entry like those of the table."""
    if isinstance(custom, PolicyFile):
        return policy_of(custom.load())
    if isinstance(custom, Policy):
        return custom
    given: object = custom
    if isinstance(given, Rule):
        raise InputError("is a rule; pass Policy(name=..., placement=rule)", field="policy")
    if isinstance(custom, type):
        raise InputError(f"is the class {custom.__name__}; pass an object of it", field="policy")
    if not callable(getattr(custom, "place", None)):
        raise InputError(
            "must be the name of a policy, or an object with a method place or schedule", field="policy"
        )
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

    jobs = [job_view(problem, job) for job in range(problem.num_jobs)]
    if settings.order == OWN_ORDER:
        priority = [_own_key(custom, job) for job in jobs]
    else:
        priority = priorities(problem, settings.order).tolist()

    views = ServerViews(problem)

    def place(cluster: LiveCluster, job: int) -> list[int] | None:
        servers = views.present(cluster.idle(), cluster.on_links())
        view = ClusterView(now_s=problem.seconds_at(cluster.now), servers=servers)
        with reported_errors(f"policy {name_of(custom)!r}, job {jobs[job].name!r}", custom.place):
            answer = custom.place(jobs[job], view)
        return None if answer is None else checked_gpus(custom, problem, cluster, job, answer)

    run = simulate(problem, priority, place)
    settings.on_trial()
    return None if run is None else Candidate(run, {})


def _own_key(custom: Any, job: JobView) -> Any:
    with reported_errors(f"policy {name_of(custom)!r}, job {job.name!r}", custom.order):
        return custom.order(job)


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A policy in a Python file of the user's, as `FILE.py:NAME` says it; loading executes the file."""

    path: str
    name: str

    def load(self) -> CustomPolicy | Policy:
        """Return the object of that name; a class is called without arguments."""
        module = self._called(_executed, self.path, Path(self.path).stat().st_mtime_ns)
        if not hasattr(module, self.name):
            names = [name for name, value in vars(module).items() if _is_policy(value)]
            raise UnknownName("policy", self.name, names, place=self.path)
        found = getattr(module, self.name)
        loaded: CustomPolicy | Policy = self._called(found) if isinstance(found, type) else found
        return loaded

    def _called(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except InputError:
            raise
        except Exception as error:
            problem = f"cannot be loaded: {type(error).__name__}: {error}"
            raise InputError(problem, field="policy", place=self.path) from None


def policy_from_file(text: str) -> PolicyFile | None:
    """Return the policy that `FILE.py:NAME` means; None if the text is a plain name.

    Only for text that the user typed: the file it names is executed.
    """
    path, colon, name = text.rpartition(":")
    if text.endswith(".py"):
        raise InputError(f"name the policy in it: {text}:NAME", file=text)
    if not colon or not path.endswith(".py"):
        return None
    if not Path(path).is_file():
        raise InputError("there is no such file; a custom policy is FILE.py:NAME", file=path)
    if not name:
        raise InputError(f"name the policy in it: {path}:NAME", file=path)
    return PolicyFile(os.path.abspath(path), name)  # noqa: PTH100 - a text that workers take as it is


@cache
def _executed(path: str, _changed_ns: int) -> ModuleType:
    name = f"ringsched_policy_{hashlib.sha256(path.encode()).hexdigest()[:8]}_{Path(path).stem}"
    spec = spec_from_file_location(name, path)
    assert spec is not None  # of a file that ends with .py
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and numba look it up
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def _is_policy(value: object) -> bool:
    return isinstance(value, Policy) or any(
        callable(getattr(value, method, None)) for method in ("place", "schedule")
    )


def name_of(policy: object) -> str:
    """Return the policy's own name, or that of its class."""
    name = getattr(policy, "name", None)
    return name if isinstance(name, str) and name.strip() else type(policy).__name__


def job_view(problem: Problem, index: int) -> JobView:
    """Return a job as a policy sees it."""
    job = problem.scenario.jobs[index]
    best_case_s = problem.clock.seconds(problem.best_case[index])
    return JobView(
        name=job.name,
        gpus=job.gpus,
        iterations=problem.iterations[index] + job.done_iterations,  # as they are believed
        gradient_mb=job.gradient_mb,
        submit_s=job.submit_s,
        weight=job.weight,
        server_slack=job.server_slack,
        best_case_s=best_case_s,
        estimate_s=best_case_s if job.estimate_s is None else job.estimate_s,
        requires=job.requires,
        layout=job.layout,
        limit_s=job.limit_s,
        priority=job.priority,
        deadline_s=job.deadline_s,
    )


class ServerViews:
    """The servers as a policy sees them; only views that have changed since the last call are rebuilt."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._paths = [tuple(problem.network.path(at))[1:] for at in range(problem.num_servers)]
        self._below: list[list[int]] = [[] for _ in problem.network.uplink_gbps]  # of each node: servers
        for at, path in enumerate(self._paths):
            for node in (at, *path):
                self._below[node].append(at)
        self._servers: list[ServerView] = []
        self._idle = np.zeros(problem.num_gpus, dtype=np.bool_)
        self._on_link = np.zeros(len(self._below), dtype=np.int64)

    def present(self, idle: NDArray[np.bool_], on_link: Integers) -> tuple[ServerView, ...]:
        """Return the servers, given which GPUs are idle and how many jobs cross each uplink."""
        if self._servers:
            server_of = self._problem.server_of
            changed = {server_of[gpu] for gpu in np.flatnonzero(idle != self._idle).tolist()}
            for node in np.flatnonzero(on_link != self._on_link).tolist():
                changed.update(self._below[node])
            for at in changed:
                self._servers[at] = self._server(at, idle, on_link)
        else:
            self._servers = [self._server(at, idle, on_link) for at in range(self._problem.num_servers)]
        self._idle, self._on_link = idle, on_link
        return tuple(self._servers)

    def _server(self, at: int, idle: NDArray[np.bool_], on_link: Integers) -> ServerView:
        server, first = self._problem.scenario.cluster.servers[at], self._problem.first_gpu
        return ServerView(
            name=server.name,
            switch=server.switch,
            capacity=server.capacity,
            idle=tuple(np.flatnonzero(idle[first[at] : first[at + 1]]).tolist()),
            labels=server.labels,
            uplink_gbps=self._problem.network.uplink_gbps[at],
            jobs_on_uplink=int(on_link[at]),
            jobs_on_switch_uplinks=tuple(int(on_link[node]) for node in self._paths[at]),
        )


class GpuState(Protocol):
    """What a placement is checked against."""

    def is_idle(self, gpu: int) -> bool:
        """Whether a GPU can be given to a job."""

    def may_start(self, job: int, gpus: Sequence[int]) -> bool:
        """Whether a job is permitted to start on these GPUs now."""


def checked_gpus(policy: object, problem: Problem, cluster: GpuState, job: int, answer: object) -> list[int]:
    """Return the answer as GPU numbers, or say what is wrong with it."""
    who = f"policy {name_of(policy)!r}, job {problem.scenario.jobs[job].name!r}"
    try:
        placement = Placement(answer)  # type: ignore[arg-type]
    except InputError as error:
        raise PolicyError(f"{who}: placed on {shown(answer)}: {error}") from None
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
    if not cluster.may_start(job, gpus):
        raise PolicyError(
            f"{who}: it may not start on {placement!r} now; look at its requires and layout, "
            "and at the servers' unavailable_windows"
        )
    return gpus
