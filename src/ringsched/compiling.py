"""`python -m ringsched.compiling KERNEL...`: put compiled kernels into the cache; all if none is named.

Each kernel is called once with a tiny problem: the types of its arguments are the same for all problems.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ringsched import jit
from ringsched.engine.problem import Problem, problem_of
from ringsched.model import Cluster, Job, Scenario, Server
from ringsched.numba_cache import kept_once

_SHORT = {"iterations": 20, "gradient_mb": 1.0, "minibatch": 1, "forward_ms": 1.0, "backward_ms": 1.0}


def main(names: list[str]) -> int:
    """Compile the kernels of these names, or all; return 2 if one is unknown, 1 if one failed."""
    if not set(names) <= set(KERNELS):
        return 2
    if not names:  # numba has one lock for its compiler; in more processes they compile too much twice
        every = list(KERNELS)
        with ThreadPoolExecutor(2) as pool:
            return max(pool.map(_in_a_process, (every[::2], every[1::2])))
    os.environ["RINGSCHED_KERNELS"] = jit.COMPILED
    os.environ[jit.COMPILES] = "here"
    gc.disable()  # it would look for cycles in all that numba makes, a tenth of the time
    for compile_kernel in dict.fromkeys(KERNELS[name] for name in names):
        together = [name for name, other in KERNELS.items() if other is compile_kernel]
        with kept_once(together) as is_kept:
            if not is_kept:
                compile_kernel(_tiny())
    return 0


def _in_a_process(names: list[str]) -> int:
    command = [sys.executable, "-P", "-m", "ringsched.compiling", *names]
    return int(subprocess.run(command, check=False).returncode != 0)


def _tiny() -> Problem:
    """Return a problem of two jobs, one of which has to be spread over servers."""
    servers = tuple(Server(name=name, gpus=2) for name in ("a", "b"))
    cluster = Cluster(servers=servers, inter_server_gbps=10.0, intra_server_gbps=200.0, reduce_gbps=400.0)
    jobs = tuple(Job(name=f"{gpus}", gpus=gpus, **_SHORT) for gpus in (1, 3))  # type: ignore[arg-type]
    return problem_of(Scenario(cluster=cluster, jobs=jobs))


def _trial(problem: Problem) -> None:
    from ringsched.rules.runner import Runner
    from ringsched.rules.table import BEST_FIT

    Runner(problem, problem.best_case).run(BEST_FIT)


def _search(problem: Problem) -> None:
    from ringsched.model.objective import objective_named
    from ringsched.search.anytime import AnytimeSearch

    AnytimeSearch(
        problem,
        objective_named("makespan"),
        target=1.0,
        seed=0,
        num_threads=1,
        priorities={"fifo": problem.release},
    )


def _exact(problem: Problem) -> None:
    from ringsched.model.objective import objective_named
    from ringsched.policies.exact import solve_exact
    from ringsched.policies.policy import ANY_ORDER, Settings

    solve_exact(problem, Settings(order=ANY_ORDER, objective=objective_named("makespan")))


def _live_cluster(problem: Problem) -> None:
    from ringsched.engine.simulate import LiveCluster

    cluster = LiveCluster(problem)
    cluster.start(1, (0, 1, 2))
    cluster.settle()
    cluster.advance(cluster.next_completion())


def _dispatch(problem: Problem) -> None:
    from ringsched.online.simulate import simulate

    simulate(problem.scenario)


def _follow(problem: Problem) -> None:
    from ringsched.online.simulate import simulate

    simulate(problem.scenario, "first-fit")


def _roll(problem: Problem) -> None:
    from ringsched.online.simulate import simulate

    jobs = tuple(job.replace(submit_s=float(at)) for at, job in enumerate(problem.scenario.jobs))
    simulate(problem.scenario.replace(jobs=jobs), "rolling")


def _steps(problem: Problem) -> None:
    from ringsched.online.own import HeadFirst, run_own
    from ringsched.online.settings import OnlineSettings

    class Best:
        def place(self, job: Any, cluster: Any) -> Any:
            return cluster.find_gpus(job)

    run_own(problem, HeadFirst(Best()), OnlineSettings(order="fifo"))


def _over_time(problem: Problem) -> None:
    from ringsched.contention.iteration_time import Ring

    rings = [Ring(problem.works[1], problem.shape((0, 1, 2)), 0.0)]
    problem.fabric.paces(rings, [0.0], [1.0])


# The kernels that Python calls, and what calls them; the long ones first, as two processes share them.
KERNELS: dict[str, Callable[[Problem], None]] = {
    "ringsched.rules.trial.run_trial": _trial,
    "ringsched.online.dispatch.dispatch": _dispatch,
    "ringsched.search.chain.descend": _search,
    "ringsched.online.follow.follow": _follow,
    "ringsched.online.rolling.roll": _roll,
    "ringsched.search.exact.explore.explore": _exact,
    "ringsched.online.steps.step": _steps,
    "ringsched.online.follow.believe_left": _follow,
    "ringsched.engine.events.start": _live_cluster,
    "ringsched.engine.events.settle": _live_cluster,
    "ringsched.engine.events.next_completion": _live_cluster,
    "ringsched.engine.events.advance": _live_cluster,
    "ringsched.contention.over_time._sweep": _over_time,
}


def _end_with_parent() -> None:
    """End when the process for which this one compiles has ended: its end of the pipe is closed then.

    Not by `sys.stdin`: Python aborts at its end if a thread still reads that.
    """
    while os.read(0, 1024):
        pass
    os._exit(1)


if __name__ == "__main__":
    if jit.COMPILES in os.environ:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.exit(main(sys.argv[1:]))
