"""A simulation that a policy in Python steers: `OnlineCluster` is what it sees and what it calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ringsched.engine.problem import Problem
from ringsched.engine.simulate import PresentGpus
from ringsched.engine.state import IDLE, NUM_IDLE, NUM_RUNNING
from ringsched.errors import PolicyError
from ringsched.jit import runnable_with
from ringsched.model.checks import choice, number
from ringsched.online.dispatch import MORE, STUCK
from ringsched.online.live_queue import LiveQueue
from ringsched.online.queue import EXTRA, NO_JOB, NUM_ARRIVED, NUM_WAITING, PROMISED, Stage
from ringsched.online.settings import Standing
from ringsched.online.stage import by_rule
from ringsched.online.steps import ADMIT, FIND, GO_ON, NEXT, PASS, PROMISE, START, step
from ringsched.online.views import Gpus, LinkView, Promise, RunningJob, node_name
from ringsched.policies.custom import JobView, ServerView, ServerViews, checked_gpus, job_view, name_of
from ringsched.policies.table import policies

# The rules that choose GPUs for a job by itself, and what they take for κ.
RULES = {
    policy.placement.name: (policy.placement, policy.kappa)
    for policy in policies(online=True)
    if policy.placement is not None
}
BEST_FIT = "best-fit"


class OnlineCluster:
    """Queue, running jobs, servers and links at the present instant, and what a policy can do about them.

    The policy is asked at every event. What it sees is what it may know: estimates, and no job before its
    submit.
    """

    def __init__(self, policy: object, problem: Problem, believed: Problem, stage: Stage) -> None:
        self._policy, self._problem, self._believed = policy, problem, believed
        self._exact = believed is problem
        self._stage = stage
        self._steps = {BEST_FIT: self._stepping(stage)}  # by placement rule
        self._release = stage.queue.release.tolist()
        self._arrivals = stage.queue.arrivals.tolist()
        own_order = getattr(policy, "order", None)
        self._order: Callable[[JobView], Any] | None = own_order if callable(own_order) else None
        self._known: dict[int, JobView] = {}  # jobs that have been submitted
        self._number: dict[str, int] = {}  # of each of them
        self._queue = LiveQueue(stage.queue.job_at)  # which serves ranks in other simulations, and none here
        self._begun: list[int] = []  # jobs that started at this instant
        self._held: dict[int, RunningJob] = {}
        self._running: tuple[RunningJob, ...] | None = None
        self._gpus = PresentGpus(problem, stage.arrays, stage.state)
        self._server_views = ServerViews(problem)
        self._servers: tuple[ServerView, ...] | None = None
        self._links: Mapping[str, LinkView] | None = None
        self._wake = math.inf
        self._promise: Promise | None = None  # the last one
        self._num_arrived = 0
        for job in problem.running:
            self._know(job)
        self._arrive()

    @property
    def now_s(self) -> float:
        """The present instant, counted as `submit_s`."""
        return float(self._problem.seconds_at(float(self._stage.state.now[0])))

    @property
    def queue(self) -> LiveQueue:
        """The waiting jobs, by the policy's `order` if it has one, else as they came."""
        return self._queue

    @property
    def running(self) -> tuple[RunningJob, ...]:
        """The running jobs, in the scenario's order."""
        if self._running is None:
            state = self._stage.state
            numbers = sorted({*state.heap[: state.counts[NUM_RUNNING]].tolist(), *self._begun})
            self._held = {number: self._held.get(number) or self._view(number) for number in numbers}
            self._running = tuple(self._held.values())
        return self._running

    @property
    def servers(self) -> tuple[ServerView, ...]:
        """The servers with their idle GPUs."""
        if self._servers is None:
            self._servers = self._server_views.present(self._gpus.idle(), self._gpus.on_links())
        return self._servers

    @property
    def links(self) -> Mapping[str, LinkView]:
        """The uplinks of all servers and switches, by the name of what is below them."""
        if self._links is None:
            gbps = self._problem.network.uplink_gbps
            names = [node_name(self._problem, node) for node in range(len(gbps))]
            self._links = {
                name: LinkView(name, gbps[node], self._known, self._stage, node)
                for node, name in enumerate(names)
            }
        return self._links

    @property
    def idle_gpus(self) -> int:
        """How many GPUs are idle."""
        return int(self._stage.state.counts[NUM_IDLE])

    def find_gpus(self, job: JobView, rule: str = BEST_FIT) -> Gpus | None:
        """Return the GPUs that a placement rule chooses for a waiting job now, or None if it has to wait."""
        state = self._stage.state
        if job.gpus > state.counts[NUM_IDLE]:
            return None
        number = self._waiting(job)
        if not self._do(FIND, number, rule=rule):
            return None
        return Gpus(self._problem, tuple(state.chosen[: job.gpus].tolist()))

    def start(self, job: JobView, gpus: Mapping[str, Sequence[int]]) -> None:
        """Start a waiting job on idle GPUs, given by server name."""
        number = self._waiting(job)
        self._choose(number, gpus)
        is_first = self._queue.place(number) == 0
        self._do(START if is_first else PASS, number)
        self._queue.remove(number)
        self._begun.append(number)
        self._running = self._servers = None

    def promise(self, job: JobView, rule: str = BEST_FIT) -> Promise:
        """Return when a waiting job finds GPUs by the rule, if no other job starts before it.

        With exact estimates a promise is valid until another job is promised its start, or the first of
        the queue starts. Else it is computed again at every call.
        """
        number, course = self._waiting(job), self._stage.course
        if course.counts[PROMISED] != number or not self._exact:
            self._do(PROMISE, number, rule=rule)
        start_s = float(self._problem.seconds_at(float(course.promise[0])))
        said, spare = self._promise, int(course.counts[EXTRA])
        if said is None or (said.job, said.rule, said.start_s, said.spare_gpus) != (
            job,
            rule,
            start_s,
            spare,
        ):
            said = self._promise = Promise(job=job, start_s=start_s, spare_gpus=spare, rule=rule)
        return said

    def candidates(self, promise: Promise) -> Iterator[JobView]:
        """Yield the jobs behind the promised one that end by its start, or leave enough GPUs, in order.

        By their estimates in the best case, so that not each of them keeps the promise on its GPUs.
        """
        at = self._queue.place(self._waiting(promise.job)) + 1
        latest = self._problem.clock.same_instant_until(float(self._stage.course.promise[0]))
        while self.idle_gpus:
            at = self._do(NEXT, at, len(self._queue), wake=latest)
            if at == NO_JOB:
                return
            entry = self._queue.entry(at)
            yield self._known[entry[1]]
            at = self._queue.place_behind(entry)

    def keeps(self, promise: Promise, job: JobView, gpus: Mapping[str, Sequence[int]]) -> bool:
        """Whether a job on these GPUs would not move a promised start; ask just before you start it.

        The GPUs left over at the promised start are counted as if it started.
        """
        number = self._waiting(job)
        self._choose(number, gpus)
        return bool(self._do(ADMIT, number, self._waiting(promise.job), rule=promise.rule))

    def call_at(self, time_s: float) -> None:
        """Ask the policy at this time at the latest, even if nothing happens."""
        # A slot is an integer, for which the kernel would be compiled again.
        instant = float(self._problem.instant_at(number(time_s, "time_s")))
        if instant > self._stage.state.now[0]:
            self._wake = min(self._wake, instant)

    # For the loop that runs the simulation, not for policies.

    def go_on(self) -> bool:
        """Go on to the next event; return whether there is one."""
        status = self._do(GO_ON, 0, wake=self._wake)
        if status == STUCK:
            raise PolicyError(
                f"policy {name_of(self._policy)!r}: it started no job although nothing runs and "
                f"{len(self._queue)} wait; the first is {self._queue[0].name!r}"
            )
        self._running = self._servers = None
        self._begun.clear()
        if self._stage.state.now[0] >= self._wake:
            self._wake = math.inf
        self._arrive()
        return status == MORE

    @property
    def stage(self) -> Stage:
        """The arrays behind it."""
        return self._stage

    @property
    def num_known(self) -> int:
        """How many jobs have been submitted."""
        return len(self._known)

    @property
    def num_running(self) -> int:
        """How many jobs run, those that started at this instant included."""
        state = self._stage.state
        return int(state.counts[NUM_RUNNING]) + sum(1 for job in self._begun if state.heap_place[job] < 0)

    def standing(self) -> Standing:
        """Return how far the simulation is."""
        return Standing(
            num_ended=self.num_known - len(self._queue) - self.num_running,
            num_jobs=self._problem.num_jobs,
            num_waiting=len(self._queue),
            num_plans=0,
            now_s=self.now_s,
        )

    def _do(
        self, action: int, job: int, head: int = 0, *, wake: float = math.inf, rule: str = BEST_FIT
    ) -> int:
        take_step = self._steps.get(rule) or self._with_rule(rule)
        return take_step(action, job, head, wake)

    def _with_rule(self, name: str) -> Callable[..., int]:
        rule, kappa = RULES[choice(name, "rule", tuple(RULES))]
        stage = self._stage._replace(**by_rule(self._stage.arrays, rule), kappa=kappa(self._problem))
        self._steps[name] = self._stepping(stage)
        return self._steps[name]

    def _stepping(self, stage: Stage) -> Callable[..., int]:
        return runnable_with(step, stage, python=stage.arrays.python_only, work_s=self._problem.pass_s)

    def _choose(self, job: int, gpus: Mapping[str, Sequence[int]]) -> None:
        state, arrays = self._stage.state, self._stage.arrays
        numbers: Sequence[int]
        if (
            isinstance(gpus, Gpus)
            and len(gpus.numbers) == arrays.gpus[job]
            and not arrays.permits.restricted[job]
            and all(state.holder[gpu] == IDLE for gpu in gpus.numbers)
        ):
            numbers = gpus.numbers
        else:
            numbers = sorted(checked_gpus(self._policy, self._problem, self._gpus, job, gpus))
        state.chosen[: len(numbers)] = numbers

    def _arrive(self) -> None:
        now, at = float(self._stage.state.now[0]), self._num_arrived
        while at < len(self._arrivals) and self._release[self._arrivals[at]] <= now:
            job = self._arrivals[at]
            view = self._know(job)
            key = self._release[job] if self._order is None else self._order(view)
            self._queue.add(job, view, key)
            at += 1
        if at > self._num_arrived:
            counts = self._stage.course.counts
            counts[NUM_ARRIVED] = at
            counts[NUM_WAITING] += at - self._num_arrived
            self._num_arrived = at

    def _know(self, job: int) -> JobView:
        view = self._known[job] = job_view(self._believed, job)
        self._number[view.name] = job
        return view

    def _waiting(self, job: JobView) -> int:
        found = self._number.get(job.name)
        if found is None or not self._queue.waits(found):
            raise PolicyError(f"policy {name_of(self._policy)!r}: job {job.name!r} does not wait")
        return found

    def _view(self, job: int) -> RunningJob:
        stage, first = self._stage, self._stage.arrays.gpu_first
        held = tuple(stage.state.gpus_of[first[job] : first[job + 1]].tolist())
        start_s = float(self._problem.seconds_at(float(stage.state.start[job])))
        return RunningJob(self._known[job], Gpus(self._problem, held), start_s, self._problem, stage, job)
