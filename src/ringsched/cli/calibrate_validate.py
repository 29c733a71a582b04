"""`ringsched calibrate validate`: predicted against measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ringsched.cli.working import Working
from ringsched.model.checks import number

if TYPE_CHECKING:
    from ringsched.calibrate.validation import Validation

SUSPECT = 1


@click.command("validate")
@click.argument("calibration", metavar="CALIBRATION", type=click.Path(path_type=Path))
@click.option("--servers", metavar="N", type=int, default=4, show_default=True, help="4 to 64.")
@click.option(
    "--mbps", metavar="X", type=float, default=200.0, show_default=True, help="Of every link, each way."
)
@click.option("--message-mb", metavar="X", type=float, default=4.0, show_default=True, help="Of every job.")
@click.option("--seconds", metavar="S", type=float, default=8.0, show_default=True, help="Of every block.")
@click.option("--json", "as_json", is_flag=True, help="Print every job as JSON.")
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
    from ringsched.io.calibration_file import load_calibration

    number(message_mb, "--message-mb", above=0, maximum=4096)
    number(seconds, "--seconds", above=0, maximum=3600)
    fitted = load_calibration(calibration)
    testbed = Testbed(servers, mbps)
    with Working("running the held-out placements"), testbed:
        done = validate(testbed, fitted, message_mb=message_mb, seconds=seconds)
    if as_json:
        click.echo(json.dumps(_content(done), indent=1))
    else:
        from ringsched.cli.calibrate_blocks import print_validation

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
