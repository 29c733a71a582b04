"""The documentation site builds without a warning, and can be read and searched without a network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.integration.browser.conftest import Visit

ROOT = Path(__file__).parents[3]
PHONE = {"width": 390, "height": 844}


def built(site: Path) -> Path:
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet", ROOT / "docs", site]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return site


def test_site(browser: Any, tmp_path: Path) -> None:
    site = built(tmp_path / "site")
    pages = [path for path in sorted(site.rglob("*.html")) if path.name != "genindex.html"]
    assert len(pages) > len(list((ROOT / "docs").rglob("*.md")))  # and the search

    context = browser.new_context(viewport=PHONE)
    visit = Visit(context.new_page())
    for path in pages:
        visit.page.goto(path.as_uri())
        width = visit.page.evaluate("document.documentElement.scrollWidth")
        assert width <= PHONE["width"], f"{path.relative_to(site)} is {width} px wide"

    visit.page.goto((site / "index.html").as_uri())
    visit.page.locator(".nav-overlay-icon").first.click()
    visit.page.locator(".sidebar-search").fill("backfilling")
    visit.page.locator(".sidebar-search").press("Enter")
    visit.page.locator("#search-results a", has_text="Simulation over time").click()
    visit.page.locator("h1", has_text="Simulation over time").wait_for()
    assert visit.complaints == []
    context.close()
