"""`ringsched paper`: every claim, its verdict, and the numbers."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table

from ringsched.cli.files import options_for_arguments
from ringsched.cli.options import FILE, json_option, names_in, output_option
from ringsched.cli.progress import RowProgress
from ringsched.cli.tables import show
from ringsched.errors import InputError
from ringsched.paper.experiments import PARTS
from ringsched.paper.reproduce import Reproduction, reproduce_paper
from ringsched.phrases import counted


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


@click.command("paper")
@click.option(
    "--seeds", metavar="N", type=int, default=30, show_default=True, help="How many workloads a point."
)
@output_option("Write tables, figures and a page there; what is done already is taken over.", metavar="DIR")
@click.option(
    "--page",
    metavar="FILE",
    type=FILE,
    help="Where the page goes; default DIR/paper.md.",
)
@click.option("--only", metavar="A,B,...", help="Some of the experiments.")
@click.option("--jobs", metavar="N", type=int, help="Processes that work; default: all cores.")
@json_option("Print claims and rows as JSON.")
def paper_command(
    seeds: int, output: Path | None, page: Path | None, only: str | None, jobs: int | None, as_json: bool
) -> None:
    """Reproduce the paper's figures and judge its claims.

    Runs figures 4 to 7 and what the paper leaves open, and prints for every claim whether it holds, with
    the numbers that say so.
    """
    if page is not None and output is None:
        raise InputError("needs --output, the folder of the figures it shows", field="--page")
    parts = PARTS if only is None else names_in(only)
    with (
        options_for_arguments({"workers": "jobs", "parts": "only"}),
        RowProgress("reproducing") as progress,
    ):
        result = reproduce_paper(
            output, seeds=seeds, parts=parts, page=page, workers=jobs, on_piece=progress.on_row
        )
    if as_json:
        click.echo(reproduction_to_json(result))
    else:
        print_reproduction(result, output)
