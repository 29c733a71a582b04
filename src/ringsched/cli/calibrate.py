"""`ringsched calibrate`: measure contention, fit it, use it."""

from __future__ import annotations

import click

from ringsched.cli.calibrate_fit import apply_command, fit_command
from ringsched.cli.calibrate_run import run_command
from ringsched.cli.calibrate_testbed import testbed_command
from ringsched.cli.calibrate_validate import validate_command
from ringsched.cli.calibrate_worker import worker_command


@click.group("calibrate")
def calibrate_command() -> None:
    """Measure contention on real rings and fit the model to it.

    Numbers come from a cluster of one's own (worker, or other benchmarks), or from a network made of
    namespaces on this machine (testbed).
    """


for _command in (worker_command, testbed_command, fit_command, apply_command, validate_command, run_command):
    calibrate_command.add_command(_command)
