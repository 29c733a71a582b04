"""What every policy is made of, asked for and answers with: queue orders, settings, candidates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import mul
from pathlib import Path
from traceback import extract_tb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringsched.contention.sharing import is_counting, model_of
from ringsched.engine.problem import Problem
from ringsched.engine.state import Run
from ringsched.errors import InputError, PolicyError, RingschedError, UnknownName
from ringsched.model import Certificate, Contention, Job, Plan
from ringsched.model.checks import settle
from ringsched.model.contention import model_names
from ringsched.model.objective import MAKESPAN, Objective
from ringsched.rules.runner import Runner
from ringsched.rules.table import Rule

# Sort key of every job; ties go to the lower index.
Keys = Callable[[Problem], "Sequence[float] | NDArray[Any]"]

ANY_ORDER = "any"  # of policies that look for the best one
OWN_ORDER = "own"  # of policies in Python that have a method `order`

ORDERS: Mapping[str, Keys] = {
    "fifo": lambda problem: problem.columns.release,
    "smallest-first": lambda problem: problem.columns.gpus,
    "shortest-first": lambda problem: problem.columns.best_case,
    "longest-first": lambda problem: -problem.columns.best_case,
    "smallest-area-first": lambda problem: list(map(mul, problem.gpus, problem.best_case)),
    "priority-first": lambda problem: _then_by_release(problem, lambda job: -job.priority),
    "deadline-first": lambda problem: _then_by_release(problem, _deadline_s),
}


def _deadline_s(job: Job) -> float:
    return math.inf if job.deadline_s is None else job.deadline_s


def _then_by_release(problem: Problem, key_of: Callable[[Job], float]) -> list[int]:
    """Return the place of each job by a key, and by release among equals."""
    keys = [
        (key_of(job), release) for job, release in zip(problem.scenario.jobs, problem.release, strict=True)
    ]
    place = {key: at for at, key in enumerate(sorted(set(keys)))}
    return [place[key] for key in keys]


def order_named(name: str) -> str:
    """Return `name` if it is an order, or say which there are."""
    if name not in ORDERS:
        raise UnknownName("order", name, ORDERS)
    return name


def priorities(problem: Problem, order: str) -> NDArray[Any]:
    """Return the sort key of every job under a named order."""
    return np.asarray(ORDERS[order](problem))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """When a search that could go on for ever ends: whichever comes first.

    Parameters
    ----------
    time_limit_s
        Seconds of search.
    max_schedules
        Schedules tried; the same plan then comes out on any number of cores.
    gap
        The objective over the bound that is good enough; 1 is the best possible.
    when
        A function that is given the `Progress` several times a second, and says True to end.
    """

    time_limit_s: float | None = None
    max_schedules: int | None = None
    gap: float | None = None
    when: Callable[[Progress], bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """A stop criterion as a policy is given it, and what else bounds its effort."""

    time_limit_s: float | None = None
    iterations: int | None = None
    gap: float = 1.0
    threads: int | None = None  # None for as many as there are cores
    should_stop: Callable[[], bool] = lambda: False
    when: Callable[[Progress], bool] | None = None  # looks at the progress and says when to end
    quick_bounds: bool = False  # no effort to prove a plan the best possible, where many are made


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a search is; times and values in seconds, but of `max-slowdown` values are ratios."""

    value_s: float
    bound_s: float
    iterations: int
    elapsed_s: float
    objective: str = MAKESPAN.name

    @property
    def gap(self) -> float:
        """The best value so far over the bound."""
        return max(1.0, self.value_s / self.bound_s) if self.bound_s else 1.0


class Observer:
    """Sees how far something is that takes long, and may ask it to end; every method may be left out."""

    better_every_s = 0.0  # better plans come no sooner after one another

    def trial(self) -> None:
        """Called after every trial of a bisection."""

    def progress(self, progress: Any) -> None:
        """Called several times a second: with a `Progress` by a search, a `Standing` by a simulation."""

    def better(self, plan: Plan) -> None:
        """Called when a search has found a better plan."""

    def should_stop(self) -> bool:
        """Asked all the time; a search ends with the best plan so far when it says True."""
        return False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A run and the parameters that led to it."""

    run: Run
    params: Mapping[str, float | int | str]
    ended: str | None = None  # why a search that could have gone on did not


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a caller may fix; None leaves it to the policy."""

    order: str
    kappa: int | None = None
    theta: int | None = None
    slack: float | None = None
    max_wait_s: float | None = None  # jobs that have waited longer go first
    seed: int = 0
    # What a search that can choose improves; the bisecting ones take the makespan.
    objective: Objective = MAKESPAN
    on_trial: Callable[[], None] = lambda: None  # called after every trial, for progress
    limits: Limits = field(default_factory=Limits)
    on_progress: Callable[[Progress], None] = lambda _: None
    on_better: Callable[[Callable[[], Candidate]], None] = lambda _: None


Solve = Callable[[Problem, Settings], Candidate | None]

Certify = Callable[[Problem, Candidate, float], Certificate]


def _no_kappa(_: Problem) -> int:
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Queue order x placement rule x search: an entry of the table, or one of the user's own.

    Parameters
    ----------
    order
        Of the queue, unless the caller asks for another.
    placement
        The rule by which jobs are placed one after another; None if its search decides.
    kappa
        What the rule takes for κ in a problem.
    solve
        How `plan` makes a plan; None for one pass over the queue with the rule.
    rule, search, summary
        What it does, in words.
    options
        Those that mean something to `plan`, as the command names them.
    online
        Those that mean something to `simulate`; None if it knows nothing of jobs that arrive.
    replans
        In a simulation it re-plans when jobs arrive, instead of dispatching by its rule.
    rolls
        It re-plans by improving the list in force.
    """

    name: str
    order: str = "fifo"
    placement: Rule | None = None
    kappa: Callable[[Problem], int] = _no_kappa
    solve: Solve | None = None
    rule: str = ""
    search: str = "none"
    summary: str = ""
    options: frozenset[str] = frozenset()
    online: frozenset[str] | None = None
    plans: bool = True
    replans: bool = False
    rolls: bool = False
    counting_only: bool = False  # it plans only where one job less on a link never slows another
    certify: Certify | None = None  # given a bound on the makespan, in the clock's units

    def __post_init__(self) -> None:
        if self.solve is None and self.placement is None:
            raise InputError("needs a placement rule, or a way to solve", field=f"policy {self.name!r}")
        if self.order not in ((*ORDERS, ANY_ORDER, OWN_ORDER) if self.solve else ORDERS):
            raise UnknownName("order", self.order, ORDERS, field=f"policy {self.name!r}")
        if not self.rule and self.placement is not None:
            settle(self, rule=self.placement.name)

    def candidate(self, problem: Problem, settings: Settings) -> Candidate | None:
        """Return the best run it finds, or None if there is none within the limits."""
        if self.solve is not None:
            return self.solve(problem, settings)
        assert self.placement is not None
        seed = settings.seed if self.placement.draws else None
        return solve_once(problem, settings, self.placement, kappa=self.kappa(problem), seed=seed)

    @property
    def may_starve(self) -> bool:
        """Whether jobs that keep arriving can keep another from starting for ever, in its own order."""
        return self.order != "fifo"

    @property
    def models(self) -> tuple[str, ...]:
        """The contention models, by name, under which it can plan."""
        return tuple(name for name in model_names() if is_counting(name) or not self.counting_only)

    def check_model(self, contention: Contention) -> None:
        """Raise if the policy cannot plan under this contention model."""
        if self.counting_only and not model_of(contention).is_counting:
            raise InputError(
                f"{contention.model_name!r} is not supported by policy {self.name!r}; "
                f"use {' or '.join(self.models)}, or another policy",
                field="contention.model",
            )


def solve_once(
    problem: Problem,
    settings: Settings,
    rule: Rule,
    *,
    kappa: int = 0,
    theta: int | None = None,
    seed: int | None = None,
    params: Mapping[str, int] | None = None,
) -> Candidate | None:
    """Go through the queue once with a rule."""
    runner = Runner(problem, priorities(problem, settings.order), seed=seed)
    with reported_errors(f"rule {rule.name!r}", rule.own):
        makespan = runner.run(rule, theta=theta, kappa=kappa)
    settings.on_trial()
    if makespan is None:
        return None
    if rule.own is not None:
        check_gpus(problem, runner.last(), rule)
    return Candidate(runner.last(), params or {})


@contextmanager
def reported_errors(who: str, function: object) -> Iterator[None]:
    """Turn an exception of the user's function into one sentence with its file and line, if there is one."""
    try:
        yield
    except RingschedError:
        raise
    except Exception as error:
        if function is None:
            raise
        path = getattr(getattr(function, "__code__", None), "co_filename", None)
        frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename == path]
        where = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}: " if frames else ""
        what = f"{type(error).__name__}: {error}".partition("\n")[0].rstrip(": ")
        raise PolicyError(f"{who}: {where}{what}") from error


def check_gpus(problem: Problem, run: Run, rule: Rule) -> None:
    """Raise if a rule of the user's gave a GPU twice, or to two jobs at once."""
    free_at: dict[int, float] = {}
    for job in sorted(range(problem.num_jobs), key=lambda job: (run.starts[job], run.finishes[job])):
        held = set(run.gpus[job])
        if len(held) < problem.gpus[job] or not all(problem.available[gpu] for gpu in held):
            raise _wrong(problem, rule, job, "names a GPU twice, or one that cannot be used")
        if any(free_at.get(gpu, -math.inf) > run.starts[job] for gpu in held):
            raise _wrong(problem, rule, job, "names a GPU that another job holds")
        free_at.update(dict.fromkeys(held, run.finishes[job]))


def _wrong(problem: Problem, rule: Rule, job: int, what: str) -> PolicyError:
    return PolicyError(f"rule {rule.name!r}, job {problem.scenario.jobs[job].name!r}: {what}")
