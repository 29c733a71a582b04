"""Requests as an enemy, or a fuzzer, would send them; every one must be answered with a clear no."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import httpx
from tests.web.conftest import HANGS_S

JSON = {"Content-Type": "application/json"}
JOB = {"name": "j", "gpus": 1, "iterations": 1, "model": "vgg16"}
CLUSTER = {"inter_server_gbps": 1, "intra_server_gbps": 1, "reduce_gbps": 1, "servers": [{"gpus": 1}]}
SCENARIO = {"cluster": CLUSTER, "jobs": [JOB]}


def scenario(**changed: Any) -> dict[str, Any]:
    return SCENARIO | changed


def cluster(**changed: Any) -> dict[str, Any]:
    return scenario(cluster=CLUSTER | changed)


def planned(scenario: object, policy: object = "first-fit", **more: Any) -> bytes:
    return json.dumps({"scenario": scenario, "policy": policy, **more}).encode()


def of_job(**fields: Any) -> bytes:
    return planned(scenario(jobs=[JOB | fields]))


# Body and the statuses that are fine.
PLANS: Mapping[str, tuple[bytes, set[int]]] = {
    "empty": (b"", {422}),
    "null": (b"null", {422}),
    "list": (b"[]", {422}),
    "NaN": (b'{"policy": NaN}', {422}),
    "Infinity": (b'{"scenario": {}, "policy": "fifo", "gap": Infinity}', {422}),
    "a number beyond all": (b'{"scenario": {}, "policy": "fifo", "gap": 1e999}', {422}),
    "deep": (b'{"scenario":' + b"[" * 200_000 + b"]" * 200_000 + b"}", {422}),
    "deep objects": (b'{"scenario":' * 100_000 + b"1" + b"}" * 100_000, {422}),
    "integer of 401 digits": (b'{"scenario": {}, "policy": "fifo", "seed": 1%s}' % (b"0" * 400), {422}),
    "integer of 5,000 digits": (b'{"scenario": {}, "policy": "fifo", "seed": 1%s}' % (b"0" * 5000), {422}),
    "lone surrogate": (b'{"scenario": {}, "policy": "\\ud800"}', {422}),
    "lone surrogate as key": (b'{"scenario": {}, "\\ud800": 1}', {422}),
    "lone surrogate as name": (of_job(name="\ud800"), {422}),
    "NUL in a name": (of_job(name="a\0b"), {422}),
    "not UTF-8": (b'{"policy": "\xff\xfe"}', {422}),
    "UTF-16": ('{"policy": "fifo"}'.encode("utf-16"), {422}),
    "twice the same key": (b'{"policy": "fifo", "policy": "random"}', {422}),
    "no JSON": (b"policy=fifo", {422}),
    "half a JSON": (b'{"scenario": {"cluster": ', {422}),
    "a path in a name": (of_job(name="../../etc/passwd"), {200}),
    "a long name": (of_job(name="n" * 1_000_000, gpus=0), {422}),
    "a long policy": (planned(SCENARIO, "p" * 1_000_000), {422}),
    "a path as a scenario": (planned("/etc/passwd"), {422}),
    "a path as jobs_file": (planned(scenario(jobs_file="/etc/passwd")), {422}),
    "a path as a policy": (planned(SCENARIO, "../../etc/passwd"), {422}),
    "a page in a name": (of_job(name="</script><script>alert(1)</script>"), {200}),
    "a million jobs": (b'{"policy": "fifo", "scenario": {"jobs": [' + b"{}," * 999_999 + b"{}]}}", {413}),
    "a billion servers": (planned(cluster(servers=[{"gpus": 1, "count": 10**9}])), {413}),
    "more servers than numbers": (planned(cluster(servers=[{"gpus": 1, "count": 10**300}])), {413}),
    "a billion GPUs": (planned(cluster(servers=[{"gpus": 10**9}])), {413}),
    "true servers": (planned(cluster(servers=[{"gpus": 1, "count": True}])), {422}),
    "servers of no kind": (planned(cluster(servers={"gpus": 1})), {422}),
    "a cluster of no kind": (planned({"cluster": [CLUSTER]}), {422}),
    "negative": (of_job(iterations=-1), {422}),
    "all iterations": (of_job(iterations=2**53), {200, 422}),
    "too many iterations": (of_job(iterations=2**53 + 1), {422}),
    "tiny slots": (planned(scenario(time={"slot_s": 1e-300})), {200, 422}),
    "huge slots": (planned(scenario(time={"slot_s": 1e300})), {200, 422}),
    "huge gradient": (of_job(gradient_mb=1e308), {200, 422}),
    "slow link": (planned(cluster(inter_server_gbps=5e-324)), {200, 422}),
    "fast link": (planned(cluster(inter_server_gbps=1e308, intra_server_gbps=1e308)), {200, 422}),
    "huge weight": (of_job(weight=1e308), {200, 422}),
    "late": (of_job(submit_s=1e300), {200, 422}),
    "early": (of_job(submit_s=-1e300), {200, 422}),
    "theta of no end": (planned(SCENARIO, "sjf-bco", theta=2**53), {200, 422}),
    "kappa of no end": (planned(SCENARIO, "lwf", kappa=2**53), {200, 422}),
    "slack of no end": (planned(SCENARIO, "sjf-bco", slack=1e308), {200, 422}),
    "time of no end": (planned(SCENARIO, "search", time_limit_s=1e300), {422}),
    "negative time": (planned(SCENARIO, "search", time_limit_s=-1), {422}),
    "iterations of no end": (planned(SCENARIO, "search", iterations=2**53), {200}),
    "a seed of no end": (planned(SCENARIO, "random", seed=2**53), {200}),
    "no jobs": (planned(scenario(jobs=[]), pictures=True), {200}),
    "all null": (b'{"scenario": null, "policy": null}', {422}),
}


def planned_in_the_end(client: httpx.Client, content: bytes) -> bool:
    """Return whether a plan is made once others are served; how long they take is the machine's matter."""
    until_s = time.monotonic() + HANGS_S
    while (status := client.post("/plan", content=content, headers=JSON).status_code) != 200:
        assert status == 503
        if time.monotonic() > until_s:
            return False
        time.sleep(0.05)
    return True


def spoken(port: int, sent: bytes, *, timeout_s: float = HANGS_S) -> bytes:
    """Send bytes as they are, and return all that comes back until the server closes or falls silent."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout_s) as connection:
        connection.sendall(sent)
        with suppress(OSError):  # it has hung up already
            connection.shutdown(socket.SHUT_WR)
        while part := connection.recv(65536):
            received += part
    return received


HEAD = b"Host: 127.0.0.1\r\n"
# What is hardly HTTP, and what the first line of the answer must begin with; where it is HTTP, nothing at all
# is fine too, for the client has hung up on its side.
GARBAGE: Mapping[str, tuple[bytes, bytes]] = {
    "noise": (bytes(range(256)) * 10, b"HTTP/1.1 400"),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500, b"HTTP/1.1 400"),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 400"),
    "two hosts": (b"GET / HTTP/1.1\r\n" + HEAD + b"Host: evil.example\r\n\r\n", b"HTTP/1.1 400"),
    "old": (b"GET /api/v1/about HTTP/1.0\r\n\r\n", b"HTTP/1.1 403"),
    "a long head": (b"GET / HTTP/1.1\r\n" + HEAD + b"X: " + b"x" * 200_000 + b"\r\n\r\n", b"HTTP/1.1 400"),
    "a long path": (b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\n" + HEAD + b"\r\n", b"HTTP/1.1 400"),
    "a proxy's request": (b"GET http://evil.example/ HTTP/1.1\r\n" + HEAD + b"\r\n", b"HTTP/1.1 404"),
    "a tunnel": (b"CONNECT evil.example:80 HTTP/1.1\r\n" + HEAD + b"\r\n", b"HTTP/1.1 4"),
    "two lengths": (
        b"POST /api/v1/plan HTTP/1.1\r\n" + HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"HTTP/1.1 400",
    ),
    "a negative length": (
        b"POST /api/v1/plan HTTP/1.1\r\n" + HEAD + b"Content-Length: -2\r\n\r\n{}",
        b"HTTP/1.1 400",
    ),
    "a bad chunk": (
        b"POST /api/v1/plan HTTP/1.1\r\n"
        + HEAD
        + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
        b"HTTP/1.1 400",
    ),
    "length and chunks": (
        b"POST /api/v1/plan HTTP/1.1\r\n"
        + HEAD
        + b"Content-Type: application/json\r\nContent-Length: 4\r\n"
        + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 4",
    ),
    "a web socket": (
        b"GET /api/v1/about HTTP/1.1\r\n" + HEAD + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"HTTP/1.1 200",
    ),
    "pipelined": (
        b"GET /api/v1/about HTTP/1.1\r\n" + HEAD + b"\r\n" + b"GARBAGE\x00\x01\r\n\r\n",
        b"HTTP/1.1 200",
    ),
    "a body on GET": (
        b"GET /api/v1/about HTTP/1.1\r\n" + HEAD + b"Content-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200",
    ),
}
