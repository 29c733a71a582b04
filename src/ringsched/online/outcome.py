"""What happened in a simulation over time, in the clock's units."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ringsched.engine.state import Floats, Integers, Run
from ringsched.formatting import counted, one_line
from ringsched.online.queue import NUM_RECORDS, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineRun:
    """What happened; instants from the origin, in the clock's units, jobs in the scenario's order."""

    start: Floats
    finish: Floats
    gpus: Integers  # of all jobs, one after another
    first: Integers  # where those of each job begin
    num_servers: Integers
    promised: Floats
    backfilled: NDArray[np.bool_]
    time: Floats
    queue: NDArray[np.int32]
    busy: NDArray[np.int32]
    contended: NDArray[np.int32]
    num_plans: int

    def as_run(self) -> Run:
        """Return starts, finishes and GPUs as those of any other run."""
        held, first = self.gpus.tolist(), self.first.tolist()
        gpus = [held[begin:end] for begin, end in pairwise(first)]
        return Run(self.start.tolist(), self.finish.tolist(), gpus)

    def __repr__(self) -> str:
        return one_line("OnlineRun", counted(len(self.start), "job"), counted(len(self.time), "change"))


def run_of_stage(stage: Stage, *, num_plans: int = 0) -> OnlineRun:
    """Return what happened on a stage, once all jobs have ended."""
    course = stage.course
    end = course.counts[NUM_RECORDS]
    return OnlineRun(
        start=stage.state.start,
        finish=stage.state.finished,
        gpus=stage.state.gpus_of,
        first=stage.arrays.gpu_first,
        num_servers=stage.state.traffic.num_servers,
        promised=course.promised,
        backfilled=course.backfilled,
        time=course.time[:end].copy(),
        queue=course.queue[:end].copy(),
        busy=course.busy[:end].copy(),
        contended=course.contended[:end].copy(),
        num_plans=num_plans,
    )
