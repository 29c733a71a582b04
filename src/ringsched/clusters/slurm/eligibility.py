"""Which nodes may run a job: pure functions of what Slurm reports.

Slurm refuses a job on a node of the wrong type, feature, size, partition or reservation. A plan that knows
this beforehand releases no job in vain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ringsched.clusters.slurm.nodes import SlurmNode
from ringsched.clusters.slurm.requests import Request
from ringsched.clusters.slurm.site import Partition, Reservation
from ringsched.errors import InputError
from ringsched.model.eligibility import has_balanced_layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Eligible:
    """Where a job may run.

    Parameters
    ----------
    nodes
        The nodes that may run it.
    servers
        The number of nodes it needs; None if any balanced layout will do.
    limit_s
        How long Slurm lets it run.
    partition
        In which of its partitions.
    """

    nodes: frozenset[str]
    servers: int | None
    limit_s: float
    partition: Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The nodes at one moment.

    Parameters
    ----------
    capacity
        GPUs of each node that can be used, now or when a job there ends.
    partitions
        The partitions that are planned, by name.
    """

    now_s: float
    nodes: tuple[SlurmNode, ...]
    capacity: Mapping[str, int]
    partitions: Mapping[str, Partition]
    reservations: tuple[Reservation, ...] = ()
    shares_memory: bool = False


def eligible(request: Request, partitions: Sequence[str], around: Surroundings) -> Eligible:
    """Return where a job may run, in the best of the partitions it names; raise an InputError if nowhere."""
    found: list[Eligible] = []
    reasons: list[str] = []
    for name in partitions:
        if name not in around.partitions:
            reasons.append(f"is in partition {name}, which is not planned here")
            continue
        try:
            found.append(_eligible_in(request, around.partitions[name], around))
        except InputError as error:
            reasons.append(str(error))
    if not found:
        raise InputError("; ".join(dict.fromkeys(reasons)))
    free = {node.name: node.gpus - node.used for node in around.nodes}
    return max(found, key=lambda each: sum(free[name] for name in each.nodes))


def _eligible_in(request: Request, partition: Partition, around: Surroundings) -> Eligible:
    limit_s = partition.default_s if request.limit_s is None else request.limit_s
    if not partition.is_up:
        raise InputError(f"waits for partition {partition.name}, which is not up")
    if limit_s > partition.max_s:
        raise InputError(
            f"asks for {limit_s:g} s, more than the {partition.max_s:g} s of partition {partition.name}"
        )

    def chosen(nodes: Iterable[SlurmNode], servers: int | None) -> Eligible:
        names = frozenset(node.name for node in nodes)
        return Eligible(nodes=names, servers=servers, limit_s=limit_s, partition=partition)

    candidates = _allowed(request, partition, limit_s, around)
    if request.is_free and not partition.min_nodes > 1 and not partition.max_nodes:
        nodes = [node for node in candidates if _fits(request, partition, node, around, request.gpus)]
        if has_balanced_layout(request.gpus, [around.capacity[node.name] for node in nodes]):
            return chosen(nodes, None)
    short = False
    for servers in request.layouts():
        if servers < partition.min_nodes or (partition.max_nodes and servers > partition.max_nodes):
            continue
        each = request.gpus // servers
        large = [node for node in candidates if around.capacity[node.name] >= each]
        nodes = [node for node in large if _fits(request, partition, node, around, each)]
        if len(nodes) >= servers and set(request.required) <= {node.name for node in nodes}:
            if len(request.required) == servers:
                nodes = [node for node in nodes if node.name in request.required]
            elif request.required:
                continue  # Slurm would fill up the list, a plan cannot
            return chosen(nodes, servers)
        busy = [node for node in large if _is_large_enough(request, partition, node, each)]
        short = short or len(busy) >= servers
    if short:
        raise InputError("waits for CPUs or memory that other jobs use")
    if not candidates:
        raise InputError(f"no node of partition {partition.name} has what it asks for: {_demands(request)}")
    where = f"the {len(candidates)} nodes of partition {partition.name}"
    raise InputError(f"needs {request.gpus} GPUs in equal parts, which {where} do not have")


def _demands(request: Request) -> str:
    demands = {
        "GPU type": request.gpu_type,
        "features": request.features,
        "reservation": request.reservation,
        "excluded nodes": ",".join(request.excluded),
        "time limit": "" if request.limit_s is None else f"{request.limit_s:g} s",
    }
    return ", ".join(f"{key} {value}" for key, value in demands.items() if value) or "GPUs, CPUs, memory"


def _allowed(request: Request, partition: Partition, limit_s: float, around: Surroundings) -> list[SlurmNode]:
    """Return the nodes that may run some of a job now, whatever its layout."""
    own = [each for each in around.reservations if each.name == request.reservation]
    if request.reservation and not any(each.start_s <= around.now_s for each in own):
        raise InputError(f"waits for its reservation {request.reservation}")
    if any(around.now_s + limit_s > each.end_s for each in own):
        raise InputError(f"has a time limit beyond the end of its reservation {request.reservation}")
    # As Slurm does: a node with a reservation ahead runs only jobs whose time limit ends before it.
    closed = {
        node
        for each in around.reservations
        if each.name != request.reservation and each.end_s > around.now_s
        for node in each.nodes
        if each.start_s < around.now_s + limit_s
    }
    has_features = features_test(request.features)
    return [
        node
        for node in around.nodes
        if node.name in partition.nodes
        and node.usable
        and around.capacity[node.name] > 0
        and node.name not in closed
        and node.name not in request.excluded
        and (not request.reservation or any(node.name in each.nodes for each in own))
        and (not request.gpu_type or node.types.get(request.gpu_type))
        and has_features(node.features)
    ]


def _fits(request: Request, partition: Partition, node: SlurmNode, around: Surroundings, most: int) -> bool:
    """Whether a node has CPUs and memory for as many GPUs of a job as it can give it."""
    each = min(most, around.capacity[node.name])
    if not _is_large_enough(request, partition, node, each):
        return False
    free = node.gpus - node.used
    if free == 0 or (free < each and most == each):
        return True  # it cannot start there now anyway
    each = min(each, free)
    if node.cpus - node.cpus_used < request.cpus_on_node(each):
        return False
    memory_mb = request.memory_mb_on_node(each) if around.shares_memory else 0
    return node.memory_mb - node.memory_used_mb >= memory_mb


def _is_large_enough(request: Request, partition: Partition, node: SlurmNode, each: int) -> bool:
    """Whether an empty node could run so many GPUs of a job."""
    cpus = min(node.cpus, partition.max_cpus or node.cpus)
    return (
        cpus >= request.cpus_on_node(each)
        and node.memory_mb >= request.memory_mb_on_node(each)
        and (not request.gpu_type or node.types.get(request.gpu_type, 0) >= each)
        and (not request.is_exclusive or node.gpus == each)
    )


_WORD = re.compile(r"\s*([&|()]|[^&|()\[\]*\s]+)")


def features_test(text: str) -> Callable[[frozenset[str]], bool]:
    """Return a function that tells whether a node's features satisfy a `--constraint`.

    Slurm evaluates `&` and `|` from left to right. Counts and lists of alternatives in brackets say something
    about a group of nodes, and are refused.

    Examples
    --------
    >>> test = features_test("ib&(a100|h100)")
    >>> test(frozenset({"ib", "h100"})), test(frozenset({"h100"}))
    (True, False)
    """
    words: list[str] = []
    at = 0
    while at < len(text.rstrip()):
        found = _WORD.match(text, at)
        if found is None:
            raise InputError(f"has --constraint={text}, which is not planned; use names, & and |")
        words.append(found[1])
        at = found.end()

    def evaluated(features: frozenset[str], words: list[str]) -> bool:
        """Evaluate up to the closing parenthesis, which it takes."""
        result, operator = True, "&"
        while words:
            word = words.pop(0)
            if word == ")":
                break
            if word in ("&", "|"):
                operator = word
                continue
            value = evaluated(features, words) if word == "(" else word in features
            result = (result and value) if operator == "&" else (result or value)
        return result

    return lambda features: evaluated(features, list(words))


def labels_of(choices: Iterable[frozenset[str]], nodes: Sequence[str]) -> dict[frozenset[str], str]:
    """Return a label for each different set of nodes that jobs may use; none for the set of all nodes.

    Examples
    --------
    >>> one, both = frozenset({"n1"}), frozenset({"n1", "n2"})
    >>> labels_of([one, both, one], ["n1", "n2"])
    {frozenset({'n1'}): 'nodes-1'}
    """
    sets = dict.fromkeys(choices)
    sets.pop(frozenset(nodes), None)
    return {chosen: f"nodes-{at}" for at, chosen in enumerate(sets, start=1)}
