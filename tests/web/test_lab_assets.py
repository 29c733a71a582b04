"""The lab's page as files: complete, and without anything that a strict policy or a name could break."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ringsched

PACKAGE = Path(ringsched.__file__).parent
LAB, REPORT = PACKAGE / "web" / "assets", PACKAGE / "reporting" / "assets"
MODULES = sorted(LAB.glob("*.js"))


def needed(name: str, found: set[str]) -> set[str]:
    """A module and all that it imports."""
    if name not in found:
        found.add(name)
        folder = LAB if (LAB / name).exists() else REPORT
        for other in re.findall(
            r'^import .* from "\./([\w.]+)";$', (folder / name).read_text(), re.MULTILINE
        ):
            needed(other, found)
    return found


def test_the_page_needs_every_module_and_has_all_it_needs() -> None:
    assert {path.name for path in MODULES} <= needed("lab.js", set())
    assert not {path.name for path in MODULES} & {
        path.name for path in REPORT.iterdir()
    }  # served side by side


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_a_module_makes_no_markup_and_runs_no_text(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "eval(",
        "new Function",
        "import(",
    ):
        assert word not in text
    assert not re.search(r'setAttribute\("(style|on\w+)"', text)
    assert "http" not in text


def test_the_page_has_nothing_inline_and_nothing_from_elsewhere() -> None:
    page = (LAB / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<style|style=|\son\w+=|https?:", page)
    assert re.findall(r"<script([^>]*)>(.*?)</script>", page) == [(' type="module" src="/assets/lab.js"', "")]
    for name in re.findall(r'(?:src|href)="/assets/([^"]+)"', page):
        assert (LAB / name).exists() or (REPORT / name).exists()
