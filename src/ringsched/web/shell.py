"""The shell around the application: every request passes here first, every answer last."""

from __future__ import annotations

import asyncio
import sys
import traceback
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ringsched.web.guards import API, Access, check_media_type, declared_length, header_table
from ringsched.web.limits import Limits
from ringsched.web.replies import BUG, Refused, error_content

FREE_BYTES = 2**18  # of each body, not counted, so that small requests are not affected by large ones


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
            raise Refused(408, f"the body did not arrive within {self._limits.upload_s:g} s") from None
        finally:
            self._held_bytes -= _counted(sum(map(len, parts)))
        return b"".join(parts)

    def check_length(self, length: int) -> None:
        """Raise if a body is too large."""
        if length > self._limits.body_bytes:
            raise Refused(
                413, f"the body is larger than the {self._limits.body_bytes} bytes that this server accepts"
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
                    503, "too many uploads at once; try again in a few seconds", headers={"Retry-After": "5"}
                )
            more = message.get("more_body", False)


def _counted(length: int) -> int:
    return max(0, length - FREE_BYTES)


CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Shell:
    """Checks who asks, limits what is read and how much is done at once, and adds the headers."""

    def __init__(self, app: ASGIApp, access: Access, limits: Limits) -> None:
        self._app, self._access, self._limits = app, access, limits
        self._uploads = Uploads(limits)
        self._in_progress = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._other(scope, receive, send)
            return
        answer = _Answer(scope, send)
        try:
            await self._serve(scope, receive, answer)
        except Refused as refused:
            content = error_content(refused.message, **refused.more)
            await answer.whole(refused.status, content, refused.headers)
        except Exception as error:
            traceback.print_exception(error, file=sys.stderr)
            await answer.whole(500, error_content(BUG), {})

    async def _other(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        else:  # a web socket: there are none here
            await send({"type": "websocket.close", "code": 1008})

    async def _serve(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        headers = header_table(scope["headers"])
        self._access.check(scope["path"], headers)
        if scope["method"] != "POST" or not scope["path"].startswith(API):
            await self._app(scope, receive, answer.send)
            return
        check_media_type(headers.get("content-type", ""))
        self._uploads.check_length(declared_length(headers.get("content-length")) or 0)
        body = await self._uploads.body(receive)  # before it has a place: it may never come
        if self._in_progress >= self._limits.workers + self._limits.queue:
            raise Refused(
                503, "too many requests at once; try again in a few seconds", headers={"Retry-After": "1"}
            )
        self._in_progress += 1
        try:
            await self._app(scope, _replayed(body, receive), answer.send)
        finally:
            self._in_progress -= 1


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return what gives the body that was read, and then whatever comes, such as the client's end."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return left.pop() if left else await receive()

    return replay


class _Answer:
    """The way out: headers on every answer."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._send, self._begun = send, False
        caching = "no-store" if scope["path"].startswith(API) else "no-cache"
        self._headers = HEADERS | {"Cache-Control": caching}

    async def send(self, message: Message) -> None:
        """Pass a message on."""
        if message["type"] == "http.response.start":
            self._begun = True
            ours = [(name.lower().encode(), value.encode()) for name, value in self._headers.items()]
            message = {**message, "headers": [*message.get("headers", []), *ours]}
        await self._send(message)

    async def whole(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        """Send a whole answer, if none was begun."""
        if self._begun:
            return
        fields: dict[str, Any] = {"Content-Type": "application/json", "Content-Length": str(len(content))}
        listed = [(name.lower().encode(), value.encode()) for name, value in (fields | headers).items()]
        await self.send({"type": "http.response.start", "status": status, "headers": listed})
        await self.send_body(content)

    async def send_body(self, content: bytes) -> None:
        """Send the one and only part of a body."""
        await self._send({"type": "http.response.body", "body": content, "more_body": False})
