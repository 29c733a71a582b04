"""Levels of the link map: how many jobs are on a link, or how much of it they use.

One job on a link harms nobody and is grey; from two on it gets warmer. The lightness
of the warm colours falls evenly, and on black rises: told apart in grey and by the colour-blind.
"""

from __future__ import annotations

from typing import Any

ALONE = ("#d5dce4", "#333b45")
WARM = (
    ("#ffe3b3", "#5a2510"),
    ("#fdb870", "#8a3510"),
    ("#f07f3c", "#c05312"),
    ("#d0402b", "#ec7a2b"),
    ("#9c0b1a", "#ffae66"),
    ("#5c0010", "#ffe6c4"),
)
# Which of them so many levels have: a few levels keep away from the ends.
CHOSEN = {0: (), 1: (2,), 2: (1, 3), 3: (1, 2, 4), 4: (0, 2, 3, 4), 5: (0, 1, 2, 3, 4), 6: (0, 1, 2, 3, 4, 5)}
LAST_BY_ITSELF = 6
LOADS = (20, 40, 60, 80, 95)

Level = dict[str, Any]


def job_levels(most: int) -> list[Level]:
    """Return the levels by number of jobs, where no link ever has more than `most`.

    Examples
    --------
    >>> [level["name"] for level in job_levels(3)]
    ['1 job', '2', '3']
    >>> [level["name"] for level in job_levels(11)]
    ['1 job', '2', '3', '4', '5–8', '9–11']
    """
    if most <= LAST_BY_ITSELF:
        ends = list(range(2, most + 1))
    else:
        ends = [end for end in (2, 3, 4, 8, 16) if end < most] + [most]
    names = [
        f"{end}" if end == before + 1 else f"{before + 1}–{end}"
        for before, end in zip([1, *ends], ends, strict=False)
    ]
    return [_level(1, "1 job", ALONE), *_warm(ends, names)]


def load_levels() -> list[Level]:
    """Return the levels by percentage of the bandwidth in use."""
    names = [f"to {end} %" for end in LOADS[1:]] + ["more"]
    return [_level(LOADS[0], f"up to {LOADS[0]} %", ALONE), *_warm([*LOADS[1:], 1_000_000], names)]


def level_at(levels: list[Level], value: float) -> Level:
    """Return the level of a value."""
    return next(level for level in levels if value <= level["most"])


def _warm(ends: list[int], names: list[str]) -> list[Level]:
    chosen = CHOSEN[len(ends)]
    return [_level(end, name, WARM[at]) for end, name, at in zip(ends, names, chosen, strict=True)]


def _level(most: int, name: str, colours: tuple[str, str]) -> Level:
    return {"most": most, "name": name, "light": colours[0], "dark": colours[1]}
