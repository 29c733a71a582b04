"""A training job."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ringsched.errors import InputError
from ringsched.model.checks import MAX_GPUS, MAX_INTEGER, Replaceable, choice, integer, number, settle, text
from ringsched.model.eligibility import (
    ANY_LAYOUT,
    ANY_PARTS,
    BALANCED,
    EQUAL_PARTS,
    LAYOUTS,
    NO_LABELS,
    Labels,
    labels,
)
from ringsched.model.placement import Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Replaceable):
    """A ring-all-reduce training job, in the paper's terms.

    Parameters
    ----------
    name
        Unique in its scenario.
    gpus, iterations
        G_j and F_j, both >= 1.
    gradient_mb
        m_j in MB of 10^6 bytes.
    minibatch, forward_ms, backward_ms
        M_j samples per GPU, Δf_j per sample, Δb_j per iteration.
    buckets
        Into how many buckets the framework cuts the gradients. Each is sent while the backward pass
        computes the next. 1, the default, is the paper: nothing overlaps.
    submit_s
        When the job becomes known.
    weight
        Its weight in weighted objectives.
    server_slack
        λ_j >= 1, used by LBSGF (Alg. 3).
    estimate_s
        What the user believes it takes; the best-case duration if absent.
    running_on, done_iterations
        Set for a job that runs already, since time 0: its GPUs, and what it has behind it.
    requires
        Labels that each of its servers must have.
    layout
        "any", or "balanced": the same number of GPUs on every server that it uses.
    servers
        On exactly how many servers it must be; its layout is then balanced. It divides `gpus`.
    limit_s
        Its time limit: it ends so long after its start if it has not ended before.
    priority
        Its class; the order `priority-first` starts higher classes first.
    deadline_s
        When it should have ended, a time like `submit_s`.

    Examples
    --------
    >>> job = Job(
    ...     name="a", gpus=4, iterations=100, gradient_mb=438, minibatch=4, forward_ms=15, backward_ms=119
    ... )
    >>> job.compute_s, job.remaining_iterations
    (0.179, 100)
    """

    name: str
    gpus: int
    iterations: int
    gradient_mb: float
    minibatch: int
    forward_ms: float
    backward_ms: float
    submit_s: float = 0.0
    weight: float = 1.0
    server_slack: float = 1.0
    estimate_s: float | None = None
    running_on: Placement | None = None
    done_iterations: int = 0
    buckets: int = 1
    requires: Labels = NO_LABELS
    layout: str = ANY_LAYOUT
    limit_s: float | None = None
    priority: int = 0
    deadline_s: float | None = None
    servers: int | None = None

    def __post_init__(self) -> None:
        if self._is_usual():
            return
        settle(self, name=text(self.name, "name"))
        try:
            self._check()
        except InputError as error:
            raise error.located(place=f"job {self.name!r}") from None

    def _is_usual(self) -> bool:
        """Whether `_check` would find nothing to say or to settle, seen at a glance.

        A trace has a million jobs, and looking at each field by itself takes five times as long. What
        is in doubt, zeros for one, is left to `_check`.
        """
        return (
            type(self.name) is str
            and self.name.isprintable()
            and self.name.strip() != ""
            and type(self.gpus) is type(self.iterations) is type(self.minibatch) is int
            and 1 <= self.gpus <= MAX_GPUS
            and 1 <= self.iterations <= MAX_INTEGER
            and 1 <= self.minibatch <= MAX_INTEGER
            and type(self.gradient_mb) is type(self.forward_ms) is type(self.backward_ms) is float
            and type(self.submit_s) is type(self.weight) is type(self.server_slack) is float
            and 0 < self.gradient_mb < math.inf
            and 0 < self.forward_ms < math.inf
            and 0 < self.backward_ms < math.inf
            and 0 < self.submit_s < math.inf
            and 0 < self.weight < math.inf
            and 1 <= self.server_slack < math.inf
            and self.compute_s > 0
            and self.estimate_s is None
            and self.running_on is None
            and type(self.buckets) is int
            and 1 <= self.buckets <= MAX_INTEGER
            and type(self.done_iterations) is int
            and self.done_iterations == 0
            and self.requires is NO_LABELS
            and self.layout == ANY_LAYOUT
            and self.limit_s is None
            and type(self.priority) is int
            and self.priority == 0
            and self.deadline_s is None
            and self.servers is None
        )

    def _check(self) -> None:
        settle(
            self,
            gpus=integer(self.gpus, "gpus", minimum=1, maximum=MAX_GPUS),
            iterations=integer(self.iterations, "iterations", minimum=1),
            gradient_mb=number(self.gradient_mb, "gradient_mb", minimum=0),
            minibatch=integer(self.minibatch, "minibatch", minimum=1),
            forward_ms=number(self.forward_ms, "forward_ms", minimum=0),
            backward_ms=number(self.backward_ms, "backward_ms", minimum=0),
            submit_s=number(self.submit_s, "submit_s", minimum=0),
            weight=number(self.weight, "weight", above=0),
            server_slack=number(self.server_slack, "server_slack", minimum=1),
            done_iterations=integer(self.done_iterations, "done_iterations", minimum=0),
            buckets=integer(self.buckets, "buckets", minimum=1),
            requires=labels(self.requires, "requires"),
            layout=choice(self.layout, "layout", LAYOUTS),
            priority=integer(self.priority, "priority"),
        )
        if self.compute_s <= 0:
            raise InputError(
                "must not be 0 together with backward_ms: an iteration takes some time", field="forward_ms"
            )
        if self.estimate_s is not None:
            settle(self, estimate_s=number(self.estimate_s, "estimate_s", above=0))
        if self.limit_s is not None:
            settle(self, limit_s=number(self.limit_s, "limit_s", above=0))
        if self.deadline_s is not None:
            settle(self, deadline_s=number(self.deadline_s, "deadline_s", minimum=0))
        if self.servers is not None:
            settle(self, servers=integer(self.servers, "servers", minimum=1), layout=BALANCED)
            if self.gpus % self.servers:
                raise InputError(f"must divide gpus = {self.gpus}, not be {self.servers}", field="servers")
        if self.running_on is None:
            if self.done_iterations:
                raise InputError(
                    "needs running_on: only a running job has iterations done", field="done_iterations"
                )
        else:
            settle(self, running_on=self._checked_running_on(self.running_on))

    def _checked_running_on(self, running_on: Mapping[str, Sequence[int]]) -> Placement:
        try:
            placement = Placement(running_on)
        except InputError as error:
            field = f"running_on.{error.field}" if error.field else "running_on"
            raise InputError(error.problem, field=field) from None
        for server, held in placement.items():
            if not held:
                raise InputError("must name at least one GPU", field=f"running_on.{server}")
        if placement.num_gpus != self.gpus:
            raise InputError(
                f"must name as many GPUs as the job has, {self.gpus}, not {placement.num_gpus}",
                field="running_on",
            )
        if self.done_iterations >= self.iterations:
            raise InputError(
                f"must be below iterations = {self.iterations}, not {self.done_iterations}",
                field="done_iterations",
            )
        if self.submit_s > 0:
            raise InputError("must be 0 for a running job: it runs since time 0", field="submit_s")
        return placement

    @property
    def is_running(self) -> bool:
        """Whether the job runs already at time 0."""
        return self.running_on is not None

    @property
    def parts(self) -> int:
        """Into how many equal parts it must be split: so many, EQUAL_PARTS, or ANY_PARTS, also if it runs."""
        if self.layout == ANY_LAYOUT or self.running_on is not None:
            return ANY_PARTS
        return EQUAL_PARTS if self.servers is None else self.servers

    @property
    def remaining_iterations(self) -> int:
        """Iterations still to be done from time 0 on."""
        return self.iterations - self.done_iterations

    @property
    def compute_s(self) -> float:
        """Forward and backward time of one iteration: Δf_j M_j + Δb_j."""
        return (self.forward_ms * self.minibatch + self.backward_ms) * 1e-3

    @property
    def backward_s(self) -> float:
        """Backward time of one iteration, behind which communication can hide."""
        return self.backward_ms * 1e-3

    def expanded(self) -> dict[str, Any]:
        """Return the fields as a scenario file writes them, defaults filled in, absent optionals left out."""
        always = {  # written out, as a trace has a million jobs
            "name": self.name,
            "gpus": self.gpus,
            "iterations": self.iterations,
            "gradient_mb": self.gradient_mb,
            "minibatch": self.minibatch,
            "forward_ms": self.forward_ms,
            "backward_ms": self.backward_ms,
            "submit_s": self.submit_s,
            "weight": self.weight,
            "server_slack": self.server_slack,
        }
        return always | self.optionals()

    def optionals(self) -> dict[str, Any]:
        """Return those of the expanded fields that most jobs do not have."""
        fields: dict[str, Any] = {}
        if self.estimate_s is not None:
            fields["estimate_s"] = self.estimate_s
        if self.running_on is not None:
            fields["running_on"] = {server: list(held) for server, held in self.running_on.items()}
            fields["done_iterations"] = self.done_iterations
        if self.buckets != 1:
            fields["buckets"] = self.buckets
        if self.requires is not NO_LABELS and self.requires:
            fields["requires"] = self.requires.expanded()
        if self.layout != ANY_LAYOUT:
            fields["layout"] = self.layout
        if self.limit_s is not None:
            fields["limit_s"] = self.limit_s
        if self.priority:
            fields["priority"] = self.priority
        if self.deadline_s is not None:
            fields["deadline_s"] = self.deadline_s
        if self.servers is not None:
            fields["servers"] = self.servers
        return fields


class Restriction(NamedTuple):
    """Which GPUs a job may have: those of servers with these labels, split into so many parts."""

    requires: Labels
    parts: int


UNRESTRICTED = Restriction(NO_LABELS, ANY_PARTS)


def restricted_jobs(jobs: Sequence[Job]) -> dict[int, Restriction]:
    """Return of the jobs that may not have any GPUs which they may have; a running job is where it is."""
    requires, layouts = [job.requires for job in jobs], [job.layout for job in jobs]
    if requires.count(NO_LABELS) == layouts.count(ANY_LAYOUT) == len(jobs):
        return {}  # the usual case, for which counting is faster
    return {
        at: Restriction(job.requires, job.parts)
        for at, job in enumerate(jobs)
        if (job.requires is not NO_LABELS or job.layout != ANY_LAYOUT) and job.running_on is None
    }
