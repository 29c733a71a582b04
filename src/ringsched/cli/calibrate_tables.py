"""What a person, or a program, gets of a calibration: the fit, measured blocks, predictions, plans run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from rich.table import Table

from ringsched.calibrate.blocks import MeasuredBlock
from ringsched.calibrate.carry_out import CarriedOut
from ringsched.calibrate.copies import DutyCycle, pairs_of
from ringsched.calibrate.estimate import Estimate
from ringsched.calibrate.fit import Fit, summary_of
from ringsched.calibrate.links import carried
from ringsched.calibrate.testbed import Testbed
from ringsched.calibrate.validation import COLUMNS, ValidatedJob, Validation
from ringsched.calibrate.worker import WorkerRun
from ringsched.cli.tables import figures_table, show
from ringsched.formatting import counted
from ringsched.model import Plan
from ringsched.model.calibration import Calibration


def run_line(run: WorkerRun, num_workers: int, servers: int) -> str:
    """Return the medians of a worker, without its first iteration."""
    warm = run.iterations[1:] or run.iterations
    parts = [
        f"{what} {median(getattr(each, f'{what}_s') for each in warm) * 1e3:.3f} ms"
        for what in ("exchange", "reduce", "compute")
    ]
    return (
        f"rank {run.rank} of {num_workers} on {servers} servers, {len(run.iterations)} iterations: "
        f"{', '.join(parts)}; sent {run.sent_bytes} bytes, received {run.received_bytes}"
    )


def run_content(run: WorkerRun) -> dict[str, Any]:
    """Return every iteration of a worker."""
    return {
        "rank": run.rank,
        "sent_bytes": run.sent_bytes,
        "received_bytes": run.received_bytes,
        "waited_s": run.waited_s,
        "iterations": [each._asdict() for each in run.iterations],
    }


def print_blocks(blocks: Sequence[MeasuredBlock], testbed: Testbed, output: Path | None) -> None:
    """Print every block, what disturbed it, and whether it can be trusted."""
    table = Table(box=None, pad_edge=False)
    for column in ("block", "iteration, ms", "disturbed by", ""):
        table.add_column(column, no_wrap=column != "iteration, ms", overflow="fold")
    for block in blocks:
        times = ", ".join(f"{seconds * 1e3:.4g}" for seconds in block.seconds)
        table.add_row(block.name, times, str(block.noise), _trust(block))
    suspect = [block.name for block in blocks if block.suspect]
    parts: list[str | Table] = [
        f"{counted(testbed.servers, 'server')}, {testbed.mbps:g} Mbit/s each way, "
        f"of which {testbed.payload_gbps * 1e3:.1f} are payload",
        "",
        table,
        "",
    ]
    if suspect:
        names = ", ".join(dict.fromkeys(suspect))
        parts.append(
            f"suspect: {names}; left out, since other work disturbed them. Measure again when it is quiet"
        )
    else:
        parts.append("ok: no block was disturbed")
    if alone := carried(blocks):
        parts.append(
            f"alone a link carried {alone.payload_mbps:.1f} Mbit/s of payload, {alone.wire_mbps:.1f} with "
            f"all headers, of {testbed.mbps:g} ({alone.wire_mbps / testbed.mbps - 1:+.1%}); "
            f"{alone.sent_again:.2%} was sent again"
        )
    show([*parts, *([] if output is None else [f"measurements written to {output}"])])


def _trust(block: MeasuredBlock) -> str:
    tries = "" if block.num_tries == 1 else f", try {block.num_tries}"
    return f"{'suspect' if block.suspect else 'ok'}{tries}"


def block_content(block: MeasuredBlock) -> dict[str, Any]:
    """Return a block with the medians of its jobs."""
    return {
        "name": block.name,
        "suspect": block.suspect,
        "tries": block.num_tries,
        "noise": block.noise._asdict(),
        "wire_bytes_per_payload_byte": block.overhead,
        "sent_again": block.sent_again,
        "jobs": [
            asdict(job)
            | {"median_s": seconds}
            | {"exchange_s": medians.exchange_s, "reduce_s": medians.reduce_s}
            for job, seconds, medians in zip(block.jobs, block.seconds, block.medians, strict=True)
        ],
    }


def fit_content(fit: Fit, calibration: Calibration) -> dict[str, Any]:
    """Return everything a fit found."""
    sharing = fit.sharing
    return {
        "verdict": fit.verdict,
        "calibration": {key: value for key, value in asdict(calibration).items() if value is not None},
        "links": asdict(fit.links),
        "factors": {} if sharing is None else {str(k): asdict(f) for k, f in sharing.factors.items()},
        "degradation": None
        if sharing is None or sharing.degradation is None
        else asdict(sharing.degradation),
        "form": None if sharing is None else sharing.form,
        "linear_up_to": None if sharing is None else sharing.linear_up_to,
        "duty_shares": [asdict(each) for each in fit.duty_shares],
        "missing": list(fit.missing),
        "residuals": [
            asdict(each.row) | {"fitted_s": each.fitted_s, "relative": each.relative}
            for each in fit.residuals
        ],
    }


def print_fit(fit: Fit, calibration: Calibration, duty_cycle: float, written: Sequence[Path]) -> None:
    """Print what was fitted, how well, and what cannot be determined."""
    table = Table(box=None, pad_edge=False)
    for column in ("", "fitted", "95 % interval", "from"):
        table.add_column(column, justify="right" if column == "fitted" else "left", no_wrap=True)
    links = fit.links
    _row(table, "inter_server_gbps", links.inter_server_gbps, "jobs alone")
    _row(table, "server_latency_ms", links.server_latency_ms, "small messages alone")
    _row(table, "intra_server_gbps", links.intra_server_gbps, "jobs within a server")
    _row(table, "reduce_gbps", links.reduce_gbps, "reduce_s")
    if fit.sharing is not None:
        _row(table, "degradation", fit.sharing.degradation, "jobs at a time that never compute")
        for count, factor in fit.sharing.factors.items():
            _row(table, f"f({count})", factor, f"{count} jobs at a time")
    for each in fit.duty_shares:
        limit = "at most: nothing was slowed" if each.at_most else "degradation as above"
        _row(table, f"share at duty {each.duty_cycle:.2f}", each.share, limit)
    parts: list[str | Table] = [summary_of(fit), "", table, "", f"verdict: {fit.verdict}", _residuals(fit)]
    parts += [f"cannot be determined: {what}" for what in fit.missing]
    if fit.duty_shares and calibration.table is None and calibration.share is not None:
        parts.append(f"share {calibration.share:.3g} is that of a duty cycle of {duty_cycle:g} (--duty)")
    show([*parts, *(f"written to {path}" for path in written)])


def _row(table: Table, name: str, estimate: Estimate | None, source: str) -> None:
    if estimate is None:
        return
    interval = "none: too few"
    if estimate.low is not None and estimate.high is not None:
        interval = f"{estimate.low:.4g} to {estimate.high:.4g}"
    table.add_row(name, f"{estimate.value:.4g}", interval, f"{source} ({estimate.num_points})")


def _residuals(fit: Fit) -> str:
    """Say how far iterations are off that exchange more than they wait; those that only wait tell latency."""
    counted = [
        each for each in fit.residuals if fit.links.exchange_s(each.row) > fit.links.latency_s(each.row)
    ] or list(fit.residuals)
    worst = max(counted, key=lambda each: abs(each.relative))
    typical = median(abs(each.relative) for each in counted)
    row = worst.row
    duty = "" if row.compute_s == 0 else f", {row.compute_s:g} s of computation"
    where = f"{row.workers} workers on {row.servers} servers, {row.message_mb:g} MB{duty}"
    many = f"{row.concurrent} at a time"
    return f"residuals: median {typical:.1%}, worst {worst.relative:+.1%} ({where}, {many})"


MOST_PAIRS = 28  # of eight jobs


def print_copies(summary: str, found: Sequence[DutyCycle]) -> None:
    """Print the duty cycle of every job, and what its neighbours would cost it."""
    table = figures_table("job", "slowdown", "duty cycle", last="95 % interval")
    for each in found:
        duty = each.duty_cycle
        interval = "" if duty.low is None or duty.high is None else f"{duty.low:.2f} to {duty.high:.2f}"
        table.add_row(each.job, f"{each.slowdown:.2f}", f"{duty.value:.2f}", interval)
    parts: list[str | Table] = [summary, "", table]
    pairs = pairs_of(found) if len(found) > 1 else []
    if pairs:
        beside = figures_table("job", "slowdown", last="beside")
        for one, other, first, second in pairs[:MOST_PAIRS]:
            beside.add_row(one, f"{first:.2f}", other)
            beside.add_row(other, f"{second:.2f}", one)
        parts += ["", "predicted for pairs, by contention model phases:", "", beside]
        left_out = len(pairs) - MOST_PAIRS
        parts += [f"and {counted(left_out, 'more pair')}; --json has all"] if left_out > 0 else []
    show(parts)


def copies_content(found: Sequence[DutyCycle]) -> dict[str, Any]:
    """Return the duty cycles and the predicted pairs."""
    return {
        "jobs": [asdict(each) for each in found],
        "pairs": [
            {"jobs": [one, other], "slowdowns": [first, second]}
            for one, other, first, second in pairs_of(found)
        ],
    }


def print_validation(done: Validation) -> None:
    """Print every job as measured, and how far each model's prediction is above that."""
    table = Table(box=None, pad_edge=False)
    several = any(len(job.by_start_s) > 1 for job in done.jobs)
    ranges = ("buckets", "range, ms", "behind the first") if several else ()
    for column in ("block", "servers", "duty", "measured, ms", *COLUMNS, *ranges):
        table.add_column(column, no_wrap=True, justify="left" if column in ("block", "servers") else "right")
    table.add_column("")
    for job in done.jobs:
        cells = [f"{job.error(model):+.1%}" for model in COLUMNS]
        where = ",".join(str(server) for server in job.placement)
        trust = "suspect" if job.suspect else ""
        measured = f"{job.measured_s * 1e3:.1f}"
        if several:
            cells += [str(job.buckets), *_over_starts(job)]
        table.add_row(job.block, where, f"{job.duty_cycle:.2f}", measured, *cells, trust)
    lines = []
    for model in COLUMNS:
        middle, worst = done.errors(model)
        lines.append(f"{model}: median error {middle:.1%}, worst {worst:.1%}")
    suspect = [block.name for block in done.blocks if block.suspect]
    lines += [f"suspect, and not counted: {', '.join(suspect)}"] if suspect else []
    show([table, "", *lines])


def _over_starts(job: ValidatedJob) -> tuple[str, str]:
    """Return the range of an iteration over the starts, and how far behind the first job it settled."""
    if len(job.by_start_s) < 2:
        return "", ""
    low, high = (f"{1e3 * limit:.0f}" for limit in (min(job.by_start_s), max(job.by_start_s)))
    settled = ", ".join(f"{each:.2f}" for each in job.settled) if any(job.settled) else ""
    return f"{low} to {high}", settled


def validation_content(done: Validation) -> dict[str, Any]:
    """Return every job as measured and as predicted."""
    return {
        "errors": {
            model: dict(zip(("median", "worst"), done.errors(model), strict=True)) for model in COLUMNS
        },
        "jobs": [asdict(job) for job in done.jobs],
    }


def print_carried_out(plan: Plan, done: CarriedOut) -> None:
    """Print every job of a plan as planned and as measured."""
    table = figures_table("job", "start s", "really", "finish s", "really", "duration", last="servers")
    for job in done.jobs:
        times = (job.start_s, job.measured_start_s, job.finish_s, job.measured_finish_s)
        table.add_row(
            job.name, *(f"{time_s:.2f}" for time_s in times), f"{job.error:+.1%}", " ".join(job.servers)
        )
    makespan = f"makespan {plan.makespan_s:.2f} s planned, {done.makespan_s:.2f} s real"
    show([table, "", f"{makespan} ({plan.makespan_s / done.makespan_s - 1:+.1%}); {done.noise}"])
