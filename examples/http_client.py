"""A client of the lab's HTTP API, with nothing but Python: plan, ask what if, watch a search.

Usage: python http_client.py [--token TOKEN] [URL], the URL that `ringsched serve` printed; without, one is
started. The token may also be a part of that URL, or in the variable RINGSCHED_TOKEN.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Lab:
    def __init__(self, url: str, token: str | None = None) -> None:
        page, _, printed = url.partition("#token=")
        self.url = f"{page.rstrip('/')}/api/v1"
        self.headers = {"Content-Type": "application/json"}
        if token or printed:
            self.headers["Authorization"] = f"Bearer {token or urllib.parse.unquote(printed)}"

    def get(self, path: str) -> Any:
        return json.load(self._open("GET", path))

    def post(self, path: str, **body: Any) -> Any:
        return json.load(self._open("POST", path, body))

    def events(self, path: str) -> Iterator[tuple[str, Any]]:
        kind = ""
        for line in self._open("GET", path):
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "event":
                kind = value
            elif name == "data":
                yield kind, json.loads(value)

    def _open(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/{path}", data, self.headers, method=method)
        try:
            return urllib.request.urlopen(request, timeout=120)
        except urllib.error.HTTPError as error:  # every refusal has the same shape
            sys.exit(f"{error.code}: {json.load(error)['error']['message']}")


@contextmanager
def own_server() -> Iterator[str]:
    command = [sys.executable, "-m", "ringsched", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[-1]
        finally:
            server.terminate()


def tour(lab: Lab) -> None:
    scenario = lab.get("examples/small")["scenario"]
    for policy in ("first-fit", "sjf-bco"):
        plan = lab.post("plan", scenario=scenario, policy=policy)["plan"]
        print(f"{policy}: {plan['makespan_s']:g} s, at most {plan['gap']:.2f} times the best possible")
    print("valid:", lab.post("verify", scenario=scenario, plan=plan)["valid"])

    changes = [{"add_servers": 1}, {"link_factor": 4}]
    for variant in lab.post("whatif", scenario=scenario, plan=plan, changes=changes)["variants"]:
        print(f"{variant['label']}: {variant['totals']['makespan_s']:g} s")

    name = lab.post("searches", scenario=scenario, policy="search", iterations=2000)["id"]
    for kind, content in lab.events(f"searches/{name}/events"):
        if kind == "end":
            print(f"search: {content['state']}, {content['plan']['makespan_s']:g} s")


def main() -> None:
    parser = argparse.ArgumentParser(description="A tour of the lab's HTTP API.")
    parser.add_argument("url", nargs="?", help="that `ringsched serve` printed; without, one is started")
    parser.add_argument(
        "--token", default=os.environ.get("RINGSCHED_TOKEN"), help="what the server wants to see"
    )
    given = parser.parse_args()
    if given.url is not None:
        tour(Lab(given.url, given.token))
    else:
        with own_server() as url:  # which takes the token of the variable, if there is one
            tour(Lab(url))


if __name__ == "__main__":
    main()
