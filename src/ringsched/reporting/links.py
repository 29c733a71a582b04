"""The link map: how many jobs cross each uplink, and how much of it they use, over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ringsched.analysis.blame.accounts import LinkAccount
from ringsched.analysis.blame.ledger import Ledger
from ringsched.reporting.rows import Rows
from ringsched.reporting.stretches import Stretches
from ringsched.reporting.times import Times


def links_data(
    ledger: Ledger, stretches: Sequence[Stretches], rows: Rows, times: Times
) -> list[dict[str, Any]]:
    """Return the links that are crossed at all, in the order of servers, then switches.

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
    """Return the steps of one link, those that nobody would see left out."""
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
