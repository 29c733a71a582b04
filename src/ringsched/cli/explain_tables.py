"""What a person sees of the ledger: totals, jobs, links and culprits, the worst first."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import pairwise

from rich.table import Table

from ringsched.analysis.blame.accounts import JobAccount, LinkAccount
from ringsched.analysis.blame.ledger import Ledger
from ringsched.cli.columns import figures_table
from ringsched.cli.tables import MOST_ROWS, show
from ringsched.words.figures import counted, figure, seconds

MOST_CULPRITS = 5  # each is one more simulation
MOST_LINKS = 10
NUM_SPANS = 24  # of time, in a row of bars
BARS = " ▁▂▃▄▅▆▇█"
PARTS = {
    "best case": "best_case_s",
    "spreading": "spreading_s",
    "contention": "contention_s",
    "rounding": "rounding_s",
}


def print_ledger(ledger: Ledger) -> None:
    """Print where the time of all jobs goes."""
    parts: list[str | Table] = [_headline(ledger)]
    if ledger.jobs:
        parts += [_totals(ledger.jobs), "", *_jobs(ledger)]
    if ledger.by_link():
        parts += ["", *_links(ledger), "", *_culprits(ledger)]
    elif ledger.jobs:
        parts += ["", "no job slows another: no link is shared while it matters"]
    show(parts)


def shown(value_s: float) -> str:
    """Return seconds for people; what rounding of floats leaves is nothing."""
    return figure(0.0 if abs(value_s) < 5e-4 else value_s)


def _headline(ledger: Ledger) -> str:
    lost = sum(account.duration_s - account.best_case_s for account in ledger.jobs)
    running = math.fsum(account.duration_s for account in ledger.jobs)
    jobs = f"{counted(len(ledger.jobs), 'job')}, policy {ledger.plan.policy}"
    if not ledger.jobs:
        return f"{jobs}: there is nothing to explain"
    if len(ledger.jobs) == 1:
        return f"{jobs}: it runs for {seconds(running)}, {shown(lost)} s more than in its best case"
    return f"{jobs}: they run for {seconds(running)} in all, {shown(lost)} s more than in their best cases"


def _totals(jobs: Sequence[JobAccount]) -> Table:
    running = math.fsum(account.duration_s for account in jobs)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    for _ in range(2):
        table.add_column(justify="right", no_wrap=True)
    for name, field in PARTS.items():
        part = math.fsum(getattr(account, field) for account in jobs)
        share = part / running if running else 0.0
        table.add_row(name, f"{shown(part)} s", f"{100 * abs(share):.1f} %")
    return table


def _jobs(ledger: Ledger) -> list[str | Table]:
    worst = sorted(ledger.jobs, key=lambda account: account.best_case_s - account.duration_s)
    num_rows = min(len(worst), MOST_ROWS) if sys.stdout.isatty() else len(worst)
    headings = ("waits\ns", "runs\ns", "best\ncase", "spread-\ning", "conten-\ntion", "round-\ning")
    table = figures_table("job", *headings, last="slowed\nmost by")
    culprits = ledger.worst_culprits()
    for account in worst[:num_rows]:
        times = (
            account.waiting_s,
            account.duration_s,
            *(getattr(account, field) for field in PARTS.values()),
        )
        table.add_row(account.name, *map(shown, times), culprits.get(account.name, ""))
    more = len(worst) - num_rows
    return [table, f"... and {counted(more, 'more job')}; --json gives all of them"] if more else [table]


def _links(ledger: Ledger) -> list[str | Table]:
    worst = sorted((link for link in ledger.links if link.contention_s), key=lambda link: -link.contention_s)
    end_s = max(account.finish_s for account in ledger.jobs)
    table = figures_table("link", "Gbit/s", "jobs", "at\nonce", "shared\ns", "lost\ns")
    table.add_column(f"jobs on it from\n{figure(ledger.origin_s)} to {seconds(end_s)}", no_wrap=True)
    for link in worst[:MOST_LINKS]:
        counts = (str(link.jobs), str(link.most_jobs))
        times = (shown(link.contended_s), shown(link.contention_s))
        bars = _over_time(link, ledger.origin_s, end_s)
        table.add_row(link.label, figure(link.uplink_gbps), *counts, *times, bars)
    more = len(worst) - MOST_LINKS
    return [table, f"... and {counted(more, 'more link')}"] if more > 0 else [table]


def _over_time(link: LinkAccount, origin_s: float, end_s: float) -> str:
    """Return the most jobs on a link in each of many spans of equal length, as bars up to the most of all."""
    span_s = end_s - origin_s
    edges = [origin_s + span_s * at / NUM_SPANS for at in range(NUM_SPANS + 1)]
    numbers = [link.most_jobs_between(*span) for span in pairwise(edges)]
    return "".join(BARS[math.ceil(number * (len(BARS) - 1) / link.most_jobs)] for number in numbers)


def _culprits(ledger: Ledger) -> list[str | Table]:
    costs = ledger.by_culprit()
    table = figures_table("culprit", "costs\nothers s", "gain with-\nout it s", last="most of all")
    for name in list(costs)[:MOST_CULPRITS]:
        blame = ledger.blames(culprit=name, most=1)[0]
        gain_s = ledger.without(name).total_gain_s
        table.add_row(name, shown(costs[name]), shown(gain_s), f"{blame.victim} on {blame.link}")
    more = len(costs) - MOST_CULPRITS
    note = ["gain without it: how much sooner all others would end, on the same GPUs from the same starts"]
    if not ledger.is_counting:
        note += ["(on fair links some may end later without it; that is taken off)"]
    return [table, *([f"... and {counted(more, 'more culprit')}"] if more > 0 else []), *note]
