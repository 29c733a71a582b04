"""A real browser; without one, tests are skipped and say so. RINGSCHED_BROWSER=required forbids that."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ringsched import Scenario, report

NAMES = ("chromium", "chromium-browser", "google-chrome")
# A browser as root, in a container, without a screen, and without talking to anybody.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 300_000  # a machine may be busy with other tests, and compile kernels


def _skip(reason: str) -> None:
    if os.environ.get("RINGSCHED_BROWSER") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, with a fresh profile."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        _skip("THE REPORT IS NOT TRIED IN A BROWSER: there is no chromium (Debian: apt-get install chromium)")
    try:
        from playwright.sync_api import expect, sync_playwright
    except ImportError:
        _skip("THE REPORT IS NOT TRIED IN A BROWSER: there is no playwright (pip install '.[dev]')")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=path, args=ARGUMENTS, headless=True, timeout=PATIENCE_MS
        )
        yield opened
        opened.close()


class Visit:
    """An open page, and all that went wrong on it, such as a request to a place that is not `allowed`."""

    def __init__(self, page: Any, allowed: str = "file:") -> None:
        self.page = page
        self.allowed = allowed
        self.complaints: list[str] = []
        page.context.set_default_timeout(PATIENCE_MS)  # also of requests beside the page
        page.on("console", lambda message: self.complaints.append(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.on("request", self._on_request)

    def _on_request(self, request: Any) -> None:
        if not request.url.startswith((self.allowed, f"blob:{self.allowed}")):
            self.complaints.append(f"request: {request.url}")

    def open(self, path: Path) -> None:
        self.page.goto(path.as_uri())
        self.page.wait_for_function("() => document.documentElement.dataset.ready")


Opener = Callable[..., Visit]


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Opener]:
    """A function that opens the report of some plans; nothing may go wrong on any page until the end."""
    visits: list[Visit] = []

    def open_report(scenario: Scenario, plans: Any, **options: Any) -> Visit:
        size = {"width": options.pop("width", 1280), "height": options.pop("height", 900)}
        visit = Visit(browser.new_context(viewport=size, **options).new_page())
        visits.append(visit)
        path = tmp_path / f"report-{len(visits)}.html"
        path.write_text(report(scenario, plans), encoding="utf-8")
        visit.open(path)
        return visit

    yield open_report
    for visit in visits:
        assert visit.complaints == []
        visit.page.context.close()
