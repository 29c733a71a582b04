"""One all-reduce of one worker: 2(w-1) steps of sending and receiving at the same time."""

from __future__ import annotations

import select
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringsched.calibrate.peers import Neighbours, RingBroken
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
        for number in range(1, 2 * self.num_workers - 1):
            # As in ring/steps.py: one's own chunk first, then always the one that came last.
            outgoing = self._chunks[(self.rank + 1 - number) % self.num_workers]
            own = self._chunks[(self.rank - number) % self.num_workers]
            if number < self.num_workers:  # share-reduce
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
        return RingBroken(f"{name} went away in the middle of the ring: {reason}")
