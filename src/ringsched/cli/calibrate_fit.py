"""`ringsched calibrate fit` and `apply`: from measurements to a scenario."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ringsched.cli.outputs import check_different, check_no_input
from ringsched.errors import InputError
from ringsched.io.files import check_writable
from ringsched.model.checks import integer, number

FILE = click.Path(path_type=Path)


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
@click.option("-o", "--output", metavar="FILE", type=FILE, help="Write what was fitted there, as TOML.")
@click.option("--plot", metavar="FILE", type=FILE, help="Draw the fit: .svg, .png or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print the fit as JSON.")
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
    from ringsched.calibrate.calibration import calibration_of, save_calibration
    from ringsched.calibrate.fit import fit_measurements
    from ringsched.calibrate.measurement_file import load_measurements

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
        from ringsched.cli.calibrate_json import fit_content

        click.echo(json.dumps(fit_content(fit, calibration), indent=1))
        return
    from ringsched.cli.calibrate_tables import print_fit

    print_fit(fit, calibration, duty, [path for path in (output, plot) if path is not None])


@click.command("apply")
@click.argument("calibration", metavar="CALIBRATION", type=FILE)
@click.argument("scenario", metavar="SCENARIO", type=FILE)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=FILE,
    help="Write the scenario there instead of printing it; .toml with the jobs in a CSV file beside it.",
)
def apply_command(calibration: Path, scenario: Path, output: Path | None) -> None:
    """Put what was fitted into a scenario.

    Prints the scenario as JSON, or writes it with -o. What was not fitted stays as the scenario has it.
    """
    from ringsched.cli.scenario_output import check_output, put_scenario, written_line
    from ringsched.io.calibration_file import load_calibration
    from ringsched.io.scenario_file import load_scenario
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
