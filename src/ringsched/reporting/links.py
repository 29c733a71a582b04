"""The link map: how many jobs cross each uplink, and how much of it they use, over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ringsched.analysis.blame.accounts import LinkAccount
from ringsched.analysis.blame.ledger import Ledger
from ringsched.reporting.rows import Rows
from ringsched.reporting.stretches import Stretch
from ringsched.reporting.times import Times


def links_data(
    ledger: Ledger, stretches: Sequence[Sequence[Stretch]], rows: Rows, times: Times
) -> list[dict[str, Any]]:
    """Return the links that are crossed at all, in the order of servers, then racks.

    `row` and `rows` say which GPUs are below a link. `steps` is flat: an instant, the jobs and the percentage
    of the bandwidth in use from there on, the next instant, ...
    """
    on_link: dict[str, list[Stretch]] = {}
    for account, parts in zip(ledger.jobs, stretches, strict=True):
        for label in account.links:
            on_link.setdefault(label, []).extend(parts)
    return [
        {
            "name": link.label,
            "gbps": link.uplink_gbps,
            "lost": times.duration(link.contention_s),
            "contended": times.duration(link.contended_s),
            "jobs": link.jobs,
            **rows.below(link.kind, link.name),
            "steps": _steps(link, on_link.get(link.label, []), times),
        }
        for link in ledger.links
        if link.jobs
    ]


def most_jobs(plans: Sequence[Mapping[str, Any]]) -> int:
    """Return the most jobs that any link of any plan has at a time."""
    return max(
        (jobs for plan in plans for link in plan["links"] or () for jobs in link["steps"][1::3]), default=1
    )


def _steps(link: LinkAccount, stretches: Sequence[Stretch], times: Times) -> list[float]:
    """Return the steps of one link, those that nobody would see left out."""
    changes = _changes(stretches)
    num_jobs = dict(zip(link.times_s, link.num_jobs, strict=True))
    steps: list[float] = []
    present, gbps = 0, 0.0
    for instant_s in sorted(changes.keys() | num_jobs.keys()):
        present = num_jobs.get(instant_s, present)
        gbps += changes.get(instant_s, 0.0)
        percent = round(100 * gbps / link.uplink_gbps) if present else 0
        if steps[-2:] != [present, percent]:
            steps += [times.shown(instant_s), present, percent]
    return steps


def _changes(stretches: Sequence[Stretch]) -> Mapping[float, float]:
    changes: dict[float, float] = {}
    for stretch in stretches:
        changes[stretch.since_s] = changes.get(stretch.since_s, 0.0) + stretch.gbps
        changes[stretch.until_s] = changes.get(stretch.until_s, 0.0) - stretch.gbps
    return changes
