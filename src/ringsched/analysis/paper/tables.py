"""The rows as CSV: results and what they are results of, so that the same command gives the same bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from ringsched.analysis.paper.points import Row, columns, values
from ringsched.io.files import write_text


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write one line a row under the names of their fields."""
    write_table(path, columns(type(rows[0])), [values(row) for row in rows])


def write_table(path: Path, heading: Sequence[str], lines: Sequence[Sequence[object]]) -> None:
    """Write a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([heading, *lines])
    write_text(path, text.getvalue())
