"""Lists of hosts as Slurm writes them: `n[1-2,4],login`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ringsched.errors import InputError

_PART = re.compile(r"((?:[^\[\],]|\[[^\]]*\])+)(?:,|$)")
_RANGES = re.compile(r"\[([^\]]*)\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
MOST_HOSTS = 1_000_000  # in one range; more is taken for a typing error


def hosts_of(text: str) -> list[str]:
    """Return the names in a list of hosts.

    Raises
    ------
    InputError
        The list cannot be read.

    Examples
    --------
    >>> hosts_of("n[1-2,4],gpu[08-10],login"), hosts_of("")
    (['n1', 'n2', 'n4', 'gpu08', 'gpu09', 'gpu10', 'login'], [])
    >>> hosts_of("r[1-2]n[1-2]")
    ['r1n1', 'r1n2', 'r2n1', 'r2n2']
    """
    if "[" not in text:  # the usual case of a long log
        names = text.split(",") if text else []
        if all(names) and "]" not in text:
            return names
    names = []
    at = 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            raise InputError(f"is not a list of hosts that can be read: {text!r}")
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
        numbers = range(int(found[1]), int(found[2] or found[1]) + 1) if found else ()
        if not found or not 0 < len(numbers) <= MOST_HOSTS:
            raise InputError(f"has a range that cannot be read: {item!r}")
        yield from (f"{number:0{len(found[1])}d}" for number in numbers)
