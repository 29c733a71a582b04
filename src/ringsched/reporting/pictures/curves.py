"""The completion curves on paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ringsched.reporting.pictures.parts import new_picture, plain, time_axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DASHES = ("-", "--", ":", "-.")


def draw(data: Mapping[str, Any]) -> Figure:
    """Draw how many jobs are done over time, by every plan, and where no plan gets."""
    figure, panel = new_picture(3.0)
    unit = time_axis(panel, data)
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
        [], [], color="#eef1f4", edgecolor="#5a6572", linestyle="--", label="no plan gets here"
    )
    panel.set_ylim(0, most * 1.05)
    panel.set_ylabel("jobs done")
    panel.locator_params(axis="y", integer=True)  # there is no half a job
    panel.legend(loc="lower right", fontsize=8)
    return figure
