"""`ringsched calibrate testbed`: rings for real, between servers made of namespaces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from ringsched.calibrate.blocks import MeasuredBlock
from ringsched.calibrate.carry_out import CarriedOut
from ringsched.calibrate.links import carried
from ringsched.calibrate.testbed import Testbed
from ringsched.calibrate.validation import COLUMNS, Validation
from ringsched.cli.options import json_option, output_option
from ringsched.cli.progress import Working
from ringsched.cli.tables import show
from ringsched.errors import InputError
from ringsched.model import Plan
from ringsched.model.checks import integer, number
from ringsched.phrases import counted

if TYPE_CHECKING:
    from ringsched.calibrate.blocks import MeasuredBlock


def print_blocks(blocks: Sequence[MeasuredBlock], testbed: Testbed, output: Path | None) -> None:
    """Print every block, what disturbed it, and whether it can be trusted."""
    table = Table(box=None, pad_edge=False)
    for column in ("block", "iteration, ms", "disturbed by", ""):
        table.add_column(column, no_wrap=column != "iteration, ms", overflow="fold")
    for block in blocks:
        times = ", ".join(f"{seconds * 1e3:.4g}" for seconds in block.seconds)
        table.add_row(block.name, times, str(block.noise), _trust(block))
    suspect = [block.name for block in blocks if block.suspect]
    parts: list[str | Table] = [
        f"{counted(testbed.servers, 'server')}, {testbed.mbps:g} Mbit/s each way, "
        f"of which {testbed.payload_gbps * 1e3:.1f} are payload",
        "",
        table,
        "",
    ]
    if suspect:
        names = ", ".join(dict.fromkeys(suspect))
        parts.append(
            f"suspect: {names}; left out, since other work disturbed them. Measure again when it is quiet"
        )
    else:
        parts.append("ok: no block was disturbed")
    if alone := carried(blocks):
        parts.append(
            f"alone a link carried {alone.payload_mbps:.1f} Mbit/s of payload, {alone.wire_mbps:.1f} with "
            f"all headers, of {testbed.mbps:g} ({alone.wire_mbps / testbed.mbps - 1:+.1%}); "
            f"{alone.sent_again:.2%} was sent again"
        )
    show([*parts, *([] if output is None else [f"measurements written to {output}"])])


def _trust(block: MeasuredBlock) -> str:
    tries = "" if block.num_tries == 1 else f", try {block.num_tries}"
    return f"{'suspect' if block.suspect else 'ok'}{tries}"


def print_validation(done: Validation) -> None:
    """Print every job as measured, and how far each model's prediction is above that."""
    table = Table(box=None, pad_edge=False)
    for column in ("block", "servers", "duty", "measured, ms", *COLUMNS):
        table.add_column(column, no_wrap=True, justify="left" if column in ("block", "servers") else "right")
    table.add_column("")
    for job in done.jobs:
        cells = [f"{job.error(model):+.1%}" for model in COLUMNS]
        where = ",".join(str(server) for server in job.placement)
        trust = "suspect" if job.suspect else ""
        measured = f"{job.measured_s * 1e3:.1f}"
        table.add_row(job.block, where, f"{job.duty_cycle:.2f}", measured, *cells, trust)
    lines = []
    for model in COLUMNS:
        middle, worst = done.errors(model)
        lines.append(f"{model}: median error {middle:.1%}, worst {worst:.1%}")
    suspect = [block.name for block in done.blocks if block.suspect]
    lines += [f"suspect, and not counted: {', '.join(suspect)}"] if suspect else []
    show([table, "", *lines])


def print_carried_out(plan: Plan, done: CarriedOut) -> None:
    """Print every job of a plan as it was to be and as it was."""
    table = Table(box=None, pad_edge=False)
    table.add_column("job", overflow="fold")
    for column in ("start s", "really", "finish s", "really", "duration"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("servers", overflow="fold")
    for job in done.jobs:
        times = (job.start_s, job.measured_start_s, job.finish_s, job.measured_finish_s)
        table.add_row(
            job.name, *(f"{time_s:.2f}" for time_s in times), f"{job.error:+.1%}", " ".join(job.servers)
        )
    makespan = f"makespan {plan.makespan_s:.2f} s planned, {done.makespan_s:.2f} s real"
    show([table, "", f"{makespan} ({plan.makespan_s / done.makespan_s - 1:+.1%}); {done.noise}"])


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
@output_option("Write the measurements there as CSV, for `calibrate fit`.")
@json_option("Print the blocks as JSON.")
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
    from ringsched.calibrate.blocks import Calibrated, measure, run_procedure
    from ringsched.calibrate.measurements import save_measurements
    from ringsched.calibrate.testbed import Testbed, TestJob
    from ringsched.formats.files import check_table_file

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
