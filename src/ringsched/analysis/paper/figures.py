"""The figures, as SVG: colours of Okabe and Ito, and a marker of its own for every line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ringsched.analysis.paper.experiments import TINY
from ringsched.analysis.paper.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def draw_figures(folder: Path, results: Results) -> list[str]:
    """Write a figure for every experiment that was run; return their names."""
    import matplotlib as mpl

    drawn = []
    with mpl.rc_context(STYLE):  # type: ignore[arg-type]
        for name, draw in _drawings().items():
            if results.tiny if name == TINY else results.rows.get(name):
                draw(results).savefig(folder / f"{name}.svg", metadata={"Date": None})
                drawn.append(name)
    return drawn


def _drawings() -> Mapping[str, Callable[[Results], Figure]]:
    from ringsched.analysis.paper import draw_bars, draw_lines, draw_tiny

    return {
        "policies": draw_bars.policies,
        "kappa": draw_lines.kappa,
        "servers": draw_lines.servers,
        "lambda": draw_lines.slack,
        "horizon": draw_lines.horizon,
        "share": draw_lines.share,
        TINY: draw_tiny.tiny,
    }
