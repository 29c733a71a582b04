"""`run_worker()`: one worker of a real ring on this machine."""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.calibrate.measurements import Measurement
from ringsched.calibrate.neighbours import Address, Neighbours, RingBroken, meet
from ringsched.errors import InputError
from ringsched.model.checks import integer, number
from ringsched.ring import chunks_of


class RingExchange:
    """The place of a worker in a ring whose neighbours are connected; counts the bytes it moves."""

    def __init__(
        self, rank: int, num_workers: int, vector: NDArray[Any], neighbours: Neighbours, timeout_s: float
    ) -> None:
        self.rank, self.num_workers = rank, num_workers
        self.vector, self.neighbours, self.timeout_s = vector, neighbours, timeout_s
        self.sent_bytes = self.received_bytes = 0
        self._chunks = [vector[chunk] for chunk in chunks_of(len(vector), num_workers)]
        self._scratch = np.empty(len(self._chunks[0]), dtype=vector.dtype)
        self._poll = select.poll()

    def all_reduce(self) -> float:
        """Sum the vectors of all workers in place; return the seconds spent on summing up."""
        reduce_s = 0.0
        for step in range(1, 2 * self.num_workers - 1):
            # As in ring/all_reduce.py: one's own chunk first, then always the one that came last.
            outgoing = self._chunks[(self.rank + 1 - step) % self.num_workers]
            own = self._chunks[(self.rank - step) % self.num_workers]
            if step < self.num_workers:  # share-reduce
                incoming = self._scratch[: len(own)]
                self._swap(outgoing, incoming)
                begun_s = time.perf_counter()
                np.add(own, incoming, out=own)
                reduce_s += time.perf_counter() - begun_s
            else:  # share-only
                self._swap(outgoing, own)
        return reduce_s

    def _swap(self, outgoing: NDArray[Any], incoming: NDArray[Any]) -> None:
        to_send, to_fill = memoryview(outgoing.view(np.uint8).data), memoryview(incoming.view(np.uint8).data)
        self.sent_bytes += len(to_send)
        self.received_bytes += len(to_fill)
        to_next, from_previous = self.neighbours.to_next, self.neighbours.from_previous
        while to_send or to_fill:
            try:
                if to_send:
                    to_send = to_send[to_next.send(to_send) :]
                    continue
            except BlockingIOError:
                pass
            except OSError as error:
                raise self._gone(self.neighbours.next_name, error) from None
            try:
                if to_fill:
                    num_received = from_previous.recv_into(to_fill)
                    if num_received == 0:
                        raise self._gone(self.neighbours.previous_name, None)
                    to_fill = to_fill[num_received:]
                    continue
            except BlockingIOError:
                pass
            except OSError as error:
                raise self._gone(self.neighbours.previous_name, error) from None
            self._wait(bool(to_send), bool(to_fill))

    def _wait(self, sending: bool, receiving: bool) -> None:
        to_next, from_previous = self.neighbours.to_next, self.neighbours.from_previous
        self._poll.register(to_next, select.POLLOUT if sending else 0)
        self._poll.register(from_previous, select.POLLIN if receiving else 0)
        events = self._poll.poll(self.timeout_s * 1e3)
        if any(
            each == to_next.fileno() and event & (select.POLLERR | select.POLLHUP) for each, event in events
        ):
            raise self._gone(self.neighbours.next_name, None)
        if not events:
            name = self.neighbours.previous_name if receiving else self.neighbours.next_name
            does = "sent" if receiving else "took"
            raise RingBroken(f"{name} {does} nothing for {self.timeout_s:g} s")

    @staticmethod
    def _gone(name: str, error: OSError | None) -> RingBroken:
        reason = "it closed the connection" if error is None else (error.strerror or str(error)).lower()
        return RingBroken(f"{name} disconnected: {reason}")


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
