"""The jobs on each GPU, and placements as Slurm requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ringsched.clusters.slurm.network import Node
from ringsched.model import PlannedJob, Server


class Gpus:
    """The GPUs of a partition and the jobs that hold them."""

    def __init__(self, nodes: Sequence[Node], switch_of: Mapping[str, str | None]) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._switch_of = switch_of
        self._free = {node.name: list(range(node.gpus)) for node in nodes}
        self._closed: dict[str, list[int]] = {node.name: [] for node in nodes}
        self._held: dict[int, dict[str, tuple[int, ...]]] = {}

    def hold(self, job_id: int, placement: Mapping[str, Sequence[int]]) -> bool:
        """Assign the GPUs of a running job; return False if it is on none of these nodes."""
        here = {
            node: tuple(gpu for gpu in held if gpu in self._free[node])
            for node, held in placement.items()
            if node in self._nodes
        }
        here = {node: held for node, held in here.items() if held}
        for node, held in here.items():
            self._take(node, held)
        if here:
            self._held[job_id] = self._held.get(job_id, {}) | here
        return bool(here)

    def close(self, job_id: int) -> None:
        """Make the GPUs of a job unavailable, and forget the job."""
        for node, held in self._held.pop(job_id).items():
            self._closed[node] += held

    def close_unusable(self) -> None:
        """Make the free GPUs of nodes that get no new jobs unavailable."""
        for name, node in self._nodes.items():
            if not node.usable:
                self._closed[name] += self._free[name]
                self._free[name] = []

    def hold_unseen(self) -> dict[str, tuple[int, ...]]:
        """Mark GPUs that Slurm has allocated but no visible job holds, such as those of an ending job."""
        unseen = {}
        for name, node in self._nodes.items():
            free = self._free[name]
            count = min(len(free), max(0, node.used - (node.gpus - len(free))))
            if count:
                unseen[name] = tuple(free[-count:])
                self._take(name, unseen[name])
        return unseen

    def why_no_space(self, servers: Mapping[str, int]) -> str:
        """Return why a job cannot get this many GPUs on these servers now; None if it can."""
        for name, count in servers.items():
            if name not in self._nodes:
                return f"{name} is gone"
            if not self._nodes[name].usable:
                return f"{name} is {self._nodes[name].state}"
            if len(self._free[name]) < count:
                return f"{name} has {len(self._free[name])} free GPUs, not {count}"
        return ""

    def claim(self, job_id: int, servers: Mapping[str, int]) -> None:
        """Reserve GPUs for a job that is about to start; Slurm chooses which."""
        self.hold(job_id, {name: self._free[name][:count] for name, count in servers.items()})

    def holds(self, job_id: int) -> bool:
        """Whether a job holds GPUs."""
        return job_id in self._held

    def held_by(self, job_id: int) -> Mapping[str, tuple[int, ...]]:
        """Return the GPUs of a job."""
        return self._held[job_id]

    def know(self, names: Iterable[str]) -> bool:
        """Whether all of these are nodes of ours."""
        return all(name in self._nodes for name in names)

    def servers(self) -> tuple[Server, ...]:
        """Return the servers of a scenario."""
        return tuple(
            Server(
                name=name,
                gpus=node.gpus,
                switch=self._switch_of.get(name),
                unavailable=tuple(sorted(self._closed[name])),
            )
            for name, node in self._nodes.items()
        )

    def _take(self, node: str, gpus: Sequence[int]) -> None:
        self._free[node] = [gpu for gpu in self._free[node] if gpu not in gpus]


MOST_COMPONENTS = 128  # of a heterogeneous job, as Slurm has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """Servers with the same number of GPUs on each, which one Slurm request can express."""

    servers: tuple[str, ...]
    gpus_each: int


def servers_in_ring_order(planned: PlannedJob) -> dict[str, int]:
    """Return the GPUs on each server, servers as the ring passes through them."""
    return dict(Counter(server for server, _ in planned.ring))


def components(servers: Mapping[str, int], order: Sequence[str]) -> tuple[Component, ...]:
    """Return the fewest requests whose ranks, one request after another, follow the ring.

    Within a request Slurm counts ranks in its own order of nodes, which is `order`. One component means
    an equal split.

    Examples
    --------
    >>> components({"a": 2, "b": 2}, "abc")
    (Component(servers=('a', 'b'), gpus_each=2),)
    >>> [(part.servers, part.gpus_each) for part in components({"a": 2, "c": 2, "b": 3}, "abc")]
    [(('a', 'c'), 2), (('b',), 3)]
    """
    if len(set(servers.values())) == 1:
        return (Component(servers=tuple(servers), gpus_each=next(iter(servers.values()))),)
    place = {name: at for at, name in enumerate(order)}
    runs: list[list[str]] = []
    for name, count in servers.items():
        last = runs[-1][-1] if runs else None
        if last is not None and servers[last] == count and place[last] < place[name]:
            runs[-1].append(name)
        else:
            runs.append([name])
    if len(runs) > MOST_COMPONENTS:  # then ranks do not follow the ring; its files still do
        counts = dict.fromkeys(servers.values())
        runs = [[name for name in servers if servers[name] == count] for count in counts]
    return tuple(Component(servers=tuple(run), gpus_each=servers[run[0]]) for run in runs)


def ring_text(servers: Mapping[str, int]) -> str:
    """Return the workers in ring order, a line each: the server, and which of the job's GPUs there."""
    return _lines(f"{name} {slot}" for name, slot in _workers(servers))


def hostfile_text(servers: Mapping[str, int]) -> str:
    """Return a hostfile as mpirun reads it, servers in ring order."""
    return _lines(f"{name} slots={count}" for name, count in servers.items())


def rankfile_text(servers: Mapping[str, int]) -> str:
    """Return a rankfile as mpirun reads it, ranks in ring order."""
    return _lines(f"rank {rank}={name} slot={slot}" for rank, (name, slot) in enumerate(_workers(servers)))


def _workers(servers: Mapping[str, int]) -> list[tuple[str, int]]:
    return [(name, slot) for name, count in servers.items() for slot in range(count)]


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
