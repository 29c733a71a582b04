"""Algorithm 1 (SJF-BCO) of the paper, with model.md's corrections, and its bisection for other rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from tests.reference.dispatch import Result, dispatch
from tests.reference.formulas import SLACK, Amount, origin_ticks, release_ticks, worst_case_ticks
from tests.reference.rules import charges

from ringsched.model import Scenario

Trial: TypeAlias = tuple[Amount, int, Result]  # makespan, kappa (0 where there is none), result


def horizon_ticks(scenario: Scenario) -> int:
    """T: floor(horizon) or, without one, ceil(last submit - origin + sum of worst-case durations) + 1."""
    time = scenario.time
    if time.horizon_s is None:
        last = max((release_ticks(scenario, job) for job in scenario.jobs), default=0)
        return (
            math.ceil(
                last - origin_ticks(scenario) + sum(worst_case_ticks(scenario, job) for job in scenario.jobs)
            )
            + 1
        )
    unit = Fraction(time.slot_s) if time.slotted else Fraction(1)
    return math.floor(Fraction(time.horizon_s) / unit + SLACK)


def kappas(scenario: Scenario, every_kappa: bool = False) -> list[int]:
    """All of 1 .. max G_j of the queued jobs (Alg. 1), or 1 and the distinct ones: the same outcome."""
    sizes = {1} | {job.gpus for job in scenario.jobs if not job.is_running}
    return list(range(1, max(sizes) + 1)) if every_kappa else sorted(sizes)


def sjf_bco(
    scenario: Scenario,
    *,
    order: str = "smallest-first",
    slack: float | None = None,
    every_kappa: bool = False,
    exact: bool = True,
    jump: bool = False,
) -> tuple[Amount, int, int, Result] | None:
    """Algorithm 1: (makespan in ticks, theta, kappa, result), or None if none is below T."""
    horizon = horizon_ticks(scenario)
    charge = charges(scenario)

    def best_kappa(theta: int) -> Trial | None:
        m_theta: Amount = horizon
        best: Trial | None = None
        for kappa in kappas(scenario, every_kappa):
            trial = dispatch(
                scenario,
                order,
                "kappa",
                theta,
                kappa=kappa,
                slack=slack,
                exact=exact,
                jump=jump,
                charge=charge,
            )
            if trial is not None and trial.makespan < m_theta:  # infeasible never competes
                m_theta = trial.makespan
                best = (trial.makespan, kappa, trial)
        return best

    found = bisect(horizon, best_kappa)
    if found is None:
        return None
    theta, (makespan, kappa, result) = found
    return makespan, theta, kappa, result


def bisect_theta(
    scenario: Scenario,
    rule: str,
    order: str = "fifo",
    *,
    slack: float | None = None,
    kappa: int | None = None,
    seed: int = 0,
    exact: bool = True,
    jump: bool = False,
) -> tuple[Amount, int, Result] | None:
    """The same bisection with one rule (FF, LS; or "kappa" at a fixed kappa): (makespan, theta, result)."""

    def at(theta: int) -> Trial | None:
        trial = dispatch(
            scenario, order, rule, theta, kappa=kappa, slack=slack, seed=seed, exact=exact, jump=jump
        )
        return None if trial is None else (trial.makespan, kappa or 0, trial)

    found = bisect(horizon_ticks(scenario), at)
    if found is None:
        return None
    theta, (makespan, _, result) = found
    return makespan, theta, result


def bisect(horizon: int, best_at: Callable[[int], Trial | None]) -> tuple[int, Trial] | None:
    """The outer loop of Alg. 1: integers theta in 1 .. T; improvement is strict, equal is none."""
    m: Amount = horizon
    best: tuple[int, Trial] | None = None
    left, right = 1, horizon
    while left <= right:
        theta = (left + right) // 2
        trial = best_at(theta)
        if trial is not None and trial[0] < m:
            m = trial[0]
            best = (theta, trial)
            right = theta - 1
        else:
            left = theta + 1
    return best
