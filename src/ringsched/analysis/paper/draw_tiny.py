"""The theorem on tiny instances: what it promises, and what came out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ringsched.analysis.paper.drawing import LOOKS, new_figure
from ringsched.analysis.paper.results import Results
from ringsched.analysis.paper.tiny import EXCHANGE, NO_EXCHANGE, ONE_GPU

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TICKS = (1, 2, 3, 5, 10, 20, 30)
LOOK_OF = {ONE_GPU: "first-fit", NO_EXCHANGE: "sjf-bco", EXCHANGE: "list-scheduling"}


def tiny(results: Results) -> Figure:
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
