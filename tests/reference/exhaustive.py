"""The best plan of a tiny slotted scenario, by trying everything in every slot.

Nothing is left out: in each slot any of the released jobs may start on any free GPUs. Only how many GPUs of
each server a job holds is told apart, since nothing in the model depends on which.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from tests.reference.formulas import iteration_times, iterations_per_slot, release_ticks

from ringsched.model import Scenario

Counts = tuple[int, ...]
# Of each job: where it runs and what is left of it; None before, () after.
State = tuple[tuple[Counts, int] | tuple[()] | None, ...]


def best_value(
    scenario: Scenario,
    weights: list[float],
    last_slot: int,
    worth: Callable[[int, int], float] = lambda job, slot: slot,  # noqa: ARG005
) -> float:
    """Return the least last finish, or the least weighted sum of finishes if there are weights, in slots.

    Without weights, `worth` may say what the end of a job in a slot is worth; the largest counts.
    """
    servers, jobs = scenario.cluster.servers, scenario.jobs
    release = [release_ticks(scenario, job) for job in jobs]

    @cache
    def rates(running: tuple[tuple[int, Counts], ...]) -> Mapping[int, int]:
        placed = [
            (jobs[job], {server.name: range(n) for server, n in zip(servers, counts, strict=True) if n})
            for job, counts in running
        ]
        taus = iteration_times(scenario, placed)
        return {job: iterations_per_slot(scenario, taus[jobs[job].name]) for job, _ in running}

    def combined(ended: list[int], slot: int, rest: float) -> float:
        if not weights:
            return max([worth(job, slot) for job in ended] + [rest])
        return sum(weights[job] for job in ended) * slot + rest

    @cache
    def best(slot: int, state: State) -> float:
        """Return the best of what is still to come."""
        if all(entry == () for entry in state):
            return 0.0
        if slot >= last_slot:
            return math.inf
        return min(step(slot, started) for started in starts(slot, state, 0))

    def step(slot: int, state: State) -> float:
        running = tuple((job, entry[0]) for job, entry in enumerate(state) if entry)
        done = rates(running)
        after: list[tuple[Counts, int] | tuple[()] | None] = list(state)
        ended = []
        for job, counts in running:
            entry = state[job]
            assert entry
            left = entry[1] - done[job]
            after[job] = (counts, left) if left > 0 else ()
            if left <= 0:
                ended.append(job)
        return combined(ended, slot + 1, best(slot + 1, tuple(after)))

    def starts(slot: int, state: State, job: int) -> Iterator[State]:
        if job == len(jobs):
            yield state
            return
        yield from starts(slot, state, job + 1)
        if state[job] is None and release[job] <= slot:
            for counts in splits(jobs[job].gpus, free(state)):
                entry = (counts, jobs[job].remaining_iterations)
                yield from starts(slot, (*state[:job], entry, *state[job + 1 :]), job + 1)

    def free(state: State) -> list[int]:
        held = [entry[0] for entry in state if entry]
        return [
            server.gpus - len(server.unavailable) - sum(counts[at] for counts in held)
            for at, server in enumerate(servers)
        ]

    def at_first(job: int) -> tuple[Counts, int] | None:
        place = jobs[job].running_on
        if place is None:
            return None
        counts = tuple(len(place.get(server.name, ())) for server in servers)
        return counts, jobs[job].remaining_iterations

    return best(0, tuple(at_first(job) for job in range(len(jobs))))


def splits(gpus: int, free: list[int]) -> Iterator[Counts]:
    if not free:
        if gpus == 0:
            yield ()
        return
    for here in range(min(gpus, free[0]) + 1):
        for rest in splits(gpus - here, free[1:]):
            yield (here, *rest)
