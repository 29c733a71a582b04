"""Text for people: numbers, names, one line, a table in a notebook, a data frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ringsched.errors import check_installed

if TYPE_CHECKING:
    from pandas import DataFrame

LONGEST_LINE = 120
MOST_ROWS = 20  # of a table in a notebook: of more, the first and the last ten
_MILLISECOND_S = 0.001
_UNITS = (("day", 86400), ("h", 3600), ("min", 60), ("s", 1))


def duration(seconds: float) -> str:
    """Return a time for people, in the two largest units that it has.

    Examples
    --------
    >>> duration(412.0), duration(5220), duration(0.12345), duration(90000), duration(3599.7)
    ('6 min 52 s', '1 h 27 min', '0.123 s', '1 day 1 h', '1 h')
    >>> duration(0.00093412)
    '0.934 ms'
    """
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if 0 < seconds < _MILLISECOND_S:
        return f"{figure(seconds / _MILLISECOND_S)} ms"
    at = next((at for at, (_, length) in enumerate(_UNITS) if seconds >= length), len(_UNITS) - 1)
    if at == len(_UNITS) - 1:
        return f"{figure(seconds)} s" if float(f"{seconds:.3g}") < 60 else "1 min"
    (unit, length), (smaller, part) = _UNITS[at], _UNITS[at + 1]
    rounded = round(seconds / part) * part
    if at > 0 and rounded >= _UNITS[at - 1][1]:
        return duration(rounded)  # not "60 min"
    whole, rest = divmod(rounded, length)
    first = counted(whole, unit) if unit == "day" else f"{whole} {unit}"
    return f"{first} {rest // part} {smaller}" if rest else first


def gap_text(ratio: float) -> str:
    """Return a gap for people: the percentage above the bound, and whether that is a proof.

    Examples
    --------
    >>> gap_text(1.0), gap_text(1.0143)
    ('0.0 %, proved optimal', '1.5 %')
    """
    return f"{percent_above(ratio)}, proved optimal" if ratio <= 1 + 1e-9 else percent_above(ratio)


def figure(value: float) -> str:
    """Return a number for people."""
    if value == round(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"


def counted(number: int, noun: str) -> str:
    """Return `1 job`, `2 jobs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)


def percent_above(ratio: float) -> str:
    """Return a gap as how far a value is at most above its bound.

    Examples
    --------
    >>> percent_above(1.0), percent_above(1.0143), percent_above(1 - 1e-12)
    ('0.0 %', '1.5 %', '0.0 %')
    """
    # Up, because a plan is at most so far above the best possible; the rest is rounding of the ratio.
    return f"{math.ceil(1000 * (ratio - 1) - 1e-6) / 10:.1f} %"


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
