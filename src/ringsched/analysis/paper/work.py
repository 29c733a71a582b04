"""Which pieces of work there are, where they are done, and which of them are done already."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ringsched.analysis.code_version import code_version
from ringsched.analysis.paper.experiments import NUM_TINY, TINY
from ringsched.analysis.paper.measure import rows_of_seed
from ringsched.analysis.paper.points import PaperRow, Row, TinyRow, columns, values
from ringsched.analysis.paper.tiny import tiny_rows
from ringsched.analysis.workers import on_cores
from ringsched.errors import InputError
from ringsched.io.files import write_text

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

    def __init__(self, folder: Path) -> None:
        self._path = folder / MEMORY

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
