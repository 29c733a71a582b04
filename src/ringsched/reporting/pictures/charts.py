"""Curves, links and contention as printed pictures, and their common parts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ringsched.drawing import TALLEST_IN, WIDTH_IN, name_rows, plain, time_axis
from ringsched.formatting import duration
from ringsched.reporting.links import level_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def new_picture(height_in: float) -> tuple[Figure, Axes]:
    """Return a figure as wide as a page with one panel."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, min(height_in, TALLEST_IN)), layout="constrained")
    return figure, figure.add_subplot()


DASHES = ("-", "--", ":", "-.")


def draw_curves(data: Mapping[str, Any]) -> Figure:
    """Draw how many jobs are done over time, by every plan, and the bound."""
    figure, panel = new_picture(3.0)
    unit = time_axis(panel, data["span"])
    most = max(1, data["numJobs"])
    steps = range(data["numJobs"] + 1)
    best = [0.0, *(end / unit for end in data["bound"]["ends"])]
    last = (data["span"] or 1) / unit
    panel.fill_between([*best, last], [*steps, data["numJobs"]], most * 1.05, step="post", color="#eef1f4")
    panel.step(
        [*best, last], [*steps, data["numJobs"]], where="post", color="#5a6572", linewidth=1, linestyle="--"
    )
    for at, plan in enumerate(data["plans"]):
        ends = [end / unit for end in plan["ends"]]
        panel.step(
            [0.0, *ends, last],
            [*range(len(ends) + 1), len(ends)],
            where="post",
            color=data["planColours"][at % len(data["planColours"])][0],
            linestyle=DASHES[at % len(DASHES)],
            linewidth=1.6,
            label=plain(plan["label"]),
        )
    panel.fill_between(
        [], [], color="#eef1f4", edgecolor="#5a6572", linestyle="--", label="not reachable by any plan"
    )
    panel.set_ylim(0, most * 1.05)
    panel.set_ylabel("jobs done")
    panel.locator_params(axis="y", integer=True)  # there is no half a job
    panel.legend(loc="lower right", fontsize=8)
    return figure


def draw_links(data: Mapping[str, Any], plan: Mapping[str, Any]) -> Figure:
    """Draw links down, time across, and how many jobs are on each."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Patch, Rectangle

    links = plan["links"]
    figure, panel = new_picture(1.1 + max(len(links) * 0.02, min(len(links) * 0.14, 4.0)))
    unit = time_axis(panel, data["span"])
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
    _draw_levels(panel, [link["level"] for link in links], data["cluster"]["linkLevels"])
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


MOST_WIDE_COLUMNS = 8


def _draw_levels(panel: Axes, levels: list[int], names: list[str]) -> None:
    """Draw lines between the links of different levels, and the names of the levels, if there are several."""
    if len(set(levels)) < 2:
        return
    for row, level in enumerate(levels):
        if row == 0 or level != levels[row - 1]:
            panel.axhline(row, color="black", linewidth=0.6)
            panel.annotate(
                names[level].removesuffix(" switches").replace("-", " "),
                (1.005, row + 0.5),
                xycoords=("axes fraction", "data"),
                ha="left",
                va="center",
                fontsize=6,
                annotation_clip=False,
            )


def draw_blame(data: Mapping[str, Any], plan: Mapping[str, Any]) -> Figure:
    """Draw the contention between the jobs that lose most and those that cost most."""
    blame, names = plan["blame"], data["jobs"]["name"]
    figure, panel = new_picture(1.6 + 0.26 * len(blame["victims"]))
    cells = blame["seconds"]
    most = max((cell for row in cells for cell in row), default=0.0) or 1.0
    shown = [[cell or math.nan for cell in row] for row in cells]  # empty where there is no contention
    panel.imshow(shown, cmap="Oranges", vmin=0, vmax=most * 1.1, aspect="auto")
    # Two units of time beside each other are wider than one of many columns.
    many = len(blame["culprits"]) > MOST_WIDE_COLUMNS

    def said(seconds: float) -> str:
        return re.sub(r"(?<=[a-z]) ", "\n" if many else " ", duration(seconds))

    for row, line in enumerate(cells):
        for column, seconds in enumerate(line):
            if seconds:
                ink = "white" if seconds > 0.7 * most else "black"
                panel.text(column, row, said(seconds), ha="center", va="center", fontsize=6, color=ink)
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
    panel.set_xlabel("time that the job at the left loses to the job above", fontsize=8)
    return figure
