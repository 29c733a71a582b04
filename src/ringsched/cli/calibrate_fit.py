"""`ringsched calibrate fit`, `apply` and `validate`: from measurements to a scenario."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from ringsched.calibrate.estimate import Estimate
from ringsched.calibrate.fit import Fit, summary_of
from ringsched.cli.files import check_different, check_no_input
from ringsched.cli.options import FILE, json_option, output_option, scenario_output_option
from ringsched.cli.progress import Working
from ringsched.cli.tables import show
from ringsched.errors import InputError
from ringsched.formats.files import check_writable
from ringsched.model.calibration import Calibration
from ringsched.model.checks import integer, number

if TYPE_CHECKING:
    from ringsched.calibrate.validation import Validation


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
    """Print what was fitted, how well, and what cannot be told."""
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("fitted", justify="right", no_wrap=True)
    table.add_column("95 % interval", no_wrap=True)
    table.add_column("from", no_wrap=True)
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
    parts += [f"cannot be told: {what}" for what in fit.missing]
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


@click.command("fit")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILE)
@click.option("--servers", metavar="N", type=int, help="Of a benchmark's text that does not say it.")
@click.option("--workers", metavar="N", type=int, help="Of a benchmark's text that does not say it.")
@click.option(
    "--concurrent",
    metavar="N,...",
    help="Like jobs at a time: one number for every benchmark's text in turn, or one for all; default 1.",
)
@click.option(
    "--duty",
    metavar="X",
    type=float,
    default=1.0,
    show_default=True,
    help="Part of an iteration alone that your jobs communicate: the share fitted there is written.",
)
@output_option("Write what was fitted there, as TOML.")
@click.option("--plot", metavar="FILE", type=FILE, help="Draw the fit: .svg, .png or .pdf.")
@json_option("Print the fit as JSON.")
def fit_command(
    files: tuple[Path, ...],
    servers: int | None,
    workers: int | None,
    concurrent: str | None,
    duty: float,
    output: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Fit bandwidth, latency and contention to measurements.

    FILE is a CSV file with the columns servers, workers, concurrent, message_mb, seconds, and if known
    compute_s, reduce_s and job; or what nccl-tests or the OSU benchmarks printed.
    """
    from ringsched.calibrate.fit import calibration_of, fit_measurements, save_calibration
    from ringsched.calibrate.measurements import load_measurements

    number(duty, "--duty", above=0, maximum=1)
    counts = _counts(concurrent, len(files))
    _check_outputs(files, output, plot)
    rows = [
        row
        for file, count in zip(files, counts, strict=True)
        for row in load_measurements(file, servers=servers, workers=workers, concurrent=count)
    ]
    fit = fit_measurements(rows)
    calibration = calibration_of(fit, duty_cycle=duty)
    if output is not None:
        save_calibration(fit, calibration, output, ", ".join(file.name for file in files))
    if plot is not None:
        from ringsched.calibrate.plot import plot_fit

        plot_fit(fit, plot)
    if as_json:
        click.echo(json.dumps(fit_content(fit, calibration), indent=1))
        return

    print_fit(fit, calibration, duty, [path for path in (output, plot) if path is not None])


@click.command("apply")
@click.argument("calibration", metavar="CALIBRATION", type=FILE)
@click.argument("scenario", metavar="SCENARIO", type=FILE)
@scenario_output_option
def apply_command(calibration: Path, scenario: Path, output: Path | None) -> None:
    """Put what was fitted into a scenario.

    Prints the scenario as JSON, or writes it with -o. What was not fitted stays as the scenario has it.
    """
    from ringsched.cli.files import check_output, put_scenario, written_line
    from ringsched.formats.calibration import load_calibration
    from ringsched.formats.scenario import load_scenario
    from ringsched.model.calibration import apply_calibration

    check_output(output)
    given, measured = load_scenario(scenario), load_calibration(calibration)
    check_no_input([output], scenario)
    if output is not None and output.exists() and output.samefile(calibration):
        raise InputError("is the calibration itself; write to another file", file=str(output))
    applied = apply_calibration(measured, given)
    put_scenario(applied, output)
    if (
        left_out := measured.contention_fields().keys()
        - measured.contention_fields(applied.contention).keys()
    ):
        names = ", ".join(sorted(left_out))
        click.echo(f"contention model {applied.contention.model_name!r} has no {names}: left out", err=True)
    own = [server.name for server in given.cluster.servers if server.uplink_gbps is not None]
    if own and measured.inter_server_gbps is not None:
        click.echo(f"{len(own)} servers with an uplink_gbps of their own keep it: {own[0]}, ...", err=True)
    if output is not None:
        click.echo(written_line(output))


def _counts(concurrent: str | None, num_files: int) -> list[int | None]:
    if concurrent is None:
        return [None] * num_files
    cells: list[Any] = [int(cell) if cell.strip().isdigit() else cell for cell in concurrent.split(",")]
    counts: list[int | None] = [integer(cell, "--concurrent", minimum=1) for cell in cells]
    if len(counts) not in (1, num_files):
        raise InputError(
            f"must be one number, or one for each of the {num_files} files, not {len(counts)}",
            field="--concurrent",
        )
    return counts * num_files if len(counts) == 1 else counts


def _check_outputs(files: tuple[Path, ...], output: Path | None, plot: Path | None) -> None:
    if output is not None:
        check_writable(output)
    if plot is not None:
        from ringsched.calibrate.plot import check_plot

        check_plot(plot)
    check_different([output, plot])
    for written in (output, plot):
        for file in files:
            if written is not None and written.exists() and file.exists() and written.samefile(file):
                raise InputError("is a file of measurements; write to another", file=str(written))


SUSPECT = 1


@click.command("validate")
@click.argument("calibration", metavar="CALIBRATION", type=FILE)
@click.option("--servers", metavar="N", type=int, default=4, show_default=True, help="4 to 64.")
@click.option(
    "--mbps", metavar="X", type=float, default=200.0, show_default=True, help="Of every link, each way."
)
@click.option("--message-mb", metavar="X", type=float, default=4.0, show_default=True, help="Of every job.")
@click.option("--seconds", metavar="S", type=float, default=8.0, show_default=True, help="Of every block.")
@json_option("Print every job as JSON.")
def validate_command(
    calibration: Path, servers: int, mbps: float, message_mb: float, seconds: float, as_json: bool
) -> None:
    """Run placements the fit has not seen on the testbed and compare.

    CALIBRATION is what `calibrate fit -o` wrote. Sixteen jobs in five blocks: a chain, 3+1, duty cycles of
    1, 0.5 and 0.33, and a mixture. Prints the iteration measured beside what the contention models phases,
    max-min and paper say, and what a simulation of the exchanges one by one says.
    """
    from ringsched.calibrate.testbed import Testbed
    from ringsched.calibrate.validation import validate
    from ringsched.formats.calibration import load_calibration

    number(message_mb, "--message-mb", above=0, maximum=4096)
    number(seconds, "--seconds", above=0, maximum=3600)
    fitted = load_calibration(calibration)
    testbed = Testbed(servers, mbps)
    with Working("running the held-out placements"), testbed:
        done = validate(testbed, fitted, message_mb=message_mb, seconds=seconds)
    if as_json:
        click.echo(json.dumps(_content(done), indent=1))
    else:
        from ringsched.cli.calibrate_testbed import print_validation

        print_validation(done)
    if any(block.suspect for block in done.blocks):
        click.get_current_context().exit(SUSPECT)


def _content(done: Validation) -> dict[str, Any]:
    from ringsched.calibrate.validation import COLUMNS

    return {
        "errors": {
            model: dict(zip(("median", "worst"), done.errors(model), strict=True)) for model in COLUMNS
        },
        "jobs": [
            {
                "block": job.block,
                "placement": job.placement,
                "duty_cycle": job.duty_cycle,
                "measured_s": job.measured_s,
                "predicted_s": job.predicted_s,
                "suspect": job.suspect,
            }
            for job in done.jobs
        ],
    }
