"""Lists of hosts with ranges in brackets, as Slurm and other tools write them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ringsched.errors import InputError
from ringsched.model.checks import MAX_GPUS, shown

_PART = re.compile(r"((?:[^\[\],]|\[[^\]]*\])+)(?:,|$)")
_RANGES = re.compile(r"\[([^\]]*)\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def expand(text: str) -> list[str]:
    """Return the names in a list of hosts.

    Examples
    --------
    >>> expand("n[1-2,4],gpu[08-10],login"), expand("")
    (['n1', 'n2', 'n4', 'gpu08', 'gpu09', 'gpu10', 'login'], [])
    >>> expand("r[1-2]n[1-2]")
    ['r1n1', 'r1n2', 'r2n1', 'r2n2']
    """
    if "[" not in text and "]" not in text:  # the usual case of a long log
        names = text.split(",") if text else []
        if all(names):
            return names
    names = []
    at = 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            raise InputError(f"is not a list of hosts such as n[1-4,7],login: {shown(text)}")
        for name in _expanded(part[1]):
            names.append(name)
            if len(names) > MAX_GPUS:
                raise InputError(f"names more than {MAX_GPUS} hosts")
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
        numbers = range(int(found[1]), int(found[2] or found[1]) + 1) if found else ()
        if not found or not numbers:
            raise InputError(f"has the range {shown(item)}, which is not one such as 1-4")
        yield from (f"{number:0{len(found[1])}d}" for number in numbers)
