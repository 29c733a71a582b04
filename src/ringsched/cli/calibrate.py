"""`ringsched calibrate`: measure contention, fit it, use it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import click

from ringsched.cli.calibrate_fit import apply_command, fit_command, validate_command
from ringsched.cli.calibrate_testbed import testbed_command
from ringsched.cli.options import json_option, output_option, plan_argument, scenario_argument
from ringsched.cli.progress import Working
from ringsched.errors import InputError
from ringsched.model.checks import integer, number

if TYPE_CHECKING:
    from ringsched.calibrate.worker import WorkerRun


@click.command("run")
@scenario_argument
@plan_argument
@json_option("Print every job as JSON.")
def run_command(scenario_file: Path, plan_file: Path, as_json: bool) -> None:
    """Run a small plan for real on the testbed and compare.

    Every job starts when the plan says, on the servers it says, and does all its iterations; links are as
    fast as the scenario's. Up to 8 jobs of two or more GPUs and 600 seconds.
    """
    from ringsched.calibrate.carry_out import bed_for, carry_out
    from ringsched.formats.plan import load_plan
    from ringsched.formats.scenario import load_scenario
    from ringsched.verify import verify

    scenario, plan = load_scenario(scenario_file), load_plan(plan_file)
    verdict = verify(scenario, plan)
    if not verdict.valid:
        raise InputError(f"is no valid plan: {verdict.violations[0].message}", file=str(plan_file))
    testbed = bed_for(scenario, plan)
    with Working("running the plan"), testbed:
        done = carry_out(scenario, plan, testbed)
    if as_json:
        click.echo(
            json.dumps({"noise": done.noise._asdict(), "jobs": [asdict(job) for job in done.jobs]}, indent=1)
        )
        return
    from ringsched.cli.calibrate_testbed import print_carried_out

    print_carried_out(plan, done)


@click.command("worker")
@click.option("--rank", metavar="R", type=int, required=True, help="Which of the addresses is this one's.")
@click.option("--ring", metavar="HOST:PORT,...", required=True, help="Where all workers listen, by rank.")
@click.option(
    "--message-mb", metavar="X", type=float, default=16.0, show_default=True, help="What is summed."
)
@click.option(
    "--compute", "compute_s", metavar="S", type=float, default=0.0, help="Seconds every iteration computes."
)
@click.option("--iterations", metavar="N", type=int, help="End after so many; default 20.")
@click.option("--seconds", metavar="S", type=float, help="End after so much time instead.")
@click.option(
    "--timeout",
    "timeout_s",
    metavar="S",
    type=float,
    default=30.0,
    show_default=True,
    help="For silent peers.",
)
@click.option(
    "--concurrent", metavar="N", type=int, default=1, show_default=True, help="Like jobs at a time."
)
@output_option("Write the medians there as CSV for `calibrate fit`; rank 0 is enough.")
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
    from ringsched.calibrate.measurements import save_measurements
    from ringsched.calibrate.neighbours import ring_from_text
    from ringsched.calibrate.worker import MOST_MB, measurement_of, run_worker
    from ringsched.formats.files import check_table_file

    addresses = ring_from_text(ring)
    integer(rank, "--rank", minimum=0, maximum=len(addresses) - 1)
    number(message_mb, "--message-mb", above=0, maximum=MOST_MB)
    number(compute_s, "--compute", minimum=0)
    number(timeout_s, "--timeout", above=0)
    integer(concurrent, "--concurrent", minimum=1)
    if iterations is not None and seconds is not None:
        raise InputError("cannot stand together with --iterations; keep one of them", field="--seconds")
    if iterations is not None:
        integer(iterations, "--iterations", minimum=1)
    if seconds is not None:
        number(seconds, "--seconds", above=0)
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
    click.echo(_json(run) if as_json else _line(run, len(addresses), servers))


def _line(run: WorkerRun, num_workers: int, servers: int) -> str:
    counted = run.iterations[1:] or run.iterations
    parts = [
        f"{what} {median(getattr(each, f'{what}_s') for each in counted) * 1e3:.3f} ms"
        for what in ("exchange", "reduce", "compute")
    ]
    return (
        f"rank {run.rank} of {num_workers} on {servers} servers, {len(run.iterations)} iterations: "
        f"{', '.join(parts)}; sent {run.sent_bytes} bytes, received {run.received_bytes}"
    )


def _json(run: WorkerRun) -> str:
    return json.dumps(
        {
            "rank": run.rank,
            "sent_bytes": run.sent_bytes,
            "received_bytes": run.received_bytes,
            "waited_s": run.waited_s,
            "iterations": [each._asdict() for each in run.iterations],
        },
        indent=1,
    )


@click.group("calibrate")
def calibrate_command() -> None:
    """Measure contention on real rings and fit the model to it.

    Numbers come from a cluster of one's own (worker, or other benchmarks), or from a network made of
    namespaces on this machine (testbed).
    """


for _command in (worker_command, testbed_command, fit_command, apply_command, validate_command, run_command):
    calibrate_command.add_command(_command)
