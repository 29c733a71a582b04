"""What workers do: bytes of a request in, bytes of an answer out, nothing read or written besides."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from ringsched import api
from ringsched.errors import InputError, UnknownName
from ringsched.model import OBJECTIVES
from ringsched.model.checks import choice
from ringsched.policies.registry import policy_named
from ringsched.web import bodies
from ringsched.web.changes import changes_of
from ringsched.web.errors import refusal
from ringsched.web.inputs import (
    allowed_s,
    labelled_plans,
    plan_in,
    plan_options,
    scenario_of,
    search_limit_s,
)
from ringsched.web.limits import Limits, check_count
from ringsched.web.replies import HTML, Reply, json_reply, pictures_json, plan_reply

Job = Callable[[bytes, Limits], Reply]


def reply_to(name: str, raw: bytes, limits: Limits) -> Reply:
    """Do the work of this name; whatever happens is a reply."""
    try:
        return WORK[name](raw, limits)
    except Exception as error:
        return Reply(*refusal(error))


def check_scenario(raw: bytes, limits: Limits) -> Reply:
    """Parse, check and complete a scenario file."""
    body = bodies.parsed(bodies.ScenarioText, raw)
    if choice(body.format, "format", ("toml", "json")) == "json":
        content = bodies.json_object(body.text.encode("utf-8", "surrogatepass"))
    else:
        content = _toml(body.text)
    scenario = scenario_of(content, limits)
    return json_reply({"scenario": scenario.expanded(), "sha256": scenario.sha256()})


def plan(raw: bytes, limits: Limits) -> Reply:
    """Plan a scenario."""
    body = bodies.parsed(bodies.PlanBody, raw)
    scenario = scenario_of(body.scenario, limits)
    options = plan_options(body, limits.work_s)
    if body.policy == "search":
        options["time_limit_s"] = search_limit_s(body, limits.work_s)
    started = time.perf_counter()
    result = api.plan(scenario, body.policy, **options)
    return plan_reply(scenario, result, time.perf_counter() - started, pictures=bool(body.pictures))


def check_search(raw: bytes, limits: Limits) -> Reply:
    """Say what is wrong with a search before it is started."""
    body = bodies.parsed(bodies.PlanBody, raw)
    scenario = scenario_of(body.scenario, limits)
    policy = policy_named(body.policy)
    api.settings_of(policy, **plan_options(body, limits.search_s))
    policy.check_model(scenario.contention)
    return Reply(200, b"{}")


def verify(raw: bytes, limits: Limits) -> Reply:
    """Check a plan independently."""
    from ringsched.analysis.as_json import verdict_data
    from ringsched.verify import verify

    body = bodies.parsed(bodies.VerifyBody, raw)
    scenario = scenario_of(body.scenario, limits)
    return json_reply(verdict_data(verify(scenario, plan_in(body.plan, scenario, limits))))


def explain(raw: bytes, limits: Limits) -> Reply:
    """Say who slows whom."""
    from ringsched.analysis.as_json import job_ledger_data, ledger_data
    from ringsched.analysis.blame.explain import explain

    body = bodies.parsed(bodies.ExplainBody, raw)
    scenario = scenario_of(body.scenario, limits)
    if body.job is not None and all(job.name != body.job for job in scenario.jobs):
        raise UnknownName("job", body.job, [job.name for job in scenario.jobs], field="job")
    ledger = explain(scenario, plan_in(body.plan, scenario, limits))
    return json_reply(ledger_data(ledger) if body.job is None else job_ledger_data(ledger, body.job))


def whatif(raw: bytes, limits: Limits) -> Reply:
    """Say what changes, or one more job, would lead to."""
    from ringsched.analysis.as_json import new_job_data, variants_data
    from ringsched.analysis.whatif.new_job import whatif_job
    from ringsched.analysis.whatif.variants import whatif
    from ringsched.io.job_given import job_from_table

    body = bodies.parsed(bodies.WhatIfBody, raw)
    if (body.job is None) == (not body.changes):
        raise InputError("give either changes or a job", field="changes")
    scenario = scenario_of(body.scenario, limits)
    given: dict[str, Any] = {name: getattr(body, name) for name in (*bodies.Planning.model_fields, "policy")}
    given["time_limit_s"] = allowed_s(body.time_limit_s, limits.work_s)
    given["plan"] = None if body.plan is None else plan_in(body.plan, scenario, limits)
    if body.job is not None:
        job = job_from_table(body.job, {job.name for job in scenario.jobs})
        return json_reply(new_job_data(whatif_job(scenario, job, **given)))
    changes = changes_of(body.changes or [], scenario, limits)
    return json_reply(variants_data(whatif(scenario, *changes, **given)))


def compare(raw: bytes, limits: Limits) -> Reply:
    """Compare policies over scenarios and seeds, in pairs."""
    from ringsched.analysis.as_json import comparison_data
    from ringsched.analysis.compare import compare

    body = bodies.parsed(bodies.CompareBody, raw)
    orders, seeds = body.orders or ["own"], 1 if body.seeds is None else body.seeds
    models = body.contention_models or []
    runs = len(body.scenarios) * len(body.policies) * len(orders) * seeds * max(1, len(models))
    check_count(runs, "runs", limits.runs, "this comparison")
    scenarios = [
        scenario_of(content, limits, f"scenarios[{at}]") for at, content in enumerate(body.scenarios)
    ]
    result = compare(
        scenarios,
        body.policies,
        orders=orders,
        seeds=seeds,
        seed=body.seed or 0,
        objective=body.objective or OBJECTIVES[0],
        time_limit_s=allowed_s(body.time_limit_s, limits.work_s),
        iterations=body.iterations,
        contention_models=models,
        workers=1,
    )
    return json_reply(comparison_data(result))


def pictures(raw: bytes, limits: Limits) -> Reply:
    """Return what is drawn of several plans, side by side."""
    scenario, plans = labelled_plans(raw, limits)
    return Reply(200, pictures_json(scenario, plans).encode())


def report(raw: bytes, limits: Limits) -> Reply:
    """Return the report, a page of its own."""
    from ringsched.reporting.data import report_data
    from ringsched.reporting.html import page_of

    scenario, plans = labelled_plans(raw, limits)
    return Reply(200, page_of(report_data(scenario, plans)).encode(), HTML)


def example(raw: bytes, limits: Limits) -> Reply:  # noqa: ARG001
    """Return an example that comes with ringsched."""
    from ringsched.web.examples import example_scenario

    return json_reply({"scenario": example_scenario(raw.decode()).expanded()})


WORK: Mapping[str, Job] = {
    work.__name__: work
    for work in (
        check_scenario,
        check_search,
        plan,
        verify,
        explain,
        whatif,
        compare,
        pictures,
        report,
        example,
    )
}


def _toml(written: str) -> dict[str, Any]:
    try:
        return tomllib.loads(written)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "nested too deeply"
        raise InputError(f"is not valid TOML: {reason}", field="text") from None
