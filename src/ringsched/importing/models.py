"""Which model each job of a trace is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate

from ringsched.generate.draw import JOBS, Draw
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
        drawn = draw.shuffled(_sampled(mix, len(members), draw.uniform(0, 1)))
        for at, model in zip(members, drawn, strict=True):
            models[at] = model
    return models, len(rows) - sum(map(len, classes.values()))


def _sampled(mix: Mapping[str, float], number_of: int, offset: float) -> list[str]:
    """Return models at equal distances along the weights (systematic sampling).

    Their numbers are the nearest to the weights from above or below, and which of the two is left to the
    offset, in [0, 1], so that even a class of one job can be any model.

    Examples
    --------
    >>> _sampled({"resnet50": 3, "vgg16": 1}, 6, 0.3)
    ['resnet50', 'resnet50', 'resnet50', 'resnet50', 'resnet50', 'vgg16']
    """
    models, ends = list(mix), list(accumulate(mix.values()))
    points = ((at + offset) * ends[-1] / number_of for at in range(number_of))
    return [models[min(bisect_right(ends, point), len(models) - 1)] for point in points]
