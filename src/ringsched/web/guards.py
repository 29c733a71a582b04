"""Access checks of host, origin and token; pure functions of a request's headers."""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import urlsplit

from ringsched.web.replies import Refused

API = "/api/"
JSON_TYPE = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Where the server listens and what it wants to see.

    Examples
    --------
    >>> Access(host="127.0.0.1").is_loopback, Access(host="0.0.0.0").is_loopback
    (True, False)
    """

    host: str = "127.0.0.1"  # an address, or a name that has one
    token: str | None = field(default=None, repr=False)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return _is_loopback(self.host)

    def check(self, path: str, headers: Mapping[str, str]) -> None:
        """Raise if this request is not allowed."""
        self._check_host(headers.get("host"))
        _check_origin(headers)
        if path.startswith(API):
            _check_site(headers.get("sec-fetch-site"))
            self._check_token(headers.get("authorization", ""))

    def _check_host(self, given: str | None) -> None:
        """Refuse names that a stranger's DNS may have pointed here (DNS rebinding)."""
        name = _host_name(given or "")
        allowed = _is_loopback(name) if self.is_loopback else self._is_ours(name)
        if not allowed:
            raise Refused(403, f"this server does not accept the host name {_cut(given)}", field="Host")

    def _is_ours(self, name: str) -> bool:
        """Whether it is a numeric address, which DNS cannot redirect, or a name of this machine."""
        return _address(name) is not None or _is_loopback(name) or name in {self.host.lower(), *_own_names()}

    def _check_token(self, given: str) -> None:
        if self.token is None:
            return
        scheme, _, token = given.partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(
            token.strip().encode("utf-8", "replace"), self.token.encode()
        ):
            raise Refused(
                401,
                "the token is missing or wrong; use the address that the server printed at its start",
                headers={"WWW-Authenticate": "Bearer"},
                field="Authorization",
            )


@cache
def _own_names() -> frozenset[str]:
    """Return what this machine is called; asked once, for the answer may come from the network."""
    return frozenset({socket.gethostname().lower(), socket.getfqdn().lower()})


def _check_origin(headers: Mapping[str, str]) -> None:
    """Refuse what a page of another origin sends, whether or not it could read the answer."""
    origin = headers.get("origin")
    if origin is None:
        return
    try:
        parts = urlsplit(origin)
        same = parts.scheme in ("http", "https") and parts.netloc.lower() == headers.get("host", "").lower()
    except ValueError:
        same = False
    if not same:
        raise Refused(403, f"pages from {_cut(origin)} may not use this server", field="Origin")


def _check_site(site: str | None) -> None:
    """Refuse the same where browsers send no origin, as with images and scripts."""
    if site not in (None, "same-origin", "none"):
        raise Refused(403, "pages of other sites may not use this server", field="Sec-Fetch-Site")


def check_media_type(given: str) -> None:
    """Raise if a body is not said to be JSON."""
    if given.partition(";")[0].strip().lower() != JSON_TYPE:
        raise Refused(415, f"the body must be {JSON_TYPE}, not {_cut(given)}", field="Content-Type")


def declared_length(given: str | None) -> int | None:
    """Return how long a body is said to be."""
    return (
        int(given) if given is not None and given.isascii() and given.isdigit() and len(given) < 19 else None
    )


def header_table(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by their names; of several the first counts."""
    table: dict[str, str] = {}
    for name, value in headers:
        table.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
    return table


_HOST = re.compile(r"(?:\[(?P<number>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::(?P<port>[0-9]{1,5}))?")


def _host_name(given: str) -> str:
    """Return the host without its port, nothing if it is none; `urlsplit` would forgive too much.

    Examples
    --------
    >>> _host_name("LocalHost:8470"), _host_name("[::1]:8470"), _host_name("a:b:c"), _host_name("[::1]a")
    ('localhost', '::1', '', '')
    """
    found = _HOST.fullmatch(given.lower())
    if found is None or not 0 < int(found["port"] or 1) < 2**16:
        return ""
    if found["number"] and not isinstance(_address(found["number"]), ipaddress.IPv6Address):
        return ""
    return found["number"] or found["name"]


def _is_loopback(name: str) -> bool:
    address = _address(name)
    return name == "localhost" if address is None else address.is_loopback


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _cut(value: str | None) -> str:
    return repr((value or "")[:60])
