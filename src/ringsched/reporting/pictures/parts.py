"""What the pictures share: sizes, time axes, and names that matplotlib takes as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN = 7.2  # of a page
TALLEST_IN = 9.0
UNITS = {"days": 86400, "h": 3600, "min": 60}
MOST_NAMES = 40


def new_picture(height_in: float) -> tuple[Figure, Axes]:
    """Return a figure as wide as a page with one panel."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, min(height_in, TALLEST_IN)), layout="constrained")
    return figure, figure.add_subplot()


def time_axis(panel: Axes, data: Mapping[str, Any]) -> float:
    """Label the time axis in a unit that suits its length; return the unit in seconds."""
    span = data["span"] or 1
    name, unit = next(((name, unit) for name, unit in UNITS.items() if span >= 4 * unit), ("s", 1))
    panel.set_xlim(0, span / unit)
    panel.set_xlabel(f"time, {name}")
    return unit


def plain(name: str, most: int = 28) -> str:
    r"""Return a name as matplotlib shows it letter by letter, cut if it is long.

    Examples
    --------
    >>> plain("cost $5"), plain("_hidden")
    ('cost \\$5', ' _hidden')
    """
    short = name if len(name) <= most else f"{name[: most - 1]}…"
    escaped = short.replace("$", r"\$")  # else mathematics
    return f" {escaped}" if escaped.startswith("_") else escaped  # else left out of legends


def name_rows(panel: Axes, places: Sequence[float], names: Sequence[str]) -> None:
    """Name rows at the left, some of them where there are too many."""
    step = max(1, -(-len(names) // MOST_NAMES))
    panel.set_yticks(places[::step], [plain(name, 18) for name in names[::step]], fontsize=7)
    panel.tick_params(axis="y", length=0)
    panel.grid(visible=False, axis="y")
