"""docs/concepts/online.md, literally: a queue over time, whose policies believe and do not know.

At every event every rate of every running job is computed anew, and a forward simulation is a copy of
all there is that runs on by itself. What may start past the head is always asked of such a copy: the
shortcuts that the page allows must give the same answers.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tests.reference.dispatch import Trial, sort_key
from tests.reference.formulas import (
    Amount,
    best_case_tau,
    iterations_per_slot,
)
from tests.reference.link_rules import free_links
from tests.reference.quiet_links import quiet_links
from tests.reference.replay import advance, next_event
from tests.reference.rules import Gpu, best_fit, charges, least_workload

from ringsched.model import Job, Scenario

# policy -> its order and its rule
DISPATCHING = {
    "fifo": ("fifo", "best-fit"),
    "smallest-first": ("smallest-first", "best-fit"),
    "shortest-first": ("shortest-first", "best-fit"),
    "longest-first": ("longest-first", "best-fit"),
    "smallest-area-first": ("smallest-area-first", "best-fit"),
    "contention-aware": ("fifo", "quiet-links"),
    "free-links": ("smallest-area-first", "free-links"),
    "lwf": ("smallest-area-first", "lwf"),
}


@dataclass(frozen=True)
class OnlineResult:
    """By job name: starts and finishes in slots (int) or seconds (Fraction), GPUs, and what EASY did."""

    starts: dict[str, Amount]
    finishes: dict[str, Amount]
    placements: dict[str, dict[str, list[int]]]
    backfilled: set[str]
    promised: dict[str, Amount]  # first promise since the job became the head for the last time


def believed_iterations(scenario: Scenario) -> list[int]:
    """Iterations of every job by its estimate: as many as take `estimate_s` in the best case, at least 1."""
    believed = []
    for job in scenario.jobs:
        if job.estimate_s is None:
            believed.append(job.iterations)
            continue
        per_second = 1 / best_case_tau(scenario, job)
        if scenario.time.slotted:
            per_slot = iterations_per_slot(scenario, best_case_tau(scenario, job))
            per_second = per_slot / Fraction(scenario.time.slot_s)
        believed.append(max(1, round(Fraction(job.estimate_s) * per_second)))
    return believed


def simulate(
    scenario: Scenario,
    policy: str,
    *,
    order: str | None = None,
    backfill: str = "none",
    believed: Sequence[Amount] | None = None,
) -> OnlineResult:
    """Run the queue by one of the policies that dispatch; `believed` are iterations, by default the truth."""
    own_order, rule = DISPATCHING[policy]
    truth: list[Amount] = [job.iterations for job in scenario.jobs]
    online = online_of(scenario, order or own_order, rule, list(truth if believed is None else believed))
    online.easy = backfill == "easy"
    online.exact = online.estimates == {job.name: job.iterations for job in scenario.jobs}
    now: Amount = 0
    completed: list[str] = []
    while True:
        online.complete(completed, now)
        online.admit(now)
        online.place(now)
        release = online.next_release(now)
        if not online.running and release is None:
            assert not online.queue
            return OnlineResult(
                online.starts, online.finishes, online.placements, online.backfilled, online.promised
            )
        now, completed = online.go_on(now, release)


def online_of(scenario: Scenario, order: str, rule: str, believed: list[Amount]) -> Online:
    """The state before anything happens, except that the running jobs run."""
    estimates = {job.name: number for job, number in zip(scenario.jobs, believed, strict=True)}
    in_use = {
        job.name: _outlived(estimates[job.name], job.done_iterations if job.is_running else 0)
        for job in scenario.jobs
    }
    # What the policy sees; orders and loads go by it.
    seen = scenario.replace(
        jobs=tuple(job.replace(iterations=in_use[job.name], estimate_s=None) for job in scenario.jobs)
    )
    online = Online(scenario, order, rule, None, 1, None, charges(seen), random.Random(0), Fraction)
    online.keys = {job.name: sort_key(seen, at, order) for at, job in enumerate(seen.jobs)}
    online.estimates = estimates
    return online


def _outlived(estimate: Amount, done: Amount) -> Amount:
    """The estimate, doubled until it is more than what is done."""
    while estimate <= done:
        estimate *= 2
    return estimate


@dataclass
class Online(Trial):
    """A simulation under way; `remaining` are the true iterations, or in a copy the believed ones."""

    estimates: Mapping[str, Amount] = field(default_factory=dict)
    easy: bool = False
    exact: bool = True
    backfilled: set[str] = field(default_factory=set)
    promised: dict[str, Amount] = field(default_factory=dict)
    head: str | None = None  # whom the promise is made to
    last: str | None = None  # whom the last promise was made to
    promise: Amount = 0  # to the head

    def place(self, now: Amount) -> None:
        """Start who finds a place, in order; at the first who does not, see who may step past it."""
        queue = sorted(self.queue, key=lambda job: self.keys[job.name])
        for at, job in enumerate(queue):
            gpus = self.choose(job)
            if gpus is None:
                if self.easy:
                    self.step_past(job, queue[at + 1 :], now)
                return
            self.start(job, gpus, now)
            # Who goes first, or arrives and sorts before the head, ends what was promised.
            self.head = None
        self.head = None

    def step_past(self, head: Job, others: Sequence[Job], now: Amount) -> None:
        """EASY: promise the head its start, and start those who do not move it."""
        if self.head != head.name:
            if self.last is not None and self.last in (job.name for job in self.queue):
                self.promised.pop(self.last, None)  # somebody came who goes before it
            self.promise = self.promised[head.name] = self.start_of(head, now)
            self.head = self.last = head.name
        elif not self.exact:
            self.promise = self.start_of(head, now)
        for job in others:
            gpus = self.choose(job)
            if gpus is not None and self.start_of(head, now, (job, gpus)) <= self.promise:
                self.start(job, gpus, now)
                self.backfilled.add(job.name)
                self.promised.pop(job.name, None)  # it does not start by that promise

    def start_of(self, head: Job, now: Amount, candidate: tuple[Job, list[Gpu]] | None = None) -> Amount:
        """The forward simulation: when the head would find its place, if all goes on as believed."""
        ahead = self.copied()
        if candidate is not None:
            ahead.start(*candidate, now)
        for job in ahead.running:
            done = job.iterations - ahead.remaining[job.name]
            ahead.remaining[job.name] = _outlived(self.estimates[job.name], done) - done
        while ahead.choose(head) is None:
            now, completed = ahead.go_on(now, None)
            ahead.complete(completed, now)
        return now

    def copied(self) -> Online:
        """Nothing that happens to the copy happens to this one."""
        other = copy.copy(self)
        for name in ("pending", "queue", "running", "remaining", "starts", "finishes", "placements"):
            setattr(other, name, copy.copy(getattr(self, name)))
        other.state = copy.deepcopy(self.state)
        return other

    def choose(self, job: Job) -> list[Gpu] | None:
        """GPUs by the rule, or None to wait."""
        match self.rule:
            case "best-fit":
                return best_fit(self.state, job)
            case "quiet-links":
                return quiet_links(self, job)
            case "free-links":
                return free_links(self, job, self.state, self.scenario.contention.lanes or 1)
            case "lwf":
                return least_workload(self.state, job, 1)
        raise ValueError(f"no rule {self.rule!r}")

    def start(self, job: Job, gpus: list[Gpu], now: Amount) -> None:
        """The job leaves the queue for these GPUs."""
        self.queue = [other for other in self.queue if other.name != job.name]
        self._hold(job, gpus, now)
        for gpu in gpus:
            self.state.load[gpu] += self.charges[job.name]

    def go_on(self, now: Amount, release: Amount | None) -> tuple[Amount, list[str]]:
        """To the next completion or arrival: when it is, and who completes then."""
        taus = self.taus()
        if not self.scenario.time.slotted:
            event, completed = next_event(self.scenario, now, self.remaining, taus, release)
            advance(self.remaining, taus, event - now)
            return event, completed
        phi = {name: iterations_per_slot(self.scenario, tau) for name, tau in taus.items()}
        ends = [now + -(-self.remaining[name] // phi[name]) for name in phi]
        event = min(ends if release is None else [*ends, release])
        for name in phi:
            self.remaining[name] -= (event - now) * phi[name]
        return event, [name for name in phi if self.remaining[name] <= 0]
