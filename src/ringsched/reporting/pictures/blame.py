"""The blame matrix on paper."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ringsched.reporting.pictures.parts import new_picture, plain
from ringsched.words.figures import figure as figure_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(data: Mapping[str, Any], plan: Mapping[str, Any]) -> Figure:
    """Draw what each of the worst culprits costs each of those who lose most."""
    blame, names = plan["blame"], data["jobs"]["name"]
    figure, panel = new_picture(1.6 + 0.26 * len(blame["victims"]))
    cells = blame["seconds"]
    most = max((cell for row in cells for cell in row), default=0.0) or 1.0
    shown = [[cell or math.nan for cell in row] for row in cells]  # nothing where there is no blame
    panel.imshow(shown, cmap="Oranges", vmin=0, vmax=most * 1.1, aspect="auto")
    for row, line in enumerate(cells):
        for column, seconds in enumerate(line):
            if seconds:
                ink = "white" if seconds > 0.7 * most else "black"
                panel.text(column, row, figure_of(seconds), ha="center", va="center", fontsize=7, color=ink)
    panel.set_xticks(
        range(len(blame["culprits"])),
        [plain(names[job], 16) for job in blame["culprits"]],
        rotation=45,
        ha="left",
        fontsize=7,
    )
    panel.xaxis.tick_top()
    panel.set_yticks(
        range(len(blame["victims"])), [plain(names[job], 18) for job in blame["victims"]], fontsize=7
    )
    panel.grid(visible=False)
    panel.spines[:].set_visible(False)
    panel.tick_params(length=0)
    panel.set_xlabel("seconds lost by the job at the left because of the job above", fontsize=8)
    return figure
