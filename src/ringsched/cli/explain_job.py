"""Why one job is slow, in words."""

from __future__ import annotations

from rich.table import Table

from ringsched.analysis.blame.accounts import JobAccount
from ringsched.analysis.blame.ledger import Ledger
from ringsched.cli.columns import figures_table
from ringsched.cli.explain_tables import shown
from ringsched.cli.tables import placed, show
from ringsched.words.figures import counted, listed, seconds

MOST_CULPRITS = 8


def print_job(ledger: Ledger, name: str) -> None:
    """Print one job's time: waiting, its parts, the culprits, and the plan without the worst of them."""
    account = ledger.job(name)
    planned = next(job for job in ledger.plan.jobs if job.name == name)
    where = (
        f"{counted(account.gpus, 'GPU')} on {counted(account.num_servers, 'server')}: {placed(planned.gpus)}"
    )
    parts: list[str | Table] = [
        f"{name}, {where}",
        *_waiting(ledger, account),
        "",
        *_running(ledger, account),
    ]
    if account.contention_s:
        parts += ["", *_culprits(ledger, name), *_without(ledger, account)]
    show(parts)


def _waiting(ledger: Ledger, account: JobAccount) -> list[str]:
    job = next(job for job in ledger.scenario.jobs if job.name == account.name)
    if job.is_running:
        return [f"runs already, with {counted(job.remaining_iterations, 'iteration')} left at time 0"]
    if not account.waiting_s:
        return [f"starts when it is submitted, at {seconds(account.start_s)}"]
    reason = "for its turn in the queue, or for the place it was given"
    if ledger.scenario.time.slotted and account.waiting_s < ledger.scenario.time.slot_s:
        reason = "for the next slot to begin"
    elif account.waited_for:
        others = [f"{len(account.waited_for) - 3} more"] if len(account.waited_for) > 3 else []
        reason = f"until {listed([*account.waited_for[:3], *others])} left its GPUs"
    span = f"from {seconds(account.submit_s)} to {seconds(account.start_s)}"
    return [f"waits {seconds(account.waiting_s)}, {span}, {reason}"]


def _running(ledger: Ledger, account: JobAccount) -> list[str | Table]:
    time = ledger.scenario.time
    slots = f"whole iterations in slots of {seconds(time.slot_s)}" if time.slotted else "time is continuous"
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    for _ in range(2):
        table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for name, part_s, why in (
        ("best case", account.best_case_s, _best_case(ledger, account)),
        ("+ spreading", account.spreading_s, _spreading(ledger, account)),
        ("+ contention", account.contention_s, _contention(account)),
        ("+ rounding", account.rounding_s, slots),
    ):
        share = abs(part_s) / account.duration_s if account.duration_s else 0.0
        table.add_row(name, f"{shown(part_s)} s", f"{100 * share:.1f} %", why)
    end = f"runs for {seconds(account.duration_s)}, until {seconds(account.finish_s)}:"
    return [end, table]


def _best_case(ledger: Ledger, account: JobAccount) -> str:
    if _runs_already(ledger, account):
        return "what is left, alone on its GPUs"
    return "alone on the best GPUs there are"


def _spreading(ledger: Ledger, account: JobAccount) -> str:
    if account.spreading_s:
        if account.num_servers == 1:
            return "one server, but not the fastest way"
        return f"its ring spans {counted(account.num_servers, 'server')}"
    if account.num_servers == 1:
        return "none: all in one server"
    return "none: it stays where it is" if _runs_already(ledger, account) else "none: no place is faster"


def _runs_already(ledger: Ledger, account: JobAccount) -> bool:
    return any(job.is_running and job.name == account.name for job in ledger.scenario.jobs)


def _contention(account: JobAccount) -> str:
    if not account.links:
        return "none: it crosses no link"
    listed = ", ".join(account.links[:4]) + (", ..." if len(account.links) > 4 else "")
    return f"others on {listed}" if account.contention_s else f"none: nobody slows it on {listed}"


def _culprits(ledger: Ledger, name: str) -> list[str | Table]:
    by_culprit: dict[str, dict[str, float]] = {}
    for blame in ledger.blames(victim=name):
        by_culprit.setdefault(blame.culprit, {})[blame.link] = blame.seconds
    worst = sorted(by_culprit, key=lambda culprit: -sum(by_culprit[culprit].values()))
    table = figures_table("slowed by", "contention", last="on")
    for culprit in worst[:MOST_CULPRITS]:
        links = by_culprit[culprit]
        where = [f"{link} {shown(lost)} s" for link, lost in links.items()] if len(links) > 1 else list(links)
        table.add_row(culprit, f"{shown(sum(links.values()))} s", ", ".join(where))
    more = len(worst) - MOST_CULPRITS
    return [table, f"... and {counted(more, 'more job')}"] if more > 0 else [table]


def _without(ledger: Ledger, account: JobAccount) -> list[str]:
    worst = ledger.worst_culprits()[account.name]
    gain_s = ledger.without(worst).gain_of(account.name)
    if not gain_s:
        return [f"without {worst} it would end no sooner{_why_no_sooner(ledger)}"]
    then = f"without {worst} it would end at {seconds(account.finish_s - gain_s)}"
    if gain_s < 0:
        return [f"{then}, {seconds(-gain_s)} later: others would take more than {worst} leaves"]
    return [f"{then}, {seconds(gain_s)} sooner"]


def _why_no_sooner(ledger: Ledger) -> str:
    if not ledger.is_counting:
        return ""  # it may gain at one time and lose at another
    others = "other jobs" + (" or the slots" if ledger.scenario.time.slotted else "")
    return f": {others} would take what it gains"
