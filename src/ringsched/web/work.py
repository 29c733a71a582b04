"""What workers do: bytes of a request in, bytes of an answer out, nothing read or written besides."""

from __future__ import annotations

import os
import time
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from ringsched import api
from ringsched.analysis.as_json import (
    comparison_data,
    job_ledger_data,
    ledger_data,
    new_job_data,
    variants_data,
    verdict_data,
)
from ringsched.analysis.compare import compare as comparing
from ringsched.analysis.explain import explain as explaining
from ringsched.analysis.whatif import variants
from ringsched.analysis.whatif.new_job import whatif_job
from ringsched.contention import fabric_of
from ringsched.contention.iteration_time import work_of
from ringsched.errors import InputError, TooLarge, UnknownName
from ringsched.formats.jobs import job_from_table
from ringsched.model import OBJECTIVES, Plan, Scenario
from ringsched.model.checks import choice
from ringsched.policies.plans import settings_of
from ringsched.policies.policy import Observer, Progress, Stop
from ringsched.policies.table import policy_named
from ringsched.reporting.data import report_data
from ringsched.reporting.report import page_of
from ringsched.verify import verifier
from ringsched.web import bodies
from ringsched.web.examples import example_scenario
from ringsched.web.inputs import (
    allowed_s,
    changes_of,
    labelled_plans,
    plan_in,
    plan_options,
    scenario_of,
    search_limit_s,
)
from ringsched.web.limits import Limits, check_count
from ringsched.web.replies import (
    HTML,
    Reply,
    dumps,
    json_reply,
    pictures_json,
    plan_json,
    plan_reply,
    refusal,
)

NUM_JOBS = 4  # with fewer jobs there is no search; with more, proofs take long
NUM_MEETING = 200  # jobs on one link, for which iteration times over time are no longer computed as Python


def warm_up() -> None:
    """Plan and draw a few jobs by every policy, and let many meet on a link."""
    scenario = example_scenario("small")
    scenario = scenario.replace(jobs=scenario.jobs[:NUM_JOBS])
    for policy in api.list_policies():
        searches = {"stop": Stop(max_schedules=10), "workers": 1} if policy.name == "search" else {}
        with suppress(TooLarge):  # on a busy machine, the compiler may take all the time of a proof
            plan = api.plan(scenario, policy.name, **searches)  # type: ignore[arg-type]
            report_data(scenario, {policy.name: plan})
    _meet(scenario)


def _meet(scenario: Scenario) -> None:
    fabric = fabric_of(scenario.cluster, scenario.contention)
    ring = fabric.ring(work_of(scenario.jobs[0], scenario.cluster), fabric.shape({0: 1, 1: 1}))
    fabric.paces([ring] * NUM_MEETING, [0.0] * NUM_MEETING, [1.0] * NUM_MEETING)


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
        options["stop"] = replace(options["stop"], time_limit_s=search_limit_s(body, limits.work_s))
    started = time.perf_counter()
    result = api.plan(scenario, body.policy, **options)
    return plan_reply(scenario, result, time.perf_counter() - started, pictures=bool(body.pictures))


def check_search(raw: bytes, limits: Limits) -> Reply:
    """Say what is wrong with a search before it is started."""
    body = bodies.parsed(bodies.PlanBody, raw)
    scenario = scenario_of(body.scenario, limits)
    policy = policy_named(body.policy)
    settings_of(policy, **plan_options(body, limits.search_s))
    policy.check_model(scenario.contention)
    return Reply(200, b"{}")


def verify(raw: bytes, limits: Limits) -> Reply:
    """Check a plan independently."""
    body = bodies.parsed(bodies.VerifyBody, raw)
    scenario = scenario_of(body.scenario, limits)
    return json_reply(verdict_data(verifier.verify(scenario, plan_in(body.plan, scenario, limits))))


def explain(raw: bytes, limits: Limits) -> Reply:
    """Attribute contention."""
    body = bodies.parsed(bodies.ExplainBody, raw)
    scenario = scenario_of(body.scenario, limits)
    if body.job is not None and all(job.name != body.job for job in scenario.jobs):
        raise UnknownName("job", body.job, [job.name for job in scenario.jobs], field="job")
    ledger = explaining.explain(scenario, plan_in(body.plan, scenario, limits))
    return json_reply(ledger_data(ledger) if body.job is None else job_ledger_data(ledger, body.job))


def whatif(raw: bytes, limits: Limits) -> Reply:
    """Say what changes, or one more job, would lead to."""
    body = bodies.parsed(bodies.WhatIfBody, raw)
    if (body.job is None) == (not body.changes):
        raise InputError("give either changes or a job", field="changes")
    scenario = scenario_of(body.scenario, limits)
    given: dict[str, Any] = {name: getattr(body, name) for name in (*bodies.Planning.model_fields, "policy")}
    given["max_schedules"] = given.pop("iterations")
    given["time_limit_s"] = allowed_s(body.time_limit_s, limits.work_s)
    given["plan"] = None if body.plan is None else plan_in(body.plan, scenario, limits)
    if body.job is not None:
        job = job_from_table(body.job, {job.name for job in scenario.jobs})
        return json_reply(new_job_data(whatif_job(scenario, job, **given)))
    changes = changes_of(body.changes or [], scenario, limits)
    return json_reply(variants_data(variants.whatif(scenario, *changes, **given)))


def compare(raw: bytes, limits: Limits) -> Reply:
    """Compare policies over scenarios and seeds, in pairs."""
    body = bodies.parsed(bodies.CompareBody, raw)
    orders, seeds = body.orders or ["own"], 1 if body.seeds is None else body.seeds
    models = body.contention_models or []
    runs = len(body.scenarios) * len(body.policies) * len(orders) * seeds * max(1, len(models))
    check_count(runs, "runs", limits.runs, "this comparison")
    scenarios = [
        scenario_of(content, limits, f"scenarios[{at}]") for at, content in enumerate(body.scenarios)
    ]
    result = comparing.compare(
        scenarios,
        body.policies,
        orders=orders,
        seeds=seeds,
        seed=body.seed or 0,
        objective=body.objective or OBJECTIVES[0],
        time_limit_s=allowed_s(body.time_limit_s, limits.work_s),
        max_schedules=body.iterations,
        contention_models=models,
        workers=1,
    )
    return json_reply(comparison_data(result))


def pictures(raw: bytes, limits: Limits) -> Reply:
    """Return what is drawn of several plans, side by side."""
    scenario, plans = labelled_plans(raw, limits)
    return Reply(200, pictures_json(scenario, plans).encode())


def report(raw: bytes, limits: Limits) -> Reply:
    """Return the report as a page."""
    scenario, plans = labelled_plans(raw, limits)
    return Reply(200, page_of(report_data(scenario, plans)).encode(), HTML)


def example(raw: bytes, limits: Limits) -> Reply:  # noqa: ARG001
    """Return an example that comes with ringsched."""
    return json_reply({"scenario": example_scenario(raw.decode()).expanded()})


_ALL = (check_scenario, check_search, plan, verify, explain, whatif, compare, pictures, report, example)
WORK: Mapping[str, Job] = {work.__name__: work for work in _ALL}


def _toml(written: str) -> dict[str, Any]:
    try:
        return tomllib.loads(written)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "nested too deeply"
        raise InputError(f"is not valid TOML: {reason}", field="text") from None


PROGRESS, PLAN, PICTURES = "progress", "plan", "pictures"
BETTER_S = 0.5  # between plans shown
REST = 4  # times as long as making the pictures took the search is then left alone

Tell = Callable[[str, bytes], None]


def search(raw: bytes, limits: Limits, tell: Tell, should_stop: Callable[[], bool]) -> Reply:
    """Plan with progress; the reply has the pictures too."""
    try:
        body = bodies.parsed(bodies.PlanBody, raw)
        scenario = scenario_of(body.scenario, limits)
        options = plan_options(body, limits.search_s)
        if body.policy == "search" and body.time_limit_s is None and body.iterations is not None:
            # It ends with its best plan instead of being killed.
            options["stop"] = replace(options["stop"], time_limit_s=limits.search_s)
        if body.policy == "search":
            options["workers"] = max(1, (os.cpu_count() or 1) // 2)  # the lab has others to serve
        told = _Told(scenario, tell, should_stop)
        plan = api.plan(scenario, body.policy, **options, observer=told)
        told.end()
        told.show(plan)
        return Reply(200, b"{}")
    except Exception as error:
        return Reply(*refusal(error))


class _Told(Observer):
    """What the search says on its way."""

    def __init__(self, scenario: Scenario, tell: Tell, should_stop: Callable[[], bool]) -> None:
        self._scenario, self._tell, self._should_stop = scenario, tell, should_stop
        self.better_every_s = BETTER_S
        self._newest: tuple[Progress, float] | None = None  # and when it came

    def should_stop(self) -> bool:
        return self._should_stop()

    def progress(self, progress: Progress) -> None:
        self._newest = progress, time.monotonic()
        self._tell(PROGRESS, progress_json(progress).encode())

    def end(self) -> None:
        """Tell how long it took in the end."""
        if self._newest is not None:
            progress, since_s = self._newest
            self.progress(replace(progress, elapsed_s=progress.elapsed_s + time.monotonic() - since_s))

    def show(self, plan: Plan) -> None:
        """Tell a plan and what is drawn of it."""
        self._tell(PLAN, plan_json(plan).encode())
        self._tell(PICTURES, pictures_json(self._scenario, {plan.policy: plan}).encode())

    def better(self, plan: Plan) -> None:
        started = time.monotonic()
        self.show(plan)
        self.better_every_s = max(BETTER_S, REST * (time.monotonic() - started))


def progress_json(progress: Progress) -> str:
    """Return how far a search is."""
    return dumps(asdict(progress) | {"gap": progress.gap})
