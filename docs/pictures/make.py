"""`make pictures`: draws every picture of the README and the docs anew, the same bytes for the same code.

Those in SVG are what `ringsched report --format svg` writes. Screenshots need chromium, and depend on its
version and on the fonts of the machine.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ringsched

FOLDER = Path(__file__).parent
EXAMPLE = FOLDER.parents[1] / "examples" / "first.toml"
KEPT = ("gantt-first-fit.svg", "gantt-search.svg", "completions.svg")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def main() -> None:
    """Draw all of them."""
    scenario = ringsched.load_scenario(EXAMPLE)
    plans = {policy: ringsched.plan(scenario, policy) for policy in ("search", "first-fit")}
    with TemporaryDirectory() as folder:
        ringsched.draw_pictures(scenario, plans, folder)
        for name in KEPT:
            shutil.copyfile(Path(folder, name), FOLDER / name)
    large = ringsched.generate_paper(seed=1)
    policies = ("list-scheduling", "sjf-bco", "longest-first")
    page = ringsched.report(large, [ringsched.plan(large, policy) for policy in policies])
    screenshot(
        ringsched.report(scenario, plans["first-fit"]), "report-one-plan.png", "light", hover_over_a_job
    )
    screenshot(page, "report-several-plans.png", "light", lambda _: None, height=1010)
    screenshot(page, "report-dark.png", "dark", show_links)


def hover_over_a_job(page: Any) -> None:
    """Show what is said of a job."""
    page.locator("svg.gantt path.job").nth(1).hover(position={"x": 300, "y": 20})


def show_links(page: Any) -> None:
    """Scroll to the map of links and show what is said of one."""
    page.evaluate("document.getElementById('links').scrollIntoView()")
    page.locator("svg.links").hover(position={"x": 300, "y": 220})


def screenshot(text: str, name: str, scheme: str, act: Callable[[Any], None], *, height: int = 900) -> None:
    """Open a page, do something with it, and keep what a person would see."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder, "report.html")
        path.write_text(text, encoding="utf-8")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=ARGUMENTS, headless=True
        )
        page = browser.new_page(viewport={"width": 1280, "height": height}, color_scheme=scheme)
        page.goto(path.as_uri())
        act(page)
        image = Image.open(io.BytesIO(page.screenshot()))
        browser.close()
    image.convert("RGB").save(FOLDER / name, optimize=True)


if __name__ == "__main__":
    main()
