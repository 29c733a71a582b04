"""A fit as a picture: seconds by size of message, and the slow-down by jobs on a link."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ringsched.calibrate.fit import Fit
from ringsched.calibrate.sharing import factor_at
from ringsched.drawing import BLUE, ORANGE, WIDTH_IN, check_matplotlib
from ringsched.errors import InputError
from ringsched.formats.files import check_writable, written_beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENDINGS = (".svg", ".png", ".pdf")
GREY = "#5a6572"


def check_plot(path: Path) -> None:
    """Raise if no picture can be written there, before any work is done for it."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"must end in {', '.join(ENDINGS)}", file=str(path))
    check_writable(path)
    check_matplotlib(file=str(path))


def plot_fit(fit: Fit, path: str | os.PathLike[str]) -> None:
    """Draw the measurements of a fit and what was fitted to them; the same fit gives the same bytes."""
    path = Path(path)
    check_plot(path)
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "ringsched", "font.size": 9}):
        figure = Figure(figsize=(WIDTH_IN, 3.0), layout="constrained")
        alone, together = figure.subplots(1, 2)
        _draw_alone(alone, fit)
        _draw_together(together, fit)
        kind = path.suffix.lower()[1:]
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}[kind]
        with written_beside(path) as temporary:
            figure.savefig(temporary, format=kind, dpi=150, metadata=metadata)


def _draw_alone(panel: Axes, fit: Fit) -> None:
    shown = [each for each in fit.residuals if each.row.concurrent == 1 and not each.row.computes]
    panel.loglog(
        [each.row.message_mb for each in shown], [each.row.seconds for each in shown], "o", color=BLUE, ms=4
    )
    ends = [each.row.message_mb for each in shown] or [1.0]
    sizes = np.geomspace(min(ends), max(ends), 100)
    for servers, workers in sorted({(each.row.servers, each.row.workers) for each in shown}):
        row = next(each.row for each in shown if (each.row.servers, each.row.workers) == (servers, workers))
        like = [row.replace(message_mb=float(size_mb)) for size_mb in sizes]
        seconds = [fit.links.exchange_s(each) + fit.links.latency_s(each) for each in like]
        panel.plot(sizes, seconds, lw=1, label=f"{workers} workers, {servers} servers")
    panel.set_xlabel("message, MB")
    panel.set_ylabel("seconds an iteration, alone")
    panel.legend(fontsize=7)


def _draw_together(panel: Axes, fit: Fit) -> None:
    panel.set_xlabel("jobs on the link")
    panel.set_ylabel("f, times the exchange alone")
    if fit.sharing is None:
        panel.text(0.5, 0.5, "not measured", ha="center", transform=panel.transAxes)
        return
    blocks, factors = fit.sharing.blocks, fit.sharing.factors
    panel.plot(
        [each.row.concurrent for each in blocks], [each.factor for each in blocks], ".", color=GREY, ms=4
    )
    counts, values = list(factors), [each.value for each in factors.values()]
    below = [0.0 if each.low is None else max(0.0, each.value - each.low) for each in factors.values()]
    above = [0.0 if each.high is None else max(0.0, each.high - each.value) for each in factors.values()]
    panel.errorbar(counts, values, [below, above], fmt="o", color=BLUE, ms=4, capsize=3, label="measured")
    at = np.linspace(1, counts[-1], 200)
    factor = factor_at(fit.sharing)
    panel.plot(at, [factor(each) for each in at], color=ORANGE, lw=1.2, label=fit.sharing.form)
    panel.plot(at, at, color=GREY, lw=0.8, ls=":", label="fair shares")
    panel.legend(fontsize=7)
