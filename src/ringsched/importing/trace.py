"""From the rows of a trace to a scenario, and what became of each row."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ringsched.errors import InputError, UnknownName
from ringsched.formats.traces.formats import FORMATS, check_takes
from ringsched.formats.traces.lingjun import read_topology
from ringsched.formats.traces.options import ReadOptions
from ringsched.formats.traces.rows import BadRow, NotThisFormat, TraceRow
from ringsched.formats.traces.suggest import suggestion
from ringsched.garbage import no_garbage_collection
from ringsched.importing.cluster import (
    ENOUGH_FOR,
    GPUS_PER_SERVER,
    NUM_SERVERS,
    Surroundings,
    gpus_held,
    surroundings_of,
    usual_surroundings,
)
from ringsched.importing.models import (
    DRAWN,
    NO_COMMUNICATION,
    UNKNOWN,
    JobsLike,
    Kind,
    check_unknown_models,
    counted_models,
    kinds_of,
    models_of,
)
from ringsched.importing.plausible import plausible, short_jobs_note
from ringsched.importing.recorded import (
    RecordedPlan,
    machines_seen,
    recorded_plan,
    without_overlaps,
)
from ringsched.importing.report import ImportReport, NamedModel, Tally
from ringsched.model import Cluster, Job, Plan, Scenario
from ringsched.model.checks import integer, shown
from ringsched.workloads.generator import iterations_of
from ringsched.workloads.load import best_taus, offered_load
from ringsched.workloads.mixes import model_mix
from ringsched.workloads.overload import busiest_load, overload_warning

LARGER = "larger than the cluster"
LARGER_THAN_RECORDED = "larger than the cluster it was recorded on"
SAME_NAME = "same name as an earlier job"
# Many programs write these formats, and not all in seconds.
UNSURE_UNITS = ("csv", "tiresias", "itp")


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
    cluster: Cluster | Scenario | str | os.PathLike[str] | None = None,
    recorded_on: Cluster | Scenario | str | os.PathLike[str] | None = None,
    models: str | Mapping[str, float] = "uniform",
    unknown_models: str | None = None,
    seed: int = 0,
    strict: bool = False,
    as_plan: bool = False,
    **reading: Any,
) -> ImportedTrace:
    """Return a trace of a real cluster as a scenario.

    A trace says how many GPUs a job had, when it was submitted and how long it ran. Its model is the one
    the trace names, or else drawn; it gets as many iterations as make its best case in the cluster last as
    long as the job did, to the nearest iteration.

    Parameters
    ----------
    format
        One of csv, sacct, jobcomp, swf, philly, philly-json, tiresias, chronus, muri, helios, acme, itp,
        openb, lingjun.
    cluster
        What to put the jobs on: a cluster, or a scenario, a scenario file or a Tiresias cluster
        specification to take it from. If absent, the cluster of `recorded_on`, or else servers of 8 GPUs
        that hold all jobs for 99 % of the time, at least 64, below a non-blocking switch.
    recorded_on
        Where the jobs ran: the recorded durations are their best case there. If absent, `cluster`.
    models, seed
        The mix from which models are drawn where the trace names none.
    unknown_models
        What jobs are whose model the catalogue does not have: "none" lets them not communicate, "draw"
        draws a model, and the name of a model takes that. If absent, they communicate as the trace says,
        and do not communicate if it has no such figures.
    strict
        Raise at the first malformed row or job larger than the cluster instead of dropping it.
    as_plan
        Keep the placements that really happened, as a plan on the machines seen, or on those of
        `recorded_on`. Of philly-json, sacct, jobcomp, lingjun, and csv with a column `placement`.
    **reading
        How to read the file, where the format allows it: `columns` of csv (submit, duration, gpus, ...
        to the names of columns), `time_unit` ("ms", or "submit=s,duration=min"), `time_zone` of times
        without an offset, `where` (conditions such as "state=COMPLETED"), `fractional` ("round" or
        "drop"), `processors_per_gpu`, `worker_table` and `topology_table`.

    Raises
    ------
    InputError
        The file cannot be read or is not of that format, its times are implausible, or a row is malformed
        and `strict` is set.

    Examples
    --------
    >>> import ringsched
    >>> trace = ringsched.import_trace("tests/traces/tiresias.csv", "tiresias", cluster="examples/first.toml")
    >>> trace.report.rows_read, trace.report.rows_kept, trace.scenario.jobs[0].name
    (14, 5, '0')
    """
    if format not in FORMATS:
        raise UnknownName("format", str(format), FORMATS, field="format")
    check_takes(format, reading)
    options = ReadOptions.checked(**reading)
    if as_plan:
        _check_as_plan(format, cluster, options)
    check_unknown_models(unknown_models)
    wanted = _Models(model_mix(models, "models"), integer(seed, "seed", minimum=0), unknown_models)
    given = None if cluster is None else surroundings_of(cluster)
    recorded = None if recorded_on is None else surroundings_of(recorded_on, "recorded_on")
    tally = Tally(Path(path), strict=strict)
    with no_garbage_collection():
        rows = _read(Path(path), format, options, tally)
        imported = (_as_plan if as_plan else _as_queue)(rows, given, recorded, wanted, tally, options, format)
        return _reported(imported, wanted, tally, options, format)


class _Models(NamedTuple):
    """What the user says about models."""

    mix: Mapping[str, float]
    seed: int
    unknown: str | None


class _Imported(NamedTuple):
    rows: Sequence[TraceRow]
    models: Sequence[str]
    num_named: int
    scenario: Scenario
    recorded: RecordedPlan | None = None


def _read(path: Path, format: str, options: ReadOptions, tally: Tally) -> list[TraceRow]:
    """Return the jobs of a file whose times can be believed."""
    try:
        read = tally.jobs(FORMATS[format].rows(path, options))
        rows = _once_each(read, tally, options, ids_only=format != "csv")
    except NotThisFormat as error:
        hint = suggestion(path, format)
        problem = f"{error.problem}; {hint}" if hint else error.problem
        raise InputError(problem, place=error.place, file=error.file) from None
    if not rows and (bad := tally.first_malformed) is not None:
        problem = f"{bad.problem}; no row of the file is a job"
        raise InputError(problem, field=bad.field, place=f"line {bad.line}", file=str(path))
    takes_unit = "time_unit" in FORMATS[format].takes
    is_sure = bool(options.time_unit) or "duration" in options.units_named or format not in UNSURE_UNITS
    return plausible(rows, tally, path, takes_unit=takes_unit, is_sure=is_sure)


def _as_queue(
    rows: list[TraceRow],
    given: Surroundings | None,
    recorded: Surroundings | None,
    wanted: _Models,
    tally: Tally,
    options: ReadOptions,
    format: str,
) -> _Imported:
    """Return the jobs as a scenario, each with the iterations of its best case where it was recorded."""
    around = given or recorded
    if around is None:
        num_gpus = gpus_held(rows)
        around = usual_surroundings(num_gpus)
        if len(around.cluster.servers) > NUM_SERVERS:
            options.note(
                f"the cluster: {len(around.cluster.servers)} servers of {GPUS_PER_SERVER} GPUs hold all jobs "
                f"for {100 * ENOUGH_FOR:g} % of the time; --cluster sets it"
            )
    kept = _fitting(rows, around.cluster.capacity, LARGER, tally)
    if recorded is not None:
        kept = _fitting(kept, recorded.cluster.capacity, LARGER_THAN_RECORDED, tally)
    source = recorded or around
    chosen, num_named = models_of(kept, wanted.mix, wanted.seed, wanted.unknown)
    kinds = kinds_of(kept, chosen, source.cluster, source.contention, use_figures=wanted.unknown is None)
    scenario = _scenario(kept, kinds, source, around, f"{format} trace")
    return _Imported(kept, chosen, num_named, scenario)


def _as_plan(
    rows: list[TraceRow],
    given: Surroundings | None,
    recorded: Surroundings | None,
    wanted: _Models,
    tally: Tally,
    options: ReadOptions,
    format: str,
) -> _Imported:
    """Return the jobs where and when they ran."""
    del given
    records = [row.recorded for row in rows if row.recorded is not None]
    if any(isinstance(gpus, int) for record in records for gpus in record.gpus.values()):
        options.note("GPU indices: the lowest free ones of each node")
    if num_split := sum(record.is_split for record in records):
        options.note(f"{num_split} of the jobs have their GPUs split evenly over their nodes")
    kept = without_overlaps(rows, tally, recorded.cluster if recorded else None)
    if not kept:
        raise InputError("holds no record of a job that ran: nothing to make a plan of", file=str(tally.path))
    switches = None if options.topology_table is None else read_topology(options.topology_table)
    cluster = recorded.cluster if recorded else machines_seen(kept, switches)
    chosen, num_named = models_of(kept, wanted.mix, wanted.seed, wanted.unknown)
    around = recorded or usual_surroundings()
    kinds = kinds_of(kept, chosen, cluster, around.contention, use_figures=wanted.unknown is None)
    plan = recorded_plan(kept, kinds, f"{format} trace", cluster, around.contention)
    return _Imported(kept, chosen, num_named, plan.scenario, plan)


def _reported(
    imported: _Imported, wanted: _Models, tally: Tally, options: ReadOptions, format: str
) -> ImportedTrace:
    rows, scenario, recorded = imported.rows, imported.scenario, imported.recorded
    changed = Counter(row.note for row in rows if row.note)
    assumed = [*options.notes, *(f"{count} of the jobs {note}" for note, count in changed.items())]
    if format in UNSURE_UNITS and not options.time_unit and "duration" not in options.units_named:
        assumed += filter(None, [short_jobs_note(rows)])
    counts = counted_models(rows, imported.models, use_figures=wanted.unknown is None)
    instead = wanted.unknown or NO_COMMUNICATION
    unknown = [(name, jobs, "trace") for name, jobs in counts.from_trace.items()]
    unknown += [(name, jobs, instead) for name, jobs in counts.unknown.items()]
    num_unknown = sum(jobs for _, jobs, taken_for in unknown if taken_for != DRAWN)
    num_figures = sum(
        model == UNKNOWN and row.model is None for row, model in zip(rows, imported.models, strict=True)
    )
    load, busiest = offered_load(scenario), busiest_load(scenario)
    report = ImportReport(
        format=format,
        rows_read=tally.rows_read,
        rows_kept=len(rows),
        dropped=tally.dropped,
        models_named=imported.num_named,
        models_drawn=len(rows) - imported.num_named - num_unknown - num_figures,
        models_similar=tuple(
            NamedModel(name=name, jobs=jobs, taken_for=model)
            for (name, model), jobs in sorted(counts.similar.items())
        ),
        models_unknown=tuple(
            NamedModel(name=name, jobs=jobs, taken_for=taken_for) for name, jobs, taken_for in sorted(unknown)
        ),
        assumed=tuple(assumed),
        span_s=max((job.submit_s for job in scenario.jobs), default=0.0),
        load=load,
        busiest_load=busiest,
        warning=overload_warning(scenario, load, busiest) if recorded is None else None,
        largest_difference_s=recorded.largest_difference_s if recorded else None,
    )
    return ImportedTrace(scenario=scenario, report=report, plan=recorded.plan if recorded else None)


def _check_as_plan(format: str, cluster: object, options: ReadOptions) -> None:
    recorders = [name for name, known in FORMATS.items() if known.records_places]
    if format not in recorders:
        problem = f"needs a trace that says where jobs ran: {', '.join(recorders)}, not {format}"
        raise InputError(problem, field="as_plan")
    if format == "csv" and not {"placement", "start"} <= options.columns.keys():
        raise InputError("needs placement and start in --map", field="as_plan")
    if cluster is not None:
        raise InputError(
            "cannot be given: that of a recorded plan is the machines seen; --recorded-on may describe them",
            field="cluster",
        )


MANY = 0.2  # part of the jobs


def _once_each(
    rows: Iterable[TraceRow], tally: Tally, options: ReadOptions, *, ids_only: bool
) -> list[TraceRow]:
    """Return the rows whose name none before them has.

    Where many rows share names, these are no ids, and the line makes them unique.
    """
    seen: dict[str, TraceRow] = {}
    later = [row for row in rows if seen.setdefault(row.name, row) is not row]
    kept = list(seen.values())
    if not ids_only and len(later) > MANY * (len(kept) + len(later)):
        options.note(f"{len(later)} of the jobs have the name of an earlier one: their line was added")
        kept += [row._replace(name=f"{row.name} ({row.line})") for row in later]
        return sorted(kept, key=lambda row: row.line)
    for row in later:
        problem = f"is the same as that of an earlier job, {shown(row.name)}"
        tally.drop(BadRow(SAME_NAME, field="the name", problem=problem).on(row.line))
    return kept


def _fitting(rows: Iterable[TraceRow], capacity: int, reason: str, tally: Tally) -> list[TraceRow]:
    """Return the rows that fit the cluster, in the order of their submits."""
    kept = []
    for row in rows:
        if row.gpus <= capacity:
            kept.append(row)
        else:
            problem = f"= {row.gpus} are more than the {capacity} of the cluster"
            tally.drop(BadRow(reason, field="GPUs", problem=problem).on(row.line))
    kept.sort(key=lambda row: (row.submit, row.line))
    return kept


def _scenario(
    rows: Sequence[TraceRow], kinds: Sequence[Kind], recorded: Surroundings, around: Surroundings, name: str
) -> Scenario:
    probes = {kind: kind.job(f"kind {at}", 1, 0.0) for at, kind in enumerate(sorted(set(kinds)))}
    tau_s = best_taus(probes, recorded.cluster, recorded.contention)
    made_by = {kind: JobsLike(kind).job for kind in probes}
    first = rows[0].submit if rows else 0.0

    def job(row: TraceRow, kind: Kind) -> Job:
        iterations = iterations_of(row.duration_s, tau_s[kind])
        # To the microsecond: milliseconds times 0.001 are not exact.
        return made_by[kind](row.name, iterations, round(row.submit - first, 6))

    return Scenario(
        name=name,
        cluster=around.cluster,
        contention=around.contention,
        time=around.time,
        jobs=tuple(map(job, rows, kinds)),
    )
