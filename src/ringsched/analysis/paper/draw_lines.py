"""Figures 5 to 7, and the sweeps over T and the contention share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ringsched.analysis.paper.drawing import LOOKS, Look, draw_line, new_figure
from ringsched.analysis.paper.experiments import (
    BASELINES,
    FIFO,
    HORIZONS_S,
    KAPPAS,
    LONGEST,
    SERVERS,
    SHARES,
    SJF_BCO,
    SLACKS,
    SMALLEST,
)
from ringsched.analysis.paper.points import PaperRow
from ringsched.analysis.paper.results import Line, Results, feasible, mean, num_censored, ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OWN = LOOKS["sjf-bco"]
USUAL_HORIZON_S = 1200
FAINT: Mapping[str, Any] = {"color": "#aaaaaa", "marker": ".", "markersize": 3, "linewidth": 0.6, "zorder": 1}


def kappa(results: Results) -> Figure:
    """Draw the makespan by κ, and its ratio to that at κ = 1, in pairs."""
    lines = [results.line("kappa", kappa=value) for value in KAPPAS]
    return _sweep(KAPPAS, lines, r"$\kappa$")


def slack(results: Results) -> Figure:
    """Draw the makespan by λ, and its ratio to that at λ = 1, in pairs."""
    lines = [results.line("lambda", slack=value) for value in SLACKS]
    return _sweep(SLACKS, lines, r"$\lambda$ (at $\kappa = 1$)")


def _sweep(values: Sequence[int], lines: Sequence[Line], label: str) -> Figure:
    figure, (left, right) = new_figure(2)
    draw_line(left, values, [mean(line, "makespan_s") for line in lines], OWN)
    left.set_ylabel("makespan, s")
    draw_line(right, values, [ratio(line, lines[0], "makespan_s") for line in lines], OWN)
    right.axhline(1, color="black", linewidth=0.8)
    right.set_ylabel(f"makespan / that at {values[0]}, in pairs")
    for panel in (left, right):
        panel.set_xscale("log", base=2)
        panel.set_xticks(list(values), [str(value) for value in values])
        panel.minorticks_off()
        panel.set_xlabel(label)
    return figure


def servers(results: Results) -> Figure:
    """Draw the makespan by servers, queue order beside smallest first; hollow where runs ended over T."""
    figure, panels = new_figure(2)
    titles = {FIFO: "FF, LS in queue order", SMALLEST: "FF, LS smallest first"}
    for panel, (order, title) in zip(panels, titles.items(), strict=True):
        points = [SJF_BCO, *(point for point in BASELINES[:4] if point.order == order)]
        for point in points:
            _censored_line(panel, results, point.policy, point.order)
        panel.axhline(1500, color="black", linewidth=1, linestyle=":", label="T")
        panel.set_title(title, fontsize=9)
        panel.set_xlabel("servers")
        panel.set_xticks(SERVERS[::2])
    panels[1].sharey(panels[0])
    panels[0].set_ylabel("makespan, s")
    panels[0].plot([], [], "o", color="black", markerfacecolor="white", label="some runs over T")
    panels[0].legend(loc="upper right", bbox_to_anchor=(1.0, 0.95), fontsize=8)
    return figure


def _censored_line(panel: Axes, results: Results, policy: str, order: str) -> None:
    """Draw a line whose points are hollow where a run ended over T: the mean is then too low."""
    lines = [results.line("servers", policy=policy, order=order, servers=n) for n in SERVERS]
    look = LOOKS[policy]
    draw_line(panel, SERVERS, [mean(line, "makespan_s") for line in lines], look)
    for at, line in zip(SERVERS, lines, strict=True):
        if num_censored(line):
            height = mean(line, "makespan_s").mean or 0.0
            panel.plot(at, height, look.marker, color=look.colour, markerfacecolor="white", zorder=5)


def horizon(results: Results) -> Figure:
    """Draw the makespan by T, over that at T = 1200: every seed, and their mean."""
    figure, (panel,) = new_figure(1)
    base = results.line("horizon", horizon_s=USUAL_HORIZON_S)
    lines = [feasible(results.line("horizon", horizon_s=value)) for value in HORIZONS_S]
    for seed in base:
        each = [
            ratio({seed: line[seed]}, base, "makespan_s").mean if seed in line else None for line in lines
        ]
        panel.plot(HORIZONS_S, [math.nan if value is None else value for value in each], **FAINT)
    whole = [(at, line) for at, line in zip(HORIZONS_S, lines, strict=True) if len(line) == len(base)]
    found = [ratio(line, base, "makespan_s") for _, line in whole]
    draw_line(panel, [at for at, _ in whole], found, OWN, zorder=3)
    panel.axhline(1, color="black", linewidth=0.8)
    panel.set_xlabel("T, s")
    panel.set_ylabel("makespan / that at T = 1200")
    return figure


def _over(own: PaperRow, base: PaperRow) -> float:
    return (own.makespan_s or math.nan) / (base.makespan_s or math.nan)


def share(results: Results) -> Figure:
    """Draw SJF-BCO's makespan over that of others by the contention share; below 1 it is ahead."""
    figure, (panel,) = new_figure(1)
    looks = {
        ("list-scheduling", SMALLEST): Look("LS, smallest first", LOOKS["list-scheduling"].colour, "^"),
        ("list-scheduling", LONGEST): Look("LS, longest first", LOOKS["first-fit"].colour, "s"),
        ("longest-first", LONGEST): Look("best fit, longest first", LOOKS["longest-first"].colour, "v"),
    }
    for (policy, order), look in looks.items():
        found = [
            ratio(
                results.line("share", policy=SJF_BCO.policy, contention=value),
                results.line("share", policy=policy, order=order, contention=value),
                "makespan_s",
            )
            for value in SHARES
        ]
        draw_line(panel, SHARES, found, look)
    panel.axhline(1, color="black", linewidth=0.8)
    panel.set_xlabel("contention share of the workload")
    panel.set_ylabel("makespan of SJF-BCO / of the other")
    panel.legend(title="the other", fontsize=8, title_fontsize=8)
    return figure
