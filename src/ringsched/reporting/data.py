"""All that a report shows, as plain data: the page reads it, and pictures on paper are drawn from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringsched._version import __version__
from ringsched.analysis.blame.explain import explain
from ringsched.analysis.blame.ledger import Ledger
from ringsched.analysis.metrics import metrics_of
from ringsched.analysis.planned_run import planned_run
from ringsched.engine.problem import Problem, problem_of
from ringsched.errors import InputError
from ringsched.model import Plan, Scenario
from ringsched.reporting.blame import blame_data, job_losses
from ringsched.reporting.curves import curve_data, finished_at, makespan_bound_s, soonest_ends
from ringsched.reporting.gantt import gantt_data
from ringsched.reporting.levels import job_levels, load_levels
from ringsched.reporting.links import links_data, most_jobs
from ringsched.reporting.rows import Rows
from ringsched.reporting.sizes import PLAN_COLOURS, size_class, size_scale
from ringsched.reporting.stretches import Stretches, slowed_stretches, stretches_of
from ringsched.reporting.summary import summary_data
from ringsched.reporting.times import Times, times_of
from ringsched.verify import verify

FORMAT = "ringsched-report/1"
UNNAMED = "unnamed scenario"


def report_data(scenario: Scenario, plans: Mapping[str, Plan]) -> dict[str, Any]:
    """Return the data of a report on plans of one scenario, by their labels; JSON can hold it.

    A plan that is invalid is shown as it states itself; links and blame, which are about what really happens,
    are left out if it does not do what it says.
    """
    for label, plan in plans.items():
        check_belongs(scenario, label, plan)
    problem, rows = problem_of(scenario), Rows(scenario.cluster)
    times = times_of(problem, plans.values())
    bound_s = makespan_bound_s(scenario, list(plans.values()))
    gpus = [job.gpus for job in scenario.jobs]
    shown = [_plan_data(problem, rows, times, label, plan) for label, plan in plans.items()]
    return {
        "format": FORMAT,
        "version": __version__,
        "name": scenario.name or UNNAMED,
        "numJobs": len(scenario.jobs),
        "numServers": len(scenario.cluster.servers),
        "numGpus": scenario.cluster.capacity,
        "origin": times.origin_s,
        "span": times.duration(times.span_s),
        "cluster": rows.data(),
        "sizes": size_scale(gpus),
        "jobs": {
            "name": [job.name for job in scenario.jobs],
            "gpus": gpus,
            "size": [size_class(each) for each in gpus],
            "submit": [times.shown(job.submit_s) for job in scenario.jobs],
        },
        "bound": {
            "makespan": times.shown(problem.origin_s + bound_s),
            "ends": curve_data([problem.origin_s + end for end in soonest_ends(problem, bound_s)], times),
        },
        "planColours": [list(pair) for pair in PLAN_COLOURS],
        "levels": {"jobs": job_levels(most_jobs(shown)), "load": load_levels()},
        "plans": shown,
    }


def check_belongs(scenario: Scenario, label: str, plan: Plan) -> None:
    """Raise if a plan was made for another scenario: no picture of it would mean anything."""
    if plan.scenario_sha256 != scenario.sha256():
        raise InputError(
            "was made for another scenario, or the scenario was changed since", place=f"plan {label!r}"
        )


def _plan_data(problem: Problem, rows: Rows, times: Times, label: str, plan: Plan) -> dict[str, Any]:
    scenario = problem.scenario
    job_index = {job.name: at for at, job in enumerate(scenario.jobs)}
    ledger, why_not = _ledger(scenario, plan)
    stretches: list[Stretches] = []
    if ledger is not None:
        stretches = stretches_of(problem, planned_run(problem, plan))
    metrics = None if ledger is None else metrics_of(scenario, plan)
    names = [job.name for job in scenario.jobs]
    slowed = {name: slowed_stretches(parts) for name, parts in zip(names, stretches, strict=False)}
    return {
        "label": label,
        "makespan": times.shown(max((job.finish_s for job in plan.jobs), default=times.origin_s)),
        "summary": summary_data(plan, verify(scenario, plan), metrics),
        "gantt": gantt_data(plan, job_index, rows, times, slowed),
        "ends": curve_data(finished_at(plan), times),
        "whyNot": why_not,
        "links": None if ledger is None else links_data(ledger, stretches, rows, times),
        "blame": None if ledger is None else blame_data(ledger, job_index, times),
        "losses": None if ledger is None else job_losses(ledger, times),
    }


def _ledger(scenario: Scenario, plan: Plan) -> tuple[Ledger | None, str]:
    """Return the ledger, or None and why there is none: the plan does not do what it says."""
    try:
        return explain(scenario, plan), ""
    except InputError as error:
        return None, str(error)
