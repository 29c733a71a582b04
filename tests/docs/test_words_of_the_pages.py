"""The tutorials quote the report and the lab by the words that these show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ringsched

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
PACKAGE = Path(ringsched.__file__).parent
SHOWN = [
    *(PACKAGE / "reporting" / "assets").glob("*.js"),
    *(PACKAGE / "web" / "assets").glob("*.js"),
    PACKAGE / "web" / "assets" / "index.html",
    PACKAGE / "web" / "examples" / "__init__.py",
    PACKAGE / "reporting" / "data.py",
]
QUOTED = re.compile(r"(?<!\*)\*{1,2}([^*\n]+?)\.?\*{1,2}(?!\*)")


@pytest.mark.parametrize("page", ["report.md", "lab.md"])
def test_quoted_words_are_shown(page: str) -> None:
    """A heading and a button once had new names on the page, and the old ones in the tutorial."""
    text = re.sub(r"```.*?```", "", (TUTORIALS / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    quoted = set(QUOTED.findall(text))
    assert len(quoted) > 7
    shown = "\n".join(path.read_text(encoding="utf-8") for path in SHOWN).lower()
    assert {words for words in quoted if words.lower() not in shown} == set()
