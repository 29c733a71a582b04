"""One call: run the paper's experiments, judge its claims, write tables, figures and a page."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ringsched.analysis.paper.claims import Claim, claims_of
from ringsched.analysis.paper.experiments import EXPERIMENTS, PARTS, TINY
from ringsched.analysis.paper.output import Output
from ringsched.analysis.paper.points import PaperRow, Row, TinyRow
from ringsched.analysis.paper.results import Results
from ringsched.analysis.paper.work import Done, Memory, done_by, pieces_of
from ringsched.analysis.sole_writer import sole_writer
from ringsched.model.checks import choice, integer

SEEDS = 30
MOST_SEEDS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """The rows of every experiment, and a verdict on every claim they decide."""

    rows: Mapping[str, tuple[PaperRow, ...]]  # by experiment
    tiny: tuple[TinyRow, ...]
    claims: tuple[Claim, ...]
    num_resumed: int  # rows that were in the output already


def reproduce_paper(
    output: str | os.PathLike[str] | None = None,
    *,
    seeds: int = SEEDS,
    parts: Iterable[str] = PARTS,
    page: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    on_piece: Callable[[int, int], None] = lambda _done, _total: None,
) -> Reproduction:
    """Run figures 4 to 7 of the paper and what it leaves open, and judge its claims by them.

    Parameters
    ----------
    output
        A folder for tables, figures and the page; what a run before has left there is taken over if
        the code is the same.
    seeds
        How many workloads, drawn from the seeds 0, 1, ...; the same for every policy.
    parts
        Which experiments, out of policies, kappa, servers, lambda, plenty, horizon, share, tiny.
    page
        Where the page goes; None for paper.md in `output`.
    workers
        Processes; None for one a core where that pays off.
    on_piece
        Called with the number of pieces of work that are done and of all.

    Examples
    --------
    >>> import ringsched
    >>> result = ringsched.reproduce_paper(seeds=1, parts=["lambda"], workers=1)
    >>> [row.slack for row in result.rows["lambda"]]
    [1, 2, 4, 8]
    """
    num_seeds = integer(seeds, "seeds", minimum=1, maximum=MOST_SEEDS)
    num_workers = None if workers is None else integer(workers, "workers", minimum=1)
    chosen = _chosen(parts)
    target = None if output is None else Output(Path(output), None if page is None else Path(page))
    with sole_writer(None if target is None else target.folder / "claims.csv"):
        memory = None if target is None else Memory(target.folder)
        known = memory.read() if memory else {}
        pieces = pieces_of(chosen, num_seeds)
        done = done_by(pieces, num_workers, memory, on_piece)
        results = _results(chosen, [(piece.experiment, done[piece]) for piece in pieces])
        claims = claims_of(results)
        if target is not None:
            target.write(results, claims, num_seeds)
    return Reproduction(
        rows={name: tuple(rows) for name, rows in results.rows.items()},
        tiny=tuple(results.tiny),
        claims=claims,
        num_resumed=_num_rows(known, done),
    )


def _chosen(parts: Iterable[str]) -> list[str]:
    """Return the parts in their own order, each once."""
    asked = {choice(part, "parts", PARTS) for part in parts}
    return [part for part in PARTS if part in asked]


def _results(parts: Sequence[str], found: Sequence[tuple[str, Sequence[Row]]]) -> Results:
    rows: dict[str, list[PaperRow]] = {part: [] for part in parts if part in EXPERIMENTS}
    tiny: list[TinyRow] = []
    for part, each in found:
        for row in each:
            if isinstance(row, TinyRow):
                tiny.append(row)
            else:
                rows[part].append(row)
    return Results(rows=rows, tiny=tiny if TINY in parts else [])


def _num_rows(known: Done, done: Done) -> int:
    return sum(len(rows) for piece, rows in known.items() if piece in done)
