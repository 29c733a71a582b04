"""What is seen of work that takes a while: a sign of life, a bar, the best plan so far."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

from ringsched.formats.files import is_stream
from ringsched.formats.plan import save_plan
from ringsched.formatting import duration, percent_above
from ringsched.model.objective import objective_named
from ringsched.policies.policy import Observer

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.status import Status

    from ringsched.model import Plan
    from ringsched.policies.policy import Progress


class Working:
    """Shows what is being done, after two seconds, and only in a terminal."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._timer = Timer(SILENT_S, self._show)
        self._status: Status | None = None

    def _show(self) -> None:
        from rich.console import Console  # loaded only when something is shown

        self._status = Console(stderr=True).status(self._what)
        self._status.start()

    def __enter__(self) -> Working:
        if sys.stderr.isatty():
            self._timer.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._timer.cancel()
        if self._timer.is_alive():
            self._timer.join()  # it may be about to show something
        if self._status is not None:
            self._status.stop()


class RowProgress(AbstractContextManager["RowProgress"]):
    """A bar on a terminal, once the work takes longer than two seconds."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._started = time.monotonic()
        self._bar: Bar | None = None

    def on_row(self, done: int, total: int) -> None:
        """Show how many rows are done."""
        if self._bar is None:
            if time.monotonic() - self._started < SILENT_S or not sys.stderr.isatty():
                return
            self._bar = _bar(self._doing)
        self._bar.update(self._bar.task_ids[0], completed=done, total=total)

    def __exit__(self, *_error: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def _bar(doing: str) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(doing)
    bar.start()
    return bar


SILENT_S = 2.0
WRITE_S = 1.0  # better plans are written no more often than this


class WatchedPlanning(Observer, AbstractContextManager["WatchedPlanning"]):
    """Shows on a terminal how far planning is, and writes better plans to `output` as they come.

    A glance is worth something only for work of more than two seconds: before, nothing is shown. A pipe gets
    the last plan only.
    """

    better_every_s = WRITE_S

    def __init__(self, output: Path | None) -> None:
        self._output = None if output is None or is_stream(output) else output
        self.has_plan = False  # a search that is interrupted ends with a plan
        self.asked: Callable[[], bool] = lambda: False
        self._started = time.monotonic()
        self._num_trials = 0
        self._status: Status | None = None

    def should_stop(self) -> bool:
        """Say whether Ctrl-C was pressed."""
        return self.asked()

    def trial(self) -> None:
        """Count one trial of a bisection."""
        self._num_trials += 1
        self._show(lambda elapsed: f"searching: {self._num_trials} trials in {duration(round(elapsed))}")

    def progress(self, progress: Progress) -> None:
        """Show the best, the bound and the gap of a search."""
        self.has_plan = True
        best = objective_named(progress.objective).text(progress.value_s)
        self._show(
            lambda elapsed: (
                f"searching: best {best}, gap {percent_above(progress.gap)}; "
                f"{progress.iterations:,} schedules in {duration(round(elapsed))} (Ctrl-C ends it)"
            )
        )

    def better(self, plan: Plan) -> None:
        """Write a better plan."""
        self.has_plan = True
        if self._output is not None:
            save_plan(plan, self._output)

    def _show(self, line: Callable[[float], str]) -> None:
        elapsed = time.monotonic() - self._started
        if elapsed < SILENT_S or not sys.stderr.isatty():
            return
        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status("")
            self._status.start()
        self._status.update(line(elapsed))

    def __exit__(self, *_error: object) -> None:
        if self._status is not None:
            self._status.stop()
