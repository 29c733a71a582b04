"""A search in a worker: it tells how far it is, shows better plans, and can be asked to stop."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from ringsched import api
from ringsched.model import Plan, Scenario
from ringsched.policies.policy import Progress
from ringsched.web import bodies
from ringsched.web.errors import refusal
from ringsched.web.inputs import plan_options, scenario_of
from ringsched.web.limits import Limits
from ringsched.web.replies import Reply, dumps, pictures_json, plan_json

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
        if body.policy == "search" and options["time_limit_s"] is None and body.iterations is not None:
            options["time_limit_s"] = limits.search_s  # it ends with what it has, rather than be killed
        if body.policy == "search":
            options["threads"] = max(1, (os.cpu_count() or 1) // 2)  # the lab has others to serve
        told = _Told(scenario, tell)
        plan = api.plan(
            scenario,
            body.policy,
            **options,
            on_progress=told.on_progress,
            on_better=told.on_better,
            should_stop=should_stop,
        )
        told.show(plan)
        return Reply(200, b"{}")
    except Exception as error:
        return Reply(*refusal(error))


class _Told:
    """What the search says on its way."""

    def __init__(self, scenario: Scenario, tell: Tell) -> None:
        self._scenario, self._tell = scenario, tell
        self._not_before_s = 0.0

    def on_progress(self, progress: Progress) -> None:
        self._tell(PROGRESS, progress_json(progress).encode())

    def show(self, plan: Plan) -> None:
        """Tell a plan and what is drawn of it."""
        self._tell(PLAN, plan_json(plan).encode())
        self._tell(PICTURES, pictures_json(self._scenario, {plan.policy: plan}).encode())

    def on_better(self, best: Callable[[], Plan]) -> None:
        started = time.monotonic()
        if started < self._not_before_s:
            return
        self.show(best())
        took_s = time.monotonic() - started
        self._not_before_s = started + max(BETTER_S, (1 + REST) * took_s)


def progress_json(progress: Progress) -> str:
    """Return how far a search is."""
    return dumps(
        {
            "value_s": progress.value_s,
            "bound_s": progress.bound_s,
            "gap": progress.gap,
            "iterations": progress.iterations,
            "elapsed_s": progress.elapsed_s,
        }
    )
