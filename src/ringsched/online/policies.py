"""All policies for jobs that arrive over time, and what a simulation is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ringsched.errors import UnknownName
from ringsched.model.objective import MEAN_COMPLETION, Objective
from ringsched.policies.policy import Limits

DEFAULT_POLICY = "fifo"
NO_BACKFILL = "none"
EASY = "easy"
BACKFILLS = (NO_BACKFILL, EASY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a simulation is."""

    num_ended: int
    num_jobs: int
    num_waiting: int
    num_plans: int
    now_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineSettings:
    """What a caller may fix."""

    order: str
    backfill: str = NO_BACKFILL
    estimate_error: float = 0.0
    every_s: float = 0.0  # no plan sooner after another
    seed: int = 0
    objective: Objective = MEAN_COMPLETION
    limits: Limits = field(default_factory=Limits)
    on_progress: Callable[[Standing], None] = lambda _: None


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlinePolicy:
    """An entry of the table: it dispatches by a rule, or follows plans that it makes again and again."""

    name: str
    order: str  # of the queue, unless the caller asks for another
    rule: str
    summary: str
    options: frozenset[str] = frozenset()  # those that mean something here, as the command names them
    planner: str | None = None  # the policy of `plan` that it plans with


_DISPATCHING = frozenset({"order"})
_PLANNING = frozenset({"every"})
_BEST_FIT = "tightest server, else fewest"

ONLINE_POLICIES: tuple[OnlinePolicy, ...] = (
    *(
        OnlinePolicy(name=name, order=name, rule=_BEST_FIT, summary=summary, options=_DISPATCHING)
        for name, summary in (
            ("fifo", "first come, first served"),
            ("smallest-first", "few GPUs first; large jobs may starve"),
            ("shortest-first", "the shortest estimate first"),
            ("longest-first", "the longest estimate first"),
            ("smallest-area-first", "the fewest estimated GPU-seconds first"),
        )
    ),
    OnlinePolicy(
        name="contention-aware",
        order="fifo",
        rule="tightest server, else over the quietest links",
        summary="best fit that looks at who is on the links",
        options=_DISPATCHING,
    ),
    OnlinePolicy(
        name="free-links",
        order="smallest-area-first",
        rule="best fit, never over a link in use",
        summary="spread jobs wait for free links",
        options=_DISPATCHING,
    ),
    OnlinePolicy(
        name="lwf",
        order="smallest-area-first",
        rule="least loaded GPUs, or least busy servers",
        summary="LWF-1 (Wang et al. 2020)",
        options=_DISPATCHING,
    ),
    *(
        OnlinePolicy(
            name=name, order=order, rule="as planned", summary=summary, options=_PLANNING, planner=name
        )
        for name, order, summary in (
            ("sjf-bco", "smallest-first", "the paper's algorithm, searched anew when jobs arrive"),
            ("first-fit", "fifo", "the paper's FF, searched anew when jobs arrive"),
            ("list-scheduling", "fifo", "the paper's LS, searched anew when jobs arrive"),
        )
    ),
    OnlinePolicy(
        name="rolling",
        order="any",
        rule="as planned",
        summary="policy `search` on the queue, running jobs fixed, when jobs arrive",
        options=_PLANNING | {"iterations", "time-limit", "objective"},
        planner="search",
    ),
)


def online_policy_named(name: str) -> OnlinePolicy:
    """Return the policy of that name, or say which there are."""
    for policy in ONLINE_POLICIES:
        if policy.name == name:
            return policy
    raise UnknownName("policy", name, [policy.name for policy in ONLINE_POLICIES])
