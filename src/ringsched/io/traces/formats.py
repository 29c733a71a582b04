"""The table of formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from ringsched.io.traces.acme import ACME
from ringsched.io.traces.helios import HELIOS
from ringsched.io.traces.itp import ITP
from ringsched.io.traces.muri import MURI
from ringsched.io.traces.philly import PHILLY
from ringsched.io.traces.philly_json import PHILLY_JSON
from ringsched.io.traces.rows import BadRow, TraceRow
from ringsched.io.traces.tiresias import TIRESIAS


class Format(Protocol):
    """A way to write a trace."""

    def rows(self, path: Path) -> Iterator[TraceRow | BadRow]:
        """Yield every row: a job, or why it is none."""
        ...


FORMATS: Mapping[str, Format] = {
    "philly": PHILLY,
    "philly-json": PHILLY_JSON,
    "tiresias": TIRESIAS,
    "muri": MURI,
    "helios": HELIOS,
    "acme": ACME,
    "itp": ITP,
}
