"""The connections of a worker to its two neighbours in a ring."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence
from typing import NamedTuple

from ringsched.errors import InputError, RingschedError

AGAIN_S = 0.05  # between two tries to reach a neighbour that does not listen yet
MOST_WORKERS = 1024
_GREETING = struct.Struct("!16sIIQ")  # magic, rank, workers, elements
_MAGIC = b"ringsched-ring/1"


class RingBroken(RingschedError):
    """A worker cannot be reached, has other settings, or disconnected."""

    exit_code = 1


class Address(NamedTuple):
    """Where a worker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Neighbours(NamedTuple):
    """The connections of one worker, and the names of its neighbours."""

    to_next: socket.socket
    from_previous: socket.socket
    next_name: str
    previous_name: str

    def close(self) -> None:
        """Close both."""
        self.to_next.close()
        self.from_previous.close()


def ring_from_text(text: str) -> tuple[Address, ...]:
    """Return the addresses of a ring written as host:port,host:port,... in the order of ranks.

    Examples
    --------
    >>> [str(address) for address in ring_from_text("node-a:5000,[::1]:5001")]
    ['node-a:5000', '[::1]:5001']
    """
    addresses = []
    for part in text.split(","):
        host, _, port = part.strip().rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise InputError(f"must be host:port,host:port,..., but has {part.strip()!r}", field="--ring")
        addresses.append(Address(host, int(port)))
    if not 2 <= len(addresses) <= MOST_WORKERS:
        raise InputError(f"must name 2 to {MOST_WORKERS} workers, not {len(addresses)}", field="--ring")
    if len(set(addresses)) < len(addresses):
        raise InputError("names an address twice", field="--ring")
    return tuple(addresses)


def meet(rank: int, ring: Sequence[Address], *, elements: int, timeout_s: float) -> Neighbours:
    """Connect to the next worker and be connected to by the one before, or raise with the missing one."""
    deadline_s = time.monotonic() + timeout_s
    following, before = (rank + 1) % len(ring), (rank - 1) % len(ring)
    next_name, previous_name = f"rank {following} at {ring[following]}", f"rank {before} at {ring[before]}"
    greeting = _GREETING.pack(_MAGIC, rank, len(ring), elements)
    with _listening(rank, ring[rank]) as listener:
        to_next = _reached(ring[following], next_name, deadline_s)
        try:
            to_next.sendall(greeting)
            expected = (before, len(ring), elements)
            from_previous = _accepted(listener, previous_name, expected, deadline_s, timeout_s)
        except BaseException:
            to_next.close()
            raise
    for connection in (to_next, from_previous):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
    return Neighbours(to_next, from_previous, next_name, previous_name)


def _listening(rank: int, own: Address) -> socket.socket:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(*own, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(place)
            listener.listen()
        except OSError:
            listener.close()
            raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise RingBroken(f"rank {rank} cannot listen at {own}, its own address: {reason}") from None
    return listener


def _reached(address: Address, name: str, deadline_s: float) -> socket.socket:
    reason = "no answer"
    while (left_s := deadline_s - time.monotonic()) > 0:
        try:
            return socket.create_connection(address, timeout=left_s)
        except socket.gaierror as error:
            raise RingBroken(f"{name} cannot be reached: {(error.strerror or str(error)).lower()}") from None
        except OSError as error:  # most likely it does not listen yet
            reason = (error.strerror or str(error)).lower()
            time.sleep(min(AGAIN_S, max(0.0, deadline_s - time.monotonic())))
    raise RingBroken(f"{name} cannot be reached: {reason}")


def _accepted(
    listener: socket.socket, name: str, expected: tuple[int, int, int], deadline_s: float, timeout_s: float
) -> socket.socket:
    """Wait for the neighbour; other connections, such as port scanners, are closed."""
    while (left_s := deadline_s - time.monotonic()) > 0:
        listener.settimeout(left_s)
        try:
            caller, _ = listener.accept()
        except TimeoutError:
            break
        caller.settimeout(max(0.01, min(2.0, deadline_s - time.monotonic())))
        try:
            magic, *said = _GREETING.unpack(_whole(caller, _GREETING.size))
        except (OSError, struct.error):
            caller.close()
            continue
        if magic == _MAGIC and said[0] == expected[0]:
            if tuple(said) != expected:
                caller.close()
                raise RingBroken(
                    f"{name} has a ring of {said[1]} workers and {said[2]} elements, "
                    f"this one of {expected[1]} and {expected[2]}"
                )
            return caller
        caller.close()
    raise RingBroken(f"{name} did not connect within {timeout_s:g} s")


def _whole(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (part := connection.recv(size - len(data))):
        data += part
    return data
