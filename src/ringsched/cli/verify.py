"""`ringsched verify`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ringsched.analysis.as_json import verdict_data
from ringsched.cli.command import Command
from ringsched.cli.options import json_option, plan_argument, scenario_argument
from ringsched.errors import InputError
from ringsched.formats.plan import load_plan
from ringsched.formats.scenario import load_scenario, locate
from ringsched.verify import verify


@click.command("verify", cls=Command)
@scenario_argument
@plan_argument
@json_option("Print the verdict as JSON.")
@click.pass_context
def verify_command(ctx: click.Context, scenario_file: Path, plan_file: Path, as_json: bool) -> None:
    """Check a plan independently of the planner.

    Recomputes every finish, the makespan, the bound and the gap with separate formulas. The exit code is 0 if
    the plan is valid; it is 1 if not, and every violation is listed.
    """
    scenario, plan = load_scenario(scenario_file), load_plan(plan_file)
    try:
        verdict = verify(scenario, plan)
    except InputError as error:
        raise locate(error, scenario_file) from None
    if as_json:
        click.echo(json.dumps(verdict_data(verdict), indent=1))
    else:
        from ringsched.cli.tables import print_verdict

        print_verdict(plan, plan_file, verdict)
    ctx.exit(0 if verdict.valid else 1)
