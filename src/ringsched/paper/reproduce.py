"""Run the paper's experiments, judge its claims, and write tables, figures and a page."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from ringsched.analysis.compare.rows import sole_writer
from ringsched.analysis.compare.runs import code_version
from ringsched.analysis.compare.workers import on_cores
from ringsched.drawing import check_matplotlib
from ringsched.errors import InputError
from ringsched.formats.files import check_writable, make_directory, write_text
from ringsched.formatting import counted, one_line
from ringsched.model.checks import choice, integer
from ringsched.paper.claims import Claim, claims_of
from ringsched.paper.experiments import (
    EXPERIMENTS,
    NUM_TINY,
    PARTS,
    TINY,
    PaperRow,
    Row,
    TinyRow,
    columns,
    rows_of_seed,
    values,
)
from ringsched.paper.results import Results, write_rows, write_table
from ringsched.paper.tiny import tiny_rows


class Output:
    """A directory for tables and figures, and a page that shows them."""

    def __init__(self, directory: Path, page: Path | None) -> None:
        check_matplotlib(field="output")
        self.directory = directory
        self._page = directory / "paper.md" if page is None else page
        make_directory(directory)
        check_writable(directory / "claims.csv")
        check_writable(self._page)

    def write(self, results: Results, claims: Sequence[Claim], seeds: int) -> None:
        """Write everything; the same results give the same bytes."""
        from ringsched.paper.figures import draw_figures
        from ringsched.paper.page import page_of

        tables: dict[str, Sequence[Row]] = {**results.rows, "tiny": results.tiny}
        for name, rows in tables.items():
            if rows:
                write_rows(self.directory / f"{name}.csv", rows)
        write_table(
            self.directory / "claims.csv",
            [field.name for field in fields(Claim)],
            [astuple(c) for c in claims],
        )
        drawn = draw_figures(self.directory, results)
        write_text(self._page, page_of(claims, drawn, seeds, self._command(seeds), self._link))

    def _link(self, name: str) -> str:
        """Return the relative path from the page to a file of the directory."""
        return Path(os.path.relpath(self.directory / name, self._page.parent)).as_posix()

    def _command(self, seeds: int) -> str:
        own = self._page == self.directory / "paper.md"
        page = "" if own else f" --page {_shown(self._page)}"
        return f"ringsched paper --seeds {seeds} -o {_shown(self.directory)}{page}"


def _shown(path: Path) -> str:
    """Return a path for the page, relative if possible."""
    return path.name if path.is_absolute() else path.as_posix()


MEMORY = ".rows.jsonl"
SMALL_WORK = 12  # pieces of a tenth to half a second: fewer are done before other processes have started


class Piece(NamedTuple):
    """All plans of one seed of one experiment: they share workloads, so they are done together."""

    experiment: str
    seed: int


Done = dict[Piece, list[Row]]


def pieces_of(parts: Iterable[str], seeds: int) -> list[Piece]:
    """Return the work in the order of its rows."""
    return [Piece(part, seed) for part in parts for seed in range(NUM_TINY if part == TINY else seeds)]


def finished(piece: Piece) -> tuple[Piece, list[Row]]:
    """Do one piece of work."""
    rows: Sequence[Row]
    rows = tiny_rows(piece.seed) if piece.experiment == TINY else rows_of_seed(*piece)
    return piece, list(rows)


def done_by(
    pieces: Sequence[Piece], workers: int | None, memory: Memory | None, on_piece: Callable[[int, int], None]
) -> Done:
    """Return the rows of all pieces; those that the memory has are not computed again."""
    done = {piece: rows for piece, rows in (memory.read() if memory else {}).items() if piece in set(pieces)}
    left = [piece for piece in pieces if piece not in done]
    on_piece(len(done), len(pieces))
    if memory:
        memory.open(done)
    for piece, rows in _computed(left, workers):
        done[piece] = rows
        if memory:
            memory.add(piece, rows)
        on_piece(len(done), len(pieces))
    return done


def _computed(pieces: Sequence[Piece], workers: int | None) -> Iterator[tuple[Piece, list[Row]]]:
    if workers is None:
        import joblib  # type: ignore[import-untyped]

        workers = int(joblib.cpu_count()) if len(pieces) > SMALL_WORK else 1
    return on_cores(finished, pieces, workers) if workers > 1 else map(finished, pieces)


class Memory:
    """A hidden file beside the tables, so that they hold results and nothing else.

    A line is a piece of work and the code that did it; lines of other code are forgotten.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / MEMORY

    def read(self) -> Done:
        """Return what this code has done; a line cut short by a crash does not count."""
        if not self._path.is_file():
            return {}
        done: Done = {}
        for line in self._path.read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(ValueError, KeyError, TypeError):
                content = json.loads(line)
                if content["code"] == code_version():
                    piece = Piece(content["experiment"], content["seed"])
                    done[piece] = [_row(piece, row) for row in content["rows"]]
        return done

    def open(self, done: Done) -> None:
        """Keep what is still true, and nothing else."""
        write_text(self._path, "".join(_line(piece, rows) for piece, rows in done.items()))

    def add(self, piece: Piece, rows: Sequence[Row]) -> None:
        """Remember one more piece."""
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(_line(piece, rows))
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=str(self._path)) from None


def _line(piece: Piece, rows: Sequence[Row]) -> str:
    content = {"code": code_version(), **piece._asdict(), "rows": [values(row) for row in rows]}
    return f"{json.dumps(content)}\n"


def _row(piece: Piece, found: Sequence[Any]) -> Row:
    kind: type[Row] = TinyRow if piece.experiment == TINY else PaperRow
    named: Mapping[str, Any] = dict(zip(columns(kind), found, strict=True))
    return kind(**named)


SEEDS = 30
MOST_SEEDS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """The rows of every experiment, and a verdict on every claim they decide."""

    rows: Mapping[str, tuple[PaperRow, ...]]  # by experiment
    tiny: tuple[TinyRow, ...]
    claims: tuple[Claim, ...]
    num_resumed: int  # rows that were in the output already

    def __repr__(self) -> str:
        num_rows = sum(map(len, self.rows.values())) + len(self.tiny)
        return one_line("Reproduction", counted(num_rows, "row"), counted(len(self.claims), "claim"))


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
        A directory for tables, figures and the page; results of an earlier run are reused if
        the code is the same.
    seeds
        Number of workloads, drawn from the seeds 0, 1, ...; the same for every policy.
    parts
        Which experiments, out of policies, kappa, servers, lambda, plenty, horizon, share, tiny.
    page
        Where the page goes; None for paper.md in `output`.
    workers
        Number of processes; None for one per core if that is faster.
    on_piece
        Called with the number of pieces of work that are done and of all.

    Examples
    --------
    >>> result = reproduce_paper(seeds=1, parts=["lambda"], workers=1)
    >>> [row.slack for row in result.rows["lambda"]]
    [1, 2, 4, 8]
    """
    num_seeds = integer(seeds, "seeds", minimum=1, maximum=MOST_SEEDS)
    num_workers = None if workers is None else integer(workers, "workers", minimum=1)
    chosen = _chosen(parts)
    target = None if output is None else Output(Path(output), None if page is None else Path(page))
    with sole_writer(None if target is None else target.directory / "claims.csv"):
        memory = None if target is None else Memory(target.directory)
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
