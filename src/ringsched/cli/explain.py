"""`ringsched explain`: who slowed whom, and why one job is slow."""

from __future__ import annotations

import json
import math
import sys
from itertools import pairwise
from pathlib import Path

import click
from rich.table import Table

from ringsched.analysis.as_json import job_ledger_data, ledger_data
from ringsched.analysis.explain.ledger import JobAccount, Ledger, LinkAccount
from ringsched.cli.command import Command, option
from ringsched.cli.files import located
from ringsched.cli.options import JOB, json_option, plan_argument, scenario_argument
from ringsched.cli.progress import Working
from ringsched.cli.tables import MOST_ROWS, figures_table, show
from ringsched.errors import InputError, UnknownName
from ringsched.formats.plan import load_plan
from ringsched.formats.scenario import load_scenario
from ringsched.formatting import counted, duration, figure, listed, placed

MOST_CULPRITS_OF_A_JOB = 8


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
        parts += ["", *_culprits_of(ledger, name), *_without(ledger, account)]
    show(parts)


def _waiting(ledger: Ledger, account: JobAccount) -> list[str]:
    job = next(job for job in ledger.scenario.jobs if job.name == account.name)
    if job.is_running:
        return [f"runs already, with {counted(job.remaining_iterations, 'iteration')} left at time 0"]
    if not account.waiting_s:
        return [f"starts when it is submitted, at {duration(account.start_s)}"]
    reason = "for its turn in the queue, or for the place it was given"
    if ledger.scenario.time.slotted and account.waiting_s < ledger.scenario.time.slot_s:
        reason = "for the next slot to begin"
    elif account.waited_for:
        others = [f"{len(account.waited_for) - 3} more"] if len(account.waited_for) > 3 else []
        reason = f"until {listed([*account.waited_for[:3], *others])} left its GPUs"
    span = f"from {duration(account.submit_s)} to {duration(account.start_s)}"
    return [f"waits {duration(account.waiting_s)}, {span}, {reason}"]


def _running(ledger: Ledger, account: JobAccount) -> list[str | Table]:
    time = ledger.scenario.time
    slots = f"whole iterations in slots of {duration(time.slot_s)}" if time.slotted else "time is continuous"
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
        table.add_row(name, shown(part_s), f"{100 * share:.1f} %", why)
    if account.hidden_s:
        table.add_row("(hidden)", shown(account.hidden_s), "", "communication behind the backward pass")
    end = f"runs for {duration(account.duration_s)}, until {duration(account.finish_s)}:"
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
    return f"others on {listed}" if account.contention_s else f"none: no job slows it on {listed}"


def _culprits_of(ledger: Ledger, name: str) -> list[str | Table]:
    by_culprit: dict[str, dict[str, float]] = {}
    for blame in ledger.attributions(victim=name):
        by_culprit.setdefault(blame.culprit, {})[blame.link] = blame.seconds
    worst = sorted(by_culprit, key=lambda culprit: -sum(by_culprit[culprit].values()))
    table = figures_table("slowed by", "contention", last="on")
    for culprit in worst[:MOST_CULPRITS_OF_A_JOB]:
        links = by_culprit[culprit]
        where = [f"{link} {shown(lost)}" for link, lost in links.items()] if len(links) > 1 else list(links)
        table.add_row(culprit, shown(sum(links.values())), ", ".join(where))
    more = len(worst) - MOST_CULPRITS_OF_A_JOB
    return [table, f"... and {counted(more, 'more job')}"] if more > 0 else [table]


def _without(ledger: Ledger, account: JobAccount) -> list[str]:
    worst = ledger.worst_culprits()[account.name]
    gain_s = ledger.without(worst).gain_of(account.name)
    if not gain_s:
        return [f"without {worst} it would end no sooner{_why_no_sooner(ledger)}"]
    then = f"without {worst} it would end at {duration(account.finish_s - gain_s)}"
    if gain_s < 0:
        return [f"{then}, {duration(-gain_s)} later: others would take more than {worst} leaves"]
    return [f"{then}, {duration(gain_s)} sooner"]


def _why_no_sooner(ledger: Ledger) -> str:
    if not ledger.is_counting:
        return ""  # it may gain at one time and lose at another
    others = "other jobs" + (" or the slots" if ledger.scenario.time.slotted else "")
    return f": {others} would take what it gains"


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
        parts += [_totals(ledger), "", *_jobs(ledger)]
    if ledger.by_link():
        parts += ["", *_links(ledger), "", *_culprits(ledger)]
    elif ledger.jobs:
        parts += ["", "no job slows another: no link is shared while it matters"]
    show(parts)


def shown(value_s: float) -> str:
    """Return a time for people; what rounding of floats leaves is nothing."""
    return duration(0.0 if abs(value_s) < 5e-4 else value_s)


def _headline(ledger: Ledger) -> str:
    lost = sum(account.duration_s - account.best_case_s for account in ledger.jobs)
    running = math.fsum(account.duration_s for account in ledger.jobs)
    jobs = f"{counted(len(ledger.jobs), 'job')}, policy {ledger.plan.policy}"
    if not ledger.jobs:
        return f"{jobs}: there is nothing to explain"
    if len(ledger.jobs) == 1:
        return f"{jobs}: it runs for {duration(running)}, {shown(lost)} more than in its best case"
    return f"{jobs}: they run for {duration(running)} in all, {shown(lost)} more than in their best cases"


def _totals(ledger: Ledger) -> Table:
    losses = ledger.losses
    table = figures_table("", "all jobs", "of the\nGPU time")
    for name, field in PARTS.items():
        part = math.fsum(getattr(account, field) for account in ledger.jobs)
        share = getattr(losses, field.removesuffix("_s"))
        table.add_row(name, shown(part), f"{100 * abs(share):.1f} %")
    return table


def _jobs(ledger: Ledger) -> list[str | Table]:
    worst = sorted(ledger.jobs, key=lambda account: account.best_case_s - account.duration_s)
    num_rows = min(len(worst), MOST_ROWS) if sys.stdout.isatty() else len(worst)
    headings = ("waits", "runs", "best\ncase", "spread-\ning", "conten-\ntion", "round-\ning")
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
    table = figures_table("link", "Gbit/s", "jobs", "at\nonce", "shared", "lost")
    table.add_column(f"jobs on it from\n{duration(ledger.origin_s)} to {duration(end_s)}", no_wrap=True)
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
    table = figures_table("job", "contention\nit causes", "gain with-\nout it", last="largest effect")
    for name in list(costs)[:MOST_CULPRITS]:
        blame = ledger.attributions(culprit=name, most=1)[0]
        gain_s = ledger.without(name).total_gain_s
        table.add_row(name, shown(costs[name]), shown(gain_s), f"{blame.victim} on {blame.link}")
    more = len(costs) - MOST_CULPRITS
    note = [
        "gain without it: sum over all other jobs of how much sooner they would end, "
        "with the same GPUs and starts"
    ]
    if not ledger.is_counting:
        note += ["(on fairly shared links a job may end later without it; the sum counts this as negative)"]
    return [table, *([f"... and {counted(more, 'more job')}"] if more > 0 else []), *note]


@click.command("explain", cls=Command)
@scenario_argument
@plan_argument
@option("--job", "job_name", metavar="NAME", type=JOB, help="Explain in words why this job is slow.")
@json_option("Print the result as JSON.")
def explain_command(scenario_file: Path, plan_file: Path, job_name: str | None, as_json: bool) -> None:
    """Show which jobs slow each other down, and on which link.

    Splits the duration of every job into its best case and the time that spreading, contention and rounding
    to slots add. Contention is attributed to the jobs that share the slowest link.
    """
    scenario, plan = load_scenario(scenario_file), load_plan(plan_file)
    if job_name is not None and all(job.name != job_name for job in scenario.jobs):
        raise UnknownName("job", job_name, [job.name for job in scenario.jobs], field="--job")
    from ringsched.analysis.explain.explain import explain

    try:
        with Working("explaining the plan"):
            ledger = explain(scenario, plan)
    except InputError as error:
        raise located(error, scenario_file, plan_file) from None
    if as_json:
        content = ledger_data(ledger) if job_name is None else job_ledger_data(ledger, job_name)
        click.echo(json.dumps(content, indent=1, ensure_ascii=False))
    elif job_name is None:
        print_ledger(ledger)
    else:
        print_job(ledger, job_name)
