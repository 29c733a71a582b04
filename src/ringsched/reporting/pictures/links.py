"""The link map on paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ringsched.reporting.levels import level_at
from ringsched.reporting.pictures.parts import name_rows, new_picture, time_axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(data: Mapping[str, Any], plan: Mapping[str, Any]) -> Figure:
    """Draw links down, time across, and how many jobs are on each."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Patch, Rectangle

    links = plan["links"]
    figure, panel = new_picture(1.1 + max(len(links) * 0.02, min(len(links) * 0.14, 4.0)))
    unit = time_axis(panel, data)
    levels = data["levels"]["jobs"]
    blocks: dict[str, list[Rectangle]] = {level["name"]: [] for level in levels}
    for row, link in enumerate(links):
        steps = link["steps"]
        for since, until, jobs in zip(steps[::3], [*steps[3::3], data["span"]], steps[1::3], strict=True):
            if jobs:
                block = Rectangle((since / unit, row), (until - since) / unit, 0.92)
                blocks[level_at(levels, jobs)["name"]].append(block)
    for level in levels:
        patches = blocks[level["name"]]
        panel.add_collection(PatchCollection(patches, facecolor=level["light"], linewidth=0))
    name_rows(panel, [row + 0.5 for row in range(len(links))], [link["name"] for link in links])
    panel.set_ylim(len(links), 0)
    panel.spines[:].set_visible(False)
    figure.legend(
        handles=[Patch(facecolor=level["light"], label=level["name"]) for level in levels],
        title="jobs on the link",
        alignment="left",
        loc="outside upper left",
        ncols=12,
        fontsize=7,
        title_fontsize=7,
        handlelength=1.2,
    )
    return figure
