"""The queue of model.md, section Time: completions, arrivals, placements with blocking, then rates."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from tests.reference.formulas import (
    Amount,
    Gpus,
    Number,
    best_case_ticks,
    has_labels,
    iteration_times,
    iterations_per_slot,
    limit_ticks,
    origin_ticks,
    release_ticks,
    windows_ticks,
    worst_case_ticks,
)
from tests.reference.link_rules import LINK_RULES, choose_by_links
from tests.reference.replay import advance, next_event
from tests.reference.rules import Gpu, State, charges, choose

from ringsched.model import Job, Scenario, Server

ORDERS = ("fifo", "smallest-first", "shortest-first", "longest-first", "smallest-area-first")
CLASS_ORDERS = ("priority-first", "deadline-first")


@dataclass(frozen=True)
class Result:
    """Starts and finishes by job name, in slots (int) or seconds (Fraction), the GPUs held, the makespan."""

    starts: dict[str, Amount]
    finishes: dict[str, Amount]
    placements: dict[str, dict[str, list[int]]]
    makespan: Amount


def dispatch(
    scenario: Scenario,
    order: str,
    rule: str,
    theta: int | None,
    *,
    kappa: int | None = None,
    slack: float | None = None,
    seed: int = 0,
    exact: bool = True,
    jump: bool = False,
    charge: Mapping[str, int] | None = None,
) -> Result | None:
    """Run one trial; None if it is infeasible.

    Parameters
    ----------
    theta
        Limit of U in ticks; None: no limit.
    kappa, slack, seed
        For the rule "kappa"; instead of every job's `server_slack`; of the rule "random".
    exact
        Compute rates (and continuous time) in Fractions; floats otherwise.
    jump
        When slotted, skip the slots in which nothing can change.
    charge
        `rules.charges(scenario)`, if the caller has it at hand: rho_hat / u, an input of Alg. 1.
    """
    charge = charges(scenario) if charge is None else charge
    number: Number = Fraction if exact else float
    trial = Trial(scenario, order, rule, theta, kappa, slack, charge, random.Random(seed), number)
    if scenario.time.slotted:
        return _slotted(trial, jump)
    return _continuous(trial)


def sort_key(scenario: Scenario, index: int, order: str) -> tuple[float | Amount, ...]:
    """Key of the queue order; ties by position in the scenario."""
    job = scenario.jobs[index]
    match order:
        case "fifo":
            return release_ticks(scenario, job), index
        case "smallest-first":
            return job.gpus, index
        case "shortest-first":
            return best_case_ticks(scenario, job), index
        case "longest-first":
            return -best_case_ticks(scenario, job), index
        case "smallest-area-first":
            return job.gpus * best_case_ticks(scenario, job), index
        case "priority-first":
            return -job.priority, release_ticks(scenario, job), index
        case "deadline-first":
            deadline_s = math.inf if job.deadline_s is None else job.deadline_s
            return deadline_s, release_ticks(scenario, job), index
    raise ValueError(f"no order {order!r}; there are {', '.join(ORDERS)}")


@dataclass
class Trial:
    """A trial under way."""

    scenario: Scenario
    order: str
    rule: str
    theta: int | None
    kappa: int | None
    slack: float | None
    charges: Mapping[str, int]
    rng: random.Random
    number: Number
    pending: list[Job] = field(default_factory=list)  # not yet arrived, by release
    queue: list[Job] = field(default_factory=list)
    running: list[Job] = field(default_factory=list)
    remaining: dict[str, Amount] = field(default_factory=dict)
    starts: dict[str, Amount] = field(default_factory=dict)
    finishes: dict[str, Amount] = field(default_factory=dict)
    placements: dict[str, dict[str, list[int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        scenario = self.scenario
        queued = [job for job in scenario.jobs if job.running_on is None]
        self.servers = scenario.cluster.servers
        self.state = State.empty(scenario)
        self.keys = {job.name: sort_key(scenario, at, self.order) for at, job in enumerate(scenario.jobs)}
        self.releases = {job.name: release_ticks(scenario, job) for job in queued}
        self.pending = sorted(queued, key=lambda job: self.releases[job.name])
        for job in scenario.jobs:
            if job.running_on is not None:
                gpus = self._gpus_of(job.running_on)
                self._hold(job, gpus, 0)
                for gpu in gpus:
                    self.state.load[gpu] += self.charges[job.name]

    def _gpus_of(self, placement: Gpus) -> list[Gpu]:
        names = [server.name for server in self.scenario.cluster.servers]
        return [(names.index(name), gpu) for name, held in placement.items() for gpu in held]

    def _hold(self, job: Job, gpus: Iterable[Gpu], now: Amount) -> None:
        servers = self.scenario.cluster.servers
        placement: dict[str, list[int]] = {}
        for server, gpu in sorted(gpus):
            placement.setdefault(servers[server].name, []).append(gpu)
            self.state.idle[server, gpu] = False
        self.placements[job.name] = placement
        self.starts[job.name] = now
        self.remaining[job.name] = job.remaining_iterations
        self.running.append(job)

    def complete(self, names: Iterable[str], now: Amount) -> None:
        """These jobs end and give back their GPUs."""
        for name in names:
            self.finishes[name] = now
            self.running = [job for job in self.running if job.name != name]
            for gpu in self._gpus_of(self.placements[name]):
                self.state.idle[gpu] = True

    def admit(self, now: Amount) -> None:
        """Jobs released by now enter the queue."""
        while self.pending and self.releases[self.pending[0].name] <= now:
            self.queue.append(self.pending.pop(0))

    def place(self, now: Amount) -> None:
        """Place jobs in queue order; the first that cannot be placed holds back those behind it."""
        for job in sorted(self.queue, key=lambda job: self.keys[job.name]):
            charge = self.charges[job.name]
            seen = self.state.only([self._may_start(job, server, now) for server in self.servers])
            if self.rule in LINK_RULES:
                gpus = choose_by_links(self, job, seen)
            else:
                gpus = choose(
                    self.rule,
                    seen,
                    job,
                    charge,
                    self.theta,
                    kappa=self.kappa,
                    slack=self.slack,
                    rng=self.rng,
                )
            if gpus is None:
                return
            self.queue.remove(job)
            self._hold(job, gpus, now)
            for gpu in gpus:
                self.state.load[gpu] += charge

    def _may_start(self, job: Job, server: Server, now: Amount) -> bool:
        """Whether the server has the labels, and no window that the job's worst case would run into."""
        windows = windows_ticks(self.scenario, server)
        latest = now + (worst_case_ticks(self.scenario, job) if windows else 0)  # it takes long to compute
        in_time = all(end <= now or latest <= begin for begin, end in windows)
        return in_time and has_labels(server, job)

    def next_release(self, now: Amount) -> Amount | None:
        """When the next job arrives or, if jobs wait, a server is available again; None for never."""
        events = [self.releases[self.pending[0].name]] if self.pending else []
        if self.queue:
            for server in self.servers:
                events += [end for _, end in windows_ticks(self.scenario, server) if end > now]
        return min(events, default=None)

    def cut(self, job: Job) -> Amount | float:
        """When the job has reached its time limit."""
        return self.starts[job.name] + limit_ticks(self.scenario, job)

    def taus(self) -> dict[str, Amount]:
        """Seconds an iteration of every running job takes now."""
        pairs = [(job, self.placements[job.name]) for job in self.running]
        return iteration_times(self.scenario, pairs, self.number)

    def result(self) -> Result | None:
        """What came of it; None if jobs are left that can never be placed."""
        if self.queue:
            return None
        makespan = max(self.finishes.values()) - origin_ticks(self.scenario) if self.finishes else 0
        return Result(self.starts, self.finishes, self.placements, makespan)


def _slotted(trial: Trial, jump: bool) -> Result | None:
    slot = 0
    while True:
        ended = [
            job.name for job in trial.running if trial.remaining[job.name] <= 0 or slot >= trial.cut(job)
        ]
        trial.complete(ended, slot)
        trial.admit(slot)
        trial.place(slot)
        release = trial.next_release(slot)
        if not trial.running:
            if release is None:
                return trial.result()
            slot = int(release)
            continue
        phi = {
            name: iterations_per_slot(trial.scenario, tau, trial.number) for name, tau in trial.taus().items()
        }
        num_slots = _slots_without_event(trial, phi, slot) if jump else 1
        for name in phi:
            trial.remaining[name] -= num_slots * phi[name]
        slot += num_slots


def _slots_without_event(trial: Trial, phi: dict[str, int], slot: int) -> int:
    """Slots until the next completion or arrival."""
    slots = [-(-int(trial.remaining[name]) // phi[name]) for name in phi]  # rounded up
    slots += [int(trial.cut(job)) - slot for job in trial.running if job.limit_s is not None]
    release = trial.next_release(slot)
    return min(slots if release is None else [*slots, int(release) - slot])


def _continuous(trial: Trial) -> Result | None:
    now: Amount = trial.number(0)
    completed: list[str] = []
    while True:
        trial.complete(completed, now)
        trial.admit(now)
        trial.place(now)
        release = trial.next_release(now)
        if not trial.running and release is None:
            return trial.result()
        taus = trial.taus()
        arrival = None if release is None else trial.number(release)
        cuts = {job.name: trial.cut(job) for job in trial.running}
        event, completed = next_event(trial.scenario, now, trial.remaining, taus, arrival, trial.number, cuts)
        advance(trial.remaining, taus, event - now)
        now = event
