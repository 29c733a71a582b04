"""`simulate`: jobs become known as they arrive."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ringsched.bounds.lower_bound import lower_bounds
from ringsched.engine.problem import Problem, problem_of
from ringsched.errors import Infeasible, InputError
from ringsched.model import Scenario
from ringsched.model.checks import choice, instance, integer, number
from ringsched.model.objective import MAKESPAN, MEAN_COMPLETION, objective_named
from ringsched.online.registry import (
    BACKFILLS,
    DEFAULT_POLICY,
    NO_BACKFILL,
    ONLINE_POLICIES,
    OnlinePolicy,
    online_policy_named,
)
from ringsched.online.settings import OnlineSettings, Standing
from ringsched.policies.orders import order_named
from ringsched.policies.policy import Limits

if TYPE_CHECKING:
    from ringsched.online.simulation import Simulation

SCHEDULES_A_PLAN = 1000  # of `rolling`, unless told otherwise
MOST_ERROR = 1000.0


def simulate(
    scenario: Scenario,
    policy: str = DEFAULT_POLICY,
    *,
    order: str | None = None,
    backfill: str = NO_BACKFILL,
    estimate_error: float = 0.0,
    seed: int = 0,
    every_s: float | None = None,
    objective: str | None = None,
    time_limit_s: float | None = None,
    iterations: int | None = None,
    on_progress: Callable[[Standing], None] | None = None,
) -> Simulation:
    """Run a queue over time; a policy knows a job from its submit time on, and of its length an estimate.

    Parameters
    ----------
    policy
        A name out of `list_online_policies()`.
    order
        A queue order out of `ORDERS`, instead of the policy's own; for those that dispatch.
    backfill
        "easy" lets jobs step past the head of the queue if that does not move its start, as far as
        that can be known.
    estimate_error
        How wrong estimates are: each by a factor between 1/(1 + error) and 1 + error, out of the seed.
    seed
        Of the errors, and of `rolling`.
    every_s
        Policies that plan do so when jobs arrive, but not sooner than this after the last time.
    objective
        Out of `OBJECTIVES`: what `rolling` improves (default mean-completion); of the others, what bound
        and gap of their plan are about (default makespan).
    time_limit_s, iterations
        When `rolling` ends each of its searches; default 1000 schedules, so that a run is reproducible.
    on_progress
        Called now and then with a `Standing`.

    Raises
    ------
    Infeasible
        No makespan below the horizon, for a policy that bisects and knows all jobs at time 0.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.generate_poisson(jobs=300, servers=4, load=0.9)
    >>> first_come = ringsched.simulate(scenario, "fifo")
    >>> backfilled = ringsched.simulate(scenario, "fifo", backfill="easy")
    >>> backfilled.mean_completion_s < first_come.mean_completion_s
    True
    """
    chosen = online_policy_named(policy)
    given = {
        "order": order,
        "every": every_s,
        "time-limit": time_limit_s,
        "iterations": iterations,
    }
    for option, value in given.items():
        if value is not None and option not in chosen.options:
            takers = ", ".join(other.name for other in ONLINE_POLICIES if option in other.options)
            raise InputError(f"means nothing to policy {chosen.name!r}, only to {takers}", field=option)
    if time_limit_s is None and iterations is None and chosen.planner == "search":
        iterations = SCHEDULES_A_PLAN
    usual = MEAN_COMPLETION if chosen.planner == "search" else MAKESPAN
    settings = OnlineSettings(
        order=chosen.order if order is None else order_named(order),
        backfill=choice(backfill, "backfill", BACKFILLS),
        estimate_error=number(estimate_error, "estimate-error", minimum=0, maximum=MOST_ERROR),
        every_s=0.0 if every_s is None else number(every_s, "every", minimum=0),
        seed=integer(seed, "seed", minimum=0),
        objective=usual if objective is None else objective_named(objective),
        limits=Limits(
            time_limit_s=None if time_limit_s is None else number(time_limit_s, "time-limit", minimum=0),
            iterations=None if iterations is None else integer(iterations, "iterations", minimum=0),
        ),
        on_progress=on_progress or (lambda _: None),
    )
    return _simulated(problem_of(instance(scenario, "scenario", Scenario)), chosen, settings)


def _simulated(problem: Problem, policy: OnlinePolicy, settings: OnlineSettings) -> Simulation:
    # The kernels are loaded here, so that nobody waits for numba who does not simulate.
    from ringsched.online.run import run_online
    from ringsched.online.simulation import simulation_of

    run = run_online(problem, policy, settings)
    if run is None:
        raise _infeasible(problem, policy)
    return simulation_of(problem, run, policy, settings)


def _infeasible(problem: Problem, policy: OnlinePolicy) -> Infeasible:
    bound_s, horizon_s = lower_bounds(problem)[0].value_s, problem.scenario.time.horizon_s
    within = "" if horizon_s is None else f" within the horizon of {horizon_s:g} s"
    return Infeasible(
        f"infeasible{within}: policy {policy.name!r} finds no such plan; no plan at all can end before "
        f"{bound_s:g} s",
        lower_bound_s=bound_s,
    )


def list_online_policies() -> tuple[OnlinePolicy, ...]:
    """Return the table of policies for jobs that arrive over time.

    Examples
    --------
    >>> [policy.name for policy in list_online_policies()][:3]
    ['fifo', 'smallest-first', 'shortest-first']
    """
    return ONLINE_POLICIES
