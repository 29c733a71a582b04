"""`ringsched explain`."""

from __future__ import annotations

from pathlib import Path

import click

from ringsched.cli.plan_input import located
from ringsched.cli.working import Working
from ringsched.errors import InputError, UnknownName
from ringsched.io.plan_file import load_plan
from ringsched.io.scenario_file import load_scenario


@click.command("explain")
@click.argument("scenario_file", metavar="SCENARIO", type=click.Path(path_type=Path))
@click.argument("plan_file", metavar="PLAN", type=click.Path(path_type=Path))
@click.option("--job", "job_name", metavar="NAME", help="Say in words why this job is slow.")
@click.option("--json", "as_json", is_flag=True, help="Print the ledger as JSON.")
def explain_command(scenario_file: Path, plan_file: Path, job_name: str | None, as_json: bool) -> None:
    """Say who slows whom, by how much and on which link.

    Splits the duration of every job into its best case and what spreading, contention and rounding to
    slots add, to the last second, and lays contention at the door of those who share the slowest link.
    """
    scenario, plan = load_scenario(scenario_file), load_plan(plan_file)
    if job_name is not None and all(job.name != job_name for job in scenario.jobs):
        raise UnknownName("job", job_name, [job.name for job in scenario.jobs], field="--job")
    from ringsched.analysis.blame.explain import explain

    try:
        with Working("keeping the books"):
            ledger = explain(scenario, plan)
    except InputError as error:
        raise located(error, scenario_file, plan_file) from None
    if as_json:
        import json

        from ringsched.analysis.as_json import job_ledger_data, ledger_data

        content = ledger_data(ledger) if job_name is None else job_ledger_data(ledger, job_name)
        click.echo(json.dumps(content, indent=1, ensure_ascii=False))
    elif job_name is None:
        from ringsched.cli.explain_tables import print_ledger

        print_ledger(ledger)
    else:
        from ringsched.cli.explain_job import print_job

        print_job(ledger, job_name)
