"""`ringsched ring`: the paper's Fig. 1 for any number of workers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ringsched.model.checks import integer

if TYPE_CHECKING:  # numpy is loaded only when a ring is run
    from ringsched.ring import RingRun, Step

# What can still be read, or be of use as JSON; `ringsched.all_reduce` takes anything.
MOST_WORKERS = 32
MOST_ELEMENTS = 1000

Frame = tuple["Step | None", list[list[int]]]  # a step, None for the start, and all vectors after it


@click.command("ring")
@click.option(
    "--workers", metavar="W", type=int, default=3, show_default=True, help=f"1 to {MOST_WORKERS} workers."
)
@click.option(
    "--size", metavar="D", type=int, default=6, show_default=True, help=f"0 to {MOST_ELEMENTS} elements each."
)
@click.option("--json", "as_json", is_flag=True, help="Print every step and what it moved as JSON.")
def ring_command(workers: int, size: int, as_json: bool) -> None:
    """Run ring all-reduce step by step on real vectors.

    Every worker starts with a vector of its own and ends with the sum of all. Prints what each of them
    sends, receives and holds after every step, and how many bytes that moves.
    """
    num_workers = integer(workers, "--workers", minimum=1, maximum=MOST_WORKERS)
    num_elements = integer(size, "--size", minimum=0, maximum=MOST_ELEMENTS)
    frames, run = _executed(num_workers, num_elements)
    if as_json:
        click.echo(json.dumps(_content(frames, run), indent=1))
        return
    from ringsched.cli.ring_tables import print_ring  # rich is loaded only when a table is printed

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
