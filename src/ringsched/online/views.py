"""What a policy in Python sees of running jobs, links and GPUs; live objects, never rebuilt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ringsched.engine.events import remaining_now
from ringsched.engine.problem import Problem
from ringsched.online.queue import Stage, outlive
from ringsched.policies.custom import JobView


class Gpus(Mapping[str, tuple[int, ...]]):
    """GPUs by server, as a placement names them; found by a rule, so that they need no conversion."""

    __slots__ = ("_by_server", "_problem", "numbers")

    def __init__(self, problem: Problem, numbers: tuple[int, ...]) -> None:
        self._problem = problem
        self._by_server: Mapping[str, tuple[int, ...]] | None = None
        self.numbers = numbers  # through the whole cluster, ascending

    def _names(self) -> Mapping[str, tuple[int, ...]]:
        if self._by_server is None:
            self._by_server = self._problem.placement(self.numbers)
        return self._by_server

    def __getitem__(self, server: str) -> tuple[int, ...]:
        return self._names()[server]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __bool__(self) -> bool:
        return bool(self.numbers)

    def __repr__(self) -> str:
        return f"Gpus({dict(self)!r})"


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job that runs: where, since when, and how long it is believed to need."""

    job: JobView
    gpus: Gpus
    start_s: float
    _problem: Problem
    _stage: Stage
    _number: int

    @property
    def iterations_left(self) -> float:
        """As they are believed to be; a job that exceeds its estimate is believed to need twice as many."""
        arrays, believed, number = self._stage.arrays, self._stage.believed, self._number
        left = remaining_now(arrays, self._stage.state, number)
        while left + (believed.iterations[number] - arrays.iterations[number]) <= 0:
            outlive(self._stage, number)
        return float(left + (believed.iterations[number] - arrays.iterations[number]))

    @property
    def remaining_s(self) -> float:
        """Believed seconds to its end, if the jobs on its links stay as they are."""
        rate, clock = float(self._stage.state.rate[self._number]), self._problem.clock
        if rate <= 0:  # it started at this instant, and no rate is set yet
            return float(clock.seconds(float(self._stage.course.duration[self._number])))
        return float(clock.seconds(clock.duration(self.iterations_left, rate)))

    @property
    def links(self) -> tuple[str, ...]:
        """The names of the servers and switches whose uplinks its ring crosses."""
        links, traffic = self._stage.arrays.links, self._stage.state.traffic
        first = links.entry_first[self._number]
        nodes = traffic.entry_link[first : first + traffic.num_links[self._number]].tolist()
        return tuple(node_name(self._problem, node) for node in sorted(nodes))

    def __repr__(self) -> str:
        return f"<RunningJob: {self.job.name}, {self.remaining_s:.0f} s left>"


@dataclass(frozen=True, slots=True)
class LinkView:
    """The uplink of a server or a switch."""

    name: str  # of the server or switch below it
    gbps: float
    _jobs: Mapping[int, JobView]
    _stage: Stage
    _node: int

    @property
    def num_jobs(self) -> int:
        """How many running jobs cross it now."""
        return int(self._stage.state.traffic.num_on_link[self._node])

    @property
    def jobs(self) -> tuple[JobView, ...]:
        """The running jobs that cross it now."""
        links, traffic = self._stage.arrays.links, self._stage.state.traffic
        first = links.link_first[self._node]
        entries = traffic.on_link[first : first + self.num_jobs].tolist()
        return tuple(self._jobs[number] for number in sorted(links.entry_job[entries].tolist()))

    def __repr__(self) -> str:
        return f"<LinkView: {self.name}, {self.gbps:g} Gbit/s, {self.num_jobs} jobs>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """When a job that has to wait starts, if nothing that starts before it moves that."""

    job: JobView
    start_s: float
    spare_gpus: int  # idle GPUs that are left over then
    rule: str  # by which it finds GPUs


def node_name(problem: Problem, node: int) -> str:
    """Return the name of a server or a switch."""
    cluster = problem.scenario.cluster
    if node < problem.num_servers:
        return cluster.servers[node].name
    return cluster.switches[node - problem.num_servers].name
