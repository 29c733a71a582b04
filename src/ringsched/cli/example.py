"""`ringsched example`."""

from __future__ import annotations

from pathlib import Path

import click

from ringsched.cli.command import Command
from ringsched.cli.files import check_output
from ringsched.cli.options import output_option
from ringsched.cli.values import Name
from ringsched.errors import InputError
from ringsched.formats.examples import example_names, example_text
from ringsched.formats.files import write_text


@click.command("example", cls=Command)
@click.argument("name", required=False, type=Name("example", lambda _: example_names(), check=True))
@output_option("Write the scenario here instead of printing it; the name must end in .toml.")
def example_command(name: str | None, output: Path | None) -> None:
    """Print or write an example scenario.

    Without NAME, lists the examples.
    """
    if name is None:
        if output is not None:
            raise InputError("is only allowed with the NAME of an example", field="--output")
        from ringsched.cli.tables import figures_table, show

        table = figures_table("example", last="what it shows")
        for each in example_names():
            table.add_row(each, _first_sentence(example_text(each)))
        show([table, "ringsched example NAME -o FILE.toml writes one"])
        return
    if output is None:
        click.echo(example_text(name), nl=False)
        return
    check_output(output)
    if output.suffix.lower() != ".toml":
        raise InputError("must end in .toml", file=str(output))
    write_text(output, example_text(name))
    click.echo(f"example {name} written to {output}; now try: ringsched plan {output}")


def _first_sentence(text: str) -> str:
    """Return the first sentence of the comment at the top."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return " ".join(lines).partition(". ")[0].partition(": ")[0].rstrip(".:")
