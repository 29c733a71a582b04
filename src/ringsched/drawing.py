"""Pictures by matplotlib, from plain sequences of numbers: plans, figures over time, means with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ringsched.errors import check_installed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

WIDTH_IN = 7.2  # of a page
TALLEST_IN = 9.0
UNITS = {"days": 86400, "h": 3600, "min": 60}
MOST_NAMES = 40

# Okabe and Ito: told apart by the colour-blind, and by lightness in print.
BLUE, ORANGE, GREEN, PURPLE, SKY, BROWN = "#0072b2", "#d55e00", "#009e73", "#b0568c", "#56b4e9", "#a87400"


def check_matplotlib(*, field: str | None = None, file: str | None = None) -> None:
    """Raise if there is nothing to draw with; `field` or `file` is what was asked for."""
    check_installed("matplotlib", "plot", field=field, file=file)


def panel_for(ax: Axes | None, height_in: float = 3.2) -> Axes:
    """Return the axes to draw into, new ones if none are given; a notebook shows new ones by itself."""
    check_matplotlib(field="plot()")
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(WIDTH_IN, min(height_in, TALLEST_IN)), layout="constrained")[1]


def time_axis(panel: Axes, span_s: float) -> float:
    """Label the time axis in a unit that suits its length; return the unit in seconds."""
    span = span_s or 1
    name, unit = next(((name, unit) for name, unit in UNITS.items() if span >= 4 * unit), ("s", 1))
    panel.set_xlim(0, span / unit)
    panel.set_xlabel(f"time, {name}")
    return unit


def plain(name: str, most: int = 28) -> str:
    r"""Return a name as matplotlib shows it letter by letter, cut if it is long.

    Examples
    --------
    >>> plain("cost $5"), plain("_hidden")
    ('cost \\$5', ' _hidden')
    """
    short = name if len(name) <= most else f"{name[: most - 1]}…"
    escaped = short.replace("$", r"\$")  # else mathematics
    return f" {escaped}" if escaped.startswith("_") else escaped  # else left out of legends


def name_rows(panel: Axes, places: Sequence[float], names: Sequence[str]) -> None:
    """Name rows at the left, some of them where there are too many."""
    step = max(1, -(-len(names) // MOST_NAMES))
    panel.set_yticks(places[::step], [plain(name, 18) for name in names[::step]], fontsize=7)
    panel.tick_params(axis="y", length=0)
    panel.grid(visible=False, axis="y")


VIRIDIS = ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725")
# The ends of the scale that would vanish in a dark or a white page are left out.
DARKEST, DARKEST_ON_BLACK, BRIGHTEST = 0.08, 0.28, 0.95


def size_class(gpus: int) -> int:
    """Return 0 for one GPU, 1 for two, 2 for three and four, 3 for up to eight, ...

    Examples
    --------
    >>> [size_class(gpus) for gpus in (1, 2, 3, 4, 5, 8, 9)]
    [0, 1, 2, 2, 3, 3, 4]
    """
    return (gpus - 1).bit_length()


def size_scale(gpus: Sequence[int]) -> list[dict[str, Any]]:
    """Return the classes that occur, smallest first, each with its name and its colours."""
    present = sorted({size_class(each) for each in gpus})
    classes = []
    for rank, number in enumerate(present):
        members = [each for each in gpus if size_class(each) == number]
        low, high = min(members), max(members)
        share = rank / (len(present) - 1) if len(present) > 1 else 0.5
        light = viridis(BRIGHTEST - (BRIGHTEST - DARKEST) * share)
        dark = viridis(DARKEST_ON_BLACK + (BRIGHTEST - DARKEST_ON_BLACK) * share)
        classes.append(
            {
                "class": number,
                "name": f"{low}" if low == high else f"{low}–{high}",
                "light": light,
                "inkLight": ink_on(light),
                "dark": dark,
                "inkDark": ink_on(dark),
            }
        )
    return classes


def viridis(share: float) -> str:
    """Return the colour at a share of the scale, from 0, dark, to 1, bright.

    Examples
    --------
    >>> viridis(0.0), viridis(1.0)
    ('#440154', '#fde725')
    """
    place = share * (len(VIRIDIS) - 1)
    at = min(int(place), len(VIRIDIS) - 2)
    pairs = zip(_channels(VIRIDIS[at]), _channels(VIRIDIS[at + 1]), strict=True)
    return "#" + "".join(f"{round(low + (high - low) * (place - at)):02x}" for low, high in pairs)


def ink_on(colour: str) -> str:
    """Return black or white, whichever is read better on a colour.

    Examples
    --------
    >>> ink_on("#440154"), ink_on("#fde725")
    ('#ffffff', '#000000')
    """
    # The contrast of WCAG 2: with white 1.05 / (luminance + 0.05), with black (luminance + 0.05) / 0.05.
    return "#ffffff" if (luminance(colour) + 0.05) ** 2 < 1.05 * 0.05 else "#000000"


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, from 0 for black to 1 for white, as WCAG 2 defines it.

    Examples
    --------
    >>> luminance("#000000"), round(luminance("#ffffff"), 6)
    (0.0, 1.0)
    """
    red, green, blue = (
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4
        for each in (channel / 255 for channel in _channels(colour))
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


class Lane(NamedTuple):
    """The rows of a server in a Gantt chart, one for each GPU; `off` are unavailable GPUs."""

    name: str
    row: int
    gpus: int
    off: Sequence[int] = ()


class Block(NamedTuple):
    """A job in a Gantt chart: seconds from the origin, and the rows it holds as (first, how many)."""

    name: str
    size: int  # its class
    start_s: float
    finish_s: float
    rows: Sequence[tuple[int, int]]
    slowed_s: Sequence[tuple[float, float]] = ()  # from, until


MOST_ROWS_WITH_NAMES = 80  # of jobs, on their blocks
AROUND_IN = 1.3  # of the height: axis and legend
POINTS_PER_INCH = 72
# White lines around jobs and servers, as shares of a row: thicker ones would hide what they surround.
JOB_EDGE, SERVER_EDGE = 0.1, 0.9


def gantt_height_in(num_rows: int) -> float:
    """Return how tall a Gantt chart should be."""
    return AROUND_IN + max(num_rows * 0.012, min(num_rows * 0.085, 4.0))


def draw_gantt(
    panel: Axes,
    lanes: Sequence[Lane],
    blocks: Sequence[Block],
    sizes: Sequence[Mapping[str, Any]],
    *,
    span_s: float,
    end_s: float,
    bound_s: float | None,
) -> None:
    """Draw GPUs down, time across, jobs in the colours of their sizes, hatched where others slow them."""
    num_rows = max((lane.row + lane.gpus for lane in lanes), default=1)
    height_in = panel.figure.get_figheight()  # type: ignore[union-attr]
    row_points = max(0.1, height_in - AROUND_IN) * POINTS_PER_INCH / num_rows
    unit = time_axis(panel, span_s)
    _draw_lanes(panel, lanes, row_points)
    for size in sizes:
        of_size = [block for block in blocks if block.size == size["class"]]
        _draw_blocks(panel, of_size, size, unit, row_points)
    if num_rows <= MOST_ROWS_WITH_NAMES:
        _name_blocks(panel, blocks, {size["class"]: size for size in sizes}, span_s or 1, unit)
    panel.axvline(end_s / unit, color="black", linewidth=1.0)
    if bound_s is not None:
        panel.axvline(bound_s / unit, color="black", linewidth=1.0, linestyle="--")
    panel.set_ylim(num_rows, 0)
    panel.spines[:].set_visible(False)


def _draw_lanes(panel: Axes, lanes: Sequence[Lane], row_points: float) -> None:
    edge = min(1.2, SERVER_EDGE * row_points)
    for lane in lanes:
        panel.axhspan(lane.row, lane.row + lane.gpus, color="#eef1f4", linewidth=0, zorder=0)
        for gpu in lane.off:
            panel.axhspan(lane.row + gpu, lane.row + gpu + 1, color="#b9c1ca", linewidth=0, zorder=1)
        panel.axhline(lane.row, color="white", linewidth=edge, zorder=4)
    name_rows(panel, [lane.row + lane.gpus / 2 for lane in lanes], [lane.name for lane in lanes])


def _draw_blocks(
    panel: Axes, blocks: Sequence[Block], size: Mapping[str, Any], unit: float, row_points: float
) -> None:
    """Draw all jobs of one size, and over them where they are slowed."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    boxes, slowed = [], []
    for block in blocks:
        start, finish = block.start_s / unit, block.finish_s / unit
        for row, length in block.rows:
            boxes.append(Rectangle((start, row), finish - start, length))
            for since, until in block.slowed_s:
                slowed.append(Rectangle((since / unit, row), (until - since) / unit, length))
    edge = min(0.6, JOB_EDGE * row_points)
    panel.add_collection(
        PatchCollection(boxes, facecolor=size["light"], edgecolor="white", linewidth=edge, zorder=2)
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


def _name_blocks(
    panel: Axes, blocks: Sequence[Block], looks: Mapping[int, Mapping[str, Any]], span_s: float, unit: float
) -> None:
    for block in blocks:
        letters = int((block.finish_s - block.start_s) / span_s * 95)  # that fit the width of the page
        if letters < 4 or not block.rows:
            continue
        length, row = max((length, -row) for row, length in block.rows)
        look = looks[block.size]
        panel.annotate(
            plain(block.name, letters),
            (block.start_s / unit, -row + length / 2),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            clip_on=True,
            fontsize=5.5,
            color=look["inkLight"],
            bbox={"facecolor": look["light"], "edgecolor": "none", "pad": 0.5},  # to be read on hatching
            zorder=5,
        )


def gantt_legend(sizes: Iterable[Mapping[str, Any]], *, slowed: bool, bound: bool) -> list[Patch | Any]:
    """Return what a legend shows: the sizes, and what else there is in the chart."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Patch | Any] = [
        Patch(facecolor=size["light"], label="1 GPU" if size["name"] == "1" else f"{size['name']} GPUs")
        for size in sizes
    ]
    if slowed:
        handles.append(
            Patch(
                facecolor="white",
                edgecolor="#555555",
                hatch="//////",
                linewidth=0,
                label="slowed by contention",
            )
        )
    handles.append(Line2D([], [], color="black", linewidth=1.0, label="end"))
    if bound:
        handles.append(Line2D([], [], color="black", linewidth=1.0, linestyle="--", label="lower bound"))
    return handles


class Step(NamedTuple):
    """A quantity that changes in steps, with its own axis."""

    label: str
    values: Sequence[float]
    top: float | None = None  # what it cannot exceed


def draw_steps(panel: Axes, times_s: Sequence[float], left: Step, right: Step) -> None:
    """Draw two quantities over time, counted from the origin, each with an axis on its side."""
    unit = time_axis(panel, times_s[-1] if len(times_s) else 0.0)
    times = [time_s / unit for time_s in times_s]
    for axis, step, colour in ((panel, left, BLUE), (panel.twinx(), right, ORANGE)):
        axis.step(times, step.values, where="post", color=colour, linewidth=1.2, label=step.label)
        axis.set_ylabel(step.label, color=colour)
        axis.tick_params(axis="y", labelcolor=colour)
        axis.set_ylim(0, None if step.top is None else step.top * 1.05)
        axis.locator_params(axis="y", integer=True)  # there is no half a job


class Interval(Protocol):
    """A mean with its interval; None for what cannot be said."""

    @property
    def mean(self) -> float | None:
        """The mean."""

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""

    @property
    def high(self) -> float | None:
        """The upper end."""


def error_bars(found: Sequence[Interval]) -> list[list[float]]:
    """Return how far the intervals go down and up; nothing where there is none."""
    down = [(each.mean or 0.0) - (each.mean or 0.0 if each.low is None else each.low) for each in found]
    up = [(each.mean or 0.0 if each.high is None else each.high) - (each.mean or 0.0) for each in found]
    return [down, up]


MARKERS = ("o", "s", "^", "D", "v", "P")


def draw_estimates(
    panel: Axes,
    names: Sequence[str],
    groups: Mapping[str, Sequence[Interval | None]],
    *,
    reference: float,
    share: bool,
) -> None:
    """Draw a point with whiskers for each name, the groups of a name below each other.

    Parameters
    ----------
    groups
        Estimates in the order of the names, by group; None, or one without a mean, is left out.
    reference
        Where a line marks no difference.
    share
        Whether the values are shares, to be labelled in percentage points.
    """
    colours = (BLUE, ORANGE, GREEN, PURPLE, SKY, BROWN)
    for at, (label, found) in enumerate(groups.items()):
        shift = 0.7 * ((at + 0.5) / len(groups) - 0.5)
        known = [(row, each) for row, each in enumerate(found) if each is not None]
        kept = [(row + shift, each) for row, each in known if each.mean is not None]
        panel.errorbar(
            [each.mean or 0.0 for _, each in kept],
            [row for row, _ in kept],
            xerr=error_bars([each for _, each in kept]),
            fmt=MARKERS[at % len(MARKERS)],
            color=colours[at % len(colours)],
            markersize=4.5,
            capsize=3,
            linewidth=1.4,
            label=plain(label),
        )
    panel.axvline(reference, color="#5a6572", linewidth=1.0, linestyle="--")
    panel.set_yticks(range(len(names)), [plain(name) for name in names])
    panel.set_ylim(max(1, len(names)) - 0.5, -0.5)
    if share:
        from matplotlib.ticker import PercentFormatter

        panel.xaxis.set_major_formatter(PercentFormatter(xmax=1.0, symbol=""))
    if len(groups) > 1:
        panel.legend(fontsize=8)
