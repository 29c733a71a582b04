"""The link map: how many jobs cross each uplink, and how much of it they use, over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ringsched.analysis.explain.ledger import Ledger, LinkAccount
from ringsched.reporting.gantt import Rows, Stretches
from ringsched.reporting.style import Times

ALONE = ("#b6c2ce", "#4a5563")
WARM = (
    ("#ffe3b3", "#5a2510"),
    ("#fdb870", "#8a3510"),
    ("#f07f3c", "#c05312"),
    ("#d0402b", "#ec7a2b"),
    ("#9c0b1a", "#ffae66"),
    ("#5c0010", "#ffe6c4"),
)
# Which of them so many levels have: a few levels keep away from the ends.
CHOSEN = {0: (), 1: (2,), 2: (1, 3), 3: (1, 2, 4), 4: (0, 2, 3, 4), 5: (0, 1, 2, 3, 4), 6: (0, 1, 2, 3, 4, 5)}
LAST_BY_ITSELF = 6
LOADS = (20, 40, 60, 80, 95)

Level = dict[str, Any]


def job_levels(most: int) -> list[Level]:
    """Return the levels by number of jobs, where no link ever has more than `most`.

    Examples
    --------
    >>> [level["name"] for level in job_levels(3)]
    ['1 job', '2', '3']
    >>> [level["name"] for level in job_levels(11)]
    ['1 job', '2', '3', '4', '5–8', '9–11']
    """
    if most <= LAST_BY_ITSELF:
        ends = list(range(2, most + 1))
    else:
        ends = [end for end in (2, 3, 4, 8, 16) if end < most] + [most]
    names = [
        f"{end}" if end == before + 1 else f"{before + 1}–{end}"
        for before, end in zip([1, *ends], ends, strict=False)
    ]
    return [_level(1, "1 job", ALONE), *_warm(ends, names)]


def load_levels() -> list[Level]:
    """Return the levels by percentage of the bandwidth in use."""
    names = [f"to {end} %" for end in LOADS[1:]] + ["more"]
    return [_level(LOADS[0], f"up to {LOADS[0]} %", ALONE), *_warm([*LOADS[1:], 1_000_000], names)]


def level_at(levels: list[Level], value: float) -> Level:
    """Return the level of a value."""
    return next(level for level in levels if value <= level["most"])


def _warm(ends: list[int], names: list[str]) -> list[Level]:
    chosen = CHOSEN[len(ends)]
    return [_level(end, name, WARM[at]) for end, name, at in zip(ends, names, chosen, strict=True)]


def _level(most: int, name: str, colours: tuple[str, str]) -> Level:
    return {"most": most, "name": name, "light": colours[0], "dark": colours[1]}


def links_data(
    ledger: Ledger, stretches: Sequence[Stretches], rows: Rows, times: Times
) -> list[dict[str, Any]]:
    """Return the links that jobs cross, in the order of servers, then switches, level by level.

    `row` and `rows` say which GPUs are below a link. `steps` is flat: an instant, the jobs and the percentage
    of the bandwidth in use from there on, the next instant, ...
    """
    on_link: dict[str, list[Stretches]] = {}
    for account, part in zip(ledger.jobs, stretches, strict=True):
        for label in account.links:
            on_link.setdefault(label, []).append(part)
    return [
        {
            "name": link.label,
            "gbps": link.uplink_gbps,
            "lost": times.duration(link.contention_s),
            "contended": times.duration(link.contended_s),
            "jobs": link.jobs,
            "level": rows.level(link.kind, link.name),
            **rows.below(link.kind, link.name),
            "steps": _steps(link, on_link[link.label], times),
        }
        for link in ledger.links
        if link.jobs
    ]


def most_jobs(plans: Sequence[Mapping[str, Any]]) -> int:
    """Return the most jobs that any link of any plan has at a time."""
    return max(
        (jobs for plan in plans for link in plan["links"] or () for jobs in link["steps"][1::3]), default=1
    )


def _steps(link: LinkAccount, parts: Sequence[Stretches], times: Times) -> list[float]:
    """Return the steps of one link, without invisible ones."""
    instants_s, which = np.unique(np.concatenate([part.instants_s for part in parts]), return_inverse=True)
    changes = np.concatenate([np.diff(part.gbps, prepend=0.0, append=0.0) for part in parts])
    gbps = np.cumsum(np.bincount(which, weights=changes))
    at = np.searchsorted(link.times_s, instants_s, side="right") - 1
    present = np.array(link.num_jobs)[at]
    percent = np.where(present > 0, np.rint(100 * gbps / link.uplink_gbps), 0).astype(np.int64)
    seen = (np.diff(present, prepend=0) != 0) | (np.diff(percent, prepend=0) != 0)
    steps: list[float] = []
    for row in zip(instants_s[seen].tolist(), present[seen].tolist(), percent[seen].tolist(), strict=True):
        steps += [times.shown(row[0]), *row[1:]]
    return steps
