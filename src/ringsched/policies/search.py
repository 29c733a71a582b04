"""The search: as good a plan as time allows, from the best that simple rules find."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING

from ringsched.bounds.lower_bound import lower_bounds, quick_bound_s
from ringsched.engine.problem import Problem, objective_value
from ringsched.engine.state import Run
from ringsched.errors import InputError
from ringsched.jit import is_settled
from ringsched.model.objective import Objective
from ringsched.model.plan import GOOD_ENOUGH, INTERRUPTED, PROVED, STALLED, TIME
from ringsched.policies.exact import is_provable, proof_beside
from ringsched.policies.policy import (
    ANY_ORDER,
    ORDERS,
    Candidate,
    Limits,
    Progress,
    Settings,
    Solve,
    priorities,
    solve_once,
)
from ringsched.policies.single_rule import solve_first_fit, solve_list_scheduling, solve_random
from ringsched.policies.sjf_bco import solve_sjf_bco
from ringsched.rules.table import BEST_FIT
from ringsched.rules.trial import run_trial
from ringsched.search.modes import ADAPTIVE, FLEXIBLE, FREE, LEAST_WORK, TIGHT

if TYPE_CHECKING:
    from ringsched.search.exact.prove import Proof

TIME_LIMIT_S = 10.0
_STARTS_SHARE = 0.25  # of the time: for the solutions that chains begin with
_QUICK_PROOF_SHARE = 0.2  # before the bounds and the search of a small queue
_PROOF_SHARE = 0.5  # at least, after it
_PROOF_S = 2.0  # at most, or as long as the search took
_OTHERS_SHARE = 0.15  # for policies that no solution of the search expresses
_FEWEST_STARTS = 16
_SCHEDULES_PER_START = 4
_SCHEDULES_FOR_OTHERS = 400  # with fewer, only the paper's algorithm is tried besides
# Jobs times servers up to which policies that bisect take no time to speak of.
_SMALL = 300_000
_MANY_JOBS = 1000
_LOOK_S = 0.05  # how often Ctrl-C is looked for
# Policies that a solution expresses, by its mode, and those that it does not.
_BY_MODE = {
    TIGHT: "best fit",
    FREE: "free-links",
    FLEXIBLE: "contention-aware",
    ADAPTIVE: "adaptive-overlap",
    LEAST_WORK: "lwf",
}
_OTHERS: dict[str, Solve] = {
    "sjf-bco": solve_sjf_bco,
    "list-scheduling": solve_list_scheduling,
    "first-fit": solve_first_fit,
    "random": solve_random,
}


def solve_search(problem: Problem, settings: Settings) -> Candidate:
    """Return the best plan found; never a worse one than a simple policy that was tried, in any order."""
    if settings.order != ANY_ORDER:
        raise InputError("is not allowed with policy 'search', which looks for the best order", field="order")
    return _Search(problem, settings, time.monotonic()).solve()


@dataclass(slots=True)
class _Search:
    """One search: the best run so far, and what is left of the time."""

    problem: Problem
    settings: Settings
    began_s: float
    bound: _Bound = field(init=False)

    def solve(self) -> Candidate:
        problem, settings = self.problem, self.settings
        if settings.max_wait_s is not None and problem.queued:  # which simple policies do not know
            self.bound = self._new_bound()
            return self._improved(None)
        is_ready = is_settled(run_trial)
        simple = self._best_fit()
        if not is_ready:  # the time of the compiler does not count
            self.began_s = time.monotonic()
        proof = self._quick_proof(simple) if self._may_prove(simple) else None
        if proof is not None and proof.run is not simple:
            simple = proof.run
            settings.on_better(partial(Candidate, simple, {"iterations": 0}))
        self.bound = self._new_bound()
        if self._is_enough(self._value_s(simple)) or not problem.queued:
            return self._good_enough(simple)
        self._report(self._value_s(simple))
        if proof is None:
            return self._improved(simple)
        if proof.complete:
            return _proved(simple, {"iterations": 0})
        return self._proved_if_possible(self._improved(simple, 1 - _PROOF_SHARE))

    def _new_bound(self) -> _Bound:
        return _Bound(self.problem, self.settings.objective, self.settings.limits)

    def _is_enough(self, value_s: float) -> bool:
        return value_s <= self.bound.value_s * self.settings.limits.gap

    def _good_enough(self, run: Run) -> Candidate:
        return Candidate(run, {"iterations": 0}, self._ending(GOOD_ENOUGH, run))

    def _ending(self, ended: str, run: Run) -> str:
        """Return why a search ended: of a plan that is as good as the bound, that no plan can be better."""
        self.bound.wait()
        return PROVED if self._value_s(run) <= self.bound.value_s * (1 + 1e-9) else ended

    @property
    def _limit_s(self) -> float | None:
        """The time limit; None if something else ends the search."""
        limits = self.settings.limits
        if limits.time_limit_s is None and limits.iterations is None and limits.when is None:
            return TIME_LIMIT_S
        return limits.time_limit_s

    def _left_s(self, share: float = 1.0) -> float:
        """Return a share of the time that is left; infinity without a limit."""
        if self._limit_s is None:
            return math.inf
        return share * max(0.0, self._limit_s - (time.monotonic() - self.began_s))

    def _best_fit(self) -> Run:
        """Return the best of what can be had at once."""
        runs: list[Run] = []
        for order in ORDERS:
            candidate = solve_once(self.problem, self._in_order(order), BEST_FIT)
            assert candidate is not None  # best fit always comes to an end
            runs.append(candidate.run)
            best = min(runs, key=lambda run: (self._value_s(run), math.fsum(run.finishes)))
            if best is runs[-1]:
                self.settings.on_better(partial(Candidate, best, {"iterations": 0}))
        return best

    def _in_order(self, order: str) -> Settings:
        settings = self.settings
        return Settings(order=order, seed=settings.seed, on_trial=settings.on_trial)

    def _may_prove(self, simple: Run) -> bool:
        """Whether the queue is so small that a proof may find what a search alone might miss.

        Only where a clock ends the search: with a number of schedules, plans stay as they are.
        """
        limits, objective = self.settings.limits, self.settings.objective
        if limits.iterations is not None or limits.when is not None or limits.quick_bounds:
            return False
        if not self.problem.queued or not is_provable(self.problem, objective):
            return False
        return self._value_s(simple) > quick_bound_s(self.problem, objective) * limits.gap

    def _quick_proof(self, simple: Run) -> Proof:
        """Return what a proof finds in a short time, before the bounds, which may take the rest of it."""
        limit_s = self._left_s(_QUICK_PROOF_SHARE)
        return proof_beside(self.problem, self.settings, simple, limit_s, is_quick=True)

    def _proved_if_possible(self, found: Candidate) -> Candidate:
        """Return what a proof finds that begins with the plan of the search, in the time that is left."""
        elapsed_s = time.monotonic() - self.began_s
        time_limit_s = min(self._left_s(), max(_PROOF_S, elapsed_s))
        if found.ended not in (STALLED, TIME) or time_limit_s <= 0:
            return found
        value_s, iterations = self._value_s(found.run), int(found.params["iterations"])

        def on_step() -> None:
            self._report(value_s, iterations, time.monotonic() - self.began_s)

        proof = proof_beside(self.problem, self.settings, found.run, time_limit_s, on_step=on_step)
        if proof.complete:
            better = _proved(proof.run, found.params)
        else:
            better = replace(found, run=proof.run, ended=self._ended_proof(found.ended, proof.run))
        if proof.run is not found.run:
            value_s = self._value_s(proof.run)
            self.settings.on_better(lambda: better)
            on_step()
        return better

    def _ended_proof(self, ended: str | None, run: Run) -> str:
        """Return why a proof ended that is not complete, after a search that ended so."""
        if self._is_enough(self._value_s(run)):
            ended = GOOD_ENOUGH
        elif self.settings.limits.should_stop():
            ended = INTERRUPTED
        assert ended is not None
        return self._ending(ended, run)

    def _other_runs(self, untried: dict[str, list[str]]) -> Iterator[Run]:
        """Yield runs of those policies, as far as the time or the number of schedules allows."""
        limits = self.settings.limits
        if self.problem.num_jobs * self.problem.num_servers > _SMALL:
            return
        few = limits.iterations is not None and limits.iterations < _SCHEDULES_FOR_OTHERS
        end_s = time.monotonic() + self._left_s(_OTHERS_SHARE)
        for name, solve in _OTHERS.items():
            for order in ("smallest-first",) if few else ORDERS:
                if time.monotonic() > end_s or limits.should_stop():
                    return
                candidate = solve(self.problem, self._in_order(order))
                untried[name].remove(order)
                if candidate is not None:  # its makespan may not be below the horizon
                    yield candidate.run
                if few:
                    return

    def _improved(self, simple: Run | None, share: float = 1.0) -> Candidate:
        """Return what the search finds in a share of the time that is left."""
        from ringsched.search.anytime import AnytimeSearch, Stop
        from ringsched.search.anytime import Progress as Count

        problem, settings, limits = self.problem, self.settings, self.settings.limits
        schedules, max_wait_s = limits.iterations, settings.max_wait_s
        search = AnytimeSearch(
            problem,
            settings.objective,
            target=self.bound.value_s,
            seed=settings.seed,
            num_threads=limits.threads or _num_cores(),
            priorities={order: priorities(problem, order).tolist() for order in ORDERS},
            most_starts=math.inf
            if schedules is None
            else max(_FEWEST_STARTS, schedules // _SCHEDULES_PER_START),
            max_wait_s=math.inf if max_wait_s is None else max_wait_s,
            starts_s=self._left_s(_STARTS_SHARE),
            enough_s=self.bound.value_s * limits.gap,
            num_schedules=math.inf if schedules is None else schedules,
            asked=limits.should_stop,
        )
        # Not the compiler's time, but up to half of the limit: a user waits for both.
        self.began_s += max(0.0, search.compiling_s - (self._limit_s or 0.0) / 2)
        untried: dict[str, list[str]] = {}  # orders of policies that no solution expresses
        if simple is not None and not self._is_enough(search.value_s):
            untried = {name: list(ORDERS) for name in _OTHERS}
            simple = min([simple, *self._other_runs(untried)], key=self._value_s)
        simple_s = math.inf if simple is None else self._value_s(simple)
        names = [name for mode, name in _BY_MODE.items() if mode in search.untried]
        names += [name for name, orders in untried.items() if orders]
        params: dict[str, float | int | str] = {"untried": ", ".join(names)} if names else {}
        if max_wait_s is not None:
            params["max_wait_s"] = max_wait_s

        def best() -> Candidate:
            run = search.best() if simple is None or search.value_s < simple_s else simple
            return Candidate(run, {"iterations": search.iterations} | params)

        def on_progress(count: Count) -> None:
            elapsed_s = time.monotonic() - self.began_s
            self._report(min(count.value_s, simple_s), count.iterations, elapsed_s)

        if search.value_s < simple_s:
            settings.on_better(best)
        stop = Stop(
            time_limit_s=None if self._limit_s is None else self._left_s(share),
            iterations=schedules,
            is_enough=self._is_enough,
            asked=limits.should_stop,
        )
        ended = search.run(stop, on_progress, lambda: settings.on_better(best))
        found = best()
        return replace(found, ended=self._ending(ended, found.run))

    def _report(self, value_s: float, iterations: int = 0, elapsed_s: float = 0.0) -> None:
        self.settings.on_progress(
            Progress(
                value_s=value_s,
                bound_s=self.bound.value_s,
                iterations=iterations,
                elapsed_s=elapsed_s,
                objective=self.settings.objective.name,
            )
        )

    def _value_s(self, run: Run) -> float:
        return objective_value(self.problem, run.finishes, self.settings.objective)


def _proved(run: Run, params: Mapping[str, float | int | str]) -> Candidate:
    return Candidate(run, {**params, "proof": "optimal"}, PROVED)


class _Bound:
    """The best lower bound that is known so far.

    Of many jobs, all bounds together take seconds. If only a clock ends the search, they are computed beside
    it. Otherwise its plan must not depend on how soon they are known.
    """

    def __init__(self, problem: Problem, objective: Objective, limits: Limits) -> None:
        self._problem, self._objective, self._should_stop = problem, objective, limits.should_stop
        self._thread: Thread | None = None
        self.value_s = quick_bound_s(problem, objective)
        if limits.quick_bounds:
            return
        by_clock = limits.iterations is None and limits.when is None
        if by_clock and problem.num_jobs > _MANY_JOBS:
            self._thread = Thread(target=self._compute, daemon=True)
            self._thread.start()
        else:
            self._compute()

    def _compute(self) -> None:
        self.value_s = lower_bounds(self._problem, self._objective)[0].value_s

    def wait(self) -> None:
        """Wait until all bounds are known, or someone presses Ctrl-C."""
        while self._thread is not None and self._thread.is_alive() and not self._should_stop():
            self._thread.join(_LOOK_S)


def _num_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
