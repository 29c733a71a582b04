"""The jobs of a cluster, as Slurm sees them.

They are read as JSON, because user-defined names, comments and paths may contain any text, such as
`JobState=RUNNING`, which would look like a field in Slurm's text output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmJob:
    """A job; one that has components is one job, with the first component's id.

    Parameters
    ----------
    held, waiting, holding, done
        In which of the four phases it is: held back, ready for Slurm to start it, on its GPUs (also
        while it ends), or over.
    comment, note
        Its comment, and the `AdminComment`.
    placement
        The GPUs it holds, by node; of a job that is over, none.
    wanted
        The nodes it must run on and the tasks on each, if requested.
    records
        Slurm's record of each component, for rarely used fields.
    """

    id: int
    name: str
    user_id: int
    group_id: int
    user: str
    partition: str
    states: tuple[str, ...]
    reason: str
    held: bool
    waiting: bool
    holding: bool
    done: bool
    comment: str
    note: str
    tasks: int
    placement: Mapping[str, tuple[int, ...]]
    wanted: Mapping[str, int]
    submit_s: int
    eligible_s: int
    start_s: int
    end_s: int
    restarts: int
    records: tuple[Mapping[str, Any], ...]

    @property
    def is_heterogeneous(self) -> bool:
        """Whether it was submitted in components, whose shape cannot be changed any more."""
        return len(self.records) > 1

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
    return tuple(_job(job_id, entries) for job_id, entries in sorted(components.items()))


def _job(job_id: int, entries: Sequence[Mapping[str, Any]]) -> SlurmJob:
    records = tuple(sorted(entries, key=lambda entry: number(entry, "het_job_offset") or 0))
    first = records[0]
    states = [set(words(record, "job_state")) for record in records]
    holding = any(not state & (_DONE | _WAITING) or "COMPLETING" in state for state in states)
    waiting = not holding and any(state & _WAITING for state in states)
    held = waiting and number(first, "priority") == 0
    return SlurmJob(
        id=job_id,
        name=string(first, "name"),
        user_id=_identity(first, "user_id"),
        group_id=_identity(first, "group_id"),
        user=string(first, "user_name"),
        partition=string(first, "partition"),
        states=tuple(words(first, "job_state")),
        reason=string(first, "state_reason"),
        held=held,
        waiting=waiting and not held,
        holding=holding,
        done=not holding and not waiting,
        comment=string(first, "comment"),
        note=string(first, "admin_comment"),
        tasks=sum(number(record, "tasks") or 0 for record in records),
        placement=_placement(records) if holding else {},
        wanted=_wanted(records),
        submit_s=number(first, "submit_time") or 0,
        eligible_s=number(first, "eligible_time") or 0,
        start_s=number(first, "start_time") or 0,
        end_s=number(first, "end_time") or 0,
        restarts=number(first, "restart_cnt") or 0,
        records=records,
    )


def _identity(record: Mapping[str, Any], key: str) -> int:
    """Return the owner of a job; if Slurm does not report it, no default is assumed."""
    value = number(record, key)
    if value is None or value < 0:
        raise AdapterError(f"Slurm wrote a job without {key}")
    return value


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


def _wanted(records: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    wanted: dict[str, int] = {}
    for record in records:
        for node in expand(string(record, "required_nodes")):
            wanted[node] = number(record, "tasks_per_node") or 0
    return wanted
