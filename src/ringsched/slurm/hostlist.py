"""Slurm's short form of lists of nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ringsched.errors import AdapterError

_PART = re.compile(r"((?:[^\[\],]|\[[^\]]*\])+)(?:,|$)")
_RANGES = re.compile(r"\[([^\]]*)\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def expand(text: str) -> list[str]:
    """Return the names a list stands for.

    Examples
    --------
    >>> expand("n[1-2,4],gpu[08-10],login"), expand("")
    (['n1', 'n2', 'n4', 'gpu08', 'gpu09', 'gpu10', 'login'], [])
    >>> expand("r[1-2]n[1-2]")
    ['r1n1', 'r1n2', 'r2n1', 'r2n2']
    """
    names: list[str] = []
    at = 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            raise AdapterError(f"Slurm wrote a list of nodes that cannot be read: {text!r}")
        names += _expanded(part[1])
        at = part.end()
    return names


def _expanded(part: str) -> Iterator[str]:
    ranges = _RANGES.search(part)
    if ranges is None:
        yield part
        return
    for number in _numbers(ranges[1]):
        yield from _expanded(f"{part[: ranges.start()]}{number}{part[ranges.end() :]}")


def _numbers(text: str) -> Iterator[str]:
    for item in text.split(","):
        found = _RANGE.fullmatch(item)
        if found is None:
            raise AdapterError(f"Slurm wrote a range that cannot be read: {item!r}")
        first, last = found[1], found[2] or found[1]
        yield from (f"{number:0{len(first)}d}" for number in range(int(first), int(last) + 1))
