"""How large reports are, and how soon they are there, in a real browser."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ringsched
from benchmarks.effort import sized
from ringsched import Plan, Scenario

REPEATS = sized(5, 1)
SERVERS = sized((250, 1_250), (10, 20))
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
# Drawn, and shown: the second frame begins after the first is painted.
SHOWN = """() => new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(() => done(document.documentElement.dataset.ready)));
})"""


def report() -> dict[str, Any]:
    """`ringsched report`: making it, its size, and opening it in chromium until all is painted."""
    cases: dict[str, Callable[[], tuple[Scenario, list[Plan]]]] = {
        "160 jobs, 292 GPUs, 3 plans": _paper,
        "2,000 jobs, 2,000 GPUs": lambda: _uniform(SERVERS[0]),
        "10,000 jobs, 10,000 GPUs": lambda: _uniform(SERVERS[1]),
    }
    results: dict[str, Any] = {}
    with TemporaryDirectory() as directory:
        for name, make in cases.items():
            scenario, plans = make()
            started = time.perf_counter()
            page = ringsched.report(scenario, plans)
            results[f"{name}: making, s"] = time.perf_counter() - started
            results[f"{name}: MB"] = len(page.encode()) / 1e6
            path = Path(directory, f"{len(results)}.html")
            path.write_text(page, encoding="utf-8")
            results[f"{name}: opening, s"] = _opening_s(path)
    return results


def _paper() -> tuple[Scenario, list[Plan]]:
    scenario = ringsched.generate(ringsched.Workload.paper(), seed=1)
    policies = ("list-scheduling", "sjf-bco", "longest-first")
    return scenario, [ringsched.plan(scenario, policy) for policy in policies]


def _uniform(servers: int) -> tuple[Scenario, list[Plan]]:
    cluster = ringsched.Cluster.of_servers(servers, switches=10)
    scenario = ringsched.generate(ringsched.Workload.uniform(jobs=8 * servers, cluster=cluster))
    return scenario, [ringsched.plan(scenario, "list-scheduling")]


def _opening_s(path: Path) -> float:
    """Return the shortest time from asking for a page until it is painted, each in a new window."""
    from playwright.sync_api import sync_playwright

    times = []
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS, headless=True)
        for _ in range(REPEATS):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            started = time.perf_counter()
            page.goto(path.as_uri())
            assert page.evaluate(SHOWN) == "yes"
            times.append(time.perf_counter() - started)
            page.close()
        browser.close()
    return min(times)
