"""The server: binds the address, reports it, and runs until a signal."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Callable
from types import FrameType
from urllib.parse import quote

import uvicorn

from ringsched.errors import InputError, RingschedError
from ringsched.web.app import create_app
from ringsched.web.guards import Access
from ringsched.web.lab import Lab
from ringsched.web.limits import Limits
from ringsched.web.protocol import PatientProtocol

AUTO = "auto"
SHORTEST_TOKEN = 16
GRACE_S = 3  # for responses in progress at shutdown


def access_to(host: str, token: str | None) -> Access:
    """Return the access rules: a token is required unless only this machine can connect.

    Examples
    --------
    >>> access_to("127.0.0.1", None).token is None, len(access_to("0.0.0.0", None).token) >= 16
    (True, True)
    """
    open_to_all = Access(host=host)
    if token is None and open_to_all.is_loopback:
        return open_to_all
    if token is None or token == AUTO:
        return Access(host=host, token=secrets.token_urlsafe(24))
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            f"must have at least {SHORTEST_TOKEN} characters, of ASCII and without spaces", field="--token"
        )
    return Access(host=host, token=token)


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket, or raise with the reason."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise InputError(
            f"= {host!r} is not an address of this machine: {error.strerror}", field="--host"
        ) from None
    listening = socket.socket(family, kind, protocol)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen()  # only then is the port ours; who comes before we are ready waits
    except OSError as error:
        listening.close()
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{host}:{port} cannot be used: {reason}", field=None) from None
    listening.set_inheritable(False)
    return listening


def urls_of(listening: socket.socket, access: Access) -> list[str]:
    """Return where the page is, with the token in the part that browsers keep to themselves.

    For 0.0.0.0, one address for this machine and one with its host name.
    """
    host, port = listening.getsockname()[:2]
    hosts = [host]
    if ipaddress.ip_address(host).is_unspecified:
        hosts = ["::1" if ":" in host else "127.0.0.1", socket.gethostname()]
    token = f"#token={quote(access.token, safe='')}" if access.token else ""
    return [f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/{token}" for shown in hosts]


def serve(
    listening: socket.socket, access: Access, limits: Limits, on_ready: Callable[[list[str]], None]
) -> None:
    """Serve until SIGINT or SIGTERM, which is then raised again; `on_ready` receives the page's addresses."""
    lab = Lab(limits)
    config = uvicorn.Config(
        create_app(access, limits, lab),
        http=PatientProtocol,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_level="critical",  # the shell logs our errors; invalid requests must not fill the log
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    server = _Server(config, lab, lambda: on_ready(urls_of(listening, access)))
    server.run(sockets=[listening])
    if not server.started:
        raise RingschedError("the workers of the lab do not start; check the free memory")


class _Server(uvicorn.Server):
    """Reports when it is ready; at shutdown it closes the event streams."""

    def __init__(self, config: uvicorn.Config, lab: Lab, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._lab, self._on_ready = lab, on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and report it."""
        try:
            await super().startup(sockets)
        except SystemExit:  # no workers; the caller reports it
            self.should_exit = True
        if self.started:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End in order."""
        self._lab.hang_up()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Hear a signal; before all has started there is nothing to wait for."""
        super().handle_exit(sig, frame)
        if not self.started:
            self._lab.abort()
