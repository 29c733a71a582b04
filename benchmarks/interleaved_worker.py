"""One version of the source at work: `benchmarks.interleaved` starts a process of this for each.

Requests come as lines of JSON on stdin, answers go as lines of JSON to stdout.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, TextIO

from benchmarks import adapters
from benchmarks.tasks import tasks


class Worker:
    """Prepares one task at a time and times it."""

    def __init__(self) -> None:
        adapters.leave_out_newer_bounds()
        self._tasks = tasks()
        self._work: Callable[[], Any] = lambda: None
        self._is_by_value = False

    def prepare(self, name: str) -> dict[str, Any]:
        """Prepare a task and run it twice: the first run loads kernels, the second is measured."""
        gc.unfreeze()
        work, facts = self._tasks[name]()
        kept = adapters.derived_values()

        def first() -> Any:
            """Do the work as for the first time: nothing that follows from a scenario is at hand."""
            for values in kept:
                values.clear()
            return work()

        self._work, self._is_by_value = first, facts is None
        result = first() if facts is None else facts(first())
        # A collection during a timed run then visits that run's objects only.
        gc.collect()
        gc.freeze()
        return {"result": None if facts is None else result} | self.run(1)

    def run(self, number: int) -> dict[str, float]:
        """Return CPU and wall time of one call, out of `number` calls; child processes are included.

        Of a task with a fixed time, also the value it reaches in that time.
        """
        gc.collect()
        cpu, wall = _cpu_s(), time.perf_counter()
        for _ in range(number):
            result = self._work()
        times = {"cpu_s": (_cpu_s() - cpu) / number, "wall_s": (time.perf_counter() - wall) / number}
        return times | ({"value": result} if self._is_by_value else {})


def _cpu_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def main() -> None:
    """Answer requests until stdin ends."""
    answers = _answers()
    worker = Worker()
    import ringsched

    print(json.dumps({"source": ringsched.__file__, "tasks": list(tasks())}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request["method"])(request["argument"])
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


def _answers() -> TextIO:
    """Return stdout for the answers alone; whatever else prints goes to stderr."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


if __name__ == "__main__":
    main()
