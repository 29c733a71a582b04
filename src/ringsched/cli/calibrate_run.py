"""`ringsched calibrate run`: a small plan, for real."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from ringsched.cli.working import Working
from ringsched.errors import InputError

FILE = click.Path(path_type=Path)


@click.command("run")
@click.argument("scenario_file", metavar="SCENARIO", type=FILE)
@click.argument("plan_file", metavar="PLAN", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print every job as JSON.")
def run_command(scenario_file: Path, plan_file: Path, as_json: bool) -> None:
    """Run a small plan for real on the testbed and compare.

    Every job starts when the plan says, on the servers it says, and does all its iterations; links are as
    fast as the scenario's. Up to 8 jobs of two or more GPUs and 600 seconds.
    """
    from ringsched.calibrate.carry_out import bed_for, carry_out
    from ringsched.io.plan_file import load_plan
    from ringsched.io.scenario_file import load_scenario
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
    from ringsched.cli.calibrate_blocks import print_carried_out

    print_carried_out(plan, done)
