"""What a held job asks Slurm for, and how a layout is written into it without a new id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from ringsched.clusters.slurm.values import expand, gpu_count, gpu_type, number, plain, string
from ringsched.errors import InputError
from ringsched.model.checks import MAX_GPUS

PER_TASK, PER_NODE, PER_JOB = "task", "node", "job"  # which option states the GPUs


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A job's request.

    Parameters
    ----------
    gpus, gpu_type
        All its GPUs, and their type; empty if any will do.
    way, each
        Which option states the GPUs, and its value: GPUs per task, per node, or of the job.
    tasks, cpus_per_task, cpus_per_gpu
        Tasks, and the CPUs of each; 0 if not stated per GPU.
    node_mb, cpu_mb, gpu_mb
        Memory per node, CPU or GPU; 0 if not stated.
    min_nodes, max_nodes
        The number of nodes; at most 0 means any.
    required, excluded
        Nodes that it must use, and must not use.
    limit_s
        Its time limit; None if it states none.
    """

    gpus: int
    gpu_type: str
    way: str
    each: int
    tasks: int
    cpus_per_task: int
    cpus_per_gpu: int
    node_mb: int
    cpu_mb: int
    gpu_mb: int
    min_cpus: int
    min_nodes: int
    max_nodes: int
    required: tuple[str, ...]
    excluded: tuple[str, ...]
    features: str
    reservation: str
    is_exclusive: bool
    limit_s: float | None

    @property
    def is_free(self) -> bool:
        """Whether any balanced layout will do.

        The environment of a script keeps the values of its submission. So a job that states its nodes, or
        its GPUs per node, keeps them: `srun` in its script would not fit another layout.
        """
        states_nodes = self.min_nodes > 1 or self.max_nodes or self.required or self.way == PER_NODE
        if states_nodes or self.is_exclusive:
            return False
        return self.each == 1 if self.way == PER_TASK else self.tasks in (1, self.gpus)

    def layouts(self) -> list[int]:
        """Return the numbers of nodes over which it can be split evenly, in ascending order."""
        if self.way == PER_NODE:
            return [self.gpus // self.each]
        most = self.max_nodes or self.gpus
        least = max(self.min_nodes, len(self.required), 1)
        return [nodes for nodes in range(least, min(most, self.gpus) + 1) if self._splits(nodes)]

    def _splits(self, nodes: int) -> bool:
        if self.gpus % nodes:
            return False
        if self.way == PER_TASK:
            return self.tasks % nodes == 0
        return self.tasks == 1 or self.tasks % nodes == 0

    def tasks_per_node(self, nodes: int) -> int:
        """Return the tasks on each node; without a number of tasks, one that uses all GPUs of its node."""
        return max(1, self.tasks // nodes)

    def cpus_on_node(self, gpus: int) -> int:
        """Return the CPUs it needs on a node where it has so many GPUs."""
        tasks = self.tasks_per_node(max(1, self.gpus // gpus))
        return max(tasks * self.cpus_per_task, gpus * self.cpus_per_gpu, self.min_cpus)

    def memory_mb_on_node(self, gpus: int) -> int:
        """Return the memory it needs on a node where it has so many GPUs."""
        return max(self.node_mb, self.cpu_mb * self.cpus_on_node(gpus), self.gpu_mb * gpus)

    def updates(self, servers: Mapping[str, int]) -> list[list[str]]:
        """Return the words of the updates, one after another, that give a job these GPUs on these nodes."""
        nodes, each = len(servers), next(iter(servers.values()))
        first = [f"NumNodes={nodes}-{nodes}", f"ReqNodeList={','.join(servers)}"]
        if self.way == PER_NODE:
            return [first]
        tasks = self.tasks_per_node(nodes)
        first += [f"TasksPerNode={tasks}", f"NumTasks={nodes * tasks}"]
        if self.way == PER_JOB:
            kind = f"{self.gpu_type}:" if self.gpu_type else ""
            first += [f"TresPerNode=gres:gpu:{kind}{each}", "TresPerJob="]
        # In the same call, Slurm would take the number of CPUs for the old number of nodes.
        second = [] if self.cpus_per_gpu else [[f"NumCPUs={nodes * tasks * self.cpus_per_task}"]]
        return [first, *second]


def request_of(record: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> Request:
    """Return the request of a job, or raise an InputError if it cannot be planned.

    Parameters
    ----------
    before
        What the job asked for before the controller changed it, by `shape_of`; it replaces what Slurm has.

    Examples
    --------
    >>> request_of({"tres_per_task": "gres:gpu:a100:1", "tasks": 8, "cpus": 16}).cpus_per_task
    2
    """
    values = tuple(map(record.get, _READ))
    try:
        request = _request(values)
    except TypeError:  # newer versions of Slurm write numbers as objects, and words as lists
        request = _request(tuple(str(each) if isinstance(each, list) else plain(each) for each in values))
    return request if before is None else restored(request, before)


_READ = (
    "tres_per_task", "tres_per_node", "tres_per_job", "tres_per_socket", "tasks", "node_count", "max_nodes",
    "cpus", "cpus_per_task", "cpus_per_tres", "memory_per_node", "memory_per_cpu", "memory_per_tres",
    "minimum_cpus_per_node", "required_nodes", "excluded_nodes", "features", "resv_name", "shared",
    "exclusive", "time_limit",
)  # fmt: skip


@lru_cache(maxsize=4096)  # a queue has many jobs and few kinds of them
def _request(values: tuple[Any, ...]) -> Request:
    record = dict(zip(_READ, values, strict=True))
    per = {
        PER_TASK: string(record, "tres_per_task"),
        PER_NODE: string(record, "tres_per_node"),
        PER_JOB: string(record, "tres_per_job"),
    }
    stated = {way: text for way, text in per.items() if gpu_count(text)}
    if gpu_count(string(record, "tres_per_socket")) or len(stated) > 1:
        raise InputError("states its GPUs by socket or twice; use one of --gpus, --gpus-per-task, --gres")
    if not stated:
        raise InputError("asks for no GPUs; use --gpus-per-task=1, --gpus or --gres=gpu:N")
    ((way, text),) = stated.items()
    each, tasks = gpu_count(text), number(record, "tasks") or 1
    nodes = number(record, "node_count") or 1
    return Request(
        gpus=each * {PER_TASK: tasks, PER_NODE: nodes, PER_JOB: 1}[way],
        gpu_type=gpu_type(text),
        way=way,
        each=each,
        tasks=tasks,
        cpus_per_task=max(number(record, "cpus_per_task") or 0, (number(record, "cpus") or 1) // tasks, 1),
        cpus_per_gpu=gpu_count(string(record, "cpus_per_tres")),
        node_mb=number(record, "memory_per_node") or 0,
        cpu_mb=number(record, "memory_per_cpu") or 0,
        gpu_mb=gpu_count(string(record, "memory_per_tres")),
        min_cpus=number(record, "minimum_cpus_per_node") or 0,
        min_nodes=nodes,
        max_nodes=number(record, "max_nodes") or 0,
        required=tuple(expand(string(record, "required_nodes"))),
        excluded=tuple(expand(string(record, "excluded_nodes"))),
        features=string(record, "features"),
        reservation=string(record, "resv_name"),
        is_exclusive="NONE" in str(record.get("shared") or record.get("exclusive") or "").upper(),
        limit_s=None if (limit := number(record, "time_limit")) is None else 60.0 * limit,
    )


# The fields that `Request.updates` changes in Slurm, and what they look like.
_WHOLE = ("gpus", "each", "tasks", "cpus_per_task", "min_nodes", "max_nodes")
_TEXTS = {"gpu_type": re.compile(r"[\w.+-]*"), "way": re.compile(f"{PER_TASK}|{PER_NODE}|{PER_JOB}")}


def shape_of(request: Request) -> dict[str, Any]:
    """Return what an update changes, to be remembered in the controller's note on the job."""
    changed = (*_WHOLE, *_TEXTS, "required")
    return {key: value for key, value in asdict(request).items() if key in changed}


def restored(request: Request, before: Mapping[str, Any]) -> Request:
    """Return the request as it was before the controller changed it.

    The owner of a job can change the note, so one that makes no sense is ignored.

    Examples
    --------
    >>> changed = request_of({"tres_per_node": "gres:gpu:2", "node_count": 2, "required_nodes": "a,b"})
    >>> first = request_of({"tres_per_job": "gres:gpu:4"})
    >>> restored(changed, shape_of(first)) == first
    True
    >>> restored(changed, {"gpus": "many"}) == changed
    True
    """
    required = before.get("required")
    makes_sense = (
        all(type(before.get(key)) is int and 0 <= before[key] <= MAX_GPUS for key in _WHOLE)
        and all(type(before.get(key)) is str and form.fullmatch(before[key]) for key, form in _TEXTS.items())
        and isinstance(required, list | tuple)
        and all(type(name) is str for name in required)
        and before["each"] > 0
        and before["tasks"] > 0
    )
    if not makes_sense:
        return request
    known = {key: before[key] for key in (*_WHOLE, *_TEXTS)}
    return replace(request, **known, required=tuple(before["required"]))
