"""The files in benchmarks/results: one for each run, with the newest values of the parts it measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parent / "results"

Result = dict[
    str, Any
]  # "date", "machine", "figures" by part, and of newer ones "parts": how each was measured


def load_results(directory: Path = DIRECTORY) -> list[Result]:
    """Return all results, the newest last."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(directory.glob("*.json"))]


def newest(results: list[Result], part: str) -> dict[str, Any]:
    """Return the figures of a part in the newest file that has it."""
    for result in reversed(results):
        if part in result["figures"]:
            figures: dict[str, Any] = result["figures"][part]
            return figures
    raise LookupError(f"no file in {DIRECTORY} has part {part!r}: run `python -m benchmarks.run {part}`")
