"""How results show themselves: in one line, as a small table in a notebook, as a data frame."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ringsched.errors import check_installed

if TYPE_CHECKING:
    from pandas import DataFrame

LONGEST_LINE = 120
MOST_ROWS = 20  # of a table in a notebook: of more, the first and the last ten


def one_line(kind: str, *parts: str) -> str:
    """Return the repr of a result, cut if names make it long.

    Examples
    --------
    >>> one_line("Plan", "4 jobs", "makespan 412 s")
    '<Plan: 4 jobs, makespan 412 s>'
    """
    line = f"<{kind}: {', '.join(parts)}>"
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 2]}…>"


def html_table(
    caption: str,
    headings: Sequence[str],
    num_rows: int,
    row: Callable[[int], Sequence[str]],
    *,
    text: Collection[int] = (0,),
    totals: Iterable[tuple[str, str]] = (),
    noun: str = "rows",
) -> str:
    """Return a table for a notebook, with all names escaped.

    Parameters
    ----------
    row
        The cells of a row by its index. It is called only for rows that are shown.
    text
        Which columns hold text. All others are aligned to the right.
    totals
        Names and values below the table.
    noun
        What the rows are, where some are left out.
    """
    first = num_rows if num_rows <= MOST_ROWS else MOST_ROWS // 2
    last = range(max(first, num_rows - MOST_ROWS // 2), num_rows)
    lines = [_html_row("td", row(at), text) for at in range(first)]
    if first < num_rows:
        left_out = f"… {last.start - first:,} more {noun} …"
        lines.append(f'<tr><td colspan="{len(headings)}">{escape(left_out)}</td></tr>')
    lines += [_html_row("td", row(at), text) for at in last]
    head = f"<thead>{_html_row('th', headings, text)}</thead>"
    below = "<br>".join(f"{escape(name)}: {escape(value)}" for name, value in totals)
    return "\n".join(
        [
            "<div>",
            f"<p>{escape(caption)}</p>",
            *([f"<table>{head}<tbody>", *lines, "</tbody></table>"] if lines else []),
            *([f"<p>{below}</p>"] if below else []),
            "</div>",
        ]
    )


def _html_row(tag: str, cells: Sequence[str], text: Collection[int]) -> str:
    sides = ("left" if at in text else "right" for at in range(len(cells)))
    aligned = [
        f'<{tag} style="text-align:{side}">{escape(cell)}</{tag}>'
        for side, cell in zip(sides, cells, strict=True)
    ]
    return f"<tr>{''.join(aligned)}</tr>"


def frame_of(columns: Mapping[str, Any]) -> DataFrame:
    """Return named columns of one length as a data frame."""
    check_installed("pandas", "frames", field="to_frame()")
    from pandas import DataFrame

    return DataFrame(dict(columns))


def consecutive(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return ascending numbers as runs of (first, how many).

    Examples
    --------
    >>> consecutive([0, 1, 2, 5])
    [(0, 3), (5, 1)]
    """
    runs = []
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in group]
        runs.append((members[0], len(members)))
    return runs


def placed(placement: Mapping[str, Iterable[int]]) -> str:
    """Return a placement in short.

    Examples
    --------
    >>> placed({"a": [0, 1, 2, 5], "b": [3]})
    'a:0-2,5 b:3'
    """
    return " ".join(f"{server}:{_ranges(held)}" for server, held in placement.items())


def _ranges(gpus: Iterable[int]) -> str:
    runs = consecutive(gpus)
    return ",".join(str(first) if many == 1 else f"{first}-{first + many - 1}" for first, many in runs)
