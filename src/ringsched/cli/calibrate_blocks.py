"""How measured blocks are printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from ringsched.calibrate.blocks import MeasuredBlock
from ringsched.calibrate.predict import MODELS
from ringsched.calibrate.testbed import Testbed
from ringsched.calibrate.validation import Validation
from ringsched.cli.tables import show
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
    show([*parts, *([] if output is None else [f"measurements written to {output}"])])


def _trust(block: MeasuredBlock) -> str:
    tries = "" if block.num_tries == 1 else f", try {block.num_tries}"
    return f"{'suspect' if block.suspect else 'ok'}{tries}"


def print_validation(done: Validation) -> None:
    """Print every job, predicted and measured, and how far each model is off."""
    table = Table(box=None, pad_edge=False)
    for column in ("block", "servers", "duty", "measured ms", *(f"{model} ms" for model in MODELS)):
        table.add_column(column, no_wrap=True, justify="left" if column in ("block", "servers") else "right")
    table.add_column("")
    for job in done.jobs:
        cells = [f"{job.predicted_s[model] * 1e3:.1f} ({job.error(model):+.1%})" for model in MODELS]
        where = ",".join(str(server) for server in job.placement)
        trust = "suspect" if job.suspect else ""
        measured = f"{job.measured_s * 1e3:.1f}"
        table.add_row(job.block, where, f"{job.duty_cycle:.2f}", measured, *cells, trust)
    lines = []
    for model in MODELS:
        middle, worst = done.errors(model)
        lines.append(f"{model}: median error {middle:.1%}, worst {worst:.1%}")
    suspect = [block.name for block in done.blocks if block.suspect]
    lines += [f"suspect, and not counted: {', '.join(suspect)}"] if suspect else []
    show([table, "", *lines])
