"""The jobs on each GPU of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ringsched.model import Server
from ringsched.model.eligibility import Labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node with GPUs, as a cluster's manager reports it."""

    name: str
    gpus: int
    used: int  # GPUs that the manager has given away
    usable: bool  # whether new jobs may start there
    state: str  # in the words of the manager


class Gpus:
    """The GPUs of a cluster's nodes and the jobs that hold them."""

    def __init__(self, nodes: Sequence[Node], switch_of: Mapping[str, str | None]) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._switch_of = switch_of
        self._free = {node.name: list(range(node.gpus)) for node in nodes}
        self._closed: dict[str, list[int]] = {node.name: [] for node in nodes}
        self._held: dict[str, dict[str, tuple[int, ...]]] = {}

    def hold(self, job_id: str, placement: Mapping[str, Sequence[int]]) -> bool:
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

    def close(self, job_id: str) -> None:
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
        """Mark GPUs that are allocated but no visible job holds, such as those of an ending job."""
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

    def claim(self, job_id: str, servers: Mapping[str, int]) -> None:
        """Reserve GPUs for a job that is about to start; the manager chooses which."""
        self.hold(job_id, {name: self._free[name][:count] for name, count in servers.items()})

    def holds(self, job_id: str) -> bool:
        """Whether a job holds GPUs."""
        return job_id in self._held

    def held_by(self, job_id: str) -> Mapping[str, tuple[int, ...]]:
        """Return the GPUs of a job."""
        return self._held[job_id]

    def know(self, names: Iterable[str]) -> bool:
        """Whether all of these are nodes of ours."""
        return all(name in self._nodes for name in names)

    def capacity(self) -> dict[str, int]:
        """Return the GPUs of each node that are not closed."""
        return {name: node.gpus - len(self._closed[name]) for name, node in self._nodes.items()}

    def servers(
        self, labels: Mapping[str, Iterable[str]], windows: Mapping[str, Sequence[tuple[float, float]]]
    ) -> tuple[Server, ...]:
        """Return the servers of a scenario, with labels, and with the times at which a node is reserved."""
        return tuple(
            Server(
                name=name,
                gpus=node.gpus,
                switch=self._switch_of.get(name),
                unavailable=tuple(sorted(self._closed[name])),
                labels=Labels(dict.fromkeys(labels.get(name, ()), "yes")),
                unavailable_windows=tuple(windows.get(name, ())),
            )
            for name, node in self._nodes.items()
        )

    def _take(self, node: str, gpus: Sequence[int]) -> None:
        self._free[node] = [gpu for gpu in self._free[node] if gpu not in gpus]
