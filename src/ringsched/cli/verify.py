"""`ringsched verify`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ringsched.analysis.as_json import verdict_data
from ringsched.cli.options import json_option, plan_argument, scenario_argument
from ringsched.errors import InputError
from ringsched.formats.plan import load_plan
from ringsched.formats.scenario import load_scenario, locate
from ringsched.verify import verify


@click.command("verify")
@scenario_argument
@plan_argument
@json_option("Print the verdict as JSON.")
@click.pass_context
def verify_command(ctx: click.Context, scenario_file: Path, plan_file: Path, as_json: bool) -> None:
    """Check a plan independently of what made it.

    Recomputes every finish, the makespan, the bound and the gap with formulas of its own. Ends with
    0 if all is right and with 1 after naming every violation.
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
