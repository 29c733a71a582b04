"""Times that no trace has: of another unit than assumed, or dirt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from ringsched.errors import InputError
from ringsched.formats.traces.rows import BadRow, TraceRow
from ringsched.formatting import counted, duration
from ringsched.importing.report import Tally

DAY_S = 86_400.0
YEAR_S = 365.25 * DAY_S
LONGEST_S = 3 * YEAR_S  # a job
LONGEST_SPAN_S = 20 * YEAR_S  # a trace
LONG_MEDIAN_S = 7 * DAY_S  # half of the jobs of a cluster do not run for a week
SHORT_MEDIAN_S = 60.0
ENOUGH = 10  # jobs, before a short median means something
YEAR_5000_S = 3030 * YEAR_S  # since 1970
FEW = 0.01  # part of the rows that is dirt, not a wrong unit

TOO_LONG = "implausible duration"
FAR_AWAY = "implausible submit time"


def plausible(
    rows: Sequence[TraceRow], tally: Tally, path: Path, *, takes_unit: bool, is_sure: bool
) -> list[TraceRow]:
    """Return the rows without the few whose times are dirt.

    Raises
    ------
    InputError
        Half of the jobs run for more than a week, and the unit of the times is not sure; or so many
        times are implausible that their unit must be another one.
    """
    if not rows:
        return []
    hint = "use --time-unit, such as --time-unit ms" if takes_unit else "check the file"
    _check_instants(rows, path, hint)
    kept = _without_long_jobs(rows, tally, path, hint)
    kept = _without_far_submits(kept, tally, path, hint)
    middle_s = median(row.duration_s for row in kept) if kept else 0.0
    if middle_s > LONG_MEDIAN_S and not is_sure:
        raise InputError(
            f"has jobs that run for {duration(middle_s)} in the median if the times are in seconds; "
            "name their unit with --time-unit (ms, or s if that is right)",
            file=str(path),
        )
    return kept


def short_jobs_note(rows: Sequence[TraceRow]) -> str | None:
    """Return a hint if the jobs are so short that the times may be minutes or hours."""
    if len(rows) < ENOUGH:
        return None
    middle_s = median(row.duration_s for row in rows)
    if middle_s >= SHORT_MEDIAN_S:
        return None
    return f"half of the jobs run for less than {duration(middle_s)}; if that is minutes, use --time-unit min"


def _check_instants(rows: Sequence[TraceRow], path: Path, hint: str) -> None:
    middle = median(row.submit for row in rows)
    if middle > YEAR_5000_S:
        first = rows[0]
        year = 1970 + int(middle / YEAR_S)
        unit = "ms" if middle < YEAR_5000_S * 1e3 else "us" if middle < YEAR_5000_S * 1e6 else "ns"
        raise InputError(
            f"submit time {first.submit:g} is in the year {year} if it is seconds since 1970; "
            f"{hint.replace(' ms', f' {unit}')}",
            place=f"line {first.line}",
            file=str(path),
        )


def _without_long_jobs(rows: Sequence[TraceRow], tally: Tally, path: Path, hint: str) -> list[TraceRow]:
    long = [row for row in rows if row.duration_s > LONGEST_S]
    if len(long) > FEW * len(rows):
        first = long[0]
        raise InputError(
            f"job {first.name!r} would run for {_years(first.duration_s)}, as would "
            f"{counted(len(long), 'job')} of {len(rows)} for more than {_years(LONGEST_S)}; {hint}",
            place=f"line {first.line}",
            file=str(path),
        )
    for row in long:
        problem = f"of {_years(row.duration_s)} is implausible"
        tally.drop(BadRow(TOO_LONG, field="the duration", problem=problem).on(row.line))
    return [row for row in rows if row.duration_s <= LONGEST_S] if long else list(rows)


def _without_far_submits(rows: Sequence[TraceRow], tally: Tally, path: Path, hint: str) -> list[TraceRow]:
    if not rows:
        return []
    submits = sorted(row.submit for row in rows)
    if submits[-1] - submits[0] <= LONGEST_SPAN_S:
        return list(rows)
    middle = submits[len(submits) // 2]
    far = [row for row in rows if abs(row.submit - middle) > LONGEST_SPAN_S / 2]
    if len(far) > FEW * len(rows):
        raise InputError(
            f"has submit times over {_years(submits[-1] - submits[0])}; {hint}",
            file=str(path),
        )
    for row in far:
        problem = f"is {_years(abs(row.submit - middle))} from that of most jobs"
        tally.drop(BadRow(FAR_AWAY, field="the submit time", problem=problem).on(row.line))
    return [row for row in rows if abs(row.submit - middle) <= LONGEST_SPAN_S / 2]


def _years(seconds: float) -> str:
    return f"{seconds / YEAR_S:.0f} years"
