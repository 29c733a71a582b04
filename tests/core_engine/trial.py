"""What a placement rule sees: the cluster now, and the load charged to each GPU so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import lcm

from tests.core_engine.state import IDLE, Cluster

from ringsched.engine.problem import Problem
from ringsched.placement.charges import CHARGE_UNITS, charges


class Trial:
    """One pass over the queue with fixed parameters; loads start at what running jobs have left.

    Parameters
    ----------
    rule
        Chooses GPUs for a job, or None to wait.
    theta
        θ_u, the most load a GPU may carry, in slots (seconds when continuous); None: no limit.
    slack
        Replaces every job's λ_j if given.
    """

    def __init__(
        self, problem: Problem, rule: Rule, *, theta: int | None = None, slack: float | None = None
    ) -> None:
        self.problem = problem
        self._rule = rule
        self._theta = None if theta is None else theta * CHARGE_UNITS
        self._slack = slack
        self.charge = charges(problem)
        self.load = [0] * len(problem.server_of)  # U_g
        self.server_load = [0] * problem.num_servers
        self.per_gpu = _per_gpu_weights(problem.network.capacity[: problem.num_servers])
        for job, gpus in problem.running.items():
            self._charge(job, gpus)

    def place(self, cluster: Cluster, job: int) -> Sequence[int] | None:
        """Ask the rule; charge the GPUs it chooses (Alg. 2 line 6, Alg. 3 line 9)."""
        gpus = self._rule(self, cluster, job)
        if gpus is not None:
            self._charge(job, gpus)
        return gpus

    def _charge(self, job: int, gpus: Iterable[int]) -> None:
        for gpu in gpus:
            self.load[gpu] += self.charge[job]
            self.server_load[self.problem.server_of[gpu]] += self.charge[job]

    def eligible(self, cluster: Cluster, job: int, servers: Iterable[int] | None = None) -> list[int]:
        """Return the idle, available GPUs that may carry the job's charge, by (server, GPU)."""
        first, load, holder = self.problem.first_gpu, self.load, cluster.holder
        most = None if self._theta is None else self._theta - self.charge[job]
        return [
            gpu
            for server in (range(self.problem.num_servers) if servers is None else sorted(servers))
            if cluster.num_idle[server]
            for gpu in range(first[server], first[server + 1])
            if holder[gpu] == IDLE and (most is None or load[gpu] <= most)
        ]

    def slack(self, job: int) -> float:
        """Return λ_j."""
        return self.problem.scenario.jobs[job].server_slack if self._slack is None else self._slack


# A placement rule: GPU numbers for the job, or None to wait for the next completion or arrival.
Rule = Callable[[Trial, Cluster, int], Sequence[int] | None]


def _per_gpu_weights(capacities: Sequence[int]) -> list[int]:
    """Return whole numbers in proportion to 1/capacity, so that amounts per GPU compare exactly."""
    common = lcm(*(capacity for capacity in capacities if capacity))
    return [common // capacity if capacity else 0 for capacity in capacities]
