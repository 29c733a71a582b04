"""How measured blocks are printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from ringsched.calibrate.blocks import MeasuredBlock
from ringsched.calibrate.carried import carried
from ringsched.calibrate.carry_out import CarriedOut
from ringsched.calibrate.testbed import Testbed
from ringsched.calibrate.validation import COLUMNS, Validation
from ringsched.cli.tables import show
from ringsched.model import Plan
from ringsched.words.figures import counted


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
