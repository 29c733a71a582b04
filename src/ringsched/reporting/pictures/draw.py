"""`draw_pictures()`: every picture of a report as a separate file."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringsched.drawing import check_matplotlib
from ringsched.formats.files import check_writable, make_directory, written_beside
from ringsched.model import Scenario
from ringsched.model.checks import choice, instance
from ringsched.paper.figures import STYLE
from ringsched.reporting.data import report_data
from ringsched.reporting.report import Plans, labelled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FORMATS = ("svg", "png")
PNG_DOTS_PER_INCH = 200
# Otherwise a picture would contain its date and the version.
METADATA: Mapping[str, dict[str, Any]] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}


def draw_pictures(
    scenario: Scenario, plans: Plans, directory: str | os.PathLike[str], format: str = "svg"
) -> list[str]:
    """Write the pictures of a report to a directory, in page size; return the names of the files.

    The same plans give the same bytes. Needs matplotlib (`pip install '.[plot]'` in a clone).

    Parameters
    ----------
    plans
        As for `report`.
    format
        `svg` or `png`.

    Raises
    ------
    InputError
        A plan was made for another scenario, matplotlib is missing, or the directory cannot be written.
    """
    choice(format, "format", FORMATS)
    check_matplotlib(field=f"format {format}")
    data = report_data(instance(scenario, "scenario", Scenario), labelled(plans))
    return pictures_of(data, Path(directory), format)


def pictures_of(data: Mapping[str, Any], target: Path, format: str) -> list[str]:
    """Write the pictures of a report's data."""
    import matplotlib as mpl

    make_directory(target)
    names = []
    with mpl.rc_context(STYLE), warnings.catch_warnings():  # type: ignore[arg-type]
        # A name may have letters that the font lacks; they become boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        for name, figure in _figures(data):
            path = target / f"{name}.{format}"
            _save(figure, path, format)
            names.append(path.name)
    return names


def _figures(data: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
    from ringsched.reporting.pictures.charts import draw_blame, draw_curves, draw_links
    from ringsched.reporting.pictures.gantt import gantt_picture

    yield "completions", draw_curves(data)
    suffixes = _suffixes([plan["label"] for plan in data["plans"]])
    for plan, suffix in zip(data["plans"], suffixes, strict=True):
        if plan["gantt"]["job"]:
            yield f"gantt{suffix}", gantt_picture(data, plan)
        if plan["links"]:
            yield f"links{suffix}", draw_links(data, plan)
        if plan["blame"] and plan["blame"]["victims"]:
            yield f"blame{suffix}", draw_blame(data, plan)


def _save(figure: Figure, path: Path, format: str) -> None:
    check_writable(path)
    with written_beside(path) as temporary:
        figure.savefig(temporary, format=format, dpi=PNG_DOTS_PER_INCH, metadata=METADATA[format])


def _suffixes(labels: list[str]) -> list[str]:
    """Return file name suffixes that distinguish several plans; none for one plan.

    Examples
    --------
    >>> _suffixes(["search"]), _suffixes(["my plan", "../my:plan"])
    ([''], ['-my-plan', '-my-plan-2'])
    """
    if len(labels) == 1:
        return [""]
    suffixes: list[str] = []
    for label in labels:
        plain = re.sub(r"[^A-Za-z0-9_]+", "-", label).strip("-")[:60] or "plan"
        same = sum(re.fullmatch(rf"-{plain}(-\d+)?", other) is not None for other in suffixes)
        suffixes.append(f"-{plain}-{same + 1}" if same else f"-{plain}")
    return suffixes
