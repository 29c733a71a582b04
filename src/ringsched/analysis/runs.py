"""One run of a comparison: a scenario planned by a policy, and the row that comes of it."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from functools import cache

from ringsched import api
from ringsched._version import __version__
from ringsched.analysis.metrics import metrics_of
from ringsched.errors import Infeasible, RingschedError
from ringsched.model import Cluster, Job, Scenario, Server
from ringsched.model.objective import MAKESPAN
from ringsched.policies.custom import CustomPolicy

OK, INFEASIBLE = "ok", "infeasible"

# What makes two runs the same: scenario_sha256, policy, order, objective, seed, ringsched version.
Key = tuple[str, str, str, str, int | None, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """One run. Without a plan there are no metrics but the lower bound."""

    scenario: str
    scenario_sha256: str
    policy: str
    order: str
    objective: str = MAKESPAN  # what bound and gap are about
    seed: int | None  # None if the policy draws no random numbers
    ringsched_version: str
    status: str  # ok or infeasible
    makespan_s: float | None = None
    mean_completion_s: float | None = None
    p95_completion_s: float | None = None
    gpu_utilisation: float | None = None
    contention_loss: float | None = None
    spreading_loss: float | None = None
    lower_bound_s: float | None = None
    gap: float | None = None
    planning_s: float | None = None  # wall time

    @property
    def key(self) -> Key:
        """What makes two runs the same."""
        return (
            *(self.scenario_sha256, self.policy, self.order, self.objective),
            *(self.seed, self.ringsched_version),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A run to be done, complete enough to be sent to another machine."""

    label: str
    scenario: Scenario
    scenario_sha256: str
    policy: str | CustomPolicy
    policy_name: str
    order: str | None  # None for a policy's own
    order_name: str
    seed: int | None
    objective: str = MAKESPAN
    version: str = __version__

    @property
    def key(self) -> Key:
        """What makes two runs the same."""
        return (
            *(self.scenario_sha256, self.policy_name, self.order_name, self.objective),
            *(self.seed, self.version),
        )


def run_task(task: Task) -> ComparisonRow:
    """Plan and measure; infeasible is a row too."""
    if task.version != __version__:
        raise RingschedError(
            f"a worker has ringsched {__version__}, this is {task.version}; install the same"
        )
    warm_up()
    scenario, started = task.scenario, time.perf_counter()
    try:
        plan = api.plan(
            scenario, task.policy, order=task.order, seed=task.seed or 0, objective=task.objective
        )
    except Infeasible:
        planning_s = time.perf_counter() - started
        bound_s = api.lower_bounds(scenario, task.objective)[0].value_s
        return _row(task, INFEASIBLE, lower_bound_s=bound_s, planning_s=planning_s)
    planning_s = time.perf_counter() - started
    return _row(task, OK, **asdict(metrics_of(scenario, plan)), planning_s=planning_s)


@cache
def warm_up() -> None:
    """Compile the kernels or load them, once in every process, so that no planning time includes it."""
    api.plan(_TINY, "first-fit")


def _row(task: Task, status: str, **numbers: float) -> ComparisonRow:
    return ComparisonRow(
        scenario=task.label,
        scenario_sha256=task.scenario_sha256,
        policy=task.policy_name,
        order=task.order_name,
        objective=task.objective,
        seed=task.seed,
        ringsched_version=task.version,
        status=status,
        **numbers,
    )


_TINY = Scenario(
    cluster=Cluster(
        servers=(Server(name="a", gpus=1),), inter_server_gbps=1, intra_server_gbps=1, reduce_gbps=1
    ),
    jobs=(Job(name="j", gpus=1, iterations=1, gradient_mb=0, minibatch=1, forward_ms=0, backward_ms=1),),
)
