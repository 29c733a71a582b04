"""`run_worker()`: one worker of a real ring, on this machine, its neighbours wherever they are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

from ringsched.calibrate.exchange import RingExchange
from ringsched.calibrate.measurement import Measurement
from ringsched.calibrate.peers import Address, RingBroken, meet
from ringsched.errors import InputError
from ringsched.model.checks import integer, number

# Whole numbers wrap around without a sound, so that sums may go on from iteration to iteration.
ELEMENT = np.dtype(np.uint32)
WRAP = 2**32
MOST_MB = 4096.0


class Iteration(NamedTuple):
    """When an iteration began, by CLOCK_MONOTONIC, and how long its parts took."""

    start_s: float
    exchange_s: float
    reduce_s: float
    compute_s: float

    @property
    def seconds(self) -> float:
        """The whole iteration."""
        return self.exchange_s + self.reduce_s + self.compute_s


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRun:
    """What one worker did."""

    rank: int
    iterations: tuple[Iteration, ...]
    sent_bytes: int
    received_bytes: int
    waited_s: float  # ready to run, but without a core: other processes were in the way


def run_worker(
    rank: int,
    ring: Sequence[Address],
    *,
    message_mb: float,
    compute_s: float = 0.0,
    iterations: int | None = None,
    seconds: float | None = None,
    timeout_s: float = 10.0,
    start_at_s: float | None = None,
) -> WorkerRun:
    """Run one worker of a ring until its iterations are done or its time is over.

    Every iteration sums a vector over all workers, then sleeps for `compute_s`: GPUs compute without the
    CPU. The last element of the vector is a vote to stop, so that all workers stop after the same iteration.

    Parameters
    ----------
    rank, ring
        The place of this worker in the addresses of all; neighbours should share a server.
    message_mb
        What is summed up, in MB of 10^6 bytes.
    compute_s
        How long every iteration computes.
    iterations, seconds
        When to stop: after so many iterations, or so much time.
    timeout_s
        How long neighbours may be silent, at the start and within the ring.
    start_at_s
        When the first iteration begins, by CLOCK_MONOTONIC; at once if absent.
    """
    integer(rank, "rank", minimum=0, maximum=len(ring) - 1)
    number(message_mb, "message_mb", above=0, maximum=MOST_MB)
    number(compute_s, "compute_s", minimum=0)
    number(timeout_s, "timeout_s", above=0)
    if (iterations is None) == (seconds is None):
        raise InputError("give either iterations or seconds")
    elements = max(len(ring), round(message_mb * 1e6 / ELEMENT.itemsize))
    vector = np.full(elements, rank + 1, dtype=ELEMENT)
    neighbours = meet(rank, ring, elements=elements, timeout_s=timeout_s)
    try:
        exchange = RingExchange(rank, len(ring), vector, neighbours, timeout_s)
        if start_at_s is not None:
            time.sleep(max(0.0, start_at_s - time.monotonic()))
        waited_s = waiting_s()
        done = _iterations(exchange, compute_s, iterations, seconds)
    finally:
        neighbours.close()
    return WorkerRun(
        rank=rank,
        iterations=tuple(done),
        sent_bytes=exchange.sent_bytes,
        received_bytes=exchange.received_bytes,
        waited_s=waiting_s() - waited_s,
    )


def _iterations(
    exchange: RingExchange, compute_s: float, iterations: int | None, seconds: float | None
) -> list[Iteration]:
    vector, num_workers = exchange.vector, exchange.num_workers
    expected = num_workers * (num_workers + 1) // 2 % WRAP
    done: list[Iteration] = []
    end_s = None if seconds is None else time.monotonic() + seconds
    while iterations is None or len(done) < iterations:
        begun_s = time.monotonic()
        vector[-1] = end_s is not None and begun_s >= end_s
        reduce_s = exchange.all_reduce()
        ring_s = time.monotonic() - begun_s
        if len(vector) > 1 and (vector[0] != expected or vector[-2] != expected):
            raise RingBroken(f"rank {exchange.rank} has a wrong sum after iteration {len(done) + 1}")
        expected = expected * num_workers % WRAP
        if compute_s > 0:
            time.sleep(compute_s)
        computed_s = time.monotonic() - begun_s - ring_s
        done.append(Iteration(begun_s, ring_s - reduce_s, reduce_s, computed_s))
        if vector[-1]:
            break
    return done


def measurement_of(
    run: WorkerRun, *, servers: int, workers: int, concurrent: int, message_mb: float, compute_s: float
) -> Measurement:
    """Return a run, without its first iteration, as a row for a fit."""
    counted = run.iterations[1:] or run.iterations
    return Measurement(
        servers=servers,
        workers=workers,
        concurrent=concurrent,
        message_mb=message_mb,
        # Exchanges of jobs that compute meet at times, at times not: only the mean holds both kinds.
        seconds=(fmean if compute_s > 0 else median)(each.seconds for each in counted),
        compute_s=median(each.compute_s for each in counted) if compute_s > 0 else 0.0,
        reduce_s=median(each.reduce_s for each in counted),
    )


def waiting_s() -> float:
    """Return how long this process has waited for a core so far; 0 where the kernel does not say."""
    try:
        return int(Path("/proc/self/schedstat").read_text().split()[1]) * 1e-9
    except (OSError, IndexError, ValueError):
        return 0.0
