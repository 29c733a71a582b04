"""From a snapshot to a plan."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ringsched import api
from ringsched.errors import Infeasible, InputError
from ringsched.model import Cluster, Plan, Scenario, Server
from ringsched.model.objective import MAKESPAN
from ringsched.slurm.fixed import known_by_end
from ringsched.slurm.snapshot import Snapshot

ROLLING = "rolling"
TIME_LIMIT_S = 0.3
_FALLBACK = "longest-first"  # it always comes to an end
_SMALL = Cluster(servers=(Server(name="s", gpus=1),), inter_server_gbps=1, intra_server_gbps=1, reduce_gbps=1)
_PLACE = re.compile(r"jobs\[(\d+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """How the queue is planned.

    Parameters
    ----------
    policy
        `rolling`, a short search on the present queue; or any name out of `list_policies()`.
    objective
        What a search is to make small.
    time_limit_s, iterations
        When a search ends; with `iterations` alone it is reproducible.
    """

    policy: str = ROLLING
    objective: str = MAKESPAN.name
    time_limit_s: float | None = None
    iterations: int | None = None
    should_stop: Callable[[], bool] | None = None

    def check(self) -> None:
        """Raise if these cannot go together, before anything is done."""
        empty = Scenario(cluster=_SMALL)
        self._plan(empty)

    def plan(self, snapshot: Snapshot) -> PlannedQueue:
        """Plan the queue around what runs; a job that no plan can hold is left out with the reason.

        One that runs all the same, since its owner released it, counts as if about to end.
        """
        scenario = snapshot.scenario
        left: dict[str, InputError] = {}
        while True:
            try:
                return PlannedQueue(scenario=scenario, plan=self._plan(scenario), left=left)
            except InputError as error:
                place = _PLACE.match(error.place or "")
                if place is None:
                    raise
                jobs, at = list(scenario.jobs), int(place[1])
                bad = jobs.pop(at)
                if bad.running_on is None:
                    left[bad.name] = InputError(error.problem, field=error.field)
                else:
                    jobs.insert(at, known_by_end(bad.name, bad.running_on, 1.0))
                scenario = scenario.replace(jobs=tuple(jobs))

    def _plan(self, scenario: Scenario) -> Plan:
        try:
            if self.policy not in (ROLLING, "search"):
                return api.plan(scenario, self.policy, objective=self.objective)
            unlimited = self.time_limit_s is None and self.iterations is None
            return api.plan(
                scenario,
                "search",
                objective=self.objective,
                time_limit_s=TIME_LIMIT_S if unlimited else self.time_limit_s,
                iterations=self.iterations,
                should_stop=self.should_stop,
            )
        except Infeasible:  # of a horizon, or a queue too large for a proof: something must run all the same
            return api.plan(scenario, _FALLBACK, objective=self.objective)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedQueue:
    """A plan, the scenario it is of, and the jobs that are not in it, by name, each with the reason."""

    scenario: Scenario
    plan: Plan
    left: dict[str, InputError]
