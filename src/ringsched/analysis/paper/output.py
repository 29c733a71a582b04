"""Where a reproduction is written: checked before any work, filled at its end."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path

from ringsched.analysis.paper.claims import Claim
from ringsched.analysis.paper.points import Row
from ringsched.analysis.paper.results import Results
from ringsched.analysis.paper.tables import write_rows, write_table
from ringsched.errors import InputError
from ringsched.io.files import check_writable, make_folder, write_text


class Output:
    """A folder for tables and figures, and a page that shows them."""

    def __init__(self, folder: Path, page: Path | None) -> None:
        check_matplotlib()
        self.folder = folder
        self._page = folder / "paper.md" if page is None else page
        make_folder(folder)
        check_writable(folder / "claims.csv")
        check_writable(self._page)

    def write(self, results: Results, claims: Sequence[Claim], seeds: int) -> None:
        """Write everything; the same results give the same bytes."""
        from ringsched.analysis.paper.figures import draw_figures
        from ringsched.analysis.paper.page import page_of

        tables: dict[str, Sequence[Row]] = {**results.rows, "tiny": results.tiny}
        for name, rows in tables.items():
            if rows:
                write_rows(self.folder / f"{name}.csv", rows)
        write_table(
            self.folder / "claims.csv", [field.name for field in fields(Claim)], [astuple(c) for c in claims]
        )
        drawn = draw_figures(self.folder, results)
        write_text(self._page, page_of(claims, drawn, seeds, self._command(seeds), self._link))

    def _link(self, name: str) -> str:
        """Return the way from the page to a file of the folder."""
        return Path(os.path.relpath(self.folder / name, self._page.parent)).as_posix()

    def _command(self, seeds: int) -> str:
        own = self._page == self.folder / "paper.md"
        page = "" if own else f" --page {_shown(self._page)}"
        return f"ringsched paper --seeds {seeds} -o {_shown(self.folder)}{page}"


def check_matplotlib(field: str = "output") -> None:
    """Raise if there is nothing to draw with; `field` is what was asked for."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("needs matplotlib: pip install 'ringsched[paper]'", field=field) from None


def _shown(path: Path) -> str:
    """Return a path for the page: a whole one says nothing to others."""
    return path.name if path.is_absolute() else path.as_posix()
