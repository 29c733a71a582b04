"""Every relative link of README and docs leads to a file and a heading; every page is in the navigation."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from runpy import run_path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def slug(heading: str) -> str:
    """Return the anchor that GitHub makes of a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-")


@cache
def prose(document: Path) -> str:
    return FENCED.sub("", document.read_text(encoding="utf-8"))


def links(document: Path) -> list[str]:
    found: list[str] = LINK.findall(INLINE_CODE.sub("", prose(document)))
    return [link for link in found if not re.match(r"[a-z]+:", link)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links(document: Path) -> None:
    for link in links(document):
        name, _, anchor = link.partition("#")
        target = (document.parent / name).resolve() if name else document
        assert target.exists(), link
        if anchor:
            assert anchor in [slug(heading) for heading in HEADING.findall(prose(target))], link


def test_every_page_is_in_the_navigation_once() -> None:
    navigation: dict[str, list[str]] = run_path(str(DOCS / "conf.py"))["NAVIGATION"]
    named = ["index", *(page for pages in navigation.values() for page in pages)]
    pages = [path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")]
    decisions = [page for page in pages if page.startswith("decisions/0")]  # below decisions/README
    assert sorted([*named, *decisions]) == sorted(pages)


def test_every_decision_is_listed() -> None:
    listed = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    for record in (DOCS / "decisions").glob("0*.md"):
        assert f"]({record.name})" in listed
