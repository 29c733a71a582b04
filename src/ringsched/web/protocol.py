"""uvicorn's HTTP protocol with our error messages and with timeouts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ringsched.web.replies import error_content

QUIET_S = 5.0  # without a byte from the client
LONGEST_S = 30.0
MOST_BYTES = 512 * 2**20  # how long a refused body is read


class LingeringTransport(asyncio.Transport):
    """A transport whose `close` waits for a client that still sends."""

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, still_sends: Callable[[], bool]
    ) -> None:
        super().__init__()
        self._transport, self._loop, self._still_sends = transport, loop, still_sends
        self._closing = False
        self._num_dropped = 0
        self._quiet_timer: asyncio.TimerHandle | None = None
        self._last_timer: asyncio.TimerHandle | None = None

    def close(self) -> None:
        """Send what is left to be sent, and hang up; at once if the client has said all it had to say."""
        if self.is_closing():
            return
        self._closing = True
        # Also for a client that does not read, whose unsent data would be kept forever.
        self._last_timer = self._loop.call_later(LONGEST_S, self._transport.abort)
        if self._still_sends():
            self._linger()
        else:
            self._transport.close()

    def drop(self, data: bytes) -> None:
        """Take what came after the end."""
        self._num_dropped += len(data)
        if self._num_dropped > MOST_BYTES:
            self._transport.abort()
        else:
            self._wait_for_more()

    def lost(self) -> None:
        """Wait no longer: the connection is gone."""
        for timer in (self._quiet_timer, self._last_timer):
            if timer is not None:
                timer.cancel()

    def _linger(self) -> None:
        try:
            self._transport.write_eof()
        except OSError:  # the client is gone already
            self._transport.abort()
            return
        self._transport.resume_reading()
        self._wait_for_more()

    def _wait_for_more(self) -> None:
        if self._quiet_timer is not None:
            self._quiet_timer.cancel()
        self._quiet_timer = self._loop.call_later(QUIET_S, self._transport.close)

    def is_closing(self) -> bool:
        """Whether nothing can be said or heard any more."""
        return self._closing or self._transport.is_closing()

    def abort(self) -> None:
        """Hang up at once."""
        self._transport.abort()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send, unless we said that nothing more comes."""
        if not self._closing:
            self._transport.write(data)

    def pause_reading(self) -> None:
        """Take nothing for a while; at the end all is taken, and dropped."""
        if not self._closing:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Go on."""
        self._transport.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what is known of the connection."""
        return self._transport.get_extra_info(name, default)


HEAD_S = 20.0  # until the head of a request has come
READING_S = 30.0  # until a client has taken what was sent
MOST_CONNECTIONS = 256


class PatientProtocol(H11Protocol):
    """One connection."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head_timer: asyncio.TimerHandle | None = None
        self._reading_timer: asyncio.TimerHandle | None = None
        self._discarded = 0
        self._refused = False
        self._idle_since = self.loop.time()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a client; if there are too many, close an idle connection or refuse."""
        self._ending = LingeringTransport(transport, self.loop, self._still_sends)
        super().connection_made(self._ending)
        self._expect_head()
        if len(self.connections) > MOST_CONNECTIONS:
            self._close_idle()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        self._got_head()
        self._has_read()
        self._ending.lost()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait for a client to read, with a timeout, because it occupies a connection."""
        super().pause_writing()
        self._reading_timer = self.loop.call_later(READING_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: it has read."""
        self._has_read()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Take what comes."""
        if self.transport.is_closing():
            self._ending.drop(data)
            return
        self._discarded = self._discarded + len(data) if self._is_discarding() else 0
        if self._discarded > MOST_BYTES:
            self.transport.abort()
            return
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._got_head()
        elif self._head_timer is None:
            self._expect_head()

    def shutdown(self) -> None:
        """End with the server, without waiting for clients that still send."""
        if self.transport.is_closing():
            self.transport.abort()
        else:
            super().shutdown()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Say in our shape that this is no HTTP."""
        self._refuse(400, "this is not a valid HTTP/1.1 request, or its headers are too long")

    def _close_idle(self) -> None:
        """Close the connection that has been idle longest, so that idle clients do not block others."""
        others = (other for other in self.connections if isinstance(other, PatientProtocol))
        idle = [other for other in others if other is not self and other._is_idle()]
        if not idle:
            self._refuse(503, "too many connections; try again in a few seconds")
            return
        silent = min(idle, key=lambda other: other._idle_since)
        self.connections.discard(
            silent
        )  # not only when asyncio tells of it: the next client looks for another
        silent.transport.abort()

    def _is_idle(self) -> bool:
        """Whether no request of the client is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _still_sends(self) -> bool:
        """Whether what is no HTTP, a refused request or its body may still be on its way."""
        return self._refused or self.conn.their_state is h11.SEND_BODY

    def _is_discarding(self) -> bool:
        """Whether the answer is out while the body still comes."""
        return (
            self.cycle is not None and self.cycle.response_complete and self.conn.their_state is h11.SEND_BODY
        )

    def _expect_head(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_S, self._too_slow)

    def _got_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _has_read(self) -> None:
        if self._reading_timer is not None:
            self._reading_timer.cancel()
            self._reading_timer = None

    def _too_slow(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self._refuse(408, f"no request came within {HEAD_S:g} s")

    def _refuse(self, status: int, message: str) -> None:
        """Answer and close, unless an answer was begun: then only close."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            content = error_content(message)
            headers = [
                ("Content-Type", "application/json"),
                ("Content-Length", str(len(content))),
                ("Connection", "close"),
                *([("Retry-After", "1")] if status == 503 else []),
            ]
            answer = h11.Response(status_code=status, headers=headers)
            for event in (answer, h11.Data(data=content), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self._refused = True
        self._leave_alone()
        self.transport.close()

    def _leave_alone(self) -> None:
        """Signal that the client no longer waits, although its connection is still read."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self.flow.resume_writing()
