"""`ringsched paper`: every claim, its verdict, and the numbers."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table

from ringsched.cli.command import Command, option
from ringsched.cli.files import options_for_arguments
from ringsched.cli.options import FILE, json_option, names_in, output_option
from ringsched.cli.progress import RowProgress
from ringsched.cli.tables import show
from ringsched.cli.values import Name
from ringsched.errors import InputError
from ringsched.formatting import counted
from ringsched.paper.experiments import PARTS
from ringsched.paper.reproduce import Reproduction, reproduce_paper


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
    for column in ("claim", "section", "verdict", "evidence"):
        table.add_column(column, overflow="fold", ratio=3 if column == "evidence" else 1)
    for claim in result.claims:
        table.add_row(claim.name, claim.where, claim.verdict, claim.evidence)
    num_rows = sum(len(rows) for rows in result.rows.values()) + len(result.tiny)
    resumed = f", {result.num_resumed} of them from before" if result.num_resumed else ""
    written = "" if output is None else f" in {output}"
    show([*([table] if result.claims else []), f"{counted(num_rows, 'row')}{written}{resumed}"])


@click.command("paper", cls=Command)
@option(
    "--seeds", metavar="N", type=int, default=30, show_default=True, help="Number of workloads per point."
)
@output_option("Write tables, figures and a page here; finished rows are reused.", metavar="DIR")
@option("--page", metavar="FILE", type=FILE, stated="DIR/paper.md", help="Write the page here.")
@option(
    "--only",
    metavar="A,B,...",
    type=Name("experiment", PARTS, several=True),
    help=f"Run only these experiments: {', '.join(PARTS)}.",
)
@option("--workers", metavar="N", type=int, stated="all cores", help="Number of processes.")
@json_option("Print claims and rows as JSON.")
def paper_command(
    seeds: int, output: Path | None, page: Path | None, only: str | None, workers: int | None, as_json: bool
) -> None:
    """Reproduce the paper's figures and evaluate its claims.

    Runs figures 4 to 7 and the points that the paper leaves open. Prints for every claim whether it holds,
    with the numbers behind it.
    """
    if page is not None and output is None:
        raise InputError("needs --output, the directory of the figures it shows", field="--page")
    parts = PARTS if only is None else names_in(only)
    with (
        options_for_arguments({"parts": "only"}),
        RowProgress("reproducing") as progress,
    ):
        result = reproduce_paper(
            output, seeds=seeds, parts=parts, page=page, workers=workers, on_piece=progress.on_row
        )
    if as_json:
        click.echo(reproduction_to_json(result))
    else:
        print_reproduction(result, output)
