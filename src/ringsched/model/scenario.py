"""A scenario: everything a plan depends on, and how time runs in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ringsched.errors import InputError, UnknownName
from ringsched.formatting import counted, one_line
from ringsched.model.checks import (
    MAX_INTEGER,
    Replaceable,
    choice,
    instance,
    number,
    sequence,
    settle,
    text,
    unique,
)
from ringsched.model.cluster import Cluster
from ringsched.model.contention import Contention
from ringsched.model.derived import derived_once
from ringsched.model.eligibility import ANY_PARTS, Labels, has_balanced_layout, matching
from ringsched.model.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Time(Replaceable):
    """Slotted time, as in the paper, or continuous time.

    Parameters
    ----------
    model
        "slotted": starts and finishes on whole slots; "continuous": any instant.
    slot_s
        Length of a slot in seconds; without effect when continuous.
    horizon_s
        T, which limits the policies that bisect; absent: long enough for every plan.
    """

    model: str = "slotted"
    slot_s: float = 1.0
    horizon_s: float | None = None

    def __post_init__(self) -> None:
        settle(
            self,
            model=choice(self.model, "model", ["slotted", "continuous"]),
            slot_s=number(self.slot_s, "slot_s", above=0),
        )
        if self.horizon_s is not None:
            settle(self, horizon_s=number(self.horizon_s, "horizon_s", above=0))

    @property
    def slotted(self) -> bool:
        """Whether time runs in slots."""
        return self.model == "slotted"

    @property
    def unit_s(self) -> float:
        """Seconds per unit in which time is counted: a slot, or a second."""
        return self.slot_s if self.slotted else 1.0

    def expanded(self) -> dict[str, Any]:
        """Return the fields as a scenario file writes them, defaults filled in."""
        fields: dict[str, Any] = {"model": self.model, "slot_s": self.slot_s}
        return fields if self.horizon_s is None else fields | {"horizon_s": self.horizon_s}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario(Replaceable):
    """Cluster, contention, time and jobs; checked as a whole."""

    cluster: Cluster
    jobs: tuple[Job, ...] = ()
    contention: Contention = field(default_factory=Contention)
    time: Time = field(default_factory=Time)
    name: str | None = None
    # The problem that the engine makes of it: a scenario is planned and simulated many times.
    derived: dict[Callable[..., Any], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        settle(
            self,
            cluster=instance(self.cluster, "cluster", Cluster),
            jobs=tuple(
                instance(job, f"jobs[{at}]", Job)
                for at, job in enumerate(sequence(self.jobs, "jobs", "jobs"))
            ),
            contention=instance(self.contention, "contention", Contention),
            time=instance(self.time, "time", Time),
        )
        if self.name is not None:
            settle(self, name=text(self.name, "name"))
        unique(((f"jobs[{at}]", job.name) for at, job in enumerate(self.jobs)), "job")
        self._check_sizes()
        self._check_estimates()
        self._check_running()

    def __getstate__(self) -> tuple[Any, ...]:
        return self.cluster, self.jobs, self.contention, self.time, self.name

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        cluster, jobs, contention, time, name = state
        settle(self, cluster=cluster, jobs=jobs, contention=contention, time=time, name=name, derived={})

    def part(self, jobs: tuple[Job, ...], time: Time) -> Scenario:
        """Return a scenario of some of its jobs, without the checks that all of them have passed."""
        part = object.__new__(Scenario)
        settle(part, cluster=self.cluster, jobs=jobs, contention=self.contention, time=time, name=self.name)
        settle(part, derived={})
        return part

    def _check_sizes(self) -> None:
        capacity = self.cluster.capacity
        capacities_of: dict[Labels, list[int]] = {}  # of servers with these labels
        for at, job in enumerate(self.jobs):
            if job.gpus > capacity:
                raise InputError(
                    f"= {job.gpus} is more than the {capacity} GPUs available in the cluster",
                    field="gpus",
                    place=f"jobs[{at}] {job.name!r}",
                )
            if job.is_running or not (job.requires or job.parts != ANY_PARTS):
                continue
            if job.requires not in capacities_of:
                has_labels = matching(self.cluster.servers, job.requires)
                capacities_of[job.requires] = [
                    server.capacity
                    for server, matches in zip(self.cluster.servers, has_labels, strict=True)
                    if matches
                ]
            _check_eligible(job, capacities_of[job.requires], f"jobs[{at}] {job.name!r}")

    def _check_estimates(self) -> None:
        for at, job in enumerate(self.jobs):
            if job.estimate_s is not None and job.estimate_s / self.time.unit_s > MAX_INTEGER:
                raise InputError(
                    f"= {job.estimate_s:g} is too long to be counted exactly",
                    field="estimate_s",
                    place=f"jobs[{at}] {job.name!r}",
                )

    def _check_running(self) -> None:
        servers = {server.name: server for server in self.cluster.servers}
        holder: dict[tuple[str, int], str] = {}
        for at, job in enumerate(self.jobs):
            for name, held in (job.running_on or {}).items():
                place = f"jobs[{at}] {job.name!r}"
                if name not in servers:
                    raise UnknownName("server", name, servers, field="running_on", place=place)
                for gpu in held:
                    problem = _why_not(servers[name].gpus, servers[name].unavailable, gpu)
                    if not problem and (name, gpu) in holder:
                        first = holder[name, gpu]
                        problem = "is named twice" if first == job.name else f"is held by job {first!r}"
                    if problem:
                        raise InputError(f"GPU {gpu} {problem}", field=f"running_on.{name}:", place=place)
                    holder[name, gpu] = job.name

    def __repr__(self) -> str:
        kind = "Scenario" if self.name is None else f"Scenario {self.name!r}"
        model = self.contention.model
        contention = f"contention {model if isinstance(model, str) else model.name}"
        jobs = counted(len(self.jobs), "job")
        return one_line(kind, jobs, *self.cluster.in_short, contention, f"{self.time.model} time")

    def expanded(self) -> dict[str, Any]:
        """Return the whole scenario as a JSON-ready dict: defaults filled in, servers expanded."""
        fields: dict[str, Any] = {} if self.name is None else {"name": self.name}
        return fields | {
            "time": self.time.expanded(),
            "cluster": self.cluster.expanded(),
            "contention": self.contention.expanded(),
            "jobs": [job.expanded() for job in self.jobs],
        }

    @derived_once
    def sha256(self) -> str:
        """Digest of the expanded scenario; the same for TOML and JSON twins."""
        canonical = json.dumps(self.expanded(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()


def _check_eligible(job: Job, capacities: list[int], place: str) -> None:
    """Refuse a job that no placement on servers of these capacities suits."""
    having = "servers"
    if job.requires:
        having += " with " + ", ".join(f"{name} = {value!r}" for name, value in job.requires.items())
    if job.gpus > sum(capacities):
        problem = f"leaves {sum(capacities)} GPUs on {having}, but the job needs {job.gpus}"
        raise InputError(problem, field="requires", place=place)
    if job.parts != ANY_PARTS and not has_balanced_layout(job.gpus, capacities, job.parts):
        if job.servers is not None:
            problem = f"= {job.servers} is impossible: too few {having} hold {job.gpus // job.servers} GPUs"
            raise InputError(problem, field="servers", place=place)
        problem = (
            f"= {job.layout!r} is impossible: no number of {having} can hold {job.gpus} GPUs in equal parts"
        )
        raise InputError(problem, field="layout", place=place)


def _why_not(num_gpus: int, unavailable: tuple[int, ...], gpu: int) -> str:
    if not 0 <= gpu < num_gpus:
        return f"does not exist, the server has GPUs 0 to {num_gpus - 1}"
    return "is unavailable" if gpu in unavailable else ""
