"""The functions behind the commands; each command is one call of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ringsched.bounds.lower_bound import lower_bounds as _lower_bounds
from ringsched.engine.problem import Problem, problem_of
from ringsched.engine.state import Run, outcome_of
from ringsched.errors import InputError, UnknownName
from ringsched.model import OBJECTIVES, Bound, Outcome, Plan, PlannedJob, Scenario
from ringsched.model.checks import instance
from ringsched.model.objective import MAKESPAN, objective_named
from ringsched.online.own import OnlinePolicy, policy_of
from ringsched.policies.custom import CustomPolicy, PolicyFile
from ringsched.policies.plans import planned, settings_of
from ringsched.policies.policy import ORDERS, Observer, Policy, Progress, Stop
from ringsched.policies.table import DEFAULT_POLICY, policies, policy_named
from ringsched.rules.runner import replay as replay_run

__all__ = ["DEFAULT_POLICY", "OBJECTIVES", "ORDERS", "list_policies", "lower_bounds", "plan", "replay"]


def plan(
    scenario: Scenario,
    policy: str | Policy | CustomPolicy | OnlinePolicy | PolicyFile = DEFAULT_POLICY,
    *,
    objective: str = MAKESPAN.name,
    order: str | None = None,
    kappa: int | None = None,
    theta: int | None = None,
    slack: float | None = None,
    max_wait_s: float | None = None,
    seed: int = 0,
    stop: Stop | Callable[[Progress], bool] | None = None,
    workers: int | None = None,
    observer: Observer | None = None,
) -> Plan:
    """Decide which GPUs each job gets and when it starts.

    Parameters
    ----------
    policy
        A name out of `list_policies()`, a `Policy`, or an object with a method `place`.
    objective
        Out of `OBJECTIVES`: what bound and gap are about. Policies that do not search for it plan the same
        whatever it is; those that bisect keep to the makespan, as the paper does.
    order
        A queue order out of `ORDERS`, instead of the policy's own.
    kappa, theta, slack
        Fix what a search would choose, and λ for every job.
    max_wait_s
        Of `search`: jobs that have waited longer go first, in the order in which they came.
    seed
        For policies that draw random numbers.
    stop
        When `search` ends: a `Stop`, or a function that is given its `Progress` and says True. Without
        either a time limit or a number of schedules it ends after 10 seconds.
    workers
        How many cores `search` uses; all if not given.
    observer
        Sees progress and better plans, and may ask the search to end; see `Observer`.

    Raises
    ------
    Infeasible
        No makespan below the horizon; carries the lower bound.
    TooLarge
        Policy `exact` has no proof within its limits.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> result = ringsched.plan(scenario, "sjf-bco")
    >>> result.makespan_s >= result.lower_bound_s
    True
    """
    chosen = policy_named(policy) if isinstance(policy, str) else policy_of(policy)
    settings = settings_of(
        chosen,
        order=order,
        kappa=kappa,
        theta=theta,
        slack=slack,
        max_wait_s=max_wait_s,
        seed=seed,
        objective=objective,
        stop=stop,
        workers=workers,
    )
    return planned(problem_of(instance(scenario, "scenario", Scenario)), chosen, settings, observer)


def replay(scenario: Scenario, plan: Plan) -> Outcome:
    """Return what happens when the jobs start where and when `plan` says.

    Only starts and placements are read, and of a running job not even those; whether they are allowed
    is for `verify` to say. A job whose GPUs are still held at its start waits for them, and those that
    start after it wait behind it.
    """
    problem = problem_of(instance(scenario, "scenario", Scenario))
    return outcome_of(problem, replayed(problem, plan))


def replayed(problem: Problem, plan: Plan) -> Run:
    """Return the run of a plan's starts and placements, for those who need more than its outcome."""
    scenario = problem.scenario
    by_name = {job.name: job for job in plan.jobs}
    if set(by_name) != {job.name for job in scenario.jobs} or len(by_name) != len(plan.jobs):
        raise InputError("the plan's jobs are not those of the scenario")
    planned = [by_name[job.name] for job in scenario.jobs]
    _check_placements(scenario, planned)
    starts = [problem.instant_at(job.start_s) for job in planned]
    gpus = [problem.numbered(job.gpus) for job in planned]
    return replay_run(problem, starts, gpus, origin=problem.origin)


def _check_placements(scenario: Scenario, planned: Sequence[PlannedJob]) -> None:
    """Raise if a job is not on as many existing GPUs as it needs: nothing could be replayed."""
    servers = {
        server.name: frozenset(range(server.gpus)).difference(server.unavailable)
        for server in scenario.cluster.servers
    }
    for job, entry in zip(scenario.jobs, planned, strict=True):
        place = f"job {job.name!r}"
        for server, held in entry.gpus.items():
            if server not in servers:
                raise UnknownName("server", server, servers, field="gpus", place=place)
            if not servers[server].issuperset(held) or len(set(held)) < len(held):
                problem = f"names a GPU of server {server!r} that cannot be used, or one twice"
                raise InputError(problem, field="gpus", place=place)
        num_gpus = sum(len(held) for held in entry.gpus.values())
        if num_gpus != job.gpus:
            raise InputError(f"names {num_gpus} GPUs, the job needs {job.gpus}", field="gpus", place=place)


def lower_bounds(scenario: Scenario, objective: str = MAKESPAN.name) -> tuple[Bound, ...]:
    """Return the lower bounds on an objective over all plans of `scenario`, the largest first.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> [bound.name for bound in ringsched.lower_bounds(scenario, "mean-completion")]
    ['priced-placements', 'priced-gpus', 'squashed-area', 'best-cases']
    """
    problem = problem_of(instance(scenario, "scenario", Scenario))
    return _lower_bounds(problem, objective_named(objective))


def list_policies(*, online: bool = False) -> tuple[Policy, ...]:
    """Return the table of policies: those of `plan`, or those of `simulate`.

    Examples
    --------
    >>> [policy.name for policy in list_policies()][:3]
    ['search', 'sjf-bco', 'first-fit']
    >>> [policy.name for policy in list_policies(online=True)][-2:]
    ['contention-aware', 'rolling']
    """
    return policies(online=online)
