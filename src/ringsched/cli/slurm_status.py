"""What a person sees of a Slurm cluster: servers, running jobs, shared links, the queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table

from ringsched.cli.tables import figures_table, show
from ringsched.clusters.slurm.status import JobStatus, ServerStatus, Status
from ringsched.formatting import counted, duration, figure, placed


def print_status(status: Status) -> None:
    """Print servers, running jobs, shared links, the queue, and what is left alone."""
    gpus = sum(server.gpus for server in status.servers)
    in_use = sum(server.in_use for server in status.servers)
    unavailable = sum(server.unavailable for server in status.servers)
    parts: list[str | Table] = [
        f"partition {status.partition}: {counted(len(status.servers), 'server')}, {counted(gpus, 'GPU')}: "
        f"{in_use} in use, {gpus - in_use - unavailable} free, {unavailable} unavailable"
    ]
    parts += [_server_line(server) for server in status.servers if server.unavailable or server.other_jobs]
    running = [job for job in status.jobs if job.phase in ("running", "starting")]
    queued = [job for job in status.jobs if job.phase == "queued"]
    left = [job for job in status.jobs if job.phase == "left"]
    if running:
        parts += ["", _running_table(running)]
    parts += [
        f"uplink of {link.name}: {link.jobs} jobs, each {figure(link.factor)} times slower on it"
        for link in status.shared_links
    ]
    if queued:
        parts += ["", _queue_table(queued)]
        parts.append(f"all done in {duration(status.makespan_s)}, as planned now by {status.policy}")
    if left:
        parts += ["", _left_table(left)]
    if not status.jobs:
        parts.append("no jobs")
    show(parts)


def _server_line(server: ServerStatus) -> str:
    reason = f" ({server.reason})" if server.reason else ""
    others = f", {counted(server.other_jobs, 'GPU')} used by other Slurm jobs" if server.other_jobs else ""
    closed = f", {counted(server.unavailable, 'GPU')} unavailable" if server.unavailable else ""
    return f"{server.name}: {server.state}{reason}{others}{closed}"


def _running_table(jobs: Sequence[JobStatus]) -> Table:
    table = _table("running", "done", "ends in", "predicted", "slower", last="servers:GPUs")
    for job in jobs:
        table.add_row(
            _name(job),
            job.user,
            "starting" if job.done is None else f"{100 * job.done:.0f} %",
            _figure(job.finish_s),
            _figure(job.predicted_finish_s),
            "" if job.slowdown is None else f"{job.slowdown:.2f}",
            _servers(job.servers),
        )
    return table


def _queue_table(jobs: Sequence[JobStatus]) -> Table:
    table = _table("queued", "GPUs", "starts in", "ends in", last="servers:number of GPUs")
    for job in jobs:
        times = (_figure(job.start_s), _figure(job.finish_s))
        table.add_row(_name(job), job.user, str(job.gpus), *times, _servers(job.servers))
    return table


def _left_table(jobs: Sequence[JobStatus]) -> Table:
    table = _table("left held", last="reason")
    for job in jobs:
        table.add_row(_name(job), job.user, _printable(job.reason))
    return table


def _table(first: str, *figures: str, last: str) -> Table:
    table = figures_table(first, "user", *figures, last=last)
    table.columns[1].justify = "left"
    return table


def _name(job: JobStatus) -> str:
    return f"{job.id} {_printable(job.name)}"


def _printable(text: str) -> str:
    """Return a user's text without what could steer a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _figure(value: float | None) -> str:
    return "" if value is None else duration(round(value, 1))


def _servers(servers: Mapping[str, Sequence[int] | int]) -> str:
    return " ".join(
        f"{name}:{held}" if isinstance(held, int) else placed({name: held}) for name, held in servers.items()
    )
