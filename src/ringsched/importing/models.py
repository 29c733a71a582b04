"""The model of each job: from the trace, from the catalogue, or drawn; and what an iteration of it costs."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from ringsched.errors import UnknownName
from ringsched.formats.catalogue import TIMED
from ringsched.formats.traces.formats import catalogue_model
from ringsched.formats.traces.rows import Figures, TraceRow
from ringsched.model import Cluster, Contention, Job
from ringsched.model.checks import MAX_INTEGER
from ringsched.workloads.draw import JOBS, Draw
from ringsched.workloads.load import best_taus

UNKNOWN = "?"  # a model that the trace names and the catalogue does not have
NO_COMMUNICATION, DRAWN = "none", "draw"
UNKNOWN_MODELS = (NO_COMMUNICATION, DRAWN)
ITERATION_MS = 100.0  # of a job of which nothing is known; without communication only the sum matters


def check_unknown_models(unknown: str | None) -> None:
    """Raise if this is no way to treat models that the catalogue does not have."""
    if unknown is not None and unknown not in UNKNOWN_MODELS and unknown not in TIMED:
        choices = (*UNKNOWN_MODELS, *TIMED)
        raise UnknownName("model", str(unknown), choices, field="unknown_models")


def models_of(
    rows: Sequence[TraceRow], mix: Mapping[str, float], seed: int, unknown: str | None = None
) -> tuple[list[str], int]:
    """Return a model of the catalogue, or UNKNOWN, for each row, and how many the trace names itself.

    What the trace does not name is drawn, class of size by class of size (1, 2, 3 to 4, 5 to 8, ...),
    so that the few large jobs also follow the mix closely.
    """
    known = cache(catalogue_model)
    instead = {None: UNKNOWN, NO_COMMUNICATION: UNKNOWN, DRAWN: ""}.get(unknown, unknown) or ""
    models = []
    num_named = 0
    for row in rows:
        model = known(row.model)
        num_named += model is not None
        if model is None:
            has_figures = row.figures is not None and unknown is None
            model = instead if row.model is not None else UNKNOWN if has_figures else ""
        models.append(model)
    classes: dict[int, list[int]] = {}
    for at, row in enumerate(rows):
        if not models[at]:
            classes.setdefault((row.gpus - 1).bit_length(), []).append(at)
    draw = Draw(seed, JOBS)
    for _, members in sorted(classes.items()):
        drawn = draw.shuffled(_sampled(mix, len(members), draw.uniform(0, 1)))
        for at, model in zip(members, drawn, strict=True):
            models[at] = model
    return models, num_named


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


class Work(NamedTuple):
    """The fields of a job that say what an iteration costs."""

    gradient_mb: float
    minibatch: int
    forward_ms: float
    backward_ms: float


class Kind(NamedTuple):
    """What the best case of an iteration depends on."""

    gpus: int
    work: Work

    def job(self, name: str, iterations: int, submit_s: float) -> Job:
        """Return a job of this kind."""
        gradient_mb, minibatch, forward_ms, backward_ms = self.work
        return Job(
            name=name,
            gpus=self.gpus,
            iterations=iterations,
            gradient_mb=gradient_mb,
            minibatch=minibatch,
            forward_ms=forward_ms,
            backward_ms=backward_ms,
            submit_s=submit_s,
        )


class JobsLike:
    """Makes jobs that differ from a checked one in name, iterations and submit only.

    A trace has a million jobs of a few kinds. Checking each takes three times as long as copying.
    """

    _OWN = ("name", "iterations", "submit_s")

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        first = kind.job("first", 1, 0.0)
        self._same = [
            (getattr(Job, field.name).__set__, getattr(first, field.name))
            for field in fields(Job)
            if field.name not in self._OWN
        ]

    def job(self, name: str, iterations: int, submit_s: float) -> Job:
        """Return a job of the kind; the name can be printed, and there is at least one iteration."""
        if iterations > MAX_INTEGER or not submit_s >= 0:
            return self._kind.job(name, iterations, submit_s)  # which says what is wrong
        job = _NEW(Job)
        _SET_NAME(job, name)
        _SET_ITERATIONS(job, iterations)
        _SET_SUBMIT(job, submit_s)
        for set_field, value in self._same:
            set_field(job, value)
        return job


_NEW = object.__new__
_SET_NAME, _SET_ITERATIONS, _SET_SUBMIT = (getattr(Job, name).__set__ for name in JobsLike._OWN)


def kinds_of(
    rows: Sequence[TraceRow],
    models: Sequence[str],
    cluster: Cluster,
    contention: Contention,
    *,
    use_figures: bool = True,
) -> list[Kind]:
    """Return the kind of each job; the cluster is the one on which the trace's own figures were measured."""
    by_model = {model: Work(**TIMED[model].fields()) for model in set(models) - {UNKNOWN}}
    figures = {
        (row.gpus, row.figures if use_figures else row.figures and Figures(row.figures.iteration_s))
        for row, model in zip(rows, models, strict=True)
        if model == UNKNOWN
    }
    seconds_per_mb = _seconds_per_mb({gpus for gpus, _ in figures}, cluster, contention)
    by_figures = {key: _work_of(key[1], seconds_per_mb[key[0]]) for key in figures}
    kind = cache(Kind)  # one object for all jobs alike
    return [
        kind(
            row.gpus,
            by_model[model]
            if model != UNKNOWN
            else by_figures[
                row.gpus, row.figures if use_figures else row.figures and Figures(row.figures.iteration_s)
            ],
        )
        for row, model in zip(rows, models, strict=True)
    ]


def _seconds_per_mb(sizes: set[int], cluster: Cluster, contention: Contention) -> dict[int, float]:
    """Return what a megabyte of gradients adds to an iteration in the best case, by number of GPUs."""
    fitting = sorted(gpus for gpus in sizes if gpus <= cluster.capacity)
    some_mb = 100.0
    probes = {
        (gpus, mb): Kind(gpus, Work(mb, 1, ITERATION_MS, ITERATION_MS)).job(f"{gpus}", 1, 0.0)
        for gpus in fitting
        for mb in (some_mb, 2 * some_mb)
    }
    probes = {key: job.replace(name=f"{key[0]} GPUs, {key[1]:g} MB") for key, job in probes.items()}
    tau_s = best_taus(probes, cluster, contention) if probes else {}
    slopes = {gpus: (tau_s[gpus, 2 * some_mb] - tau_s[gpus, some_mb]) / some_mb for gpus in fitting}
    return dict.fromkeys(sizes, 0.0) | slopes


def _work_of(figures: Figures | None, seconds_per_mb: float) -> Work:
    """Return the work of an iteration of which only the trace itself says something."""
    if figures is None:
        return _split(0.0, ITERATION_MS)
    if figures.gradient_mb is not None:
        return _split(max(0.0, figures.gradient_mb), 1000 * figures.iteration_s)
    exchange_s = min(figures.exchange_s or 0.0, 0.99 * figures.iteration_s)
    if exchange_s == 0 or seconds_per_mb <= 0:
        return _split(0.0, 1000 * figures.iteration_s)
    return _split(exchange_s / seconds_per_mb, 1000 * (figures.iteration_s - exchange_s))


def _split(gradient_mb: float, compute_ms: float) -> Work:
    """Return work whose forward and backward pass are 1 : 2."""
    return Work(gradient_mb, 1, compute_ms / 3, compute_ms * 2 / 3)


class ModelCounts(NamedTuple):
    """How many jobs have a model that the catalogue has under another name, or does not have."""

    similar: dict[tuple[str, str], int]  # name in the trace, model of the catalogue
    from_trace: dict[str, int]  # unknown, their communication as the trace says
    unknown: dict[str, int]


def counted_models(rows: Sequence[TraceRow], models: Sequence[str], *, use_figures: bool) -> ModelCounts:
    """Return what became of the models that the trace names."""
    named = Counter(
        (row.model, model, use_figures and row.figures is not None)
        for row, model in zip(rows, models, strict=True)
        if row.model
    )
    similar: Counter[tuple[str, str]] = Counter()
    from_trace: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for (name, model, has_figures), count in named.items():
        known = catalogue_model(name)
        if known is None:
            (from_trace if has_figures else unknown)[str(name)] += count
        elif model == known != str(name).lower():
            similar[str(name), model] += count
    return ModelCounts(dict(similar), dict(from_trace), dict(unknown))
