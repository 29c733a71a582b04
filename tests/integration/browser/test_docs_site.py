"""The documentation site builds without a warning, and can be read and searched without a network."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.integration.browser.conftest import Visit

from ringsched.cli.main import ringsched

ROOT = Path(__file__).parents[3]
PHONE = {"width": 390, "height": 844}


def built() -> Path:
    """Return the site as `make docs` builds it; what is up to date is not built again."""
    site = ROOT / "build" / "docs"
    options = ["--fail-on-warning", "--quiet", "--doctree-dir", ROOT / "build" / "doctrees"]
    command = [sys.executable, "-m", "sphinx", *options, ROOT / "docs", site]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return site


def shown(path: Path) -> str:
    return unescape(re.sub(r"<[^>]+>", "", path.read_text(encoding="utf-8")))


def check_help(site: Path) -> None:
    """The page has what the program prints, for groups too."""
    text = shown(site / "reference" / "help.html")
    for path in ((), ("plan",), ("slurm",), ("generate",), ("calibrate", "fit")):
        printed = CliRunner().invoke(ringsched, [*path, "--help"], terminal_width=88, prog_name="ringsched")
        assert printed.output.strip() in text


def check_signatures(site: Path) -> None:
    """Signatures once had `~collections.abc.Mapping`, `<factory>` and types without a link."""
    path = site / "reference" / "api.html"
    text = shown(path)
    assert [each for each in ("~ringsched", "~collections", "<factory>", "MAKESPAN") if each in text] == []
    for name in ("CustomPolicy", "Comparison", "Calibration", "Change", "WhatIf"):
        assert re.search(
            rf'<a class="reference internal" href="#[\w.]+\.{name}"', path.read_text(encoding="utf-8")
        )


@pytest.mark.slow
def test_site(browser: Any) -> None:
    site = built()
    check_help(site)
    check_signatures(site)
    pages = [path for path in sorted(site.rglob("*.html")) if path.name != "genindex.html"]
    assert len(pages) > len(list((ROOT / "docs").rglob("*.md")))  # and the search

    context = browser.new_context(viewport=PHONE)
    visit = Visit(context.new_page())
    for path in pages:
        visit.page.goto(path.as_uri())
        assert visit.page.locator("link[rel~=icon]").count() == 1
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
