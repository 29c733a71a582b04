"""One run of a comparison: a scenario planned by a policy, and its row."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from ringsched._version import __version__
from ringsched.analysis.metrics import metrics_in
from ringsched.bounds.lower_bound import lower_bounds
from ringsched.engine.problem import problem_of
from ringsched.errors import Infeasible, RingschedError, TooLarge
from ringsched.model import Scenario
from ringsched.model.objective import MAKESPAN, objective_named
from ringsched.online.own import policy_of
from ringsched.policies.custom import CustomPolicy
from ringsched.policies.plans import planned_with_run, settings_of
from ringsched.policies.table import policy_named

NOT_RUN, OK, INFEASIBLE, TOO_LARGE = "not run", "ok", Infeasible.status, TooLarge.status

# The identity of a run: scenario_sha256, policy, order, objective, limit, draw, seed, and last the
# code. The model of contention is in the digest.
Key = tuple[str, str, str, str, str, int | None, int | None, str]


PACKAGE = Path(__file__).parents[2]
LEFT_OUT = PACKAGE / "cli"


@cache
def code_version() -> str:
    """Return the version with a digest of the source, which also changes during development.

    Examples
    --------
    >>> code_version().startswith(f"{__version__}+")
    True
    """
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        if not path.is_relative_to(LEFT_OUT):
            digest.update(str(path.relative_to(PACKAGE)).encode())
            digest.update(path.read_bytes())
    return f"{__version__}+{digest.hexdigest()[:12]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """One run. Without a plan there are no metrics but the lower bound."""

    scenario: str
    scenario_sha256: str
    policy: str
    order: str
    objective: str = MAKESPAN.name  # of bound and gap
    limit: str = ""  # limit of a policy that searches
    contention: str = ""  # the model; empty in older rows
    draw: int | None = None  # from a calibration's intervals; None for the scenario itself, or fitted values
    seed: int | None  # None if the policy draws no random numbers
    ringsched_version: str = field(default_factory=code_version)  # with a digest of the source
    status: str = NOT_RUN  # in the end ok, infeasible or too-large
    makespan_s: float | None = None
    mean_completion_s: float | None = None
    p95_completion_s: float | None = None
    gpu_utilisation: float | None = None
    contention_loss: float | None = None
    spreading_loss: float | None = None
    lower_bound_s: float | None = None
    gap: float | None = None
    max_slowdown: float | None = None  # none in older rows
    planning_s: float | None = None  # wall time

    @property
    def key(self) -> Key:
        """The identity of the run."""
        return (
            *(self.scenario_sha256, self.policy, self.order, self.objective, self.limit),
            *(self.draw, self.seed, self.ringsched_version),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A run with everything that another machine needs, and its row without results."""

    row: ComparisonRow
    scenario: Scenario
    policy: str | CustomPolicy
    order: str | None  # None for a policy's own
    limits: Mapping[str, Any] = field(default_factory=dict)  # of a policy that searches

    @property
    def key(self) -> Key:
        """The identity of the run."""
        return self.row.key


def run_task(task: Task) -> ComparisonRow:
    """Plan and measure; a run without a plan also gives a row."""
    here, there = code_version(), task.row.ringsched_version
    if here != there:
        raise RingschedError(
            f"the worker has ringsched {here}, this machine has {there}; install the same version"
        )
    started = time.perf_counter()
    try:
        problem = problem_of(task.scenario)
        policy = policy_named(task.policy) if isinstance(task.policy, str) else policy_of(task.policy)
        seed, objective = task.row.seed or 0, task.row.objective
        settings = settings_of(policy, order=task.order, seed=seed, objective=objective, **task.limits)
        plan, run = planned_with_run(problem, policy, settings)
    except Infeasible as error:
        planning_s = time.perf_counter() - started
        bound_s = lower_bounds(problem, objective_named(task.row.objective))[0].value_s
        return replace(task.row, status=error.status, lower_bound_s=bound_s, planning_s=planning_s)
    planning_s = time.perf_counter() - started
    return replace(task.row, status=OK, planning_s=planning_s, **asdict(metrics_in(problem, plan, run)))


# Planning code cannot import it (see the import layers), so it changes no row.
