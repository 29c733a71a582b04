"""Pictures of README and docs are there, are small, and are those that `make pictures` draws."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pictures"
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
MOST_BYTES = 200_000


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_pictures_of_a_document_are_there_and_small(document: Path) -> None:
    for link in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", document.read_text(encoding="utf-8")):
        assert (document.parent / link).stat().st_size < MOST_BYTES, link


def test_every_picture_is_drawn_by_the_command_and_shown_somewhere() -> None:
    script = (FOLDER / "make.py").read_text(encoding="utf-8")
    shown = "".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    for picture in FOLDER.iterdir():
        if picture.suffix in (".svg", ".png"):
            assert f'"{picture.name}"' in script
            assert f"pictures/{picture.name})" in shown
