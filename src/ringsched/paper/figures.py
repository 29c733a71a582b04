"""The figures, as SVG: colours of Okabe and Ito, and a different marker for every line."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ringsched.drawing import WIDTH_IN, error_bars
from ringsched.paper.experiments import (
    BASELINES,
    BEST_FIT,
    FIFO,
    HORIZONS_S,
    KAPPAS,
    LONGEST,
    SERVERS,
    SHARES,
    SJF_BCO,
    SLACKS,
    SMALLEST,
    TINY,
    PaperRow,
)
from ringsched.paper.results import Estimate, Line, Results, feasible, mean, num_censored, ratio
from ringsched.paper.tiny import EXCHANGE, NO_EXCHANGE, ONE_GPU

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Look(NamedTuple):
    """How a policy looks, in every figure alike."""

    label: str
    colour: str
    marker: str


# Okabe and Ito: distinguishable for colour-blind readers, and by lightness in print.
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

    figure = Figure(figsize=(WIDTH_IN, 3.2), layout="constrained")
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


PLACES = (0.0, 1.0, 1.4, 2.2, 2.6, 3.4, 3.8, 4.8)  # the two orders of a policy are adjacent
WIDTH = 0.38
NARROW = {"longest-first": "longest-\nfirst", "sjf-bco": "SJF-\nBCO"}


def draw_policies(results: Results) -> Figure:
    """Draw makespan and mean completion of every policy, and the lower bound on the makespan."""
    figure, (left, right) = new_figure(2)
    _bars(left, results, "makespan_s", "makespan, s")
    bound = mean(results.line("policies", policy=SJF_BCO.policy), "lower_bound_s").mean or 0.0
    left.axhline(bound, color="black", linewidth=1, linestyle=":", label="lower bound")
    _bars(right, results, "mean_completion_s", "mean completion, s")
    _legend(left)
    return figure


def _bars(panel: Axes, results: Results, metric: str, label: str) -> None:
    points = (SJF_BCO, *BASELINES, BEST_FIT)
    found = [mean(results.line("policies", policy=p.policy, order=p.order), metric) for p in points]
    panel.bar(
        PLACES,
        [each.mean or 0.0 for each in found],
        WIDTH,
        yerr=error_bars(found),
        capsize=2,
        color=[LOOKS[point.policy].colour for point in points],
        edgecolor="black",
        linewidth=0.6,
        hatch=["///" if point.order == SMALLEST else "" for point in points],
        error_kw={"linewidth": 1},
    )
    panel.grid(visible=False, axis="x")
    panel.set_xticks(*_ticks())
    panel.set_ylabel(label)


def _ticks() -> tuple[Sequence[float], Sequence[str]]:
    named = {"sjf-bco": 0.0, "first-fit": 1.2, "list-scheduling": 2.4, "random": 3.6, "longest-first": 4.8}
    return list(named.values()), [NARROW.get(name, LOOKS[name].label) for name in named]


def _legend(panel: Axes) -> None:
    from matplotlib.patches import Patch

    orders = {FIFO: "", SMALLEST: "////"}
    names = {FIFO: "queue order", SMALLEST: "smallest first"}
    handles, _ = panel.get_legend_handles_labels()
    patches = [
        Patch(facecolor="white", edgecolor="black", hatch=hatch, label=names[order])
        for order, hatch in orders.items()
    ]
    panel.legend(handles=[*patches, *handles], loc="upper left", fontsize=8)


OWN = LOOKS["sjf-bco"]
USUAL_HORIZON_S = 1200
FAINT: Mapping[str, Any] = {"color": "#aaaaaa", "marker": ".", "markersize": 3, "linewidth": 0.6, "zorder": 1}


def draw_kappa(results: Results) -> Figure:
    """Draw the makespan by κ, and its ratio to that at κ = 1, in pairs."""
    lines = [results.line("kappa", kappa=value) for value in KAPPAS]
    return _sweep(KAPPAS, lines, r"$\kappa$")


def draw_slack(results: Results) -> Figure:
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


def draw_servers(results: Results) -> Figure:
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


def draw_horizon(results: Results) -> Figure:
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


def draw_share(results: Results) -> Figure:
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


TICKS = (1, 2, 3, 5, 10, 20, 30)
LOOK_OF = {ONE_GPU: "first-fit", NO_EXCHANGE: "sjf-bco", EXCHANGE: "list-scheduling"}


def draw_tiny(results: Results) -> Figure:
    """Draw makespan / optimum by the claimed ratio; above the line the theorem fails."""
    figure, (panel,) = new_figure(1)
    for kind, name in LOOK_OF.items():
        rows = [row for row in results.tiny if row.kind == kind]
        panel.plot(
            [row.claimed_ratio for row in rows],
            [row.makespan_s / row.optimum_s for row in rows],
            LOOKS[name].marker,
            color=LOOKS[name].colour,
            markersize=5,
            alpha=0.7,
            label=kind,
        )
    highest = max(row.makespan_s / row.optimum_s for row in results.tiny) * 1.05
    panel.plot([1, highest], [1, highest], color="black", linewidth=1, label="what the theorem allows")
    panel.set_xscale("log")
    panel.set_xticks(TICKS, [str(tick) for tick in TICKS])
    panel.minorticks_off()
    panel.set_xlabel(r"claimed ratio $n_g \varphi u / l$")
    panel.set_ylabel("makespan of SJF-BCO / optimum")
    panel.legend(fontsize=8)
    return figure


STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "ringsched",  # ids of elements, else drawn at random
}


def draw_figures(directory: Path, results: Results) -> list[str]:
    """Write a figure for every experiment that was run; return their names."""
    import matplotlib as mpl

    drawn = []
    with mpl.rc_context(STYLE):  # type: ignore[arg-type]
        for name, draw in _drawings().items():
            if results.tiny if name == TINY else results.rows.get(name):
                draw(results).savefig(directory / f"{name}.svg", metadata={"Date": None})
                drawn.append(name)
    return drawn


def _drawings() -> Mapping[str, Callable[[Results], Figure]]:
    return {
        "policies": draw_policies,
        "kappa": draw_kappa,
        "servers": draw_servers,
        "lambda": draw_slack,
        "horizon": draw_horizon,
        "share": draw_share,
        TINY: draw_tiny,
    }
