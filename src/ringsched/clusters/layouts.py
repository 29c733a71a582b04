"""Jobs that need an exact number of servers: their place is fitted after planning.

A scenario states only that a layout is balanced. A plan may put such a job on another number of servers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ringsched.model import Cluster, Job, Placement, PlannedJob, Server


def admits(server: Server, job: Job) -> bool:
    """Whether a server has the labels that a job requires."""
    return all(server.labels.get(key) == value for key, value in job.requires.items())


def fitted(
    entry: PlannedJob, job: Job, num_servers: int, cluster: Cluster, free: Mapping[str, list[int]]
) -> PlannedJob | None:
    """Return the entry of a job that starts now with equal parts on so many servers; None if it cannot.

    Servers of the planned placement come first, then those with the fewest free GPUs.

    Parameters
    ----------
    free
        The free GPUs of each server, by `free_gpus`.
    """
    if len(entry.gpus) == num_servers and all(
        set(held) <= set(free[name]) for name, held in entry.gpus.items()
    ):
        return entry
    if job.gpus % num_servers:
        return None
    each = job.gpus // num_servers
    rank = {server.name: at for at, server in enumerate(cluster.servers)}
    fitting = [
        server.name
        for server in cluster.servers
        if len(free[server.name]) >= each
        and admits(server, job)
        and not any(begin_s < entry.finish_s for begin_s, _ in server.unavailable_windows)
    ]
    fitting.sort(key=lambda name: (name not in entry.gpus, len(free[name]), rank[name]))
    if len(fitting) < num_servers:
        return None
    chosen = sorted(fitting[:num_servers], key=lambda name: (_path(cluster, name), rank[name]))
    gpus = {name: free[name][:each] for name in chosen}
    return PlannedJob(
        name=entry.name,
        start_s=entry.start_s,
        finish_s=entry.finish_s,
        gpus=Placement(gpus),
        ring=tuple((name, gpu) for name, held in gpus.items() for gpu in held),
    )


def free_gpus(cluster: Cluster, busy: Iterable[Job]) -> dict[str, list[int]]:
    """Return the GPUs of each server that no job is on."""
    held: dict[str, set[int]] = {server.name: set(server.unavailable) for server in cluster.servers}
    for job in busy:
        for name, gpus in (job.running_on or Placement({})).items():
            held[name].update(gpus)
    return {
        server.name: [gpu for gpu in range(server.gpus) if gpu not in held[server.name]]
        for server in cluster.servers
    }


def _path(cluster: Cluster, name: str) -> tuple[str, ...]:
    """Return the switches above a server from the core down, so that a ring crosses each uplink once."""
    parent_of = {switch.name: switch.parent for switch in cluster.switches}
    at = next(server.switch for server in cluster.servers if server.name == name)
    path: list[str] = []
    while at is not None:
        path.insert(0, at)
        at = parent_of.get(at)
    return tuple(path)
