"""What every format comes down to: one job of a trace, or a row that is none and why."""

from __future__ import annotations

from typing import NamedTuple

NO_GPU = "no GPU"
NO_DURATION = "no duration"
NO_SUBMIT = "no submit time"
NEVER_STARTED = "never started"
STILL_RUNNING = "no start or end recorded"


class Recorded(NamedTuple):
    """Where and when a job really ran; times in seconds since 1970."""

    start: float
    end: float
    gpus: dict[str, tuple[int, ...]]  # machine -> its GPUs


class TraceRow(NamedTuple):
    """One job of a trace; `submit` counts from wherever the trace does."""

    line: int
    submit: float
    duration_s: float
    gpus: int
    name: str
    model: str | None = None  # as the trace calls it
    recorded: Recorded | None = None


class BadRow(Exception):
    """A row that is no job.

    Parameters
    ----------
    reason
        Under which it is counted.
    field, problem
        What a strict import says about a malformed row; without them the row is in order, only
        not a job that could be scheduled, such as one without GPUs.
    """

    def __init__(self, reason: str, *, field: str | None = None, problem: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.field = field
        self.problem = problem
        self.line = 0

    def on(self, line: int) -> BadRow:
        """Return itself with the line it stands on."""
        self.line = line
        return self

    @property
    def is_malformed(self) -> bool:
        """Whether a strict import ends here."""
        return self.problem is not None


def malformed(field: str, problem: str) -> BadRow:
    """Return a malformed row, counted by field.

    Examples
    --------
    >>> malformed("num_gpus", "must be an integer, not 'x'").reason
    'malformed num_gpus'
    """
    return BadRow(f"malformed {field}", field=field, problem=problem)
