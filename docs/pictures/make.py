"""`make pictures`: redraws every picture of the README and the docs; the same code gives the same bytes.

Those in SVG are what `ringsched report --format svg` writes. Screenshots need chromium, and depend on its
version and on the fonts of the machine.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ringsched
from ringsched.reporting.pictures.draw import draw_pictures

FOLDER = Path(__file__).parent
EXAMPLE = FOLDER.parents[1] / "examples" / "first.toml"
KEPT = ("gantt-first-fit.svg", "gantt-search.svg", "completions.svg")
Act = Callable[[Any], None]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def main() -> None:
    """Draw all of them."""
    scenario = ringsched.load_scenario(EXAMPLE)
    plans = {policy: ringsched.plan(scenario, policy) for policy in ("search", "first-fit")}
    with TemporaryDirectory() as folder:
        draw_pictures(scenario, plans, folder)
        for name in KEPT:
            shutil.copyfile(Path(folder, name), FOLDER / name)
    large = ringsched.generate(ringsched.Workload.paper(), seed=1)
    policies = ("list-scheduling", "sjf-bco", "longest-first")
    page = ringsched.report(large, [ringsched.plan(large, policy) for policy in policies])
    screenshot(
        ringsched.report(scenario, plans["first-fit"]), "report-one-plan.png", "light", hover_over_a_job
    )
    screenshot(page, "report-several-plans.png", "light", lambda _: None, height=1010)
    screenshot(page, "report-dark.png", "dark", show_links)
    with lab() as address:
        visit(address, "lab.png", "light", show_contention)
        visit(address, "lab-compare.png", "dark", compare_policies, width=1400)
        visit(address, "lab-search.png", "light", watch_a_search, height=760)


def hover_over_a_job(page: Any) -> None:
    """Show what is said of a job."""
    page.locator("svg.gantt path.job").nth(1).hover(position={"x": 300, "y": 20})


def show_links(page: Any) -> None:
    """Scroll to the map of links and show what is said of one."""
    page.evaluate("document.getElementById('links').scrollIntoView()")
    page.locator("svg.links").hover(position={"x": 300, "y": 220})


def show_contention(page: Any) -> None:
    """Load the example with racks, and show what is said of a job."""
    choose(page, "#scenario select", "racks")
    page.locator("svg.gantt path.job").nth(3).hover(position={"x": 200, "y": 20})


def compare_policies(page: Any) -> None:
    """Plan the paper's mix by two policies, side by side."""
    choose(page, "#scenario select", "paper")
    page.get_by_label("compare with another policy").check()
    page.locator("svg.gantt").nth(1).wait_for()
    settle(page)


def watch_a_search(page: Any) -> None:
    """Begin a search, and look after a few seconds."""
    choose(page, "#scenario select", "paper")
    page.get_by_role("button", name="Search for a better plan").click()
    page.wait_for_timeout(7000)


def choose(page: Any, control: str, value: str) -> None:
    """Choose something in the lab's panel."""
    page.locator(control).first.select_option(value)
    settle(page)


def settle(page: Any) -> None:
    """Wait until the lab shows what was asked for."""
    page.wait_for_selector("html[data-ready]")
    page.wait_for_selector("body:not(.working, .loading)")


@contextmanager
def lab() -> Iterator[str]:
    """Start the lab; return its address."""
    command = [sys.executable, "-m", "ringsched", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().split()[-1]
        server.terminate()


def screenshot(text: str, name: str, scheme: str, act: Act, *, height: int = 900) -> None:
    """Open a page, do something with it, and keep what a person would see."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "report.html")
        path.write_text(text, encoding="utf-8")
        visit(path.as_uri(), name, scheme, act, height=height)


def visit(address: str, name: str, scheme: str, act: Act, *, width: int = 1280, height: int = 900) -> None:
    """Go to an address, do something there, and keep what a person would see."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=ARGUMENTS, headless=True
        )
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        page.goto(address)
        act(page)
        image = Image.open(io.BytesIO(page.screenshot()))
        browser.close()
    image.convert("RGB").save(FOLDER / name, optimize=True)


if __name__ == "__main__":
    main()
