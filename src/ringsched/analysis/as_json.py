"""The data that commands print with `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ringsched import api
from ringsched.model.objective import objective_named

if TYPE_CHECKING:  # imported only when needed
    from ringsched.analysis.compare.compare import Comparison
    from ringsched.analysis.explain.ledger import Ledger
    from ringsched.analysis.whatif.new_job import Answer, Option
    from ringsched.analysis.whatif.variants import FinishChange, WhatIf
    from ringsched.model import Plan
    from ringsched.verify import Verdict


def policies_data() -> list[dict[str, Any]]:
    """Return the table of policies.

    Examples
    --------
    >>> policies_data()[0]["name"]
    'search'
    """
    return [
        {
            "name": policy.name,
            "order": policy.order,
            "rule": policy.rule,
            "search": policy.search,
            "options": sorted(policy.options),
            "models": list(policy.models),
            "summary": policy.summary,
        }
        for policy in api.list_policies()
    ]


def verdict_data(verdict: Verdict) -> dict[str, Any]:
    """Return whether a plan is valid, and every violation."""
    return {"valid": verdict.valid, "violations": [asdict(violation) for violation in verdict.violations]}


def ledger_data(ledger: Ledger) -> dict[str, Any]:
    """Return all accounts and the attributed contention."""
    return {
        "scenario_sha256": ledger.plan.scenario_sha256,
        "policy": ledger.plan.policy,
        "jobs": [asdict(account) for account in ledger.jobs],
        "links": [asdict(account) for account in ledger.links],
        "attributions": [asdict(blame) for blame in ledger.attributions()],
        "by_culprit": ledger.by_culprit(),
    }


def job_ledger_data(ledger: Ledger, name: str) -> dict[str, Any]:
    """Return one job's account, the jobs that slow it or that it slows, and the plan without the worst."""
    worst = ledger.worst_culprits().get(name)
    return {
        "job": asdict(ledger.job(name)),
        "attributions": [asdict(blame) for blame in ledger.attributions(victim=name)],
        "hurts": [asdict(blame) for blame in ledger.attributions(culprit=name)],
        "without_worst_culprit": None if worst is None else asdict(ledger.without(worst)),
    }


def comparison_data(result: Comparison) -> dict[str, Any]:
    """Return the results of a comparison and its rows."""
    from ringsched.analysis.compare.summary import labels_of

    return {
        "baseline": next(iter(labels_of([summary.key for summary in result.summary]).values())),
        "summary": [asdict(summary) for summary in result.summary],
        "models": [asdict(model) for model in result.models],
        "rankings": [asdict(ranking) for ranking in result.rankings],
        "drawn": list(result.drawn),
        "notes": list(result.notes),
        "rows": [asdict(row) for row in result.rows],
    }


def variants_data(answer: WhatIf) -> dict[str, Any]:
    """Return the totals of all plans, and the jobs whose finish changes."""
    return {
        "policy": answer.policy,
        "present": _totals(answer.present),
        "replanned": None if answer.replanned is None else _totals(answer.replanned),
        "variants": [
            {
                "label": variant.label,
                "totals": None if variant.plan is None else _totals(variant.plan),
                "changes": _changes(variant.changes),
            }
            for variant in answer.variants
        ],
    }


def new_job_data(answer: Answer) -> dict[str, Any]:
    """Return the four choices for one more job, the totals after re-planning, and the present totals."""
    present, replanned = answer.present, answer.replanned
    return {
        "job": answer.job.expanded(),
        "policy": answer.policy,
        "best_case_s": answer.best_case_s,
        "present": {"makespan_s": present.makespan_s, "mean_completion_s": present.mean_completion_s},
        "num_tried": len(answer.options),
        **{
            name: None if option is None else _option(option)
            for name, option in named_options(answer).items()
        },
        "replanned": None
        if replanned is None
        else {
            "finish_s": replanned.jobs[-1].finish_s,
            "makespan_s": replanned.makespan_s,
            "mean_completion_s": replanned.mean_completion_s,
        },
    }


def named_options(answer: Answer) -> Mapping[str, Option | None]:
    """Return the named choices."""
    return {
        "best": answer.best,
        "at_once": answer.at_once,
        "soonest": answer.soonest,
        "harmless": answer.harmless,
    }


def _totals(plan: Plan) -> dict[str, Any]:
    fields = ["policy", "objective", "makespan_s", "mean_completion_s", "lower_bound_s", "gap"]
    own = objective_named(plan.objective).field
    fields += [] if own in fields else [own]
    return {field: getattr(plan, field) for field in fields}


def _option(option: Option) -> dict[str, Any]:
    fields = asdict(option) | {"gpus": {server: list(held) for server, held in option.gpus.items()}}
    fields["changes"] = _changes(option.changes)
    return fields | {"total_delay_s": option.total_delay_s, "cost_s": option.cost_s}


def _changes(changes: tuple[FinishChange, ...]) -> list[dict[str, Any]]:
    return [asdict(change) for change in changes]
