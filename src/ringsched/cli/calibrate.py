"""`ringsched calibrate`: measure contention, fit it, use it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ringsched.calibrate.copies import (
    Copies,
    copies_from_csv,
    duty_cycles_of,
    is_copies_text,
    summary_of_copies,
)
from ringsched.calibrate.fit import calibration_of, fit_measurements, save_calibration
from ringsched.calibrate.measurements import load_measurements, save_measurements
from ringsched.calibrate.neighbours import ring_from_text
from ringsched.calibrate.plot import check_plot, plot_fit
from ringsched.calibrate.worker import MOST_MB, measurement_of, run_worker
from ringsched.cli.calibrate_tables import (
    copies_content,
    fit_content,
    print_copies,
    print_fit,
    run_content,
    run_line,
)
from ringsched.cli.command import Group, option
from ringsched.cli.files import check_different, check_no_input, check_output, put_scenario, written_line
from ringsched.cli.options import FILE, json_option, output_option, scenario_output_option
from ringsched.cli.testbed import run_command, testbed_command, validate_command
from ringsched.cli.values import DURATION
from ringsched.errors import InputError
from ringsched.formats.calibration import load_calibration
from ringsched.formats.files import check_table_file, check_writable, read_text
from ringsched.formats.scenario import load_scenario
from ringsched.model.calibration import apply_calibration
from ringsched.model.checks import integer, number


@click.group("calibrate", cls=Group)
def calibrate_command() -> None:
    """Measure contention on real rings and fit the model to it.

    Measure your own cluster (worker, or other benchmarks), or a network of namespaces on this machine
    (testbed).
    """


for command in (testbed_command, validate_command, run_command):
    calibrate_command.add_command(command)


@calibrate_command.command("worker")
@option("--rank", metavar="R", type=int, required=True, help="Rank of this worker in --ring, from 0.")
@option("--ring", metavar="HOST:PORT,...", required=True, help="Addresses of all workers, by rank.")
@option(
    "--message-mb",
    metavar="X",
    type=float,
    default=16.0,
    show_default=True,
    help="Size of the message in MB.",
)
@option(
    "--compute",
    "compute_s",
    metavar="DURATION",
    type=DURATION,
    default=0.0,
    help="Computation of every iteration, such as 50ms.",
)
@option("--iterations", metavar="N", type=int, help="Number of iterations.  [default: 20]")
@option(
    "--duration",
    "seconds",
    metavar="DURATION",
    type=DURATION,
    help="End after this time instead of --iterations.",
)
@option(
    "--peer-timeout",
    "timeout_s",
    metavar="DURATION",
    type=DURATION,
    default="30s",
    show_default=True,
    help="Timeout for peers that do not answer.",
)
@option(
    "--concurrent",
    metavar="N",
    type=int,
    default=1,
    show_default=True,
    help="Number of identical jobs that run at a time.",
)
@output_option("Write the medians as CSV for `calibrate fit`; rank 0 is enough.")
@json_option("Print every iteration as JSON.")
def worker_command(
    rank: int,
    ring: str,
    message_mb: float,
    compute_s: float,
    iterations: int | None,
    seconds: float | None,
    timeout_s: float,
    concurrent: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Run one worker of a real ring all-reduce over TCP.

    Start one for every address, on the machine it names, with the same options but for --rank. Neighbours
    should share a server, so that the ring crosses every link once each way.
    """
    addresses = ring_from_text(ring)
    integer(rank, "--rank", minimum=0, maximum=len(addresses) - 1)
    number(message_mb, "--message-mb", above=0, maximum=MOST_MB)
    number(compute_s, "--compute", minimum=0)
    number(timeout_s, "--peer-timeout", above=0)
    integer(concurrent, "--concurrent", minimum=1)
    if iterations is not None and seconds is not None:
        raise InputError("cannot be combined with --iterations; give one of them", field="--duration")
    if iterations is not None:
        integer(iterations, "--iterations", minimum=1)
    if seconds is not None:
        number(seconds, "--duration", above=0)
    if output is not None:
        check_table_file(output)
    run = run_worker(
        rank,
        addresses,
        message_mb=message_mb,
        compute_s=compute_s,
        iterations=20 if iterations is None and seconds is None else iterations,
        seconds=seconds,
        timeout_s=timeout_s,
    )
    servers = len({address.host for address in addresses})
    if output is not None:
        row = measurement_of(
            run,
            servers=servers,
            workers=len(addresses),
            concurrent=concurrent,
            message_mb=message_mb,
            compute_s=compute_s,
        )
        save_measurements([row], output)
    click.echo(json.dumps(run_content(run), indent=1) if as_json else run_line(run, len(addresses), servers))


@calibrate_command.command("fit")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILE)
@option("--servers", metavar="N", type=int, help="Servers of a benchmark output that does not state it.")
@option(
    "--ranks", "workers", metavar="N", type=int, help="Workers of a benchmark output that does not state it."
)
@option(
    "--concurrent",
    metavar="N,...",
    help="Identical jobs at a time, of each benchmark output or of all.  [default: 1]",
)
@option(
    "--duty",
    metavar="X",
    type=float,
    default=1.0,
    show_default=True,
    help="Fraction of an iteration that your jobs communicate; its share is written.",
)
@output_option("Write the fitted values as TOML.")
@option("--plot", metavar="FILE", type=FILE, help="Draw the fit: .svg, .png or .pdf.")
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

    FILE is a CSV file with the columns servers, workers, concurrent, message_mb, seconds, and optionally
    compute_s, reduce_s, job, backward_s and buckets; or the output of nccl-tests or the OSU benchmarks. Or it
    has the columns job, alone and together: throughput of two copies, from which follows the duty cycle.
    """
    number(duty, "--duty", above=0, maximum=1)
    counts = _counts(concurrent, len(files))
    _check_outputs(files, output, plot)
    if any(is_copies_text(read_text(file)) for file in files):
        _fit_copies(files, output, plot, as_json)
        return
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
        plot_fit(fit, plot)
    if as_json:
        click.echo(json.dumps(fit_content(fit, calibration), indent=1))
    else:
        print_fit(fit, calibration, duty, [path for path in (output, plot) if path is not None])


def _fit_copies(files: tuple[Path, ...], output: Path | None, plot: Path | None, as_json: bool) -> None:
    if output is not None or plot is not None:
        raise InputError(
            "is not written from copies, which tell duty cycles only; use them with --duty",
            field="--output" if output is not None else "--plot",
        )
    rows: list[Copies] = []
    for file in files:
        try:
            rows += copies_from_csv(read_text(file))
        except InputError as error:
            raise error.located(file=str(file)) from None
    found = duty_cycles_of(rows)
    if as_json:
        click.echo(json.dumps(copies_content(found), indent=1))
    else:
        print_copies(summary_of_copies(rows), found)


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
        check_plot(plot)
    check_different([output, plot])
    for written in (output, plot):
        for file in files:
            if written is not None and written.exists() and file.exists() and written.samefile(file):
                raise InputError("is a file of measurements; write to another", file=str(written))


@calibrate_command.command("apply")
@click.argument("calibration", metavar="CALIBRATION", type=FILE)
@click.argument("scenario", metavar="SCENARIO", type=FILE)
@scenario_output_option
def apply_command(calibration: Path, scenario: Path, output: Path | None) -> None:
    """Put fitted values into a scenario.

    Prints the scenario as JSON, or writes it with -o. Other values stay as they are.
    """
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
        click.echo(f"{len(own)} servers that state uplink_gbps keep it: {own[0]}, ...", err=True)
    if output is not None:
        click.echo(written_line(output))
