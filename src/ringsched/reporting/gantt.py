"""The Gantt chart: for every job of a plan its rows, its time, and where others slow it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ringsched.model import Plan
from ringsched.reporting.rows import Rows
from ringsched.reporting.stretches import Slowed
from ringsched.reporting.times import Times


def gantt_data(
    plan: Plan,
    job_index: Mapping[str, int],
    rows: Rows,
    times: Times,
    slowed: Mapping[str, Sequence[Slowed]],
) -> dict[str, Any]:
    """Return columns, an entry for each job of the plan that the scenario knows.

    `runs` and `slow` are flat: first row, how many, first row, ...; and from, until, factor, from, ...
    """
    known = [job for job in plan.jobs if job.name in job_index]
    return {
        "job": [job_index[job.name] for job in known],
        "start": [times.shown(job.start_s) for job in known],
        # An invalid plan may state anything.
        "finish": [times.shown(max(job.start_s, job.finish_s)) for job in known],
        "runs": [[number for run in rows.runs(job.gpus) for number in run] for job in known],
        "slow": [
            [
                number
                for since_s, until_s, factor in slowed.get(job.name, ())
                for number in (times.shown(since_s), times.shown(until_s), round(factor, 3))
            ]
            for job in known
        ],
    }
