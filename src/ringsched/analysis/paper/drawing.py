"""What all figures share: who has which colour and marker, and lines with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ringsched.analysis.paper.results import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Look(NamedTuple):
    """How a policy looks, in every figure alike."""

    label: str
    colour: str
    marker: str


# Okabe and Ito: told apart by the colour-blind, and by lightness in print.
LOOKS = {
    "sjf-bco": Look("SJF-BCO", "#0072B2", "o"),
    "first-fit": Look("FF", "#D55E00", "s"),
    "list-scheduling": Look("LS", "#009E73", "^"),
    "random": Look("RAND", "#CC79A7", "D"),
    "longest-first": Look("longest-first", "#666666", "v"),
}


def new_figure(num_panels: int) -> tuple[Figure, list[Axes]]:
    """Return a figure of the width of a page, and its panels from left to right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    panels = [figure.add_subplot(1, num_panels, at + 1) for at in range(num_panels)]
    return figure, panels


def draw_line(panel: Axes, at: Sequence[float], found: Sequence[Estimate], look: Look, **more: Any) -> None:
    """Draw means with their intervals; a point without a mean is left out."""
    kept = [(x, estimate) for x, estimate in zip(at, found, strict=True) if estimate.mean is not None]
    style = {
        "color": look.colour,
        "marker": look.marker,
        "label": look.label,
        "markersize": 4.5,
        "capsize": 2,
    }
    panel.errorbar(
        [x for x, _ in kept],
        [estimate.mean or 0.0 for _, estimate in kept],
        yerr=error_bars([estimate for _, estimate in kept]),
        linewidth=1.4,
        **{**style, **more},
    )


def error_bars(found: Sequence[Estimate]) -> list[list[float]]:
    """Return how far the intervals go down and up; nothing where there is none."""
    down = [(each.mean or 0.0) - (each.mean or 0.0 if each.low is None else each.low) for each in found]
    up = [(each.mean or 0.0 if each.high is None else each.high) - (each.mean or 0.0) for each in found]
    return [down, up]
