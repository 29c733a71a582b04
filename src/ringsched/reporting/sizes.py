"""Classes of job sizes, and the colours of everything.

One scale runs from few GPUs to many, by powers of two. It is viridis, whose lightness rises evenly, so that
it is read in grey and by the colour-blind. On white large jobs are dark, on black they are bright.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

VIRIDIS = ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725")
# The ends of the scale that would vanish in a dark or a white page are left out.
DARKEST, DARKEST_ON_BLACK, BRIGHTEST = 0.08, 0.28, 0.95

# Okabe and Ito; black and yellow are left out, for they vanish on one of the two backgrounds.
# Each is there twice: for a white and, brighter, for a black page.
PLAN_COLOURS = (
    ("#0072b2", "#4fb0ea"),
    ("#d55e00", "#f0813a"),
    ("#009e73", "#2fc79a"),
    ("#b0568c", "#e39bc4"),
    ("#56b4e9", "#a5daf8"),
    ("#a87400", "#f0c05a"),
)


def size_class(gpus: int) -> int:
    """Return 0 for one GPU, 1 for two, 2 for three and four, 3 for up to eight, ...

    Examples
    --------
    >>> [size_class(gpus) for gpus in (1, 2, 3, 4, 5, 8, 9)]
    [0, 1, 2, 2, 3, 3, 4]
    """
    return (gpus - 1).bit_length()


def size_scale(gpus: Sequence[int]) -> list[dict[str, Any]]:
    """Return the classes that occur, smallest first, each with its name and its colours."""
    present = sorted({size_class(each) for each in gpus})
    classes = []
    for rank, number in enumerate(present):
        members = [each for each in gpus if size_class(each) == number]
        low, high = min(members), max(members)
        share = rank / (len(present) - 1) if len(present) > 1 else 0.5
        light = viridis(BRIGHTEST - (BRIGHTEST - DARKEST) * share)
        dark = viridis(DARKEST_ON_BLACK + (BRIGHTEST - DARKEST_ON_BLACK) * share)
        classes.append(
            {
                "class": number,
                "name": f"{low}" if low == high else f"{low}–{high}",
                "light": light,
                "inkLight": ink_on(light),
                "dark": dark,
                "inkDark": ink_on(dark),
            }
        )
    return classes


def viridis(share: float) -> str:
    """Return the colour at a share of the scale, from 0, dark, to 1, bright.

    Examples
    --------
    >>> viridis(0.0), viridis(1.0)
    ('#440154', '#fde725')
    """
    place = share * (len(VIRIDIS) - 1)
    at = min(int(place), len(VIRIDIS) - 2)
    pairs = zip(_channels(VIRIDIS[at]), _channels(VIRIDIS[at + 1]), strict=True)
    return "#" + "".join(f"{round(low + (high - low) * (place - at)):02x}" for low, high in pairs)


def ink_on(colour: str) -> str:
    """Return black or white, whichever is read better on a colour.

    Examples
    --------
    >>> ink_on("#440154"), ink_on("#fde725")
    ('#ffffff', '#000000')
    """
    red, green, blue = _channels(colour)
    return "#ffffff" if 0.299 * red + 0.587 * green + 0.114 * blue < 140 else "#000000"


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
