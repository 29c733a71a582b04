"""`ringsched calibrate testbed`, `validate` and `run`: real rings and DDP jobs between network namespaces."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from ringsched.calibrate.blocks import Calibrated, measure, run_procedure
from ringsched.calibrate.carry_out import bed_for, carry_out
from ringsched.calibrate.ddp import STARTS, torch_python, validate_ddp
from ringsched.calibrate.measurements import save_measurements
from ringsched.calibrate.testbed import Testbed, TestJob
from ringsched.calibrate.validation import validate
from ringsched.cli.calibrate_tables import (
    block_content,
    print_blocks,
    print_carried_out,
    print_validation,
    validation_content,
)
from ringsched.cli.command import Command, option
from ringsched.cli.options import FILE, json_option, output_option, plan_argument, scenario_argument
from ringsched.cli.progress import Working
from ringsched.cli.values import DURATION, Name
from ringsched.errors import InputError
from ringsched.formats.calibration import load_calibration
from ringsched.formats.files import check_table_file
from ringsched.formats.plan import load_plan
from ringsched.formats.scenario import load_scenario
from ringsched.model.checks import integer, number
from ringsched.verify import verify

WORKERS = ("ring", "torch")
SUSPECT = 1  # exit code of a negative result

worker_option = option(
    "--worker",
    metavar="ring|torch",
    type=Name("worker", WORKERS, check=True),
    default="ring",
    show_default=True,
    help="What runs: rings of ringsched, or PyTorch DDP jobs over gloo.",
)
torch_python_option = option(
    "--torch-python",
    "python_given",
    metavar="PATH",
    help="Python with PyTorch for --worker torch; found by itself if possible.",
)
mbps_option = option(
    "--mbps",
    metavar="X",
    type=float,
    default=200.0,
    show_default=True,
    help="Speed of every link in Mbit/s, each way.",
)


def _python_for(worker: str, given: str | None) -> str | None:
    """Return the Python that runs DDP jobs; None for rings."""
    if worker == "torch":
        return torch_python(given)
    if given is not None:
        raise InputError("is only allowed with --worker torch", field="--torch-python")
    return None


@click.command("testbed", cls=Command)
@option("--servers", metavar="N", type=int, default=4, show_default=True, help="Number of servers, 2 to 64.")
@mbps_option
@option(
    "--repeats",
    metavar="N",
    type=int,
    default=1,
    show_default=True,
    help="Number of times that everything is measured.",
)
@option("--quick", is_flag=True, help="Fewer and shorter blocks: half a minute.")
@option(
    "--placement",
    "placements",
    metavar="S,S,...",
    multiple=True,
    help="Run this job instead: the servers of its workers, in ring order. Repeatable.",
)
@option(
    "--message-mb",
    metavar="X",
    type=float,
    default=2.0,
    show_default=True,
    help="With --placement: size of the message in MB.",
)
@option(
    "--compute",
    "compute_s",
    metavar="DURATION",
    type=DURATION,
    default=0.0,
    help="With --placement: computation of every iteration.",
)
@option(
    "--backward",
    "backward_s",
    metavar="DURATION",
    type=DURATION,
    default=0.0,
    help="With --worker torch: the part of --compute that is the backward pass.",
)
@option(
    "--buckets",
    metavar="N",
    type=int,
    default=1,
    show_default=True,
    help="With --worker torch: number of gradient buckets.",
)
@option(
    "--duration",
    "seconds",
    metavar="DURATION",
    type=DURATION,
    default="4s",
    show_default=True,
    help="With --placement: duration of the run.",
)
@worker_option
@torch_python_option
@output_option("Write the measurements as CSV for `calibrate fit`.")
@json_option("Print the blocks as JSON.")
def testbed_command(
    servers: int,
    mbps: float,
    repeats: int,
    quick: bool,
    placements: tuple[str, ...],
    message_mb: float,
    compute_s: float,
    backward_s: float,
    buckets: int,
    seconds: float,
    worker: str,
    python_given: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Measure real rings between servers made of network namespaces.

    Needs Linux, iproute2 and user namespaces, but not root. The namespaces end with this command. Blocks that
    other work on this machine disturbed are repeated. If they stay disturbed they are marked suspect and left
    out, and the exit code is 1.
    """
    integer(repeats, "--repeats", minimum=1, maximum=100)
    number(message_mb, "--message-mb", above=0, maximum=4096)
    number(compute_s, "--compute", minimum=0)
    number(seconds, "--duration", above=0, maximum=3600)
    if output is not None:
        if placements:
            raise InputError("cannot be used with --placement: such jobs need not be alike", field="--output")
        check_table_file(output)
    given = [_placement(text) for text in placements]
    number(backward_s, "--backward", minimum=0, maximum=compute_s)
    integer(buckets, "--buckets", minimum=1, maximum=1000)
    python = _python_for(worker, python_given)
    if python is None and (backward_s or buckets > 1):
        raise InputError("is only allowed with --worker torch", field="--backward or --buckets")
    testbed = Testbed(servers, mbps)
    with Working("measuring"), testbed:
        if given:
            jobs = [
                TestJob(
                    placement=each,
                    message_mb=message_mb,
                    compute_s=compute_s,
                    backward_s=backward_s,
                    buckets=buckets,
                    seconds=seconds,
                    python=python,
                )
                for each in given
            ]
            done = Calibrated((), (measure(testbed, "jobs as given", jobs),))
        else:
            done = run_procedure(testbed, repeats=repeats, quick=quick, python=python)
    if output is not None and done.measurements:
        save_measurements(done.measurements, output)
    if as_json:
        click.echo(json.dumps([block_content(block) for block in done.blocks], indent=1))
    else:
        print_blocks(done.blocks, testbed, output if done.measurements else None)
    if done.suspect:
        click.get_current_context().exit(SUSPECT)


def _placement(text: str) -> tuple[int, ...]:
    cells = [cell.strip() for cell in text.split(",")]
    if not all(cell.isdecimal() for cell in cells):
        raise InputError(f"must be numbers of servers such as 0,0,1, not {text!r}", field="--placement")
    return tuple(int(cell) for cell in cells)


@click.command("validate", cls=Command)
@click.argument("calibration", metavar="CALIBRATION", type=FILE)
@option("--servers", metavar="N", type=int, default=4, show_default=True, help="Number of servers, 4 to 64.")
@mbps_option
@option(
    "--message-mb", metavar="X", type=float, default=4.0, show_default=True, help="Size of the message in MB."
)
@option(
    "--duration",
    "seconds",
    metavar="DURATION",
    type=DURATION,
    default="8s",
    show_default=True,
    help="Duration of every block.",
)
@option(
    "--starts",
    metavar="N",
    type=int,
    default=STARTS,
    show_default=True,
    help="With --worker torch: number of random starts of jobs that run together.",
)
@worker_option
@torch_python_option
@json_option("Print every job as JSON.")
def validate_command(
    calibration: Path,
    servers: int,
    mbps: float,
    message_mb: float,
    seconds: float,
    starts: int,
    worker: str,
    python_given: str | None,
    as_json: bool,
) -> None:
    """Compare predictions with new placements on the testbed.

    CALIBRATION is a file from `calibrate fit -o`. Rings: sixteen jobs in five blocks, of duty cycles 1, 0.5
    and 0.33. DDP jobs: fourteen alone and fifteen together, with 1 to 12 buckets; takes a quarter of an hour.
    Prints the measured iteration times and the errors of phases, max-min, paper, and of a simulation of
    single exchanges.
    """
    number(message_mb, "--message-mb", above=0, maximum=4096)
    number(seconds, "--duration", above=0, maximum=3600)
    fitted = load_calibration(calibration)
    python = _python_for(worker, python_given)
    testbed = Testbed(servers, mbps)
    with Working("running the held-out placements"), testbed:
        if python is None:
            done = validate(testbed, fitted, message_mb=message_mb, seconds=seconds)
        else:
            done = validate_ddp(testbed, fitted, python, starts=starts, seconds=seconds)
    if as_json:
        click.echo(json.dumps(validation_content(done), indent=1))
    else:
        print_validation(done)
    if any(block.suspect for block in done.blocks):
        click.get_current_context().exit(SUSPECT)


@click.command("run", cls=Command)
@scenario_argument
@plan_argument
@worker_option
@torch_python_option
@json_option("Print every job as JSON.")
def run_command(
    scenario_file: Path, plan_file: Path, worker: str, python_given: str | None, as_json: bool
) -> None:
    """Run a small plan on the testbed and compare.

    Every job starts at its planned time on its planned servers and does all its iterations, with the link
    speeds of the scenario. Up to 8 jobs of two or more GPUs and ten minutes.
    """
    scenario, plan = load_scenario(scenario_file), load_plan(plan_file)
    verdict = verify(scenario, plan)
    if not verdict.valid:
        raise InputError(f"is no valid plan: {verdict.violations[0].message}", file=str(plan_file))
    python = _python_for(worker, python_given)
    testbed = bed_for(scenario, plan, python)
    with Working("running the plan"), testbed:
        done = carry_out(scenario, plan, testbed, python)
    if as_json:
        content = {"noise": done.noise._asdict(), "jobs": [asdict(job) for job in done.jobs]}
        click.echo(json.dumps(content, indent=1))
    else:
        print_carried_out(plan, done)
