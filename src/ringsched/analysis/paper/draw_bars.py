"""Fig. 4: the policies side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ringsched.analysis.paper.drawing import LOOKS, error_bars, new_figure
from ringsched.analysis.paper.experiments import BASELINES, BEST_FIT, FIFO, SJF_BCO, SMALLEST
from ringsched.analysis.paper.results import Results, mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLACES = (0.0, 1.0, 1.4, 2.2, 2.6, 3.4, 3.8, 4.8)  # the two orders of a policy stand together
WIDTH = 0.38
NARROW = {"longest-first": "longest-\nfirst", "sjf-bco": "SJF-\nBCO"}


def policies(results: Results) -> Figure:
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
