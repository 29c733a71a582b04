"""Who holds which GPU of which node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ringsched.model import Server
from ringsched.slurm.nodes import Node


class Gpus:
    """The GPUs of a partition, given out job by job."""

    def __init__(self, nodes: Sequence[Node], switch_of: Mapping[str, str]) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._switch_of = switch_of
        self._free = {node.name: list(range(node.gpus)) for node in nodes}
        self._closed: dict[str, list[int]] = {node.name: [] for node in nodes}
        self._held: dict[int, dict[str, tuple[int, ...]]] = {}

    def hold(self, job_id: int, placement: Mapping[str, Sequence[int]]) -> bool:
        """Give a job the GPUs it is on; False if it is on none of these nodes."""
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
        """Take the GPUs of a job out of use, and forget the job."""
        for node, held in self._held.pop(job_id).items():
            self._closed[node] += held

    def close_unusable(self) -> None:
        """Take out of use what is free on nodes that get no new jobs."""
        for name, node in self._nodes.items():
            if not node.usable:
                self._closed[name] += self._free[name]
                self._free[name] = []

    def hold_unseen(self) -> dict[str, tuple[int, ...]]:
        """Take what Slurm has given away but no job we see holds, as when a job is just ending."""
        unseen = {}
        for name, node in self._nodes.items():
            free = self._free[name]
            count = min(len(free), max(0, node.used - (node.gpus - len(free))))
            if count:
                unseen[name] = tuple(free[-count:])
                self._take(name, unseen[name])
        return unseen

    def why_no_room(self, servers: Mapping[str, int]) -> str:
        """Return why a job cannot get so many GPUs on these servers now; nothing if it can."""
        for name, count in servers.items():
            if name not in self._nodes:
                return f"{name} is gone"
            if not self._nodes[name].usable:
                return f"{name} is {self._nodes[name].state}"
            if len(self._free[name]) < count:
                return f"{name} has {len(self._free[name])} free GPUs, not {count}"
        return ""

    def claim(self, job_id: int, servers: Mapping[str, int]) -> None:
        """Keep GPUs for a job that is about to start; which ones, Slurm will say."""
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
