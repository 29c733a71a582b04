"""What a workload amounts to, in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass

from ringsched.bounds.lower_bound import lower_bounds
from ringsched.engine.problem import problem_of
from ringsched.generate.share import share_of
from ringsched.model import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A workload in short; `job_gpus` is what all jobs ask for together."""

    num_jobs: int
    job_gpus: int
    num_servers: int
    server_gpus: int
    contention_share: float
    lower_bound_s: float


def describe(scenario: Scenario) -> Description:
    """Return a scenario in short, with its contention share and the lower bound on its makespan.

    Examples
    --------
    >>> from ringsched.io.scenario_file import load_scenario
    >>> describe(load_scenario("examples/first.toml")).job_gpus
    53
    """
    problem = problem_of(scenario)
    bounds = lower_bounds(problem)
    return Description(
        num_jobs=problem.num_jobs,
        job_gpus=sum(problem.gpus),
        num_servers=problem.num_servers,
        server_gpus=scenario.cluster.capacity,
        contention_share=share_of(problem),
        lower_bound_s=bounds[0].value_s if bounds else 0.0,
    )
