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
        # What is read at every event: an array would make an object of NumPy's for each number.
        self._now: Sequence[float] = _plain_numbers(stage.state.now)
        self._counts: Sequence[int] = _plain_numbers(stage.state.counts)
        self._holder: Sequence[int] = _plain_numbers(stage.state.holder)
        self._course_counts: Sequence[int] = _plain_numbers(stage.course.counts)
        self._promised: Sequence[float] = _plain_numbers(stage.course.promise)
        self._arrivals = stage.queue.arrivals.tolist()
        self._arrive_at = [*stage.queue.release[stage.queue.arrivals].tolist(), math.inf]
        own_order = getattr(policy, "order", None)
        self._order: Callable[[JobView], Any] | None = own_order if callable(own_order) else None
        self._known: dict[int, JobView] = {}  # jobs that have been submitted
        self._waits: dict[str, int] = {}  # the numbers of waiting jobs
        self._found: Gpus | None = None  # what `find_gpus` has found last, if it is still what was chosen
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
        self._promise_of: tuple[int, str, float, int] | None = None  # its job, rule, instant and spare GPUs
        self._num_arrived = 0
        for job in problem.running:
            self._know(job)
        self._arrive()

    @property
    def now_s(self) -> float:
        """The present instant, counted as `submit_s`."""
        return float(self._problem.seconds_at(self._now[0]))

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
        return self._counts[NUM_IDLE]

    def find_gpus(self, job: JobView, rule: str = BEST_FIT) -> Gpus | None:
        """Return the GPUs that a placement rule chooses for a waiting job now, or None if it has to wait."""
        if job.gpus > self._counts[NUM_IDLE]:
            return None
        self._found = None
        if not self._do(FIND, self._waiting(job), rule=rule):
            return None
        self._found = Gpus(self._problem, tuple(self._stage.state.chosen[: job.gpus].tolist()))
        return self._found

    def start(self, job: JobView, gpus: Mapping[str, Sequence[int]]) -> None:
        """Start a waiting job on idle GPUs, given by server name."""
        number = self._waiting(job)
        self._choose(number, gpus)
        is_first = self._queue.place(number) == 0
        self._do(START if is_first else PASS, number)
        self._queue.remove(number)
        del self._waits[job.name]
        self._begun.append(number)
        self._running = self._servers = self._found = None

    def promise(self, job: JobView, rule: str = BEST_FIT) -> Promise:
        """Return when a waiting job finds GPUs by the rule, if no other job starts before it.

        With exact estimates a promise is valid until another job is promised its start, or the first of
        the queue starts. Else it is computed again at every call.
        """
        number = self._waiting(job)
        if self._course_counts[PROMISED] != number or not self._exact:
            self._do(PROMISE, number, rule=rule)
        said = number, rule, self._promised[0], self._course_counts[EXTRA]
        if self._promise is None or said != self._promise_of:
            start_s = float(self._problem.seconds_at(self._promised[0]))
            self._promise_of = said
            self._promise = Promise(job=job, start_s=start_s, spare_gpus=said[-1], rule=rule)
        return self._promise

    def candidates(self, promise: Promise) -> Iterator[JobView]:
        """Yield the jobs behind the promised one that end by its start, or leave enough GPUs, in order.

        By their estimates in the best case, so that not each of them keeps the promise on its GPUs.
        """
        at = self._queue.place(self._waiting(promise.job)) + 1
        latest = self._problem.clock.same_instant_until(self._promised[0])
        while self._counts[NUM_IDLE]:
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
        if instant > self._now[0]:
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
        self._running = self._servers = self._found = None
        self._begun.clear()
        if self._now[0] >= self._wake:
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
        is_known = (
            isinstance(gpus, Gpus)
            and len(gpus.numbers) == arrays.gpus[job]
            and not arrays.permits.restricted[job]
        )
        if is_known and gpus is self._found:  # they are chosen, and idle
            return
        numbers: Sequence[int]
        if is_known and isinstance(gpus, Gpus) and all(self._holder[gpu] == IDLE for gpu in gpus.numbers):
            numbers = gpus.numbers
        else:
            numbers = sorted(checked_gpus(self._policy, self._problem, self._gpus, job, gpus))
        state.chosen[: len(numbers)] = numbers
        self._found = None

    def _arrive(self) -> None:
        now, at = self._now[0], self._num_arrived
        if self._arrive_at[at] > now:
            return
        while self._arrive_at[at] <= now:
            job = self._arrivals[at]
            view = self._know(job)
            key = self._arrive_at[at] if self._order is None else self._order(view)
            self._queue.add(job, view, key)
            self._waits[view.name] = job
            at += 1
        counts = self._stage.course.counts
        counts[NUM_ARRIVED] = at
        counts[NUM_WAITING] += at - self._num_arrived
        self._num_arrived = at

    def _know(self, job: int) -> JobView:
        view = self._known[job] = job_view(self._believed, job)
        return view

    def _waiting(self, job: JobView) -> int:
        number = self._waits.get(job.name)
        if number is None:
            raise PolicyError(f"policy {name_of(self._policy)!r}: job {job.name!r} does not wait")
        return number

    def _view(self, job: int) -> RunningJob:
        stage, first = self._stage, self._stage.arrays.gpu_first
        held = tuple(stage.state.gpus_of[first[job] : first[job + 1]].tolist())
        start_s = float(self._problem.seconds_at(float(stage.state.start[job])))
        return RunningJob(self._known[job], Gpus(self._problem, held), start_s, self._problem, stage, job)


def _plain_numbers(array: Any) -> Any:
    """Return an array as a sequence of Python's numbers that follows its changes."""
    return memoryview(array)
