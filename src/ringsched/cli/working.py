"""A sign of life while a command works that cannot say how far it is."""

from __future__ import annotations

import sys
from threading import Timer
from types import TracebackType
from typing import TYPE_CHECKING

from ringsched.cli.progress import SILENT_S

if TYPE_CHECKING:
    from rich.status import Status


class Working:
    """Shows what is being done, after two seconds, and only to someone who watches."""

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

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._timer.is_alive():
            self._timer.join()  # it may be about to show something
        if self._status is not None:
            self._status.stop()
