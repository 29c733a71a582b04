"""What a person sees of a reproduction: every claim, its verdict, and the numbers."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from ringsched.analysis.paper.reproduce import Reproduction
from ringsched.cli.tables import show
from ringsched.words.figures import counted


def reproduction_to_json(result: Reproduction) -> str:
    """Return claims and rows as JSON."""
    content = {
        "claims": [asdict(claim) for claim in result.claims],
        "rows": {name: [asdict(row) for row in rows] for name, rows in result.rows.items()},
        "tiny": [asdict(row) for row in result.tiny],
    }
    return json.dumps(content, indent=1)


def print_reproduction(result: Reproduction, output: Path | None) -> None:
    """Print the claims, then where the rest is."""
    table = Table(box=None, pad_edge=False)
    for column in ("claim", "section", "verdict", "what says so"):
        table.add_column(column, overflow="fold", ratio=3 if column == "what says so" else 1)
    for claim in result.claims:
        table.add_row(claim.name, claim.where, claim.verdict, claim.evidence)
    num_rows = sum(len(rows) for rows in result.rows.values()) + len(result.tiny)
    resumed = f", {result.num_resumed} of them from before" if result.num_resumed else ""
    written = "" if output is None else f" in {output}"
    show([*([table] if result.claims else []), f"{counted(num_rows, 'row')}{written}{resumed}"])
