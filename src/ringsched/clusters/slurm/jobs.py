"""The jobs of a cluster, as Slurm sees them.

They are read as JSON, because user-defined names, comments and paths may contain any text, such as
`JobState=RUNNING`, which would look like a field in Slurm's text output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
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
_MOST_TASKS = 20_000  # of one array; Slurm's own limit is lower by default


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmJob:
    """A job, or a task of an array; one that has components is one job, with the first component's id.

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
        Slurm's record, of its first component, for what it requests.
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
    restarts: int
    is_heterogeneous: bool
    record: Mapping[str, Any]

    @property
    def state(self) -> str:
        """The state as Slurm writes it."""
        return "+".join(self.states)


def read_jobs(commands: Commands) -> tuple[SlurmJob, ...]:
    """Return all jobs that slurmctld knows, those over for less than MinJobAge included, by id."""
    components: dict[int, list[Mapping[str, Any]]] = {}
    for entry in read_json(commands, "jobs", "squeue", "--states=all", "--json"):
        own = number(entry, "job_id") or 0
        components.setdefault(number(entry, "het_job_id") or own, []).append(entry)
    return tuple(job for own, entries in sorted(components.items()) for job in _jobs(own, entries))


def _jobs(own: int, entries: Sequence[Mapping[str, Any]]) -> Iterator[SlurmJob]:
    records = sorted(entries, key=lambda entry: number(entry, "het_job_offset") or 0)
    array = number(records[0], "array_job_id") or 0
    if not array:
        yield _job(str(own), 0, records)
    elif (task := number(records[0], "array_task_id")) is not None:
        yield _job(f"{array}_{task}", array, records)
    else:
        for task in tasks_in(string(records[0], "array_task_string")):
            yield _job(f"{array}_{task}", array, records)


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


def _job(job_id: str, array: int, records: Sequence[Mapping[str, Any]]) -> SlurmJob:
    first = records[0]
    states = [set(words(record, "job_state")) for record in records]
    holding = any(not state & (_DONE | _WAITING) or "COMPLETING" in state for state in states)
    waiting = not holding and any(state & _WAITING for state in states)
    held = waiting and number(first, "priority") == 0
    return SlurmJob(
        id=job_id,
        array=array,
        array_limit=number(first, "array_max_tasks") or 0,
        name=string(first, "name"),
        user=string(first, "user_name"),
        partition=string(first, "partition"),
        states=tuple(words(first, "job_state")),
        reason=string(first, "state_reason"),
        held=held,
        waiting=waiting and not held,
        holding=holding,
        done=not holding and not waiting,
        comment=string(first, "comment"),
        placement=_placement(records) if holding else {},
        submit_s=number(first, "submit_time") or 0,
        eligible_s=number(first, "eligible_time") or 0,
        start_s=number(first, "start_time") or 0,
        end_s=number(first, "end_time") or 0,
        restarts=number(first, "restart_cnt") or 0,
        is_heterogeneous=len(records) > 1,
        record=first,
    )


def _placement(records: Sequence[Mapping[str, Any]]) -> dict[str, tuple[int, ...]]:
    held: dict[str, tuple[int, ...]] = {}
    for record in records:
        details = record.get("gres_detail") or []
        # A job without GPUs has no details.
        for node, detail in zip(expand(string(record, "nodes")), details, strict=False):
            with suppress(AdapterError):  # then the node still says how many of its GPUs are given away
                if indices := gpu_indices(detail):
                    held[node] = tuple(sorted((*held.get(node, ()), *indices)))
    return held
