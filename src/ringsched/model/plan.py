"""A plan: the only thing that leaves the core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ringsched.model.bound import Bound
from ringsched.model.checks import Replaceable, choice, instance, integer, number, settle, text
from ringsched.model.placement import Placement

OBJECTIVES = ("makespan",)


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
                (text(server, f"ring[{at}]"), integer(gpu, f"ring[{at}]"))
                for at, (server, gpu) in enumerate(self.ring)
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Replaceable):
    """A placement and a start for every job, in the scenario's order, with what they lead to.

    Whether it is *right* is for the verifier to say; here only the form is checked.
    """

    scenario_sha256: str
    policy: str
    order: str = "fifo"
    params: Mapping[str, int] = field(default_factory=dict)
    slack: float | None = None
    seed: int = 0
    objective: str = "makespan"
    makespan_s: float
    mean_completion_s: float
    lower_bound_s: float
    gap: float
    bounds: tuple[Bound, ...] = ()
    jobs: tuple[PlannedJob, ...]

    def __post_init__(self) -> None:
        settle(
            self,
            scenario_sha256=text(self.scenario_sha256, "scenario_sha256"),
            policy=text(self.policy, "policy"),
            order=text(self.order, "order"),
            params={
                text(key, "params"): integer(value, f"params.{key}", minimum=0)
                for key, value in dict(self.params).items()
            },
            seed=integer(self.seed, "seed", minimum=0),
            objective=choice(self.objective, "objective", OBJECTIVES),
            bounds=tuple(self.bounds),
            jobs=tuple(self.jobs),
        )
        if self.slack is not None:
            settle(self, slack=number(self.slack, "slack", minimum=1))
        for key in ("makespan_s", "mean_completion_s", "lower_bound_s", "gap"):
            settle(self, **{key: number(getattr(self, key), key)})
