"""What enemies and fuzzers send is answered, politely, and the server goes on."""

from __future__ import annotations

import os
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from tests.web.conftest import Served
from tests.web.hostile import GARBAGE, JSON, PLANS, planned, planned_in_the_end, spoken

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize("name", PLANS)
def test_a_hostile_body(client: httpx.Client, name: str) -> None:
    content, fine = PLANS[name]
    for path in ("/plan", "/searches") if name == "deep" else ("/plan",):
        answer = client.post(path, content=content, headers=JSON)
        assert answer.status_code in fine, answer.text[:300]
        assert answer.status_code == 200 or answer.json()["error"]["message"]
        assert answer.status_code == 200 or len(answer.content) < 3500  # a sentence, not what was sent


@pytest.mark.parametrize("name", GARBAGE)
def test_what_is_hardly_http(served: Served, client: httpx.Client, name: str) -> None:
    sent, beginning = GARBAGE[name]
    received = spoken(served.port, sent)
    assert received.startswith(beginning) or not (received or beginning.endswith(b"400"))
    assert b"Traceback" not in received
    if received.startswith(b"HTTP/1.1 400"):
        assert received.partition(b"\r\n\r\n")[2].startswith(b'{"error": {"message": ')
    assert client.get("/about").status_code == 200


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_what_python_alone_takes_for_json(client: httpx.Client, constant: str) -> None:
    answer = client.post("/plan", content=f'{{"gap": {constant}}}', headers=JSON)
    assert answer.status_code == 422
    expected = f"the body is not valid JSON: {constant} is not a JSON number"
    assert answer.json()["error"]["message"] == expected


def test_a_body_of_100_mb(client: httpx.Client) -> None:
    answer = client.post("/plan", content=b" " * 100_000_000, headers=JSON)
    assert answer.status_code == 413
    assert "33554432" in answer.json()["error"]["message"]
    assert client.get("/about").status_code == 200


def test_a_body_without_end(client: httpx.Client) -> None:
    answer = client.post("/plan", content=(b" " * 65536 for _ in range(2000)), headers=JSON)
    assert answer.status_code == 413


def test_a_body_that_stops_in_the_middle(served: Served, client: httpx.Client) -> None:
    head = b"POST /api/v1/plan HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    for _ in range(30):  # more than may be in progress at once
        with socket.create_connection(("127.0.0.1", served.port)) as connection:
            connection.sendall(head + b"Content-Length: 1000\r\n\r\n{")
    assert client.post("/plan", content=PLANS["no jobs"][0], headers=JSON).status_code == 200


def test_clients_that_do_not_wait(served: Served, client: httpx.Client, small: Any) -> None:
    """Their places in the queue are free again, and a plan is made for who stays."""
    body = planned(small)
    head = b"POST /api/v1/plan HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    for _ in range(30):
        with socket.create_connection(("127.0.0.1", served.port)) as connection:
            connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert planned_in_the_end(client, body)


def test_50_at_once_are_answered_or_asked_to_come_again(client: httpx.Client, small: Any) -> None:
    body = planned(small, "sjf-bco", pictures=True)
    with ThreadPoolExecutor(50) as threads:
        answers = list(threads.map(lambda _: client.post("/plan", content=body, headers=JSON), range(50)))
    assert {answer.status_code for answer in answers} <= {200, 503}
    for answer in answers:
        if answer.status_code == 503:
            assert int(answer.headers["retry-after"]) >= 1
    assert planned_in_the_end(client, body)


def test_more_searches_than_may_run(client: httpx.Client) -> None:
    paper = client.get("/examples/paper").json()["scenario"]
    body = {"scenario": paper, "policy": "search", "time_limit_s": 30}
    answers = [client.post("/searches", json=body) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [201, 201, 503, 503]
    for answer in answers[:2]:
        stopped = client.delete(f"/searches/{answer.json()['id']}").json()
        assert stopped["state"] == "stopped"
    assert client.get("/searches/none").status_code == 404
    wrong = client.post("/searches", json=body | {"policy": "serch"})
    assert wrong.status_code == 422


def test_no_file_is_read_or_written(client: httpx.Client, served: Served) -> None:
    """Whatever is sent, the server and its workers have no file of the host open but their own."""
    import psutil

    for content, _ in PLANS.values():
        client.post("/plan", content=content[:10_000], headers=JSON)
    server = psutil.Process(served.process.pid)
    for process in (server, *server.children(recursive=True)):
        for file in process.open_files():
            assert "w" not in file.mode or file.path.startswith(("/dev", "/proc")), file
            assert os.path.basename(file.path) != "passwd"  # noqa: PTH119
