"""How a ring all-reduce is drawn: a table for every step, then what was moved."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from rich.table import Table

from ringsched.cli.tables import PLAIN_WIDTH, show
from ringsched.ring import SHARE_REDUCE, RingRun, Step, chunks_of
from ringsched.words.figures import counted

if TYPE_CHECKING:
    from ringsched.cli.ring import Frame

LEFT_WIDTH = 28  # worker, what it sends and receives


def print_ring(frames: Sequence[Frame], run: RingRun) -> None:
    """Print every step that can be drawn, and the totals."""
    start = frames[0][1]
    chunks = chunks_of(len(start[0]), len(start))
    parts: list[str | Table] = [
        f"{counted(len(start), 'worker')}, {counted(len(start[0]), 'element')} each, "
        f"{counted(run.num_steps, 'step')}; a digit of a sum for every worker in it"
    ]
    sums = frames[-1][1][0]
    widths = [max(len(f"chunk {at}"), len(_numbers(sums, chunk))) for at, chunk in enumerate(chunks)]
    if LEFT_WIDTH + sum(widths) + 2 * len(widths) <= _room():
        for step, vectors in frames:
            parts += ["", _title(step, run.num_steps), _frame(step, vectors, chunks, widths)]
    else:
        parts.append("too wide to be drawn; --json has every step")
    show([*parts, "", _totals(run), _moral(run)])


def _room() -> int:
    return get_terminal_size().columns if sys.stdout.isatty() else PLAIN_WIDTH


def _title(step: Step | None, num_steps: int) -> str:
    if step is None:
        return "start"
    does = "adds what it receives" if step.phase == SHARE_REDUCE else "keeps what it receives"
    return f"step {step.number} of {num_steps}, {step.phase}: each worker {does}"


def _frame(
    step: Step | None, vectors: Sequence[Sequence[int]], chunks: Sequence[slice], widths: Sequence[int]
) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("worker", "sends", "receives"):
        table.add_column(column, no_wrap=True, min_width=8 if column == "receives" else 7)
    for at, width in enumerate(widths):
        table.add_column(f"chunk {at}", no_wrap=True, min_width=width)
    sent = {transfer.sender: transfer.chunk for transfer in step.transfers} if step else {}
    received = {transfer.receiver: transfer.chunk for transfer in step.transfers} if step else {}
    for worker, vector in enumerate(vectors):
        cells = [_named(sent.get(worker)), _named(received.get(worker))]
        table.add_row(str(worker), *cells, *(_numbers(vector, chunk) for chunk in chunks))
    return table


def _named(chunk: int | None) -> str:
    return "" if chunk is None else f"chunk {chunk}"


def _numbers(vector: Sequence[int], chunk: slice) -> str:
    return " ".join(str(number) for number in vector[chunk])


def _totals(run: RingRun) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("bytes", no_wrap=True)
    for column in ("sent", "received", "added"):
        table.add_column(column, justify="right", no_wrap=True)
    for worker, moved in enumerate(zip(run.sent_bytes, run.received_bytes, run.added_bytes, strict=True)):
        table.add_row(f"worker {worker}", *(str(number) for number in moved))
    totals = (run.sent_bytes, run.received_bytes, run.added_bytes)
    table.add_row("all", *(str(sum(moved)) for moved in totals))
    return table


def _moral(run: RingRun) -> str:
    busiest = max(sent + received for sent, received in zip(run.sent_bytes, run.received_bytes, strict=True))
    return (
        f"no worker sends and receives more than {busiest} bytes; "
        f"a server for all workers would have to move {run.server_worker_bytes}"
    )
