"""Bodies on their way in: counted as they come, and together never more than the memory for them."""

from __future__ import annotations

import asyncio

from starlette.types import Receive

from ringsched.web.errors import Refused
from ringsched.web.limits import Limits

FREE_BYTES = 2**18  # of each body, not counted: who sends little is not to suffer from those who send much


class Uploads:
    """All bodies that have not come in full; one that is announced and does not come holds nothing."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._held_bytes = 0

    async def body(self, receive: Receive) -> bytes:
        """Return a whole body."""
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(self._limits.upload_s):
                await self._read(receive, parts)
        except TimeoutError:
            raise Refused(408, f"the body did not come within {self._limits.upload_s:g} s") from None
        finally:
            self._held_bytes -= _counted(sum(map(len, parts)))
        return b"".join(parts)

    def check_length(self, length: int) -> None:
        """Raise if a body is too large."""
        if length > self._limits.body_bytes:
            raise Refused(
                413, f"the body is larger than the {self._limits.body_bytes} bytes this server takes"
            )

    async def _read(self, receive: Receive, parts: list[bytes]) -> None:
        """Fill `parts`; not all say before how much will come."""
        length, more = 0, True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise Refused(400, "the body ended early")
            part = message.get("body", b"")
            self._held_bytes += _counted(length + len(part)) - _counted(length)
            parts.append(part)
            length += len(part)
            self.check_length(length)
            if self._held_bytes > self._limits.uploads_bytes and _counted(length):
                raise Refused(
                    503, "too much is sent at once; try again in a moment", headers={"Retry-After": "5"}
                )
            more = message.get("more_body", False)


def _counted(length: int) -> int:
    return max(0, length - FREE_BYTES)
