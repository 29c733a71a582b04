"""Tables with named columns: CSV, or Parquet where pyarrow is installed."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ringsched.errors import InputError
from ringsched.io.files import check_writable, write_lines, written_beside

_ROWS_AT_A_TIME = 10_000

# Named columns of one length: lists, or arrays.
Columns = Mapping[str, Any]


def check_table_file(path: Path) -> None:
    """Raise if a table cannot be written there, before any work is done for it."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise InputError("must end in .csv or .parquet", file=str(path))
    if path.suffix.lower() == ".parquet":
        try:
            import pyarrow.parquet  # type: ignore[import-untyped]  # noqa: F401
        except ImportError:
            raise InputError("needs pyarrow: pip install 'ringsched[parquet]'", file=str(path)) from None
    check_writable(path)


def save_table(columns: Columns, path: str | os.PathLike[str]) -> None:
    r"""Write columns of one length, atomically; a number that is none is an empty field, or null.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "table.csv")
    >>> save_table({"job": ["a", "b"], "start_s": [0.0, math.nan]}, path)
    >>> path.read_text()
    'job,start_s\na,0.0\nb,\n'
    """
    path = Path(path)
    check_table_file(path)
    if path.suffix.lower() == ".csv":
        write_lines(path, _lines(columns))
        return
    import pyarrow
    from pyarrow import parquet

    arrays = {name: pyarrow.array(values, from_pandas=True) for name, values in columns.items()}
    with written_beside(path) as temporary:
        parquet.write_table(pyarrow.table(arrays), temporary)


def _lines(columns: Columns) -> Iterator[str]:
    num_rows = len(next(iter(columns.values()), ()))
    yield _csv([tuple(columns)])
    for first in range(0, num_rows, _ROWS_AT_A_TIME):
        part = [_plain(values[first : first + _ROWS_AT_A_TIME]) for values in columns.values()]
        yield _csv(zip(*part, strict=True))


def _plain(values: Any) -> list[Any]:
    """Return values of Python itself, which are written in the shortest way that reads back the same."""
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    return ["" if isinstance(value, float) and math.isnan(value) else value for value in listed]


def _csv(rows: Any) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
