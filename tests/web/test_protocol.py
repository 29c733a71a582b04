"""Connections at their limits: slow, silent, or still sending when all has been said."""

from __future__ import annotations

import asyncio
import json
import socket
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from ringsched.web import protocol
from ringsched.web.app import create_app
from ringsched.web.guards import Access
from ringsched.web.protocol import PatientProtocol

HANGS_S = 300.0  # what takes longer never ends
TOKEN = "a-token-that-is-long"
BODY = b" " * 40_000_000
HEAD = b"POST /api/v1/plan HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
TOO_LARGE = HEAD + b"Connection: close\r\nContent-Length: 100000000\r\n\r\n"


class Listening:
    """An application without workers behind real sockets."""

    def __init__(self, port: int, state: ServerState) -> None:
        self.port, self._state = port, state

    def connected(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=HANGS_S)

    def num_connections(self) -> int:
        return len(self._state.connections)

    async def until_all_are_gone(self) -> None:
        while self._state.connections:
            await asyncio.sleep(0.01)


def with_server(use: Callable[[Listening], Awaitable[None]], app: Any = None) -> None:
    async def go() -> None:
        config = uvicorn.Config(app or create_app(Access(token=TOKEN)), log_config=None, lifespan="off")
        config.load()
        state = ServerState()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: PatientProtocol(config, state, {}), "127.0.0.1", 0)
        async with server:
            await asyncio.wait_for(use(Listening(server.sockets[0].getsockname()[1], state)), HANGS_S)

    asyncio.run(go())


def received(connection: socket.socket) -> bytes:
    """Return all that comes until the other side has nothing more to say."""
    parts = []
    with suppress(ConnectionResetError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def posted(port: int, headers: dict[str, str]) -> tuple[int, Any]:
    """Send a large body as simple clients do: all of it, before they look at the answer."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/v1/plan", BODY, headers)
    try:
        urllib.request.urlopen(request, timeout=HANGS_S)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)
    raise AssertionError("it was not refused")


@pytest.mark.parametrize(
    ("status", "changed"),
    [
        (413, {}),
        (401, {"Authorization": "Bearer none"}),
        (403, {"Origin": "http://evil.example"}),
        (415, {"Content-Type": "text/plain"}),
    ],
)
def test_who_sends_a_large_body_and_is_refused_reads_why(status: int, changed: dict[str, str]) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"} | changed

    async def use(listening: Listening) -> None:
        given, content = await asyncio.to_thread(posted, listening.port, headers)
        assert given == status
        assert content["error"]["message"]
        await listening.until_all_are_gone()

    with_server(use)


def test_who_is_refused_and_goes_on_for_ever_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MOST_BYTES", 10**6)

    def send(listening: Listening) -> None:
        with listening.connected() as connection:
            connection.sendall(TOO_LARGE)
            with pytest.raises(OSError, match=r"reset|[Bb]roken pipe"):
                connection.sendall(BODY)

    async def use(listening: Listening) -> None:
        await asyncio.to_thread(send, listening)
        await listening.until_all_are_gone()

    with_server(use)


@pytest.mark.parametrize("limit", ["QUIET_S", "LONGEST_S"])
def test_who_is_refused_and_does_not_hang_up_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(protocol, limit, 0.1)

    async def use(listening: Listening) -> None:
        with listening.connected() as connection:
            connection.sendall(TOO_LARGE)
            answer = await asyncio.to_thread(received, connection)
            assert answer.startswith(b"HTTP/1.1 401")
            await listening.until_all_are_gone()

    with_server(use)


def test_what_is_no_http_is_told_so_to_the_end() -> None:
    def send(listening: Listening) -> None:
        with listening.connected() as connection:
            connection.sendall(b"\x16\x03\x01" * 5_000_000)
            assert received(connection).startswith(b"HTTP/1.1 400")

    async def use(listening: Listening) -> None:
        await asyncio.to_thread(send, listening)
        await listening.until_all_are_gone()

    with_server(use)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
def test_a_head_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(protocol, "HEAD_S", 0.1)

    async def use(listening: Listening) -> None:
        with listening.connected() as connection:
            connection.sendall(sent)
            answer = await asyncio.to_thread(received, connection)
        head, _, content = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408")
        assert json.loads(content) == {"error": {"message": "no request came within 0.1 s"}}
        await listening.until_all_are_gone()

    with_server(use)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\n", b"no HTTP\r\n\r\n", TOO_LARGE])
def test_silent_clients_keep_nobody_out(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    """256 of them did for 20 s, with no token needed."""
    monkeypatch.setattr(protocol, "MOST_CONNECTIONS", 3)
    asked = f"GET /api/v1/about HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"

    def ask(listening: Listening) -> None:
        with ExitStack() as open_ones:
            for _ in range(10):
                open_ones.enter_context(listening.connected()).sendall(sent)
            for _ in range(2):
                client = open_ones.enter_context(listening.connected())
                client.sendall(asked.encode())
                assert client.recv(100).startswith(b"HTTP/1.1 200")
            assert listening.num_connections() <= 3

    async def use(listening: Listening) -> None:
        await asyncio.to_thread(ask, listening)
        await listening.until_all_are_gone()

    with_server(use)


def test_who_is_being_answered_is_not_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MOST_CONNECTIONS", 2)
    begun, end = asyncio.Semaphore(0), asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        begun.release()
        await end.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async def use(listening: Listening) -> None:
        with ExitStack() as open_ones:
            clients = [open_ones.enter_context(listening.connected()) for _ in range(2)]
            for client in clients:
                client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                await begun.acquire()
            late = await asyncio.to_thread(received, open_ones.enter_context(listening.connected()))
            assert late.startswith(b"HTTP/1.1 503")
            assert b"too many connections; try again in a few seconds" in late
            end.set()
            for client in clients:
                assert (await asyncio.to_thread(client.recv, 100)).startswith(b"HTTP/1.1 200")

    with_server(use, slow)


def test_a_client_that_does_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its request ends too, so that others can have its place."""
    monkeypatch.setattr(protocol, "READING_S", 0.1)
    gone = asyncio.Event()

    async def talkative(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(100):
            await send({"type": "http.response.body", "body": b" " * 10**6, "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.set()

    async def use(listening: Listening) -> None:
        with listening.connected() as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            await gone.wait()
            await listening.until_all_are_gone()

    with_server(use, talkative)


def test_what_a_client_leaves_unread_at_the_end_is_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be too little for the transport to wait for it."""
    monkeypatch.setattr(protocol, "LONGEST_S", 0.1)

    class Unread(asyncio.Transport):
        def __init__(self) -> None:
            self.aborted = asyncio.Event()

        def is_closing(self) -> bool:
            return False

        def close(self) -> None:
            """Wait for the client to read."""

        def abort(self) -> None:
            self.aborted.set()

    async def go() -> None:
        unread = Unread()
        protocol.LingeringTransport(unread, asyncio.get_running_loop(), lambda: False).close()
        await asyncio.wait_for(unread.aborted.wait(), HANGS_S)

    asyncio.run(go())
