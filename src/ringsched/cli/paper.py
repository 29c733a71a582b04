"""`ringsched paper`: every claim, its verdict, and the numbers."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from ringsched.cli.progress import RowProgress
from ringsched.cli.tables import show
from ringsched.errors import InputError
from ringsched.paper.reproduce import Reproduction
from ringsched.phrases import counted

if TYPE_CHECKING:
    from ringsched.paper.reproduce import Reproduction


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


OPTION_OF = {"workers": "--jobs", "parts": "--only"}


@click.command("paper")
@click.option(
    "--seeds", metavar="N", type=int, default=30, show_default=True, help="How many workloads a point."
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write tables, figures and a page there; what is done already is taken over.",
)
@click.option(
    "--page",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Where the page goes; default DIR/paper.md.",
)
@click.option("--only", metavar="A,B,...", help="Some of the experiments.")
@click.option("--jobs", metavar="N", type=int, help="Processes that work; default: all cores.")
@click.option("--json", "as_json", is_flag=True, help="Print claims and rows as JSON.")
def paper_command(
    seeds: int, output: Path | None, page: Path | None, only: str | None, jobs: int | None, as_json: bool
) -> None:
    """Reproduce the paper's figures and judge its claims.

    Runs figures 4 to 7 and what the paper leaves open, and prints for every claim whether it holds, with
    the numbers that say so.
    """
    if page is not None and output is None:
        raise InputError("needs --output, the folder of the figures it shows", field="--page")
    from ringsched.paper.experiments import PARTS
    from ringsched.paper.reproduce import reproduce_paper

    parts = PARTS if only is None else [name.strip() for name in only.split(",") if name.strip()]
    try:
        with RowProgress("reproducing") as progress:
            result = reproduce_paper(
                output, seeds=seeds, parts=parts, page=page, workers=jobs, on_piece=progress.on_row
            )
    except InputError as error:
        raise _option_error(error) from None
    _print(result, output, as_json=as_json)


def _print(result: Reproduction, output: Path | None, *, as_json: bool) -> None:

    if as_json:
        click.echo(reproduction_to_json(result))
    else:
        print_reproduction(result, output)


def _option_error(error: InputError) -> InputError:
    if error.file or error.place or error.field is None:
        return error
    return InputError(error.problem, field=OPTION_OF.get(error.field, f"--{error.field}"))
