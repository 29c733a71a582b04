"""`ringsched models`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

from ringsched.cli.command import Command
from ringsched.cli.options import json_option
from ringsched.cli.values import Name
from ringsched.errors import InputError
from ringsched.formats.catalogue import CATALOGUE, SOURCES, KnownModel

FAMILIES = ("vision", "language", "speech", "recommendation")


@click.command("models", cls=Command)
@click.argument(
    "words", metavar="[WORD]...", nargs=-1, type=Name("word", [*FAMILIES, "v100", "a100", "h100", *CATALOGUE])
)
@json_option("Print the catalogue as JSON, with GPU, precision and sources.")
def models_command(words: tuple[str, ...], as_json: bool) -> None:
    """List the catalogue of training models.

    A job with `model = "NAME"` takes its gradients, minibatch and times from here. Fields that the job states
    itself take precedence. A model without times needs `iteration_ms`. WORDs select: `models language a100`.
    """
    chosen = _matching(words)
    if not chosen:
        raise InputError(f"match no model: {' '.join(words)}; run ringsched models for all", field="WORDS")
    if as_json:
        click.echo(json.dumps([_content(name, known) for name, known in chosen.items()], indent=1))
        return
    from ringsched.cli.tables import figures_table, show

    table = figures_table(
        "model", "family", "GPU", "gradients\nMB", "minibatch", "iteration\nms", last="source"
    )
    table.columns[1].justify = table.columns[2].justify = "left"
    for name, known in chosen.items():
        table.add_row(name, *_cells(known), known.source)
    show([table])


def _matching(words: Sequence[str]) -> Mapping[str, KnownModel]:
    """Return the models that have every word in their name, family, GPU or sources."""
    return {
        name: known
        for name, known in CATALOGUE.items()
        if all(
            word.casefold()
            in " ".join((name, known.family, known.gpu, known.source, known.size_source)).casefold()
            for word in words
        )
    }


def _cells(known: KnownModel) -> tuple[str, ...]:
    minibatch = "" if known.minibatch is None else str(known.minibatch)
    iteration = "" if known.iteration_ms is None else f"{known.iteration_ms:g}"
    return (
        known.family,
        known.gpu.split(" ")[0],
        f"{known.gradient_mb:g}",
        minibatch,
        iteration,
    )


def _content(name: str, known: KnownModel) -> dict[str, Any]:
    return {
        "name": name,
        "family": known.family,
        "parameters_m": known.parameters_m,
        **known.fields(),
        "iteration_ms": known.iteration_ms,
        "gpu": known.gpu or None,
        "computed_in": known.computed_in or None,
        "note": known.note or None,
        "source": known.source,
        "source_title": SOURCES[known.source].title,
        "source_address": SOURCES[known.source].address,
        "source_evidence": SOURCES[known.source].evidence,
        "size_source": known.size_source,
        "size_source_address": SOURCES[known.size_source].address,
        "size_source_evidence": SOURCES[known.size_source].evidence,
    }
