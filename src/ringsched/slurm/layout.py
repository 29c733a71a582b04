"""How the GPUs of a planned job are spread over servers, in Slurm's terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ringsched.model import PlannedJob

MOST_COMPONENTS = 128  # of a heterogeneous job, as Slurm has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """Some servers with the same number of GPUs on each: what one Slurm request can say."""

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
