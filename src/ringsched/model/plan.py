"""A plan, the only thing that leaves the core, and what it is made of: placements, bounds, a certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import TypeVar

from ringsched.errors import InputError
from ringsched.model.checks import Replaceable, instance, integer, number, sequence, settle, shown, text
from ringsched.model.objective import MAKESPAN, objective_named
from ringsched.model.placement import Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """No plan can do better than `value_s`; `terms` say why."""

    name: str
    value_s: float
    terms: Mapping[str, float | int | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settle(self, name=text(self.name, "name"), value_s=number(self.value_s, "value_s"))
        terms = instance(self.terms, "terms", Mapping)  # type: ignore[type-abstract]
        for key, value in terms.items():
            if not isinstance(value, str):
                number(value, f"terms.{key}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate(Replaceable):
    """The figures of the approximation theorem of SJF-BCO (section 6), which is not true as stated.

    Parameters
    ----------
    theta, max_load
        θ, and W_max: the largest load that jobs charge to a GPU; in slots, or seconds when continuous.
    largest_job
        n_g, the most GPUs a job has.
    worst_over_best
        φ, the largest ratio of a job's worst case to its best case.
    overestimate, underestimate
        u >= 1 and l <= 1: estimates lie between l times the worst and u times the best case.
    claimed_ratio
        n_g φ u / l: how far above the optimum the theorem allows the makespan to be.
    measured_ratio
        The makespan over its lower bound: how far above the optimum it is at most.
    """

    theta: int
    max_load: float
    largest_job: int
    worst_over_best: float
    overestimate: float
    underestimate: float
    claimed_ratio: float
    measured_ratio: float

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            whole = each.name in ("theta", "largest_job")
            settle(self, **{each.name: integer(value, each.name) if whole else number(value, each.name)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Start and finish of every job in seconds, in the scenario's order, and the totals."""

    starts_s: tuple[float, ...]
    finishes_s: tuple[float, ...]
    makespan_s: float
    mean_completion_s: float
    weighted_completion_s: float


_Object = TypeVar("_Object")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedJob(Replaceable):
    """Start, finish and GPUs of one job; `ring` lists its workers in ring order."""

    name: str
    start_s: float
    finish_s: float
    gpus: Placement
    ring: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        settle(
            self,
            name=text(self.name, "name"),
            start_s=number(self.start_s, "start_s"),
            finish_s=number(self.finish_s, "finish_s"),
            gpus=instance(self.gpus, "gpus", Placement),
            ring=tuple(
                _worker(worker, f"ring[{at}]")
                for at, worker in enumerate(sequence(self.ring, "ring", "[server, GPU]"))
            ),
        )


def _worker(worker: object, field: str) -> tuple[str, int]:
    if not isinstance(worker, Sequence) or isinstance(worker, str) or len(worker) != 2:
        raise InputError(f"must be [server, GPU], not {shown(worker)}", field=field)
    return text(worker[0], field), integer(worker[1], field)


def _parameter(value: object, field: str) -> float | int | str:
    if isinstance(value, str):
        return value
    return integer(value, field) if isinstance(value, Integral) else number(value, field)


def _all(values: object, field: str, kind: type[_Object]) -> tuple[_Object, ...]:
    return tuple(
        instance(value, f"{field}[{at}]", kind) for at, value in enumerate(sequence(values, field, field))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Replaceable):
    """A placement and a start for every job, in the scenario's order, with what they lead to.

    Whether it is *right* is for the verifier to say; here only the form is checked. Bound and gap are those
    of the objective. `weighted_completion_s` is there if the weights differ, or if it is the objective.
    """

    scenario_sha256: str
    policy: str
    order: str | None = None
    params: Mapping[str, float | int | str] = field(default_factory=dict)
    slack: float | None = None
    seed: int = 0
    objective: str = MAKESPAN.name
    makespan_s: float
    mean_completion_s: float
    weighted_completion_s: float | None = None
    lower_bound_s: float
    gap: float
    bounds: tuple[Bound, ...] = ()
    certificate: Certificate | None = None
    jobs: tuple[PlannedJob, ...]

    def __post_init__(self) -> None:
        settle(
            self,
            scenario_sha256=text(self.scenario_sha256, "scenario_sha256"),
            policy=text(self.policy, "policy"),
            params={
                text(key, "params"): _parameter(value, f"params.{key}")
                for key, value in instance(self.params, "params", Mapping).items()  # type: ignore[type-abstract]
            },
            seed=integer(self.seed, "seed", minimum=0),
            objective=objective_named(self.objective).name,
            bounds=_all(self.bounds, "bounds", Bound),
            jobs=_all(self.jobs, "jobs", PlannedJob),
        )
        if self.order is not None:
            settle(self, order=text(self.order, "order"))
        if self.certificate is not None:
            instance(self.certificate, "certificate", Certificate)
        if self.slack is not None:
            settle(self, slack=number(self.slack, "slack", minimum=1))
        for key in ("makespan_s", "mean_completion_s", "lower_bound_s", "gap"):
            settle(self, **{key: number(getattr(self, key), key)})
        if self.weighted_completion_s is not None:
            key = "weighted_completion_s"
            settle(self, **{key: number(self.weighted_completion_s, key)})
        field = objective_named(self.objective).field
        if getattr(self, field) is None:
            raise InputError("is missing, but is the objective", field=field)

    @property
    def objective_s(self) -> float:
        """The value of the objective."""
        value: float = getattr(self, objective_named(self.objective).field)
        return value
