"""A bar for work that is done row by row."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from ringsched.cli.progress import SILENT_S

if TYPE_CHECKING:
    from rich.progress import Progress


class RowProgress:
    """A bar on a terminal, once the work takes longer than two seconds."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._started = time.monotonic()
        self._bar: Progress | None = None

    def on_row(self, done: int, total: int) -> None:
        """Show how many rows are done."""
        if self._bar is None:
            if time.monotonic() - self._started < SILENT_S or not sys.stderr.isatty():
                return
            self._bar = _bar(self._doing)
        self._bar.update(self._bar.task_ids[0], completed=done, total=total)

    def __enter__(self) -> RowProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _bar(doing: str) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(doing)
    bar.start()
    return bar
