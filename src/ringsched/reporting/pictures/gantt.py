"""The Gantt chart on paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ringsched.drawing import Block, Lane, draw_gantt, gantt_height_in, gantt_legend
from ringsched.reporting.pictures.charts import new_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def gantt_picture(data: Mapping[str, Any], plan: Mapping[str, Any]) -> Figure:
    """Draw the Gantt chart of a plan in a report, with switches and the GPUs that no job uses."""
    figure, panel = new_picture(gantt_height_in(data["cluster"]["rows"]))
    for switch in data["cluster"]["switches"]:
        for row in (switch["row"], switch["row"] + switch["rows"]):
            panel.axhline(row, color="#5a6572", linewidth=0.8, zorder=4.5)
    draw_gantt(
        panel,
        [
            Lane(server["name"], server["row"], server["gpus"], server.get("off", ()))
            for server in data["cluster"]["servers"]
        ],
        _blocks(data, plan["gantt"]),
        data["sizes"],
        span_s=data["span"],
        end_s=plan["makespan"],
        bound_s=data["bound"]["makespan"],
    )
    figure.legend(
        handles=gantt_legend(data["sizes"], slowed=True, bound=True),
        loc="outside upper left",
        ncols=9,
        fontsize=7,
        handlelength=1.2,
        columnspacing=1.0,
    )
    return figure


def _blocks(data: Mapping[str, Any], gantt: Mapping[str, Any]) -> list[Block]:
    columns = (gantt["job"], gantt["start"], gantt["finish"], gantt["runs"], gantt["slow"])
    return [
        Block(
            name=data["jobs"]["name"][job],
            size=data["jobs"]["size"][job],
            start_s=start,
            finish_s=finish,
            rows=_pairs(runs, 2),
            slowed_s=_pairs(slow, 3),
        )
        for job, start, finish, runs, slow in zip(*columns, strict=True)
    ]


def _pairs(numbers: Sequence[Any], step: int) -> list[tuple[Any, Any]]:
    """Return the first two of every `step` numbers."""
    return list(zip(numbers[::step], numbers[1::step], strict=True))
