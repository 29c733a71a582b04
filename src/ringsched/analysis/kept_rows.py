"""Rows on their way into a file."""

from __future__ import annotations

from collections.abc import Sequence

from ringsched.analysis.row_files import RowFile
from ringsched.analysis.runs import ComparisonRow, Key, Task


class KeptRows:
    """Adds rows to the file as they come and leaves it in order, however the work ends."""

    def __init__(
        self,
        file: RowFile | None,
        tasks: Sequence[Task],
        found: Sequence[ComparisonRow],
        rows: dict[Key, ComparisonRow],
    ) -> None:
        self._file, self._tasks, self._rows = file, tasks, rows
        self._found = [row for row in found if row.key not in rows]

    def add(self, row: ComparisonRow) -> None:
        """Keep one more row."""
        self._rows[row.key] = row
        if self._file is not None:
            self._file.add(row)

    def __enter__(self) -> KeptRows:
        if self._file is not None:
            self._file.open(self._all())
        return self

    def __exit__(self, *_error: object) -> None:
        if self._file is not None:
            self._file.close(self._all())

    def _all(self) -> list[ComparisonRow]:
        """Return our rows and those found that stay: of other runs, and of older code until run anew."""
        ours = [self._rows[task.key] for task in self._tasks if task.key in self._rows]
        replaced = {row.key[:-1] for row in ours}
        return [*ours, *(row for row in self._found if row.key[:-1] not in replaced)]
