"""The contention share of a workload: how much of its time is not computation.

The kernels are imported where they are used, so that nobody waits for numba who only asks for help.
"""

from __future__ import annotations

from ringsched.engine.problem import Problem, problem_of
from ringsched.model import Scenario
from ringsched.model.checks import instance
from ringsched.policies.orders import priorities


def contention_share(scenario: Scenario) -> float:
    """Return the extra share: 1 - (sum of compute-only durations) / (sum of actual durations).

    Actual durations are those under list-scheduling in queue order without theta. Compute-only ones
    leave exchange, reduction and latency out of every iteration. Without jobs the share is 0.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> 0 < ringsched.contention_share(scenario) < 1
    True
    """
    return share_of(problem_of(instance(scenario, "scenario", Scenario)))


def share_of(problem: Problem) -> float:
    """Return the contention share of a problem."""
    from ringsched.placement.runner import Runner
    from ringsched.placement.trial import LEAST_LOADED

    if problem.num_jobs == 0:
        return 0.0
    runner = Runner(problem, priorities(problem, "fifo"))
    runner.run(LEAST_LOADED)
    run, clock = runner.last(), problem.clock
    actual = sum(finish - start for start, finish in zip(run.starts, run.finishes, strict=True))
    compute_only = sum(
        clock.duration(iterations, clock.rate(job.compute_s))
        for iterations, job in zip(problem.iterations, problem.scenario.jobs, strict=True)
    )
    # In continuous time rounding may leave a workload without exchange a hair below 0.
    return float(max(0.0, 1 - compute_only / actual))
