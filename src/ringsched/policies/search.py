"""The search: as good a plan as time allows, from the best that simple rules find."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ringsched.bounds.lower_bound import lower_bounds, quick_bound_s
from ringsched.engine.problem import Problem, objective_value
from ringsched.engine.state import Run
from ringsched.errors import InputError
from ringsched.model.objective import MAKESPAN, Objective
from ringsched.model.plan import GOOD_ENOUGH, PROVED
from ringsched.policies.exact import quick_proof
from ringsched.policies.policy import ANY_ORDER, ORDERS, Candidate, Progress, Settings, solve_once
from ringsched.policies.sjf_bco import solve_sjf_bco
from ringsched.rules.table import BEST_FIT

if TYPE_CHECKING:
    from ringsched.search.exact.prove import Proof

TIME_LIMIT_S = 10.0
# Jobs times servers up to which the paper's algorithm, beside the search, takes no time to speak of.
_SMALL = 300_000
_FEW_ORDERS = ("shortest-first", "smallest-area-first")


def solve_search(problem: Problem, settings: Settings) -> Candidate:
    """Return the best plan found; never a worse one than `longest-first`, whatever the limits."""
    if settings.order != ANY_ORDER:
        raise InputError("is not allowed with policy 'search', which looks for the best order", field="order")
    simple = min(_simple_runs(problem, settings), key=lambda run: _value_s(problem, settings, run))
    bound_s = _bound_s(problem, settings, settings.objective)
    value_s = _value_s(problem, settings, simple)
    if value_s <= bound_s * settings.limits.gap or not problem.queued:
        return Candidate(simple, {"iterations": 0}, _ending(GOOD_ENOUGH, value_s, bound_s))
    settings.on_better(lambda: Candidate(simple, {"iterations": 0}))
    settings.on_progress(Progress(value_s=value_s, bound_s=bound_s, iterations=0, elapsed_s=0.0))
    began_s = time.monotonic()
    if (proof := _quick_proof(problem, settings, simple)) is not None:
        simple, value_s = proof.run, _value_s(problem, settings, proof.run)
        if value_s <= bound_s * settings.limits.gap:
            return Candidate(simple, {"iterations": 0}, _ending(GOOD_ENOUGH, value_s, bound_s))
        if proof.complete:
            return Candidate(simple, {"iterations": 0, "proof": "optimal"}, PROVED)
    return _improved(problem, settings, simple, bound_s, spent_s=time.monotonic() - began_s)


def _quick_proof(problem: Problem, settings: Settings, simple: Run) -> Proof | None:
    """Return the proof of a small queue, which the search alone might miss: it keeps no GPUs idle on purpose.

    Only where a clock ends the search: with a number of schedules, plans stay as they are.
    """
    limits = settings.limits
    if limits.iterations is not None or limits.when is not None or limits.quick_bounds:
        return None
    limit_s = TIME_LIMIT_S if limits.time_limit_s is None else limits.time_limit_s
    return quick_proof(problem, settings, simple, limit_s / 10)


def _improved(
    problem: Problem, settings: Settings, simple: Run, bound_s: float, *, spent_s: float
) -> Candidate:
    from ringsched.search.anytime import AnytimeSearch, Stop
    from ringsched.search.anytime import Progress as Count

    limits = settings.limits
    simple_s = _value_s(problem, settings, simple)
    search = AnytimeSearch(
        problem,
        settings.objective,
        target_s=_bound_s(problem, settings, MAKESPAN),
        seed=settings.seed,
        num_threads=limits.threads or _num_cores(),
        num_schedules=math.inf if limits.iterations is None else limits.iterations,
        asked=limits.should_stop,
    )

    def best() -> Candidate:
        run = search.best() if search.value_s < simple_s else simple
        return Candidate(run, {"iterations": search.iterations})

    def on_progress(count: Count) -> None:
        value_s = min(count.value_s, simple_s)
        settings.on_progress(
            Progress(value_s=value_s, bound_s=bound_s, iterations=count.iterations, elapsed_s=count.elapsed_s)
        )

    clocked = limits.time_limit_s is None and limits.iterations is None and limits.when is None
    limit_s = TIME_LIMIT_S if clocked else limits.time_limit_s
    stop = Stop(
        time_limit_s=None if limit_s is None else max(0.0, limit_s - spent_s),
        iterations=limits.iterations,
        value_s=bound_s * limits.gap,
        asked=limits.should_stop,
    )
    ended = search.run(stop, on_progress, lambda: settings.on_better(best))
    found = best()
    return replace(found, ended=_ending(ended, _value_s(problem, settings, found.run), bound_s))


def _ending(ended: str, value_s: float, bound_s: float) -> str:
    """Return why a search ended: of a plan that is as good as the bound, that no plan can be better."""
    return PROVED if value_s <= bound_s * (1 + 1e-9) else ended


def _num_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _simple_runs(problem: Problem, settings: Settings) -> Iterator[Run]:
    """Yield what can be had at once."""
    few = settings.limits.few_starts
    for order in _FEW_ORDERS if few else ORDERS:
        candidate = solve_once(problem, Settings(order=order, on_trial=settings.on_trial), BEST_FIT)
        assert candidate is not None  # best fit always comes to an end
        yield candidate.run
    if not few and problem.num_jobs * problem.num_servers <= _SMALL:
        paper = solve_sjf_bco(problem, Settings(order="smallest-first", on_trial=settings.on_trial))
        if paper is not None:  # its makespan may not be below the horizon
            yield paper.run


def _bound_s(problem: Problem, settings: Settings, objective: Objective) -> float:
    if settings.limits.quick_bounds:
        return quick_bound_s(problem, objective)
    return lower_bounds(problem, objective)[0].value_s


def _value_s(problem: Problem, settings: Settings, run: Run) -> float:
    return objective_value(problem, run.finishes, settings.objective)
