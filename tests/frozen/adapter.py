"""Everything the records ask of the library, as text; where its interface changes, this file follows."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any

import pytest
from tests import planning

import ringsched
from ringsched.analysis.over_time import over_time
from ringsched.analysis.whatif.changes import (
    AddServers,
    LinkFactor,
    LinkSpeed,
    OtherContention,
    RemoveServer,
    Together,
)
from ringsched.analysis.whatif.new_job import Option
from ringsched.bounds import lower_bound
from ringsched.engine.problem import problem_of
from ringsched.formats.plan import plan_to_json
from ringsched.formatting import duration

POLICIES = (
    "search",
    "sjf-bco",
    "first-fit",
    "list-scheduling",
    "random",
    "longest-first",
    "lwf",
    "free-links",
    "adaptive-overlap",
    "exact",
)
ONLINE_POLICIES = (
    "fifo",
    "smallest-first",
    "shortest-first",
    "longest-first",
    "smallest-area-first",
    "contention-aware",
    "free-links",
    "lwf",
    "sjf-bco",
    "first-fit",
    "list-scheduling",
    "rolling",
)
OPTIONS_ONLINE = {policy.name: policy.online for policy in ringsched.list_policies(online=True)}
ORDERS = ("fifo", "smallest-first", "shortest-first", "longest-first", "smallest-area-first")
OBJECTIVES = tuple(ringsched.OBJECTIVES)[:3]  # those that were recorded

MOST_STEPS = 6  # of `exact`, of some ten thousand nodes each; what needs more is not recorded


class TooLong(Exception):
    """A proof that takes too many steps to be recorded."""


@contextmanager
def recorded_bounds() -> Iterator[None]:
    """Leave out the bounds that are newer than the records: the rest of every plan must be as it was."""
    with pytest.MonkeyPatch.context() as patch:
        recorded = {objective: groups[:2] for objective, groups in lower_bound.ALL_OF.items()}
        patch.setattr(lower_bound, "ALL_OF", recorded)
        yield


def _recorded(figures: dict[str, Any]) -> dict[str, Any]:
    """Return the figures over time that were there when the fixtures were recorded."""
    for size in figures["by_size"]:
        del size["max_waiting_s"]
    return figures


def answer(ask: Callable[[], str]) -> str:
    """Return what the library says, also if it refuses."""
    try:
        with recorded_bounds():
            return ask()
    except ringsched.RingschedError as error:
        return as_text({"error": type(error).__name__, "sentence": in_recorded_words(str(error))})


# Sentences and labels as they are now, and as they were when the fixtures were recorded.
REWORDED = (
    (r"is not allowed with (policy '\S+'), only with", r"means nothing to \1, only to"),
    (
        r"is not allowed with (policy 'search'), which looks for the best order",
        r"means nothing to \1, which looks for the best one",
    ),
    (
        r"is not allowed with (policy 'exact'), which tries all orders",
        r"means nothing to \1, which tries them all",
    ),
    (r'(is only allowed with model = "\w+"); remove it', r"\1"),
    (r"; raise time\.horizon_s, or remove it", ""),
    (r"model ('\S+') is not supported by (policy '\S+'); use .*", r"model must not be \1 for \2"),
    (r"server uplinks (\S+) Gbit/s, not ([^\s;:]+)(; rack uplinks unchanged)?", r"\1 Gbit/s links, not \2"),
)
CHOICES = re.compile(r"must be one of (.+?), not (?=['\w])")


def in_recorded_words(text: str) -> str:
    for now, then in REWORDED:
        text = re.sub(now, then, text)
    return CHOICES.sub(lambda found: f"must be {' or '.join(map(repr, found[1].split(', ')))}, not ", text)


@contextmanager
def in_seconds(scenario: ringsched.Scenario) -> Iterator[None]:
    """Let an infeasible plan be reported in seconds, as it was."""
    try:
        yield
    except ringsched.Infeasible as error:
        if isinstance(error, ringsched.TooLarge):
            raise
        bound_s, horizon_s, text = error.lower_bound_s, scenario.time.horizon_s, str(error)
        if horizon_s is not None:
            text = text.replace(f"horizon of {duration(horizon_s)}", f"horizon of {horizon_s:g} s")
        text = text.replace(
            f"plan can end before {duration(bound_s)}", f"plan at all can end before {bound_s:g} s"
        )
        raise ringsched.Infeasible(text, lower_bound_s=bound_s) from None


def load(content: Mapping[str, Any]) -> ringsched.Scenario:
    return ringsched.scenario_from_dict(content)


def scenario_text(content: Mapping[str, Any]) -> str:
    """Return the expanded scenario and its digest, or why it is refused."""
    scenario = load(content)
    return as_text({"sha256": scenario.sha256(), "expanded": scenario.expanded()})


def plan(scenario: ringsched.Scenario, policy: str, options: Mapping[str, Any]) -> ringsched.Plan:
    """Plan without a clock: `exact` ends with a proof, or is not recorded."""
    if policy != "exact":
        with in_seconds(scenario):
            return planning.plan(scenario, policy, **options)
    steps = iter(range(MOST_STEPS))

    def on_step() -> None:
        if next(steps, None) is None:
            raise TooLong

    return planning.plan(scenario, policy, time_limit_s=1e6, on_trial=on_step, **options)


def plan_text(plan: ringsched.Plan) -> str:
    """Return the text of the plan file."""
    return plan_to_json(plan.replace(ended=None, max_slowdown=None))  # plans did not say it then


def simulate(scenario: ringsched.Scenario, policy: str, options: Mapping[str, Any]) -> ringsched.Simulation:
    with in_seconds(scenario):
        return planning.simulate(scenario, policy, **options)


def simulation_text(simulation: ringsched.Simulation) -> str:
    """Return the figures, what happened to every job and to the cluster, and the plan of it."""
    columns = ("start_s", "finish_s", "best_case_s", "num_servers", "backfilled", "promised_s")
    series = ("time_s", "queue_length", "busy_gpus", "contended_links")
    content = {
        "figures": _recorded(asdict(over_time(simulation))),
        "jobs": {name: _listed(getattr(simulation, name)) for name in columns},
        "series": {name: _listed(getattr(simulation.series, name)) for name in series},
    }
    return as_text(content) + plan_text(simulation.plan())


def bounds_text(scenario: ringsched.Scenario, objective: str) -> str:
    """Return all lower bounds with their terms."""
    bounds = ringsched.lower_bounds(scenario, objective)
    return as_text([{"name": b.name, "value_s": b.value_s, "terms": dict(b.terms)} for b in bounds])


def explanation_text(scenario: ringsched.Scenario, plan: ringsched.Plan) -> str:
    """Return the ledger as `explain --json` prints it, the metrics, and the plan without the worst job."""
    ledger = ringsched.explain(scenario, plan)
    by_culprit = ledger.by_culprit()
    worst = next(iter(by_culprit), None)
    return as_text(
        {
            "jobs": [_before_overlap(asdict(account)) for account in ledger.jobs],
            "links": [asdict(account) for account in ledger.links],
            "blames": [asdict(blame) for blame in ledger.attributions()],
            "by_culprit": by_culprit,
            "by_victim": ledger.by_victim(),
            "by_link": ledger.by_link(),
            "without_worst": None if worst is None else asdict(ledger.without(worst)),
            "metrics": _before_slowdowns(asdict(ringsched.metrics_of(scenario, plan)))
            | _losses_in_whole_slots(scenario, plan),
            "replay": _before_slowdowns(asdict(ringsched.replay(scenario, plan))),
        }
    )


def _before_slowdowns(figures: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is newer than the records."""
    del figures["max_slowdown"]
    return figures


def _before_overlap(account: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is newer than the records, and 0 in all of them."""
    assert account.pop("hidden_s") == 0
    return account


def _losses_in_whole_slots(scenario: ringsched.Scenario, plan: ringsched.Plan) -> dict[str, float]:
    """Return the two losses as they were defined when the fixtures were recorded, rounding included."""
    problem = problem_of(scenario)
    clock, index = problem.clock, {server.name: at for at, server in enumerate(scenario.cluster.servers)}
    held, contended, spread = [], [], []
    for at, job in enumerate(plan.jobs):
        num_gpus, duration_s = problem.gpus[at], job.finish_s - job.start_s
        shape = problem.fabric.shape({index[name]: len(gpus) for name, gpus in job.gpus.items()})
        rate = clock.rate(problem.alone_tau(at, shape))
        alone_s = clock.seconds(clock.duration(problem.iterations[at], rate))
        held.append(num_gpus * duration_s)
        contended.append(num_gpus * max(0.0, duration_s - alone_s))
        spread.append(num_gpus * max(0.0, alone_s - clock.seconds(problem.best_case[at])))
    whole = math.fsum(held)
    return {
        "contention_loss": math.fsum(contended) / whole if whole > 0 else 0.0,
        "spreading_loss": math.fsum(spread) / whole if whole > 0 else 0.0,
    }


def variants_text(scenario: ringsched.Scenario, options: Mapping[str, Any]) -> str:
    """Return what other servers, links and contention would change."""
    removed = scenario.cluster.servers[-1].name
    faster = LinkFactor(factor=4.0)
    changes: list[Any] = [
        AddServers(count=2),
        faster,
        LinkSpeed(inter_server_gbps=17.0),
        Together(changes=(AddServers(count=1, gpus=3), faster)),
        OtherContention(fields={"server_latency_ms": 0.7}),
    ]
    changes.append(RemoveServer(name=removed))
    return "".join(answer(partial(_variant_text, scenario, change, options)) for change in changes)


def _variant_text(scenario: ringsched.Scenario, change: Any, options: Mapping[str, Any]) -> str:
    with in_seconds(scenario):
        result = ringsched.whatif(scenario, change, **_limits_of(options))
    texts = [as_text({"policy": result.policy}), plan_text(result.present)]
    texts += [] if result.replanned is None else [plan_text(result.replanned)]
    for variant in result.variants:
        changes = [asdict(change) | {"change_s": change.change_s} for change in variant.changes]
        texts.append(as_text({"label": in_recorded_words(variant.label), "changes": changes}))
        texts += [] if variant.plan is None else [plan_text(variant.plan)]
    return "".join(texts)


def new_job_text(scenario: ringsched.Scenario, fields: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Return where one more job could go, and whom it would delay."""
    with in_seconds(scenario):
        result = ringsched.whatif_job(scenario, ringsched.Job(**fields), **_limits_of(options))
    named = {name: getattr(result, name) for name in ("best", "at_once", "soonest", "harmless")}
    content = {
        "job": result.job.expanded(),
        "policy": result.policy,
        "best_case_s": result.best_case_s,
        "options": [_option(option) for option in result.options],
        **{name: None if option is None else _option(option) for name, option in named.items()},
    }
    replanned = "" if result.replanned is None else plan_text(result.replanned)
    return as_text(content) + plan_text(result.present) + replanned


def _limits_of(options: Mapping[str, Any]) -> dict[str, Any]:
    return {"max_schedules" if name == "iterations" else name: value for name, value in options.items()}


def _option(option: Option) -> dict[str, Any]:
    fields = ("start_s", "finish_s", "waiting_s", "completion_s", "total_delay_s", "cost_s", "makespan_s")
    return {name: getattr(option, name) for name in fields} | {
        "gpus": {server: list(held) for server, held in option.gpus.items()},
        "changes": [asdict(change) | {"change_s": change.change_s} for change in option.changes],
    }


def _listed(column: Any) -> list[Any]:
    """Return a column of numpy; a promise that was not made is none."""
    return [None if isinstance(value, float) and math.isnan(value) else value for value in column.tolist()]


def as_text(content: object) -> str:
    """Return JSON in the order in which things are given, a part a line, so that differences can be read."""
    if isinstance(content, dict):
        inner = ",\n".join(f" {json.dumps(key)}: {_part(value)}" for key, value in content.items())
        return f"{{\n{inner}\n}}\n"
    return f"{_part(content)}\n"


def _part(value: object) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        inner = ",\n".join(f"  {_dumps(entry)}" for entry in value)
        return f"[\n{inner}\n ]"
    return _dumps(value)


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
