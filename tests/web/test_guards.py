"""Who is let in, what is too much; no worker is needed to say no."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from ringsched.analysis.as_json import policies_data
from ringsched.errors import InputError
from ringsched.web import app as lab
from ringsched.web.app import create_app
from ringsched.web.guards import Access
from ringsched.web.limits import Limits
from ringsched.web.pool import Pool, WorkerBroke, WorkerEnded
from ringsched.web.replies import Refused, Reply
from ringsched.web.serve import access_to, bound_socket, urls_of
from ringsched.web.shell import Uploads

TOKEN = "a-token-that-is-long"
JSON = {"Content-Type": "application/json"}


def asked(
    method: str, path: str, *, access: Access | None = None, limits: Limits | None = None, **request: Any
) -> httpx.Response:
    """Ask an application that has no workers."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(create_app(access, limits))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8470") as client:
            return await client.request(method, path, **request)

    return asyncio.run(ask())


def about(access: Access | None = None, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return asked("GET", "/api/v1/about", access=access, headers=named)


def test_about_tells_limits_and_policies_as_they_are() -> None:
    told = about().json()
    limits = told["limits"]
    assert limits == Limits().as_dict()
    assert {name for name, limit in limits.items() if type(limit) is float} == {
        *("work_s", "upload_s", "search_s", "kept_s")
    }
    assert told["policies"] == policies_data()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9000", "LOCALHOST", "[::1]:8470", "127.8.9.1:1"])
def test_this_machine_has_several_names(host: str) -> None:
    assert about(host=host).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8470", "10.0.0.1", "0.0.0.0"),
        *("", "a@127.0.0.1", "127.0.0.1:99999", "[::1", "localhost:x", "localhost/.."),
        *(
            "[::1]evil.example",
            "[::1]evil.example:8470",
            "evil.example[::1]",
            "evil.example[::1]:8470",
            "[::1]]",
        ),
        *(
            "[[::1]]",
            "[::1]:",
            "[::1]:8470:8470",
            "::1",
            "[127.0.0.1]",
            "[localhost]",
            "[]",
            "[::1%25lo]",
            "[::2]",
        ),
        *(
            "127.0.0.1 evil.example",
            "127.0.0.1,evil.example",
            "localhost:0",
            "localhost#",
            "localhost?x",
            ":8470",
        ),
        *("localhost\\evil.example", "127.0.0.1:+80", "127.0.0.1:8_0", "127.1", "2130706433", "0x7f.0.0.1"),
    ],
)
def test_a_host_that_dns_could_point_here_is_refused(host: str) -> None:
    answer = about(host=host)
    assert answer.status_code == 403
    assert answer.json()["error"]["field"] == "Host"
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_beyond_this_machine_numbers_and_own_names_are_hosts() -> None:
    access = Access(host="0.0.0.0", token=TOKEN)
    for host in ("10.1.2.3:8470", "[fe80::1]:8470", "localhost"):
        assert about(access, host=host, authorization=f"Bearer {TOKEN}").status_code == 200
    assert about(access, host="evil.example", authorization=f"Bearer {TOKEN}").status_code == 403


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:8470", 200),
        ("https://127.0.0.1:8470", 200),
        ("http://127.0.0.1:8471", 403),
        ("http://localhost:8470", 403),
        ("http://evil.example", 403),
        ("http://127.0.0.1:8470.evil.example", 403),
        ("http://evil.example@127.0.0.1:8470", 403),
        ("file://127.0.0.1:8470", 403),
        ("null", 403),
        ("", 403),
        ("http://[", 403),
    ],
)
def test_other_origins_are_refused(origin: str, status: int) -> None:
    answer = about(host="127.0.0.1:8470", origin=origin)
    assert answer.status_code == status
    assert "access-control-allow-origin" not in answer.headers


def test_other_sites_are_refused_where_there_is_no_origin() -> None:
    assert about(sec_fetch_site="cross-site").status_code == 403
    assert about(sec_fetch_site="same-site").status_code == 403
    assert about(sec_fetch_site="same-origin").status_code == 200
    assert asked("GET", "/assets/report.css", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200


@pytest.mark.parametrize(
    "given",
    ["", "Bearer", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer ü"],
)
def test_without_the_token_nothing_is_told(given: str) -> None:
    access = Access(token=TOKEN)
    answer = asked("GET", "/api/v1/about", access=access, headers={"Authorization": given.encode("latin-1")})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert TOKEN not in answer.text
    assert about(access, authorization=f"bearer {TOKEN}").status_code == 200


def test_the_token_guards_all_of_the_api_and_not_the_page() -> None:
    access = Access(token=TOKEN)
    for method, path in [
        ("POST", "plan"),
        ("GET", "openapi.json"),
        ("DELETE", "searches/x"),
        ("GET", "none"),
    ]:
        assert asked(method, f"/api/v1/{path}", access=access).status_code == 401
    assert asked("GET", "/assets/report.css", access=access).status_code == 200


def test_a_token_is_made_for_any_address_but_this_machines() -> None:
    assert access_to("127.0.0.1", None).token is None
    assert access_to("::1", None).token is None
    made = {access_to(host, None).token for host in ("0.0.0.0", "::", "192.168.1.5", "gpu-head")}
    assert len(made) == 4
    assert all(token is not None and len(token) >= 32 for token in made)
    assert access_to("127.0.0.1", "auto").token
    for weak in ("short", "with a space in its midst", "a-long-token-with-ü"):
        with pytest.raises(InputError, match="--token must have at least 16 characters"):
            access_to("0.0.0.0", weak)


def test_the_address_carries_the_token_where_servers_do_not_see_it() -> None:
    with bound_socket("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        assert urls_of(listening, Access(token=TOKEN)) == [f"http://127.0.0.1:{port}/#token={TOKEN}"]
        with pytest.raises(InputError, match=f"127.0.0.1:{port} cannot be used: address already in use"):
            bound_socket("127.0.0.1", port)
    with pytest.raises(InputError, match=r"--host = '192.0.2.1.2' is not an address of this machine"):
        bound_socket("192.0.2.1.2", 0)


def test_a_token_of_any_letters_survives_its_way_through_an_address() -> None:
    odd = "a+b&c%20d=e#f/g?h"
    with bound_socket("127.0.0.1", 0) as listening:
        (url,) = urls_of(listening, Access(token=odd))
    assert parse_qs(urlsplit(url).fragment) == {"token": [odd]}  # as the page reads it


def test_who_listens_on_all_addresses_is_told_some_that_can_be_opened() -> None:
    access = Access(host="0.0.0.0", token=TOKEN)
    with bound_socket("0.0.0.0", 0) as listening:
        port = listening.getsockname()[1]
        urls = urls_of(listening, access)
    names = ["127.0.0.1", socket.gethostname()]
    assert urls == [f"http://{name}:{port}/#token={TOKEN}" for name in names]
    for name in names:
        assert about(access, host=f"{name}:{port}", authorization=f"Bearer {TOKEN}").status_code == 200


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonp"])
def test_a_body_must_be_json(kind: str) -> None:
    answer = asked("POST", "/api/v1/plan", content=b"{}", headers={"Content-Type": kind})
    assert answer.status_code == 415
    assert "application/json" in answer.json()["error"]["message"]


def test_a_large_body_is_refused_before_it_is_read() -> None:
    headers = JSON | {"Content-Length": str(100 * 10**6)}

    async def never() -> AsyncIterator[bytes]:
        raise AssertionError("it was read")
        yield b""

    answer = asked("POST", "/api/v1/plan", content=never(), headers=headers)
    assert answer.status_code == 413
    assert (
        answer.json()["error"]["message"]
        == "the body is larger than the 33554432 bytes that this server accepts"
    )


def test_a_body_of_unknown_length_is_counted_as_it_comes() -> None:
    sent = []

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(100):
            sent.append(1000)
            yield b" " * 1000

    answer = asked("POST", "/api/v1/plan", content=chunks(), headers=JSON, limits=Limits(body_bytes=10_000))
    assert answer.status_code == 413
    assert len(sent) == 11


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    answer = asked("POST", "/api/v1/plan", content=slow(), headers=JSON, limits=Limits(upload_s=0.1))
    assert answer.status_code == 408


def test_too_many_at_once_are_asked_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two work and three wait; the others are refused at once, and later all is as before."""
    limits = Limits(workers=2, queue=3)
    going_on = asyncio.Event()

    async def work(*_: Any) -> Reply:
        await going_on.wait()
        return Reply(200, b"{}")

    monkeypatch.setattr(lab.Lab, "work", work)

    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(create_app(limits=limits))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            posts = [asyncio.create_task(client.post("/api/v1/plan", json={})) for _ in range(50)]
            while sum(post.done() for post in posts) < 45:
                await asyncio.sleep(0)
            assert (await client.get("/api/v1/about")).status_code == 200
            going_on.set()
            return [*await asyncio.gather(*posts), await client.post("/api/v1/plan", json={})]

    answers = asyncio.run(ask())
    assert sorted(answer.status_code for answer in answers) == [200] * 6 + [503] * 45
    busy = next(answer for answer in answers if answer.status_code == 503)
    assert busy.headers["retry-after"] == "1"
    assert "too many requests at once" in busy.json()["error"]["message"]


def test_bodies_that_are_announced_and_do_not_come_take_nobodys_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work(*_: Any) -> Reply:
        return Reply(200, b"{}")

    monkeypatch.setattr(lab.Lab, "work", work)
    begun = []

    async def never() -> AsyncIterator[bytes]:
        begun.append(True)
        yield b"{"
        await asyncio.Event().wait()

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(create_app(limits=Limits(workers=1, queue=1)))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            posts = [
                asyncio.create_task(client.post("/api/v1/plan", content=never(), headers=JSON))
                for _ in range(10)
            ]
            while len(begun) + sum(post.done() for post in posts) < 10:
                await asyncio.sleep(0)
            answer = await client.post("/api/v1/plan", json={})
            for post in posts:
                post.cancel()
            return answer

    assert asyncio.run(ask()).status_code == 200


def test_bodies_on_their_way_share_a_limited_memory() -> None:
    """Who sends little is served all the same, and what was held is free again afterwards."""
    uploads = Uploads(Limits(body_bytes=10**6, uploads_bytes=10**6))

    def sender(*lengths: int) -> tuple[Any, asyncio.Event]:
        more, left = asyncio.Event(), list(lengths)

        async def receive() -> dict[str, Any]:
            if len(left) < len(lengths):
                await more.wait()
            return {"type": "http.request", "body": b" " * left.pop(0), "more_body": bool(left)}

        return receive, more

    async def use() -> None:
        slow, may_end = sender(900_000, 10)
        first = asyncio.create_task(uploads.body(slow))
        await asyncio.sleep(0)
        with pytest.raises(Refused) as refused:
            await uploads.body(sender(900_000)[0])
        assert refused.value.status == 503
        assert len(await uploads.body(sender(100_000)[0])) == 100_000
        may_end.set()
        assert len(await first) == 900_010
        assert len(await uploads.body(sender(900_000)[0])) == 900_000

    asyncio.run(use())


@pytest.mark.parametrize(("end", "status"), [(WorkerBroke, 413), (WorkerEnded, 503)])
def test_only_what_may_help_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, end: type[Exception], status: int
) -> None:
    async def run(*_: Any, **__: Any) -> Reply:
        raise end

    monkeypatch.setattr(Pool, "run", run)
    answer = asked("POST", "/api/v1/plan", json={})
    assert answer.status_code == status
    assert ("retry-after" in answer.headers) == ("try again" in answer.text) == (status == 503)


def test_a_mistake_of_ours_is_not_shown(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    async def work(*_: Any) -> Reply:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(lab.Lab, "work", work)
    answer = asked("POST", "/api/v1/plan", json={})
    assert answer.status_code == 500
    assert list(answer.json()) == ["error"]
    assert "secret" not in answer.text
    assert "ZeroDivisionError: a secret" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("OPTIONS", "/api/v1/plan", 405),
        ("GET", "/api/v1/plan", 405),
        ("HEAD", "/api/v1/about", 405),
        ("TRACE", "/api/v1/about", 405),
        ("BREW", "/", 405),
        ("PUT", "/assets/report.css", 405),
        ("POST", "/", 405),
        ("GET", "/api/v1/plan/", 404),
        ("GET", "/api/v1/searches/%00", 404),
        ("GET", "/api/v1/examples/..%2f..%2fetc%2fpasswd", 404),
        ("GET", "/api/v1/examples/" + "x" * 5000, 404),
        ("GET", "/etc/passwd", 404),
        ("GET", "/x//evil.example/", 404),
    ],
)
def test_what_is_not_there_is_said_in_the_same_shape(method: str, path: str, status: int) -> None:
    answer = asked(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    assert method == "HEAD" or json.loads(answer.text)["error"]["message"]
