"""From the rows of a trace to a scenario, and what became of each row."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from ringsched.errors import InputError, UnknownName
from ringsched.formats.traces.formats import FORMATS, catalogue_model
from ringsched.formats.traces.table import BadRow, TraceRow
from ringsched.importing.cluster import Surroundings, surroundings_of
from ringsched.importing.recorded import recorded_plan, without_overlaps
from ringsched.importing.report import ImportReport, Tally
from ringsched.model import Cluster, Job, Plan, Scenario
from ringsched.model.checks import integer, shown
from ringsched.workloads.draw import JOBS, Draw
from ringsched.workloads.generator import iterations_of, known_job, known_taus
from ringsched.workloads.load import offered_load
from ringsched.workloads.mixes import model_mix


def models_of(rows: Sequence[TraceRow], mix: Mapping[str, float], seed: int) -> tuple[list[str], int]:
    """Return a model of the catalogue for each row, and how many of them the trace names itself.

    What the trace does not name is drawn, class of size by class of size (1, 2, 3 to 4, 5 to 8, ...),
    so that the few large jobs also follow the mix closely.
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


LARGER = "larger than the cluster"
SAME_NAME = "same name as an earlier job"
RECORDED_FORMAT = "philly-json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTrace:
    """A trace as a scenario, with what became of its rows and, if asked for, what really happened."""

    scenario: Scenario
    report: ImportReport
    plan: Plan | None = None


def import_trace(
    path: str | os.PathLike[str],
    format: str,
    *,
    cluster: Cluster | str | os.PathLike[str] | None = None,
    models: str | Mapping[str, float] = "uniform",
    seed: int = 0,
    strict: bool = False,
    as_plan: bool = False,
) -> ImportedTrace:
    """Return a trace of a real cluster as a scenario.

    A trace says how many GPUs a job had, when it was submitted and how long it ran. Its model is the one
    the trace names, or else drawn; it gets as many iterations as make its best case in the cluster last as
    long as the job did, to the nearest iteration.

    Parameters
    ----------
    format
        One of philly, philly-json, tiresias, muri, helios, acme, itp.
    cluster
        What to put the jobs on: a cluster, or a scenario file or Tiresias cluster specification to take
        it from; 64 servers of 8 GPUs below 8 switches if absent.
    models, seed
        The mix from which models are drawn where the trace names none.
    strict
        Raise at the first malformed row or job larger than the cluster instead of dropping it.
    as_plan
        Of philly-json: keep the placements that really happened, as a plan on the machines seen.

    Raises
    ------
    InputError
        The file cannot be read or is not of that format, or a row is malformed and `strict` is set.

    Examples
    --------
    >>> import ringsched
    >>> trace = ringsched.import_trace("tests/traces/tiresias.csv", "tiresias", cluster="examples/first.toml")
    >>> trace.report.rows_read, trace.report.rows_kept, trace.scenario.jobs[0].name
    (14, 5, '0')
    """
    if format not in FORMATS:
        raise UnknownName("format", str(format), FORMATS, field="format")
    if as_plan:
        _check_as_plan(format, cluster)
    mix, seed = model_mix(models, "models"), integer(seed, "seed", minimum=0)
    around = surroundings_of(cluster)
    tally = Tally(Path(path), strict=strict)
    rows = _once_each(tally.jobs(FORMATS[format].rows(Path(path))), tally)
    kept = without_overlaps(rows, tally) if as_plan else _fitting(rows, around.cluster.capacity, tally)
    if as_plan and not kept:
        raise InputError("holds no record of a job that ran: nothing to make a plan of", file=str(path))
    chosen, num_named = models_of(kept, mix, seed)
    recorded = recorded_plan(kept, chosen, f"{format} trace") if as_plan else None
    scenario = recorded.scenario if recorded else _scenario(kept, chosen, around, f"{format} trace")
    report = ImportReport(
        format=format,
        rows_read=tally.rows_read,
        rows_kept=len(kept),
        dropped=tally.dropped,
        models_named=num_named,
        span_s=max((job.submit_s for job in scenario.jobs), default=0.0),
        load=offered_load(scenario),
        largest_difference_s=recorded.largest_difference_s if recorded else None,
    )
    return ImportedTrace(scenario=scenario, report=report, plan=recorded.plan if recorded else None)


def _check_as_plan(format: str, cluster: object) -> None:
    if format != RECORDED_FORMAT:
        problem = f"needs a trace that says where jobs ran: {RECORDED_FORMAT}, not {format}"
        raise InputError(problem, field="as_plan")
    if cluster is not None:
        raise InputError("cannot be given: that of a recorded plan is the machines seen", field="cluster")


def _once_each(rows: Iterable[TraceRow], tally: Tally) -> Iterator[TraceRow]:
    """Yield the rows whose name none before them has."""
    seen: set[str] = set()
    for row in rows:
        if row.name in seen:
            problem = f"is the same as that of an earlier job, {shown(row.name)}"
            tally.drop(BadRow(SAME_NAME, field="the name", problem=problem).on(row.line))
        else:
            seen.add(row.name)
            yield row


def _fitting(rows: Iterable[TraceRow], capacity: int, tally: Tally) -> list[TraceRow]:
    """Return the rows that fit the cluster, in the order of their submits."""
    kept = []
    for row in rows:
        if row.gpus <= capacity:
            kept.append(row)
        else:
            problem = f"= {row.gpus} are more than the {capacity} of the cluster"
            tally.drop(BadRow(LARGER, field="GPUs", problem=problem).on(row.line))
    kept.sort(key=lambda row: (row.submit, row.line))
    return kept


def _scenario(rows: Sequence[TraceRow], models: Sequence[str], around: Surroundings, name: str) -> Scenario:
    kinds = [(row.gpus, model) for row, model in zip(rows, models, strict=True)]
    tau_s = known_taus(kinds, around.cluster, around.contention)
    first = rows[0].submit if rows else 0.0

    def job(row: TraceRow, kind: tuple[int, str]) -> Job:
        iterations = iterations_of(row.duration_s, tau_s[kind])
        # To the microsecond: milliseconds times 0.001 are not exact.
        return known_job(row.name, kind, iterations, round(row.submit - first, 6))

    return Scenario(
        name=name,
        cluster=around.cluster,
        contention=around.contention,
        time=around.time,
        jobs=tuple(map(job, rows, kinds)),
    )
