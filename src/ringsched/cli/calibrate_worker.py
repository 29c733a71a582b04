"""`ringsched calibrate worker`: one worker of a real ring."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import click

from ringsched.errors import InputError
from ringsched.model.checks import integer, number

if TYPE_CHECKING:
    from ringsched.calibrate.worker import WorkerRun


@click.command("worker")
@click.option("--rank", metavar="R", type=int, required=True, help="Which of the addresses is this one's.")
@click.option("--ring", metavar="HOST:PORT,...", required=True, help="Where all workers listen, by rank.")
@click.option(
    "--message-mb", metavar="X", type=float, default=16.0, show_default=True, help="What is summed."
)
@click.option(
    "--compute", "compute_s", metavar="S", type=float, default=0.0, help="Seconds every iteration computes."
)
@click.option("--iterations", metavar="N", type=int, help="End after so many; default 20.")
@click.option("--seconds", metavar="S", type=float, help="End after so much time instead.")
@click.option(
    "--timeout",
    "timeout_s",
    metavar="S",
    type=float,
    default=30.0,
    show_default=True,
    help="For silent peers.",
)
@click.option(
    "--concurrent", metavar="N", type=int, default=1, show_default=True, help="Like jobs at a time."
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the medians there as CSV for `calibrate fit`; rank 0 is enough.",
)
@click.option("--json", "as_json", is_flag=True, help="Print every iteration as JSON.")
def worker_command(
    rank: int,
    ring: str,
    message_mb: float,
    compute_s: float,
    iterations: int | None,
    seconds: float | None,
    timeout_s: float,
    concurrent: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Run one worker of a real ring all-reduce over TCP.

    Start one for every address, on the machine it names, with the same options but for --rank. Neighbours
    should share a server, so that the ring crosses every link once each way.
    """
    from ringsched.calibrate.measurement_file import save_measurements
    from ringsched.calibrate.peers import ring_from_text
    from ringsched.calibrate.worker import MOST_MB, measurement_of, run_worker
    from ringsched.io.table_file import check_table_file

    addresses = ring_from_text(ring)
    integer(rank, "--rank", minimum=0, maximum=len(addresses) - 1)
    number(message_mb, "--message-mb", above=0, maximum=MOST_MB)
    number(compute_s, "--compute", minimum=0)
    number(timeout_s, "--timeout", above=0)
    integer(concurrent, "--concurrent", minimum=1)
    if iterations is not None and seconds is not None:
        raise InputError("cannot stand together with --iterations; keep one of them", field="--seconds")
    if iterations is not None:
        integer(iterations, "--iterations", minimum=1)
    if seconds is not None:
        number(seconds, "--seconds", above=0)
    if output is not None:
        check_table_file(output)
    run = run_worker(
        rank,
        addresses,
        message_mb=message_mb,
        compute_s=compute_s,
        iterations=20 if iterations is None and seconds is None else iterations,
        seconds=seconds,
        timeout_s=timeout_s,
    )
    servers = len({address.host for address in addresses})
    if output is not None:
        row = measurement_of(
            run,
            servers=servers,
            workers=len(addresses),
            concurrent=concurrent,
            message_mb=message_mb,
            compute_s=compute_s,
        )
        save_measurements([row], output)
    click.echo(_json(run) if as_json else _line(run, len(addresses), servers))


def _line(run: WorkerRun, num_workers: int, servers: int) -> str:
    counted = run.iterations[1:] or run.iterations
    parts = [
        f"{what} {median(getattr(each, f'{what}_s') for each in counted) * 1e3:.3f} ms"
        for what in ("exchange", "reduce", "compute")
    ]
    return (
        f"rank {run.rank} of {num_workers} on {servers} servers, {len(run.iterations)} iterations: "
        f"{', '.join(parts)}; sent {run.sent_bytes} bytes, received {run.received_bytes}"
    )


def _json(run: WorkerRun) -> str:
    return json.dumps(
        {
            "rank": run.rank,
            "sent_bytes": run.sent_bytes,
            "received_bytes": run.received_bytes,
            "waited_s": run.waited_s,
            "iterations": [each._asdict() for each in run.iterations],
        },
        indent=1,
    )
