"""The end of a connection: it is not torn down while the client sends, or the answer would be lost with it.

Who closes a socket with unread bytes resets the connection, and a client that is still sending its body
then never reads why it was refused. So we say that nothing more comes from us, and drop what still comes
from there, within limits, until the client hangs up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

QUIET_S = 5.0  # without a byte from the client
LONGEST_S = 30.0
MOST_BYTES = 512 * 2**20  # as long as a body that was refused is read at all


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
        # Also for a client that does not read, for whom what is left would be kept for ever.
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
