"""Clusters for the tests that every backend must pass: jobs, time, and an end before any single write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tests.slurm_double import SlurmDouble

from ringsched.clusters.controller import ClusterBackend, Decision, Snapshot, Start
from ringsched.clusters.network import Network
from ringsched.clusters.slurm.backend import SlurmBackend
from ringsched.model import Cluster, Job, Placement, Scenario, Server


class Ended(Exception):
    """The controller is gone."""


class World(Protocol):
    """A cluster with its own clock."""

    def submit(self, gpus: int, seconds: int) -> str: ...

    def pass_time(self, seconds: float) -> None: ...

    def backend(self, writes: int | None = None) -> ClusterBackend[Snapshot]:
        """A backend whose controller ends before its n-th write."""

    def starts(self) -> list[str]:
        """The names of all jobs that started, as often as they did."""

    def unfinished(self) -> set[str]: ...


def job_of(name: str, gpus: int, seconds: int) -> Job:
    return Job(
        name=name, gpus=gpus, iterations=seconds, gradient_mb=0, minibatch=1, forward_ms=0, backward_ms=1000
    )


class InMemory:
    """The smallest backend: a start is one write."""

    def __init__(self, gpus: Sequence[int] = (4, 4)) -> None:
        self.now_s = 0.0
        self.free = {f"s{at}": set(range(count)) for at, count in enumerate(gpus)}
        self.gpus = dict(zip(self.free, gpus, strict=True))
        self.waiting: dict[str, Job] = {}
        self.running: dict[str, tuple[Job, dict[str, list[int]], float]] = {}
        self._starts: list[str] = []
        self._left: int | None = None

    def submit(self, gpus: int, seconds: int) -> str:
        name = f"job-{len(self.waiting) + len(self._starts)}"
        self.waiting[name] = job_of(name, gpus, seconds)
        return name

    def pass_time(self, seconds: float) -> None:
        self.now_s += seconds
        for name, (job, placed, start_s) in list(self.running.items()):
            if self.now_s >= start_s + job.iterations:
                for server, held in placed.items():
                    self.free[server] |= set(held)
                del self.running[name]

    def backend(self, writes: int | None = None) -> InMemory:
        self._left = writes
        return self

    def snapshot(self) -> Snapshot:
        cluster = Cluster(
            servers=tuple(Server(name=name, gpus=count) for name, count in self.gpus.items()),
            inter_server_gbps=10, intra_server_gbps=100, reduce_gbps=100,
        )  # fmt: skip
        on = [
            job.replace(running_on=Placement(placed), done_iterations=min(int(self.now_s - at), job.iterations - 1))  # noqa: E501
            for job, placed, at in self.running.values()
        ]  # fmt: skip
        return Snapshot(
            now_s=self.now_s, scenario=Scenario(cluster=cluster, jobs=(*on, *self.waiting.values()))
        )

    def apply(self, decisions: Sequence[Decision]) -> frozenset[str]:
        done = set()
        for decision in decisions:
            assert isinstance(decision, Start)
            if self._left is not None:
                self._left -= 1
                if self._left == 0:
                    raise Ended
            placed = {name: sorted(self.free[name])[:count] for name, count in decision.servers.items()}
            assert all(len(placed[name]) == count for name, count in decision.servers.items()), "a GPU twice"
            for name, held in placed.items():
                self.free[name] -= set(held)
            self.running[decision.name] = (self.waiting.pop(decision.name), placed, self.now_s)
            self._starts.append(decision.name)
            done.add(decision.name)
        return frozenset(done)

    def starts(self) -> list[str]:
        return self._starts

    def unfinished(self) -> set[str]:
        return {*self.waiting, *self.running}


class Ending:
    """Commands up to one that is never given."""

    def __init__(self, real: Any, writes: int | None) -> None:
        self._real, self._left = real, writes

    def ask(self, *arguments: str) -> str:
        return str(self._real.ask(*arguments))

    def tell(self, *arguments: str, **more: Any) -> str:
        if self._left is not None:
            self._left -= 1
            if self._left == 0:
                raise Ended
        return str(self._real.tell(*arguments, **more))


class OnSlurm:
    """Slurm in memory."""

    def __init__(self, gpus: Sequence[int] = (4, 4)) -> None:
        self.slurm = SlurmDouble({f"s{at}": count for at, count in enumerate(gpus)})

    def submit(self, gpus: int, seconds: int) -> str:
        fields = {
            "gpus": gpus, "iterations": seconds, "gradient_mb": 0, "minibatch": 1, "forward_ms": 0,
            "backward_ms": 1000,
        }  # fmt: skip
        return f"job-{self.slurm.add(fields, tasks=gpus, length_s=seconds)}"

    def pass_time(self, seconds: float) -> None:
        self.slurm.pass_time(seconds)

    def backend(self, writes: int | None = None) -> SlurmBackend:
        return SlurmBackend(
            commands=Ending(self.slurm, writes),
            clock=self.slurm.clock,
            network=Network(),
            partitions=("gpu",),
        )

    def starts(self) -> list[str]:
        return [f"job-{job_id}" for job_id in self.slurm.started]

    def unfinished(self) -> set[str]:
        over = ("COMPLETED", "CANCELLED")
        return {f"job-{job_id}" for job_id, job in self.slurm.jobs.items() if job["job_state"] not in over}


WORLDS: tuple[Callable[[], World], ...] = (InMemory, OnSlurm)
