"""What the reader of a trace yields: a job, or why a row is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ringsched.errors import InputError

NO_GPU = "no GPU"
NO_DURATION = "no duration"
NO_SUBMIT = "no submit time"
NEVER_STARTED = "never started"
STILL_RUNNING = "no start or end recorded"


class Recorded(NamedTuple):
    """Where and when a job really ran; times in seconds since 1970.

    A machine has the GPUs the job held there, or only their number where the record has no indices. They
    are `split` if only the number of all GPUs is recorded.
    """

    start: float
    end: float
    gpus: Mapping[str, tuple[int, ...] | int]
    is_split: bool = False


class Figures(NamedTuple):
    """What a trace itself says of an iteration; None where it does not.

    `exchange_s` is a part of `iteration_s`.
    """

    iteration_s: float
    exchange_s: float | None = None
    gradient_mb: float | None = None


class TraceRow(NamedTuple):
    """One job of a trace; `submit` counts from wherever the trace does."""

    line: int
    submit: float
    duration_s: float
    gpus: int
    name: str
    model: str | None = None  # as the trace calls it
    recorded: Recorded | None = None
    figures: Figures | None = None
    note: str | None = None  # what was changed; counted in the report
    start: float | None = None  # where only the time is known, not the place


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
        """Return itself with its line set."""
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


class NotThisFormat(InputError):
    """A file that is not of the format it was said to be; another may fit."""


def checked_duration_s(duration_s: float | None, field: str) -> float:
    """Return a duration above 0; a row without one, or with 0, is no job."""
    if duration_s is None or duration_s == 0:
        raise BadRow(NO_DURATION)
    if duration_s < 0:
        raise malformed(field, f"must not be negative, but is {duration_s:g}")
    return duration_s
