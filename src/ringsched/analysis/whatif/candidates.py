"""Where one more job could go at an instant: a handful of places worth a simulation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from ringsched.analysis.whatif.occupancy import Idle
from ringsched.contention.network import Network
from ringsched.engine.problem import Problem

Gpus = tuple[int, ...]


class Candidates:
    """Proposes places for a job that needs `gpus` GPUs."""

    def __init__(self, problem: Problem, gpus: int, inside: float) -> None:
        self._network: Network = problem.network
        self._server_of = np.array(problem.server_of)
        self._gpus = gpus
        self._inside = inside  # how long it takes within one server

    def harmless(self, idle: Idle) -> Gpus | None:
        """Return GPUs of one server that nobody needs until the job has ended; the tightest such server's."""
        free = self._by_server(idle, idle.until >= idle.time + self._inside)
        fits = [held for held in free if len(held) >= self._gpus]
        return tuple(min(fits, key=len)[: self._gpus]) if fits else None

    def at(self, idle: Idle) -> set[Gpus]:
        """Return different places at an instant, none if too few GPUs are idle."""
        if len(idle.gpus) < self._gpus:
            return set()
        free = self._by_server(idle, np.ones(len(idle.gpus), dtype=np.bool_))
        places = {self.harmless(idle), *self._inside_one(free)}
        places.update(self._spread(free, idle))
        # Only over GPUs that are not needed soon: nobody has to wait, though links may be shared.
        places.update(self._spread(self._by_server(idle, idle.until >= idle.time + self._inside), idle))
        return {place for place in places if place is not None}

    def _by_server(self, idle: Idle, wanted: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[list[int]]:
        """Return the wanted idle GPUs of every server, those that are needed last first."""
        order = np.lexsort((idle.gpus, -idle.until))
        free: list[list[int]] = [[] for _ in range(self._network.num_servers)]
        for gpu in idle.gpus[order[wanted[order]]].tolist():
            free[self._server_of[gpu]].append(gpu)
        return free

    def _inside_one(self, free: Sequence[Sequence[int]]) -> Iterator[Gpus]:
        """Yield the tightest server that fits."""
        fits = [held for held in free if len(held) >= self._gpus]
        if fits:
            yield tuple(min(fits, key=len)[: self._gpus])

    def _spread(self, free: Sequence[Sequence[int]], idle: Idle) -> Iterator[Gpus]:
        """Yield places over the fewest servers, over the quietest links, and below each switch."""
        on_link, servers = idle.jobs_on_link, [at for at, held in enumerate(free) if held]
        yield from self._taken(free, sorted(servers, key=lambda at: (-len(free[at]), at)))
        yield from self._taken(free, sorted(servers, key=lambda at: (on_link[at], -len(free[at]), at)))
        below: dict[int, list[tuple[int, int, int]]] = {}
        for at in servers:
            busiest = 0  # the most jobs on a link between the server and the switch
            for link, switch in pairwise(self._network.path(at)):
                busiest = max(busiest, on_link[link])
                below.setdefault(switch, []).append((busiest, -len(free[at]), at))
        for switch in sorted(below):
            yield from self._taken(free, [at for *_, at in sorted(below[switch])])

    def _taken(self, free: Sequence[Sequence[int]], servers: Sequence[int]) -> Iterator[Gpus]:
        """Yield all idle GPUs of one server after another until there are enough, if there ever are."""
        taken: list[int] = []
        for server in servers:
            taken += free[server][: self._gpus - len(taken)]
            if len(taken) == self._gpus:
                yield tuple(sorted(taken))
                return
