"""The simulation as a Gymnasium environment: an agent chooses which waiting job starts next.

Needs Gymnasium (`pip install '.[gym]'` in a clone).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ringsched.engine.problem import Problem, problem_of
from ringsched.errors import InputError
from ringsched.model import Scenario
from ringsched.model.checks import instance, integer, number
from ringsched.online.live import OnlineCluster
from ringsched.online.outcome import run_of_stage
from ringsched.online.own import online_cluster
from ringsched.online.settings import OnlineSettings
from ringsched.online.simulation import Simulation, simulation_of
from ringsched.online.views import Gpus
from ringsched.policies.custom import JobView
from ringsched.policies.policy import Policy
from ringsched.rules.table import BEST_FIT

_JOB_FEATURES = 4
_MOST = 1e9  # of any number in an observation

Observation = dict[str, NDArray[np.float32]]


class SchedulingEnv(gymnasium.Env[Any, Any]):
    """One step is one decision: start a job of the first `window` that wait, or wait for the next event.

    **Action** `k < window` starts the k-th waiting job on the GPUs that best fit chooses. The action
    `window` waits. An action that is not possible waits too; `info["action_mask"]` has those that are.

    **Observation** `queue` has a row for each of the first `window` jobs: 1 if there is one, its share of
    the GPUs, and its estimate and waiting time in hours. `servers` has for each server the share of idle
    GPUs and how many jobs cross its uplink. `waiting` is the length of the whole queue.

    **Reward** The jobs in the system x the seconds that pass, over the number of jobs, negative. The
    rewards of an episode add up to the negative mean completion in seconds.

    Parameters
    ----------
    scenario
        A scenario, or a function that draws one from the seed of each episode. All of them must have as
        many servers.
    estimate_error
        How wrong estimates are, as in `simulate`.

    Examples
    --------
    >>> import ringsched
    >>> cluster = ringsched.Cluster.of_servers(4)
    >>> scenario = ringsched.generate(ringsched.Workload.poisson(jobs=20, cluster=cluster))
    >>> env = SchedulingEnv(scenario)
    >>> observation, info = env.reset(seed=0)
    >>> observation["servers"].shape, int(info["action_mask"].sum())
    ((4, 2), 2)
    """

    def __init__(
        self,
        scenario: Scenario | Callable[[int], Scenario],
        *,
        window: int = 16,
        estimate_error: float = 0.0,
    ) -> None:
        self._draw = (lambda _: scenario) if isinstance(scenario, Scenario) else scenario
        self._window = integer(window, "window", minimum=1)
        self._error = number(estimate_error, "estimate-error", minimum=0)
        first = instance(self._draw(0), "scenario", Scenario)
        if not first.jobs:
            raise InputError("has no jobs to schedule", field="scenario")
        self._num_servers = len(first.cluster.servers)
        self.action_space = spaces.Discrete(self._window + 1)
        self.observation_space = spaces.Dict(
            {
                "queue": spaces.Box(0, _MOST, (self._window, _JOB_FEATURES), np.float32),
                "servers": spaces.Box(0, _MOST, (self._num_servers, 2), np.float32),
                "waiting": spaces.Box(0, _MOST, (1,), np.float32),
            }
        )
        self._problem: Problem
        self._cluster: OnlineCluster
        self._settings = OnlineSettings(order="fifo", estimate_error=self._error)
        self._places: list[Gpus | None] = []
        self._is_over = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode; return what the agent sees at its first decision."""
        super().reset(seed=seed, options=options)
        drawn = int(self.np_random.integers(2**31))
        scenario = instance(self._draw(drawn), "scenario", Scenario)
        if len(scenario.cluster.servers) != self._num_servers:
            raise InputError(f"must have {self._num_servers} servers in every episode", field="scenario")
        self._problem = problem_of(scenario)
        self._settings = OnlineSettings(order="fifo", estimate_error=self._error, seed=drawn)
        self._cluster = online_cluster(self._problem, self, self._settings)
        self._is_over = False
        self._go_to_decision(must_move=False)
        return self._observation(), self._info()

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Do one action; return observation, reward, whether all jobs have ended, False, and `info`."""
        chosen = int(action)
        if chosen >= self._window and not self._may_wait():
            chosen = next(at for at, gpus in enumerate(self._places) if gpus is not None)
        gpus = self._places[chosen] if chosen < len(self._places) else None
        if gpus is not None:
            self._cluster.start(self._cluster.queue[chosen], gpus)
        reward = self._go_to_decision(must_move=gpus is None)
        return self._observation(), reward, self._is_over, False, self._info()

    def simulation(self) -> Simulation:
        """Return what happened, once the episode is over."""
        if not self._is_over:
            raise InputError("is not over: some jobs have not ended", field="the episode")
        policy = Policy(name="agent", placement=BEST_FIT)
        return simulation_of(self._problem, run_of_stage(self._cluster.stage), policy, self._settings)

    def _go_to_decision(self, *, must_move: bool) -> float:
        """Go on until some job can start, or all have ended; return the reward."""
        cluster, reward = self._cluster, 0.0
        self._find_places()
        while must_move or not any(self._places):
            must_move = False
            before_s, present = cluster.now_s, len(cluster.queue) + cluster.num_running
            if not cluster.go_on():
                self._is_over = True
                break
            reward -= present * (cluster.now_s - before_s) / self._problem.num_jobs
            self._find_places()
        return reward

    def _find_places(self) -> None:
        self._places = [self._cluster.find_gpus(job) for job in self._seen()]

    def _seen(self) -> tuple[JobView, ...]:
        return self._cluster.queue[: self._window]

    def _may_wait(self) -> bool:
        """Whether something will happen if no job starts."""
        return self._cluster.num_running > 0 or self._cluster.num_known < self._problem.num_jobs

    def _observation(self) -> Observation:
        queue = np.zeros((self._window, _JOB_FEATURES), dtype=np.float32)
        now_s, capacity = self._cluster.now_s, self._problem.num_gpus
        for at, job in enumerate(self._seen()):
            waited_s = max(0.0, now_s - job.submit_s)
            queue[at] = (1.0, job.gpus / capacity, job.estimate_s / 3600, waited_s / 3600)
        servers = [
            (len(server.idle) / max(1, server.capacity), server.jobs_on_uplink)
            for server in self._cluster.servers
        ]
        return {
            "queue": queue,
            "servers": np.array(servers, dtype=np.float32),
            "waiting": np.array([len(self._cluster.queue)], dtype=np.float32),
        }

    def _info(self) -> dict[str, Any]:
        mask = np.zeros(self._window + 1, dtype=np.int8)
        for at, gpus in enumerate(self._places):
            mask[at] = gpus is not None
        mask[self._window] = self._is_over or self._may_wait()
        return {"action_mask": mask, "now_s": self._cluster.now_s}
