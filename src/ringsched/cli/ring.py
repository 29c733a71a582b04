"""`ringsched ring`: the paper's Fig. 1 for any number of workers."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from ringsched.cli.command import Command, option
from ringsched.cli.options import json_option
from ringsched.cli.tables import PLAIN_WIDTH, show
from ringsched.formatting import counted
from ringsched.model.checks import integer
from ringsched.ring import SHARE_REDUCE, RingRun, Step, chunks_of

if TYPE_CHECKING:
    from ringsched.ring import RingRun, Step


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
    if LEFT_WIDTH + sum(widths) + 2 * len(widths) <= _width():
        for step, vectors in frames:
            parts += ["", _title(step, run.num_steps), _frame(step, vectors, chunks, widths)]
    else:
        parts.append("too wide to be drawn; --json has every step")
    show([*parts, "", _totals(run), _moral(run)])


def _width() -> int:
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


# What can still be read, or be of use as JSON; `ringsched.all_reduce` takes anything.
MOST_WORKERS = 32
MOST_ELEMENTS = 1000

Frame = tuple["Step | None", list[list[int]]]  # a step, None for the start, and all vectors after it


@click.command("ring", cls=Command)
@option(
    "--ranks",
    metavar="N",
    type=int,
    default=3,
    show_default=True,
    help=f"Number of workers in the ring, 1 to {MOST_WORKERS}.",
)
@option(
    "--elements",
    metavar="N",
    type=int,
    default=6,
    show_default=True,
    help=f"Elements of each worker's vector, 0 to {MOST_ELEMENTS}.",
)
@json_option("Print every step and the bytes it moved as JSON.")
def ring_command(ranks: int, elements: int, as_json: bool) -> None:
    """Run ring all-reduce step by step on small vectors.

    Every worker starts with its own vector and ends with the sum of all. Prints what each worker sends,
    receives and holds after every step, and how many bytes that moves.
    """
    num_workers = integer(ranks, "--ranks", minimum=1, maximum=MOST_WORKERS)
    num_elements = integer(elements, "--elements", minimum=0, maximum=MOST_ELEMENTS)
    frames, run = _executed(num_workers, num_elements)
    if as_json:
        click.echo(json.dumps(_content(frames, run), indent=1))
        return

    print_ring(frames, run)


def example_vectors(num_workers: int, size: int) -> list[list[int]]:
    """Return 1, 2, 3, ... for the first worker, ten times that for the next: digits tell who is in a sum.

    Examples
    --------
    >>> example_vectors(3, 2)
    [[1, 2], [10, 20], [100, 200]]
    """
    return [[(at % 9 + 1) * 10 ** (worker % 9) for at in range(size)] for worker in range(num_workers)]


def _executed(num_workers: int, size: int) -> tuple[list[Frame], RingRun]:
    import numpy as np

    from ringsched.ring import all_reduce

    start = [np.array(vector, dtype=np.int64) for vector in example_vectors(num_workers, size)]
    frames: list[Frame] = [(None, [vector.tolist() for vector in start])]

    def keep(step: Step, vectors: Sequence[Any]) -> None:
        frames.append((step, [vector.tolist() for vector in vectors]))

    return frames, all_reduce(start, on_step=keep)


def _content(frames: Sequence[Frame], run: RingRun) -> dict[str, Any]:
    start = frames[0][1]
    return {
        "workers": len(start),
        "size": len(start[0]),
        "start": start,
        "steps": [
            {
                "number": step.number,
                "phase": step.phase,
                "transfers": [transfer._asdict() for transfer in step.transfers],
                "vectors": vectors,
            }
            for step, vectors in frames
            if step is not None
        ],
        "sent_bytes": run.sent_bytes,
        "received_bytes": run.received_bytes,
        "added_bytes": run.added_bytes,
        "server_worker_bytes": run.server_worker_bytes,
    }
