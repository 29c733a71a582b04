"""Numbers and names for people, the same for terminal, report, lab and notebooks."""

from __future__ import annotations

from collections.abc import Sequence


def seconds(value: float) -> str:
    """Return a time for people: whole where it is whole, else to three figures or a tenth.

    Examples
    --------
    >>> seconds(412.0), seconds(4107.2727), seconds(0.12345)
    ('412 s', '4107.3 s', '0.123 s')
    """
    return f"{figure(value)} s"


def figure(value: float) -> str:
    """Return a number for people."""
    if value == round(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"


def counted(number: int, noun: str) -> str:
    """Return `1 job`, `2 jobs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)


def percent_above(ratio: float) -> str:
    """Return a gap as how far a value is above its bound.

    Examples
    --------
    >>> percent_above(1.0), percent_above(1.0143), percent_above(1 - 1e-12)
    ('0.0 %', '1.4 %', '0.0 %')
    """
    return f"{round(100 * (ratio - 1), 1) + 0.0:.1f} %"
