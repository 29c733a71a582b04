"""A plan: the only thing that leaves the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import TypeVar

from ringsched.errors import InputError
from ringsched.model.bound import Bound
from ringsched.model.certificate import Certificate
from ringsched.model.checks import (
    Replaceable,
    instance,
    integer,
    number,
    sequence,
    settle,
    shown,
    text,
)
from ringsched.model.objective import MAKESPAN, objective_named
from ringsched.model.placement import Placement

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
