"""`ringsched calibrate testbed`: rings for real, between servers made of namespaces."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ringsched.cli.working import Working
from ringsched.errors import InputError
from ringsched.model.checks import integer, number

if TYPE_CHECKING:
    from ringsched.calibrate.blocks import MeasuredBlock

SUSPECT = 1  # exit code: the answer is no


@click.command("testbed")
@click.option("--servers", metavar="N", type=int, default=4, show_default=True, help="2 to 64.")
@click.option(
    "--mbps", metavar="X", type=float, default=200.0, show_default=True, help="Of every link, each way."
)
@click.option("--repeats", metavar="N", type=int, default=1, show_default=True, help="Measure all so often.")
@click.option("--quick", is_flag=True, help="Fewer and shorter blocks: half a minute.")
@click.option(
    "--job",
    "placements",
    metavar="S,S,...",
    multiple=True,
    help="Instead: run such jobs at a time, a worker on each server named, in the order of the ring.",
)
@click.option("--message-mb", metavar="X", type=float, default=2.0, show_default=True, help="With --job.")
@click.option("--compute", "compute_s", metavar="S", type=float, default=0.0, help="With --job.")
@click.option("--seconds", metavar="S", type=float, default=4.0, show_default=True, help="With --job.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the measurements there as CSV, for `calibrate fit`.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the blocks as JSON.")
def testbed_command(
    servers: int,
    mbps: float,
    repeats: int,
    quick: bool,
    placements: tuple[str, ...],
    message_mb: float,
    compute_s: float,
    seconds: float,
    output: Path | None,
    as_json: bool,
) -> None:
    """Measure real rings between servers made of network namespaces.

    Needs Linux, iproute2 and user namespaces, but no root. Everything runs in namespaces of its own,
    which end with this command, however it ends. Blocks disturbed by other work on this machine are
    repeated; if they stay so they are called suspect and left out, and the exit code is 1.
    """
    from ringsched.calibrate.bed_jobs import TestJob
    from ringsched.calibrate.blocks import measure
    from ringsched.calibrate.measurement_file import save_measurements
    from ringsched.calibrate.procedure import Calibrated, run_procedure
    from ringsched.calibrate.testbed import Testbed
    from ringsched.io.table_file import check_table_file

    integer(repeats, "--repeats", minimum=1, maximum=100)
    number(message_mb, "--message-mb", above=0, maximum=4096)
    number(compute_s, "--compute", minimum=0)
    number(seconds, "--seconds", above=0, maximum=3600)
    if output is not None:
        if placements:
            raise InputError("means nothing with --job: such jobs need not be alike", field="--output")
        check_table_file(output)
    given = [_placement(text) for text in placements]
    testbed = Testbed(servers, mbps)
    with Working("measuring"), testbed:
        if given:
            jobs = [
                TestJob(placement=each, message_mb=message_mb, compute_s=compute_s, seconds=seconds)
                for each in given
            ]
            done = Calibrated((), (measure(testbed, "jobs as given", jobs),))
        else:
            done = run_procedure(testbed, repeats=repeats, quick=quick)
    if output is not None and done.measurements:
        save_measurements(done.measurements, output)
    if as_json:
        click.echo(json.dumps([_content(block) for block in done.blocks], indent=1))
    else:
        from ringsched.cli.calibrate_blocks import print_blocks

        print_blocks(done.blocks, testbed, output if done.measurements else None)
    if done.suspect:
        click.get_current_context().exit(SUSPECT)


def _placement(text: str) -> tuple[int, ...]:
    cells = [cell.strip() for cell in text.split(",")]
    if not all(cell.isdecimal() for cell in cells):
        raise InputError(f"must be numbers of servers such as 0,0,1, not {text!r}", field="--job")
    return tuple(int(cell) for cell in cells)


def _content(block: MeasuredBlock) -> dict[str, Any]:
    return {
        "name": block.name,
        "suspect": block.suspect,
        "tries": block.num_tries,
        "noise": block.noise._asdict(),
        "wire_bytes_per_payload_byte": block.overhead,
        "sent_again": block.sent_again,
        "jobs": [
            asdict(job) | {"median_s": seconds} | {key: medians._asdict()[key] for key in _PARTS}
            for job, seconds, medians in zip(block.jobs, block.seconds, block.medians, strict=True)
        ],
    }


_PARTS = ("exchange_s", "reduce_s")
