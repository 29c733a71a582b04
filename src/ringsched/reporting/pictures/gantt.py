"""The Gantt chart on paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ringsched.reporting.pictures.charts import name_rows, new_picture, plain, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

MOST_ROWS_WITH_NAMES = 80  # of jobs, on their blocks
AROUND_IN = 1.3  # of the height: axis and legend
POINTS_PER_INCH = 72
# White lines around jobs and servers, as shares of a row: thicker ones would hide what they surround.
JOB_EDGE, SERVER_EDGE = 0.1, 0.9


def draw_gantt(data: Mapping[str, Any], plan: Mapping[str, Any]) -> Figure:
    """Draw GPUs down, time across, jobs in the colours of their sizes, hatched where others slow them."""
    num_rows = data["cluster"]["rows"]
    figure, panel = new_picture(AROUND_IN + max(num_rows * 0.012, min(num_rows * 0.085, 4.0)))
    row_points = (figure.get_figheight() - AROUND_IN) * POINTS_PER_INCH / num_rows
    unit = time_axis(panel, data)
    _draw_servers(panel, data, row_points)
    for size in data["sizes"]:
        _draw_size(panel, data, plan, size, unit, row_points)
    if num_rows <= MOST_ROWS_WITH_NAMES:
        _name_jobs(panel, data, plan, unit)
    panel.axvline(plan["makespan"] / unit, color="black", linewidth=1.0)
    panel.axvline(data["bound"]["makespan"] / unit, color="black", linewidth=1.0, linestyle="--")
    panel.set_ylim(num_rows, 0)
    panel.spines[:].set_visible(False)
    figure.legend(
        handles=_legend(data),
        loc="outside upper left",
        ncols=9,
        fontsize=7,
        handlelength=1.2,
        columnspacing=1.0,
    )
    return figure


def _draw_servers(panel: Axes, data: Mapping[str, Any], row_points: float) -> None:
    servers, edge = data["cluster"]["servers"], min(1.2, SERVER_EDGE * row_points)
    for server in servers:
        panel.axhspan(server["row"], server["row"] + server["gpus"], color="#eef1f4", linewidth=0, zorder=0)
        for gpu in server.get("off", []):
            panel.axhspan(
                server["row"] + gpu, server["row"] + gpu + 1, color="#b9c1ca", linewidth=0, zorder=1
            )
        panel.axhline(server["row"], color="white", linewidth=edge, zorder=4)
    for switch in data["cluster"]["switches"]:
        for row in (switch["row"], switch["row"] + switch["rows"]):
            panel.axhline(row, color="#5a6572", linewidth=0.8, zorder=4)
    name_rows(
        panel,
        [server["row"] + server["gpus"] / 2 for server in servers],
        [server["name"] for server in servers],
    )


def _draw_size(
    panel: Axes,
    data: Mapping[str, Any],
    plan: Mapping[str, Any],
    size: Mapping[str, Any],
    unit: float,
    row_points: float,
) -> None:
    """Draw all jobs of one size, and over them where they are slowed."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    gantt = plan["gantt"]
    blocks, slowed = [], []
    for at, job in enumerate(gantt["job"]):
        if data["jobs"]["size"][job] != size["class"]:
            continue
        runs, slow = gantt["runs"][at], gantt["slow"][at]
        for row, length in zip(runs[::2], runs[1::2], strict=True):
            start, finish = gantt["start"][at] / unit, gantt["finish"][at] / unit
            blocks.append(Rectangle((start, row), finish - start, length))
            for since, until in zip(slow[::3], slow[1::3], strict=True):
                slowed.append(Rectangle((since / unit, row), (until - since) / unit, length))
    edge = min(0.6, JOB_EDGE * row_points)
    panel.add_collection(
        PatchCollection(blocks, facecolor=size["light"], edgecolor="white", linewidth=edge, zorder=2)
    )
    if slowed:
        panel.add_collection(
            PatchCollection(
                slowed,
                facecolor="none",
                edgecolor=size["inkLight"],
                linewidth=0,
                hatch="//////",
                alpha=0.5,
                zorder=3,
            )
        )


def _name_jobs(panel: Axes, data: Mapping[str, Any], plan: Mapping[str, Any], unit: float) -> None:
    gantt, looks = plan["gantt"], {size["class"]: size for size in data["sizes"]}
    for at, job in enumerate(gantt["job"]):
        runs = gantt["runs"][at]
        wide = (gantt["finish"][at] - gantt["start"][at]) / (data["span"] or 1)
        letters = int(wide * 95)  # that fit the width of the page
        if letters < 4 or not runs:
            continue
        length, row = max(zip(runs[1::2], (-row for row in runs[::2]), strict=True))
        place = (gantt["start"][at] / unit, -row + length / 2)
        name = plain(data["jobs"]["name"][job], letters)
        look = looks[data["jobs"]["size"][job]]
        panel.annotate(
            name,
            place,
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            clip_on=True,
            fontsize=5.5,
            color=look["inkLight"],
            bbox={"facecolor": look["light"], "edgecolor": "none", "pad": 0.5},  # to be read on hatching
            zorder=5,
        )


def _legend(data: Mapping[str, Any]) -> list[Patch | Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    sizes = [
        Patch(facecolor=size["light"], label=f"{size['name']} GPUs".replace("1 GPUs", "1 GPU"))
        for size in data["sizes"]
    ]
    return [
        *sizes,
        Patch(facecolor="white", edgecolor="#555555", hatch="//////", linewidth=0, label="slowed by others"),
        Line2D([], [], color="black", linewidth=1.0, label="end"),
        Line2D([], [], color="black", linewidth=1.0, linestyle="--", label="bound"),
    ]
