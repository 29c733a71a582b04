"""The jobs of a cluster, as Slurm sees them.

They are read as JSON, because user-defined names, comments and paths may contain any text, such as
`JobState=RUNNING`, which would look like a field in Slurm's text output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ringsched.clusters.slurm.commands import Commands
from ringsched.clusters.slurm.values import expand, gpu_indices, number, read_json, string, words
from ringsched.errors import AdapterError

_DONE = {
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL",
    "OUT_OF_MEMORY", "PREEMPTED", "RECONFIG_FAIL", "REVOKED", "TIMEOUT",
}  # fmt: skip
_WAITING = {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT"}
_NEVER_S = 30 * 86400  # a later end counts as unknown
_OVER_OR_WAITING = _DONE | _WAITING
_MOST_TASKS = 20_000  # of one array; Slurm's own limit is lower by default


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmJob:
    """A job, a task of an array, or a component of a heterogeneous job.

    Parameters
    ----------
    id
        The id as its owner types it, such as 17 or 17_3.
    array, array_limit
        The id of its array, and how many tasks of it may run at once; 0 if there is none.
    held, waiting, holding, done
        In which of the four phases it is: held back, ready for Slurm to start it, on its GPUs (also
        while it ends), or over.
    placement
        The GPUs it holds, by node; of a job that is over, none.
    record
        Slurm's record, for what it requests.
    """

    id: str
    array: int
    array_limit: int
    name: str
    user: str
    partition: str
    states: tuple[str, ...]
    reason: str
    held: bool
    waiting: bool
    holding: bool
    done: bool
    comment: str
    placement: Mapping[str, tuple[int, ...]]
    submit_s: int
    eligible_s: int
    start_s: int
    end_s: int
    record: Mapping[str, Any]

    @property
    def state(self) -> str:
        """The state as Slurm writes it."""
        return "+".join(self.states)

    def left_s(self, now_s: float) -> float | None:
        """Return how long Slurm lets it run on; None if that is unknown."""
        return None if not 0 < self.end_s <= now_s + _NEVER_S else max(1.0, self.end_s - now_s)


def read_jobs(commands: Commands) -> tuple[SlurmJob, ...]:
    """Return all jobs that slurmctld knows, those over for less than MinJobAge included, by id."""
    records = read_json(commands, "jobs", "squeue", "--states=all", "--json")
    records.sort(key=lambda record: number(record, "job_id") or 0)
    return tuple(job for record in records for job in _jobs(record))


def _jobs(record: Mapping[str, Any]) -> Iterator[SlurmJob]:
    """Yield the job of a record; of an array, its tasks that have no records yet."""
    array, states = number(record, "array_job_id") or 0, words(record, "job_state")
    ids = [str(number(record, "job_id") or 0)]
    if array:
        task = number(record, "array_task_id")
        tasks = tasks_in(string(record, "array_task_string")) if task is None else [task]
        ids = [f"{array}_{task}" for task in tasks]
    holding = "COMPLETING" in states or _OVER_OR_WAITING.isdisjoint(states)
    waiting = not holding and not _WAITING.isdisjoint(states)
    held = waiting and number(record, "priority") == 0
    placement = _placement(record) if holding else {}
    for job_id in ids:
        yield SlurmJob(
            id=job_id,
            array=array,
            array_limit=number(record, "array_max_tasks") or 0,
            name=string(record, "name"),
            user=string(record, "user_name"),
            partition=string(record, "partition"),
            states=tuple(states),
            reason=string(record, "state_reason"),
            held=held,
            waiting=waiting and not held,
            holding=holding,
            done=not holding and not waiting,
            comment=string(record, "comment"),
            placement=placement,
            submit_s=number(record, "submit_time") or 0,
            eligible_s=number(record, "eligible_time") or 0,
            start_s=number(record, "start_time") or 0,
            end_s=number(record, "end_time") or 0,
            record=record,
        )


def _placement(record: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    held = {}
    # A job without GPUs has no details.
    for node, detail in zip(expand(string(record, "nodes")), record.get("gres_detail") or [], strict=False):
        with suppress(AdapterError):  # then the node still says how many of its GPUs are given away
            if indices := gpu_indices(detail):
                held[node] = indices
    return held


_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")


def tasks_in(text: str) -> list[int]:
    """Return the tasks that an array has left, as Slurm lists them.

    Examples
    --------
    >>> tasks_in("0,2-3,10-20:5%2"), tasks_in("1-2,...")
    ([0, 2, 3, 10, 15, 20], [1, 2])
    """
    tasks: list[int] = []
    for item in text.partition("%")[0].split(","):
        if (found := _RANGE.fullmatch(item)) is not None:
            first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
            tasks += range(first, last + 1, max(1, step))
        if len(tasks) > _MOST_TASKS:
            break
    return tasks[:_MOST_TASKS]
