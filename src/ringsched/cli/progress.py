"""Progress of a search: after two seconds, and only for someone who watches."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status

SILENT_S = 2.0


class TrialProgress:
    """Counts trials; shows the count on a terminal once the work takes longer than two seconds."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._num_trials = 0
        self._status: Status | None = None

    def on_trial(self) -> None:
        """Count one trial."""
        self._num_trials += 1
        elapsed = time.monotonic() - self._started
        if elapsed < SILENT_S or not sys.stderr.isatty():
            return
        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status("")
            self._status.start()
        self._status.update(f"searching: {self._num_trials} trials in {elapsed:.0f} s")

    def __enter__(self) -> TrialProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()
