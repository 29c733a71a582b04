"""A plan, the only thing that leaves the core, and what it is made of: placements, bounds, a certificate."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import TYPE_CHECKING, TypeVar

from ringsched.drawing import (
    Block,
    Lane,
    draw_gantt,
    gantt_height_in,
    gantt_legend,
    panel_for,
    size_class,
    size_scale,
)
from ringsched.errors import InputError
from ringsched.formatting import (
    consecutive,
    counted,
    duration,
    frame_of,
    html_table,
    one_line,
    percent_above,
    placed,
)
from ringsched.model.checks import (
    Replaceable,
    choice,
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


Term = float | int | str | Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """No plan can do better than `value_s`; `terms` say why: numbers, names, and lists of numbers.

    It is in seconds; a bound on `max-slowdown` is a ratio.
    """

    name: str
    value_s: float
    terms: Mapping[str, Term] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settle(self, name=text(self.name, "name"), value_s=number(self.value_s, "value_s"))
        terms = instance(self.terms, "terms", Mapping)  # type: ignore[type-abstract]
        for key, value in terms.items():
            if isinstance(value, list | tuple):
                for at, each in enumerate(value):
                    number(each, f"terms.{key}[{at}]")
            elif not isinstance(value, str):
                number(value, f"terms.{key}")
        settle(
            self,
            terms={key: tuple(each) if isinstance(each, list) else each for key, each in terms.items()},
        )


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
    max_slowdown: float

    def __repr__(self) -> str:
        totals = {"makespan": self.makespan_s, "mean completion": self.mean_completion_s}
        shown = (f"{name} {duration(value_s)}" for name, value_s in totals.items())
        return one_line("Outcome", counted(len(self.starts_s), "job"), *shown)


_Object = TypeVar("_Object")
ROUNDING = 1e-7  # in percent; continuous time leaves a value a hair above its bound


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
    # A tuple is recognised faster than any other sequence.
    if not isinstance(worker, (tuple, Sequence)) or isinstance(worker, str) or len(worker) != 2:
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


# Why a search ended, and in words.
PROVED, GOOD_ENOUGH, STALLED = "proved", "gap", "stalled"
TIME, SCHEDULES, INTERRUPTED = "time", "schedules", "interrupted"
ENDINGS = {
    PROVED: "proved optimal",
    GOOD_ENOUGH: "gap reached",
    STALLED: "no further improvement",
    TIME: "time limit reached",
    SCHEDULES: "number of schedules reached",
    INTERRUPTED: "interrupted",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Replaceable):
    """A placement and a start for every job, in the scenario's order, with what they lead to.

    Whether it is *right* is for the verifier to say; here only the form is checked. Bound and gap are those
    of the objective, in seconds or, of `max-slowdown`, a ratio. `weighted_completion_s` is there if the
    weights differ, or if it is the objective. Older plans have no `max_slowdown`.
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
    max_slowdown: float | None = None
    lower_bound_s: float
    gap: float
    bounds: tuple[Bound, ...] = ()
    certificate: Certificate | None = None
    ended: str | None = None  # why its search ended, out of `ENDINGS`
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
        if self.ended is not None:
            settle(self, ended=choice(self.ended, "ended", tuple(ENDINGS)))
        if self.slack is not None:
            settle(self, slack=number(self.slack, "slack", minimum=1))
        for key in ("makespan_s", "mean_completion_s", "lower_bound_s", "gap"):
            settle(self, **{key: number(getattr(self, key), key)})
        for key in ("weighted_completion_s", "max_slowdown"):
            if getattr(self, key) is not None:
                settle(self, **{key: number(getattr(self, key), key)})
        field = objective_named(self.objective).field
        if getattr(self, field) is None:
            raise InputError("is missing, but is the objective", field=field)

    @property
    def objective_s(self) -> float:
        """The value of the objective: seconds or, of `max-slowdown`, a ratio."""
        value: float = getattr(self, objective_named(self.objective).field)
        return value

    @property
    def choices(self) -> list[str]:
        """Order, what a search chose, slack and seed in words, as far as the plan has them."""
        chosen = [] if self.order is None else [f"order {self.order}"]
        # A search counts its schedules in `iterations`, which jobs have too.
        chosen += [
            f"{'schedules' if name == 'iterations' else name} {value}"
            for name, value in self.params.items()
            if name != "iterations" or value  # none were tried if a simple plan is proved optimal
        ]
        chosen += [] if self.slack is None else [f"slack {self.slack:g}"]
        return [*chosen, f"seed {self.seed}"] if self.seed else chosen

    @property
    def quality(self) -> str:
        """What the gap means, in words.

        Examples
        --------
        >>> plan = Plan(
        ...     scenario_sha256="0",
        ...     policy="fifo",
        ...     makespan_s=12,
        ...     mean_completion_s=9,
        ...     lower_bound_s=10,
        ...     gap=1.2,
        ...     jobs=(),
        ... )
        >>> plan.quality, plan.replace(gap=1.0).quality
        ('at most 20.0 % above the best possible', 'proved optimal')
        """
        proof = self.params.get("proof")  # of a policy that knows more than the bounds do
        if proof:
            return f"{proof}, as policy {self.policy} proved"
        excess = (self.gap - 1) * 100
        if excess <= ROUNDING:
            return "proved optimal"
        return (
            f"at most {percent_above(self.gap)} above the best possible"
            if excess >= 0.1
            else "optimal within 0.1 %"
        )

    def __repr__(self) -> str:
        return one_line("Plan", *self._heading, *(f"{name} {value}" for name, value in self._result))

    @property
    def _heading(self) -> tuple[str, str]:
        return counted(len(self.jobs), "job"), f"policy {self.policy}"

    @property
    def _result(self) -> tuple[tuple[str, str], ...]:
        objective = objective_named(self.objective)
        return (
            (objective.words, objective.text(self.objective_s)),
            ("bound", objective.text(self.lower_bound_s)),
            ("gap", percent_above(self.gap)),
        )

    def _repr_html_(self) -> str:
        return html_table(
            ", ".join((*self._heading, *self.choices)),
            JOB_HEADINGS,
            len(self.jobs),
            lambda at: job_cells(self.jobs[at]),
            text=(0, len(JOB_HEADINGS) - 1),
            totals=(*self._result[:-1], ("gap", self.quality)),
            noun="jobs",
        )

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with a row for every job; `placement` is a text like `a:0-3 b:0`.

        Needs pandas (`pip install '.[frames]'` in a clone).
        """
        jobs = self.jobs
        return frame_of(
            {
                "job": [job.name for job in jobs],
                "gpus": [job.gpus.num_gpus for job in jobs],
                "servers": [len(job.gpus) for job in jobs],
                "start_s": [job.start_s for job in jobs],
                "finish_s": [job.finish_s for job in jobs],
                "duration_s": [job.finish_s - job.start_s for job in jobs],
                "placement": [placed(job.gpus) for job in jobs],
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw GPUs over time into `ax`, or into a new figure, and return the axes.

        A plan knows the servers and GPUs that its jobs use; `draw_pictures` draws all of a cluster. Time
        counts from the first release. Needs matplotlib (`pip install '.[plot]'` in a clone).
        """
        lanes = _lanes(self.jobs)
        panel = panel_for(ax, gantt_height_in(sum(lane.gpus for lane in lanes)))
        sizes = size_scale([job.gpus.num_gpus for job in self.jobs])
        # The makespan counts from the first release. An invalid plan may start before.
        last_s = max((job.finish_s for job in self.jobs), default=0.0)
        origin_s = min([last_s - self.makespan_s, *(job.start_s for job in self.jobs)])
        bound_s = self.lower_bound_s if objective_named(self.objective).is_last_finish else None
        draw_gantt(
            panel,
            lanes,
            _blocks(self.jobs, lanes, origin_s),
            sizes,
            span_s=max(last_s - origin_s, bound_s or 0.0),
            end_s=last_s - origin_s,
            bound_s=bound_s,
        )
        panel.legend(
            handles=gantt_legend(sizes, slowed=False, bound=bound_s is not None),
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=6,
            fontsize=7,
            frameon=False,
        )
        return panel


JOB_HEADINGS = ("job", "GPUs", "start", "finish", "servers:GPUs")


def job_cells(job: PlannedJob) -> tuple[str, ...]:
    """Return the row of a job under `JOB_HEADINGS`, for people."""
    times = (duration(job.start_s), duration(job.finish_s))
    return job.name, str(job.gpus.num_gpus), *times, placed(job.gpus)


def _lanes(jobs: Sequence[PlannedJob]) -> list[Lane]:
    """Return the servers that jobs use, in the order of their names, with GPUs up to the last one used."""
    num_gpus: dict[str, int] = {}
    for job in jobs:
        for server, held in job.gpus.items():
            num_gpus[server] = max(num_gpus.get(server, 0), *(gpu + 1 for gpu in held), 0)
    lanes: list[Lane] = []
    row = 0
    for server in sorted(num_gpus, key=_by_number):
        lanes.append(Lane(server, row, num_gpus[server]))
        row += num_gpus[server]
    return lanes


def _by_number(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts s2 before s10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


def _blocks(jobs: Sequence[PlannedJob], lanes: Sequence[Lane], origin_s: float) -> list[Block]:
    first_row = {lane.name: lane.row for lane in lanes}
    return [
        Block(
            name=job.name,
            size=size_class(job.gpus.num_gpus),
            start_s=job.start_s - origin_s,
            finish_s=max(job.start_s, job.finish_s) - origin_s,
            rows=[
                (first_row[server] + first, many)
                for server, held in job.gpus.items()
                for first, many in consecutive(held)
            ],
        )
        for job in jobs
    ]
