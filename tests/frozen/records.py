"""The files of records: a digest of every case, and for some scenarios all of the text."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.frozen.scenarios import NUM_SCENARIOS

FOLDER = Path(__file__).parent
DIGESTS = FOLDER / "digests.jsonl"
WHOLE = FOLDER / "whole.jsonl.gz"

DIGITS = 16  # of the 64 that a sha256 has
# So far apart that models of contention, clocks and settings all occur; a few are refused.
WHOLE_NUMBERS = frozenset(range(6, NUM_SCENARIOS, 17))

Texts = Mapping[str, str]


def digest(text: str) -> str:
    """Return the first digits of the sha256."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def write(scenarios: Iterator[tuple[int, Texts]]) -> tuple[int, int]:
    """Write both files; return how many scenarios and how many digests."""
    digests, whole = [], []
    num_cases = 0
    for number, texts in scenarios:
        cases = {name: digest(text) for name, text in texts.items()}
        digests.append(_lines(number, cases))
        num_cases += len(cases)
        if number in WHOLE_NUMBERS:
            whole.append(json.dumps({"number": number, "texts": texts}, ensure_ascii=False) + "\n")
    DIGESTS.write_text("".join(digests), encoding="utf-8")
    WHOLE.write_bytes(gzip.compress("".join(whole).encode(), mtime=0))
    return len(digests), num_cases


def rewrite(scenarios: Iterator[tuple[int, str, Texts]]) -> int:
    """Replace the cases of each scenario that begin as given; return how many digests differ."""
    digests = {number: dict(cases) for number, cases in recorded_digests().items()}
    whole = {number: dict(texts) for number, texts in recorded_texts().items()}
    num_changed = 0
    for number, beginning, texts in scenarios:
        before = digests[number]
        digests[number] = _replaced(before, beginning, {name: digest(text) for name, text in texts.items()})
        num_changed += digests[number] != before
        if number in whole:
            whole[number] = _replaced(whole[number], beginning, texts)
    DIGESTS.write_text("".join(_lines(*each) for each in digests.items()), encoding="utf-8")
    lines = [
        json.dumps({"number": number, "texts": texts}, ensure_ascii=False) for number, texts in whole.items()
    ]
    WHOLE.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))
    return num_changed


def _replaced(before: Mapping[str, str], beginning: str, now: Mapping[str, str]) -> dict[str, str]:
    """Return the cases in their order, those that begin as given as they are now."""
    kept = {
        name: now.get(name, case)
        for name, case in before.items()
        if name in now or not name.startswith(beginning)
    }
    return kept | dict(now)


def _lines(number: int, cases: Mapping[str, str]) -> str:
    return json.dumps({"number": number, "cases": cases}, ensure_ascii=False) + "\n"


@cache
def recorded_digests() -> Mapping[int, Mapping[str, str]]:
    """Return the digests of all cases, by scenario and name."""
    lines = DIGESTS.read_text(encoding="utf-8").splitlines()
    return {entry["number"]: entry["cases"] for entry in map(json.loads, lines)}


@cache
def recorded_texts() -> Mapping[int, Texts]:
    """Return the whole texts of the scenarios that have them."""
    lines = gzip.decompress(WHOLE.read_bytes()).decode().splitlines()
    return {entry["number"]: entry["texts"] for entry in map(json.loads, lines)}
