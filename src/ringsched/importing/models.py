"""Which model each job of a trace is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringsched.generate.draw import JOBS, Draw
from ringsched.generate.mixes import apportioned
from ringsched.io.traces.models import catalogue_model
from ringsched.io.traces.rows import TraceRow


def models_of(rows: Sequence[TraceRow], mix: Mapping[str, float], seed: int) -> tuple[list[str], int]:
    """Return a model of the catalogue for each row, and how many of them the trace names itself.

    What the trace does not name is drawn, class of size by class of size (1, 2, 3 to 4, 5 to 8, ...),
    so that large jobs, few as they are, follow the mix as closely as the others.
    """
    models = [catalogue_model(row.model) or "" for row in rows]
    classes: dict[int, list[int]] = {}
    for at, row in enumerate(rows):
        if not models[at]:
            classes.setdefault((row.gpus - 1).bit_length(), []).append(at)
    draw = Draw(seed, JOBS)
    for _, members in sorted(classes.items()):
        drawn = draw.shuffled(apportioned(mix, len(members)))
        for at, model in zip(members, drawn, strict=True):
            models[at] = model
    return models, len(rows) - sum(map(len, classes.values()))
