"""The data of a report, from which the page and the printed pictures are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from ringsched._version import __version__
from ringsched.analysis.explain.explain import ledger_of
from ringsched.analysis.explain.ledger import Ledger
from ringsched.analysis.explain.parts import Split
from ringsched.analysis.metrics import Metrics, metrics_with
from ringsched.analysis.planned_run import planned_run
from ringsched.bounds.reasons import reason
from ringsched.drawing import size_class, size_scale
from ringsched.engine.problem import Problem, problem_of
from ringsched.errors import InputError
from ringsched.formatting import duration, percent_above
from ringsched.model import Plan, Scenario
from ringsched.model.objective import objective_named
from ringsched.model.plan import ENDINGS
from ringsched.reporting.gantt import Rows, Stretches, gantt_data, slowed_stretches, stretches_of
from ringsched.reporting.links import job_levels, links_data, load_levels, most_jobs
from ringsched.reporting.style import PLAN_COLOURS, Times, times_of
from ringsched.verify import Verdict, verify

MOST_JOBS = 12  # rows and columns; more cannot be read


def blame_data(ledger: Ledger, job_index: Mapping[str, int], times: Times) -> dict[str, Any]:
    """Return the largest entries of the matrix (victims in rows, culprits in columns), and all totals."""
    victims, culprits = ledger.by_victim(), ledger.by_culprit()
    rows, columns = list(victims)[:MOST_JOBS], list(culprits)[:MOST_JOBS]
    matrix = ledger.matrix()
    cells = [[matrix.get((victim, culprit), 0.0) for culprit in columns] for victim in rows]
    return {
        "victims": [job_index[name] for name in rows],
        "culprits": [job_index[name] for name in columns],
        "seconds": [[times.duration(cell) for cell in row] for row in cells],
        "lost": [times.duration(victims[name]) for name in rows],
        "caused": [times.duration(culprits[name]) for name in columns],
        "total": times.duration(sum(victims.values())),
        "numVictims": len(victims),
        "numCulprits": len(culprits),
    }


def job_losses(ledger: Ledger, times: Times) -> dict[str, list[float]]:
    """Return where the time of every job goes, in the scenario's order."""
    return {
        "best": [times.duration(account.best_case_s) for account in ledger.jobs],
        "spreading": [times.duration(account.spreading_s) for account in ledger.jobs],
        "contention": [times.duration(account.contention_s) for account in ledger.jobs],
    }


def finished_at(plan: Plan) -> list[float]:
    """Return when the first, second, ... job of a plan ends, in seconds."""
    return sorted(job.finish_s for job in plan.jobs)


def soonest_ends(problem: Problem, makespan_bound_s: float) -> list[float]:
    """Return lower bounds on the end of the first, second, ... job of any plan, in seconds after the origin.

    `k` jobs have needed the GPU-seconds of at least the `k` smallest best cases, which all GPUs together must
    have had since the origin, and no job ends before its own release and best case. The last end is
    no earlier than the bound on the makespan.

    Examples
    --------
    >>> import ringsched
    >>> from ringsched.engine.problem import problem_of
    >>> problem = problem_of(ringsched.load_scenario("examples/first.toml"))
    >>> soonest_ends(problem, 5220.0)[-1]
    5220.0
    """
    seconds = problem.clock.seconds
    alone = sorted(
        seconds(release + best) for release, best in zip(problem.release, problem.best_case, strict=True)
    )
    areas = sorted(gpus * seconds(best) for gpus, best in zip(problem.gpus, problem.best_case, strict=True))
    packed = [area / problem.num_gpus for area in accumulate(areas)]
    ends = [max(pair) for pair in zip(alone, packed, strict=True)]
    if ends:
        ends[-1] = max(ends[-1], makespan_bound_s)
    return ends


def curve_data(ends_s: list[float], times: Times) -> list[float]:
    """Return when the first, second, ... job is done, for the page."""
    return [times.shown(end) for end in ends_s]


def makespan_bound_s(scenario: Scenario, plans: list[Plan]) -> float:
    """Return the largest bound on the makespan that the plans state, else compute one."""
    from ringsched.api import lower_bounds

    stated = [plan.lower_bound_s for plan in plans if objective_named(plan.objective).is_last_finish]
    if stated:
        return max(stated)
    bounds = lower_bounds(scenario)
    return bounds[0].value_s if bounds else 0.0


MOST_VIOLATIONS = 20  # shown; the rest is counted
LOW = "low"  # such values are better


def summary_data(plan: Plan, verdict: Verdict, metrics: Metrics | None) -> dict[str, Any]:
    """Return how a plan was made, whether it is valid, and its figures.

    `metrics` is None for a plan that does not run as stated, because its GPU time is undefined.
    """
    return {
        "policy": plan.policy,
        "choices": ", ".join(plan.choices),
        "quality": plan.quality,
        "reason": reason(plan.bounds[0]) if plan.bounds else "",
        "ended": None if plan.ended is None else ENDINGS[plan.ended],
        "valid": verdict.valid,
        "numViolations": len(verdict.violations),
        "violations": [str(violation) for violation in verdict.violations[:MOST_VIOLATIONS]],
        "figures": _figures(plan, metrics),
    }


def _figures(plan: Plan, metrics: Metrics | None) -> list[dict[str, Any]]:
    objective = objective_named(plan.objective)
    of_objective = "" if objective.is_default else f" on {objective.words}"
    figures = [
        _figure("makespan", duration(plan.makespan_s), plan.makespan_s, LOW),
        _figure("mean completion", duration(plan.mean_completion_s), plan.mean_completion_s, LOW),
    ]
    if plan.weighted_completion_s is not None:
        value = plan.weighted_completion_s
        figures.append(_figure("weighted completion", duration(value), value, LOW))
    if objective.is_ratio:
        figures.append(_figure(objective.words, objective.text(plan.objective_s), plan.objective_s, LOW))
    bound = plan.lower_bound_s
    figures += [
        _figure(f"lower bound{of_objective}", objective.text(bound), bound, None),
        _figure("gap", percent_above(plan.gap), plan.gap, LOW),
    ]
    if metrics is not None:
        shares = {
            "GPU utilisation": (metrics.gpu_utilisation, None),  # jobs that are slowed hold GPUs too
            "lost to contention": (metrics.contention_loss, LOW),
            "lost to spreading": (metrics.spreading_loss, LOW),
        }
        figures += [
            _figure(name, f"{100 * share:.1f} %", share, better) for name, (share, better) in shares.items()
        ]
    return figures


def _figure(name: str, text: str, value: float, better: str | None) -> dict[str, Any]:
    return {"name": name, "text": text, "value": value, "better": better}


FORMAT = "ringsched-report/1"
UNNAMED = "unnamed scenario"


def report_data(scenario: Scenario, plans: Mapping[str, Plan]) -> dict[str, Any]:
    """Return the data of a report on plans of one scenario, by their labels; JSON can hold it.

    An invalid plan is shown as written; links and contention, which come from the simulation, are left
    out if it does not run as stated.
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
    """Raise if a plan was made for another scenario."""
    if plan.scenario_sha256 != scenario.sha256():
        raise InputError(
            "was made for another scenario, or the scenario was changed since", place=f"plan {label!r}"
        )


def _plan_data(problem: Problem, rows: Rows, times: Times, label: str, plan: Plan) -> dict[str, Any]:
    scenario = problem.scenario
    job_index = {job.name: at for at, job in enumerate(scenario.jobs)}
    ledger: Ledger | None = None
    metrics: Metrics | None = None
    stretches: list[Stretches] = []
    why_not = ""
    try:
        split = Split(problem, planned_run(problem, plan))
    except InputError as error:
        why_not = str(error)
    else:
        ledger, stretches = ledger_of(split, plan), stretches_of(split)
        metrics = metrics_with(ledger.losses, scenario, plan)
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
