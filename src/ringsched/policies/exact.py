"""The best plan of a tiny instance, with a proof."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from ringsched.bounds.lower_bound import lower_bounds
from ringsched.contention.sharing import model_of
from ringsched.engine.problem import Problem
from ringsched.engine.state import Run
from ringsched.errors import InputError, TooLarge
from ringsched.formatting import duration
from ringsched.model.objective import Objective
from ringsched.model.plan import PROVED, TIME
from ringsched.policies.policy import ANY_ORDER, ORDERS, Candidate, Settings, priorities
from ringsched.rules.runner import Runner
from ringsched.rules.table import BEST_FIT, FIRST_FIT, LEAST_LOADED

if TYPE_CHECKING:
    from ringsched.search.exact.measure import Measure
    from ringsched.search.exact.prove import Proof

TIME_LIMIT_S = 60.0
QUICK_NODES = 2000  # of a quick proof; a count, so that it ends alike on every machine
MOST_JOBS = 8  # to be placed; beyond, no proof comes in a lifetime
MOST_OPTIONS = 20_000
MOST_LINKS = 62  # sets of links are bits of an integer
GOOD_GAP = 0.01  # a plan is an answer if it is proved to be as close to the best possible


def solve_exact(problem: Problem, settings: Settings) -> Candidate:
    """Return the best of all plans; raise `TooLarge` if that cannot be proved in time."""
    if settings.order != ANY_ORDER:
        raise InputError("is not allowed with policy 'exact', which tries all orders", field="order")
    from ringsched.search.exact.measure import in_seconds, measure_of
    from ringsched.search.exact.prove import prove

    objective = settings.objective
    limit_s = settings.limits.time_limit_s
    time_limit_s = TIME_LIMIT_S if limit_s is None else limit_s
    _check_size(problem, objective)
    measure = measure_of(problem, objective)
    known = _known_bound(problem, objective)
    proof = prove(
        problem,
        _best_simple_run(problem, measure, known),
        measure,
        bound=known,
        time_limit_s=time_limit_s,
        on_step=settings.on_trial,
        asked=settings.limits.should_stop,
    )
    best_s, bound_s = (in_seconds(problem, objective, value) for value in (proof.value, proof.bound))
    if not proof.complete and best_s > bound_s * (1 + GOOD_GAP):
        best, bound = objective.text(best_s), objective.text(bound_s)
        raise TooLarge(
            f"policy 'exact' found no proof within {duration(time_limit_s)}: its best plan has a "
            f"{objective.words} of {best}, no plan can have less than {bound}; "
            "give it more time, or use policy 'search'",
            lower_bound_s=bound_s,
            best_s=best_s,
        )
    params: dict[str, float | int | str] = {"proof": _words(proof, best_s, bound_s), "nodes": proof.num_nodes}
    return Candidate(proof.run, params, PROVED if proof.complete else TIME)


def proof_beside(
    problem: Problem,
    settings: Settings,
    incumbent: Run,
    time_limit_s: float,
    *,
    on_step: Callable[[], None] = lambda: None,
    is_quick: bool = False,
) -> Proof:
    """Return what a proof within a time limit finds for another policy; see `is_provable`.

    A quick one explores about `QUICK_NODES` nodes, and does without bounds, which take longer.
    """
    from ringsched.search.exact.measure import measure_of
    from ringsched.search.exact.prove import prove

    return prove(
        problem,
        incumbent,
        measure_of(problem, settings.objective),
        bound=0.0 if is_quick else _known_bound(problem, settings.objective),
        time_limit_s=time_limit_s,
        on_step=on_step,
        asked=settings.limits.should_stop,
        most_nodes=QUICK_NODES if is_quick else None,
        waits=False,
    )


def is_provable(problem: Problem, objective: Objective) -> bool:
    """Whether a queue is so small that a proof may be had at once."""
    if len(problem.queued) > MOST_JOBS or not model_of(problem.scenario.contention).is_counting:
        return False
    try:
        _check_size(problem, objective)
    except TooLarge:
        return False
    return True


def _check_size(problem: Problem, objective: Objective) -> None:
    from ringsched.search.exact.instance import count_options

    num_jobs, num_links = len(problem.queued), len(problem.network.uplink_gbps)
    reason = ""
    if num_jobs > MOST_JOBS:
        reason = f"at most {MOST_JOBS} jobs, not {num_jobs}"
    elif num_links > MOST_LINKS:
        reason = f"at most {MOST_LINKS} servers and switches, not {num_links}"
    elif count_options(problem) > MOST_OPTIONS:
        reason = f"jobs that can be placed in at most {MOST_OPTIONS} ways, not {count_options(problem)}"
    if reason:
        bound_s = lower_bounds(problem, objective)[0].value_s
        raise TooLarge(f"policy 'exact' takes {reason}; use policy 'search'", lower_bound_s=bound_s)


def _best_simple_run(problem: Problem, measure: Measure, bound: float) -> Run:
    """Return the best of some plans to begin with, or the first that no plan can beat."""
    best: Run | None = None
    least = math.inf
    for order in ORDERS:
        runner = Runner(problem, priorities(problem, order))
        for rule in (BEST_FIT, FIRST_FIT, LEAST_LOADED):
            runner.run(rule)
            run = runner.last()
            value = measure.value(run.finishes)
            if best is None or value < least:
                best, least = run, value
            if least <= bound:
                return best
    assert best is not None
    return best


def _known_bound(problem: Problem, objective: Objective) -> float:
    """Return the best lower bound in the units of the measure."""
    from ringsched.search.exact.measure import from_seconds

    return from_seconds(problem, objective, lower_bounds(problem, objective)[0].value_s)


def _words(proof: Proof, best_s: float, bound_s: float) -> str:
    if proof.complete:
        return "optimal"
    percent = math.ceil((best_s / bound_s - 1) * 1e4) / 1e2
    return f"within {percent:g} % of any plan"
