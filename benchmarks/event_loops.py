"""`python -m benchmarks.event_loops`: other event loops beside ours, and a policy in Python.

SimPy's model computes the same starts and finishes. The bare loops know no placement and no contention: a
job waits until enough GPUs are free, in order of arrival. So they bound from below what any simulation of
the same jobs takes. The loop in C is compiled here.
"""

from __future__ import annotations

import ctypes
import heapq
import os
import subprocess
import time
from collections import deque
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import ringsched
from benchmarks.effort import sized
from benchmarks.measure import best_of
from ringsched import Cluster, Workload, generate
from ringsched.engine.problem import Problem, problem_of
from ringsched.jit import runnable
from ringsched.online.dispatch import DONE, dispatch
from ringsched.online.settings import OnlineSettings
from ringsched.online.stage import new_stage
from ringsched.policies.table import policy_named

NUM_JOBS = sized(20_000, 300)
OWN_JOBS = sized(3_000, 100)

SOURCE = r"""
typedef struct { double end; int gpus; } Event;
static void down(Event *heap, int size, int at) {
  Event item = heap[at];
  for (;;) {
    int child = 2 * at + 1;
    if (child >= size) break;
    if (child + 1 < size && heap[child + 1].end < heap[child].end) child++;
    if (heap[child].end >= item.end) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = item;
}
static void up(Event *heap, int at) {
  Event item = heap[at];
  while (at > 0 && heap[(at - 1) / 2].end > item.end) { heap[at] = heap[(at - 1) / 2]; at = (at - 1) / 2; }
  heap[at] = item;
}
double run(int n, int free, const double *release, const double *length, const int *gpus, Event *heap) {
  int arrived = 0, started = 0, size = 0;
  double now = 0, last = 0;
  while (started < n || size > 0) {
    while (arrived < n && release[arrived] <= now) arrived++;
    while (started < arrived && gpus[started] <= free) {
      free -= gpus[started];
      heap[size].end = now + length[started];
      heap[size].gpus = gpus[started++];
      up(heap, size++);
    }
    now = arrived < n ? release[arrived] : 1e300;
    if (size > 0 && heap[0].end < now) now = heap[0].end;
    while (size > 0 && heap[0].end <= now) {
      free += heap[0].gpus;
      last = heap[0].end;
      heap[0] = heap[--size];
      if (size > 0) down(heap, size, 0);
    }
  }
  return last;
}
"""


def event_loops() -> dict[str, Any]:
    """20,000 jobs at a load of 0.8 on 64 servers x 8 GPUs, fifo: other event loops, and the simulation."""
    from benchmarks import simpy_model

    cluster = Cluster.of_servers(64, switches=8)
    scenario = generate(Workload.poisson(load=0.8, jobs=NUM_JOBS, cluster=cluster))
    problem = problem_of(scenario)
    release, length = np.array(problem.release), np.array(problem.best_case, dtype=np.float64)
    gpus = np.array(problem.gpus, dtype=np.int32)
    in_python = best_of(lambda: heap_loop(problem.num_gpus, release, length, gpus), repeats=3)
    with TemporaryDirectory() as directory:
        loop = compiled_loop(Path(directory))
        assert loop(problem.num_gpus, release, length, gpus) == heap_loop(
            problem.num_gpus, release, length, gpus
        )
        in_c = best_of(lambda: loop(problem.num_gpus, release, length, gpus), repeats=10)
    simulation = ringsched.simulate(scenario)  # loads the kernels
    ours = best_of(lambda: ringsched.simulate(scenario), repeats=10)
    alone = min(events_s(problem) for _ in range(10))
    started = time.perf_counter()
    starts_s, finishes_s = simpy_model.run(scenario)
    in_simpy = time.perf_counter() - started
    assert np.allclose(simulation.start_s, starts_s)
    assert np.allclose(simulation.finish_s, finishes_s)
    return {
        "bare loop in C, jobs/s": NUM_JOBS / in_c,
        "bare loop in Python, jobs/s": NUM_JOBS / in_python,
        "SimPy, jobs/s": NUM_JOBS / in_simpy,
        "ringsched, jobs/s": NUM_JOBS / ours,
        "ringsched, events alone, jobs/s": NUM_JOBS / alone,
        "ringsched over the loop in C": ours / in_c,
        "ringsched, events alone, over the loop in C": alone / in_c,
        "ringsched over the loop in Python": ours / in_python,
        "SimPy over ringsched": in_simpy / ours,
        "load of the machine": os.getloadavg()[0],
    } | own_policy()


def events_s(problem: Problem) -> float:
    """Return how long the events take, without reading the scenario and without its results as arrays."""
    fifo = policy_named("fifo", online=True)
    stage = new_stage(problem, problem, fifo, OnlineSettings(order="fifo"))
    run = runnable(dispatch, work_s=problem.pass_s)
    started = time.perf_counter()
    status = run(stage, False, True, 10 * problem.num_jobs)
    seconds = time.perf_counter() - started
    assert status == DONE
    return seconds


def own_policy() -> dict[str, Any]:
    """The documented online policy in Python beside the built-in one that it reproduces."""
    cluster = Cluster.of_servers(16, switches=4)
    scenario = generate(Workload.poisson(load=0.95, jobs=OWN_JOBS, cluster=cluster), seed=1)
    names: dict[str, Any] = {}
    exec(_documented(), names)

    def theirs() -> Any:
        return ringsched.simulate(scenario, names["ShortestFirst"]())

    def ours() -> Any:
        return ringsched.simulate(scenario, "shortest-first", backfill="easy")

    assert theirs().start_s.tolist() == ours().start_s.tolist()
    pairs = [(best_of(theirs, repeats=1), best_of(ours, repeats=3)) for _ in range(5)]
    in_python, built_in = map(min, zip(*pairs, strict=True))
    return {
        "shortest-first + easy in Python, jobs/s": OWN_JOBS / in_python,
        "shortest-first + easy built in, jobs/s": OWN_JOBS / built_in,
        "times slower in Python": in_python / built_in,
    }


def _documented() -> str:
    guide = Path(__file__).parents[1] / "docs" / "how-to" / "write-a-policy.md"
    text = guide.read_text(encoding="utf-8")
    return text.split("```python file=shortest.py\n")[1].split("```")[0]


def heap_loop(free: int, release: Any, length: Any, gpus: Any) -> float:
    """Return the last end, by a heap of Python."""
    jobs = deque(zip(release.tolist(), length.tolist(), gpus.tolist(), strict=True))
    waiting: deque[tuple[float, int]] = deque()
    running: list[tuple[float, int]] = []
    now = last = 0.0
    while jobs or waiting or running:
        while jobs and jobs[0][0] <= now:
            _, duration, size = jobs.popleft()
            waiting.append((duration, size))
        while waiting and waiting[0][1] <= free:
            duration, size = waiting.popleft()
            free -= size
            heapq.heappush(running, (now + duration, size))
        now = jobs[0][0] if jobs else float("inf")
        if running:
            now = min(now, running[0][0])
        while running and running[0][0] <= now:
            last, size = heapq.heappop(running)
            free += size
    return last


def compiled_loop(directory: Path) -> Any:
    """Return the loop in C, compiled in a directory."""
    source, library = directory / "loop.c", directory / "loop.so"
    source.write_text(SOURCE, encoding="utf-8")
    subprocess.run(["cc", "-O3", "-shared", "-fPIC", "-o", library, source], check=True)
    run = ctypes.CDLL(str(library)).run
    run.restype = ctypes.c_double
    doubles, ints = np.ctypeslib.ndpointer(np.float64), np.ctypeslib.ndpointer(np.int32)
    run.argtypes = [ctypes.c_int, ctypes.c_int, doubles, doubles, ints, ctypes.c_void_p]

    def loop(free: int, release: Any, length: Any, gpus: Any) -> float:
        heap = np.zeros(2 * len(release))  # a double and an int, padded
        return float(run(len(release), free, release, length, gpus, heap.ctypes.data))

    return loop


if __name__ == "__main__":
    for name, value in event_loops().items():
        print(f"{name:45s} {value:12.4g}")
