"""`ringsched models`."""

from __future__ import annotations

import json

import click

from ringsched.cli.command import Command
from ringsched.cli.options import json_option
from ringsched.formats.jobs import CATALOGUE


@click.command("models", cls=Command)
@json_option("Print the catalogue as JSON.")
def models_command(as_json: bool) -> None:
    """List the catalogue of training models.

    A job with `model = "NAME"` takes its gradients, minibatch and times from here. Fields that the job states
    itself take precedence.
    """
    if as_json:
        content = [
            {"name": name} | known.fields() | {"source": known.source} for name, known in CATALOGUE.items()
        ]
        click.echo(json.dumps(content, indent=1))
        return
    from ringsched.cli.tables import figures_table, show

    headings = ("gradients\nMB", "minibatch", "forward ms\nper sample", "backward ms\nper iteration")
    table = figures_table("model", *headings, last="source")
    for name, known in CATALOGUE.items():
        fields = known.fields().values()
        table.add_row(name, *(f"{value:.4g}" for value in fields), known.source)
    show([table])
