"""`ringsched whatif`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ringsched.cli.plan_input import located
from ringsched.cli.working import Working
from ringsched.errors import InputError
from ringsched.io.plan_file import load_plan
from ringsched.io.scenario_file import load_scenario

if TYPE_CHECKING:
    from ringsched.analysis.whatif.changes import Change
    from ringsched.model import Scenario


@click.command("whatif")
@click.argument("scenario_file", metavar="SCENARIO", type=click.Path(path_type=Path))
@click.argument("plan_file", metavar="[PLAN]", type=click.Path(path_type=Path), required=False)
@click.option(
    "--add-job", metavar="JOB", help="One more job: gpus=8,iterations=20000,model=resnet50 or a file."
)
@click.option("--add-servers", metavar="N[xGPUS]", multiple=True, help="More servers, such as 4x8.")
@click.option("--remove-server", metavar="NAME", multiple=True, help="One server less.")
@click.option("--inter-server-gbps", metavar="X", type=float, multiple=True, help="Other links of servers.")
@click.option("--link-factor", metavar="X", type=float, multiple=True, help="All links X times as fast.")
@click.option(
    "--contention", metavar="KEY=X,...", multiple=True, help="Other contention: share=0.5,degradation=0."
)
@click.option("--together", is_flag=True, help="All changes at once, not each by itself.")
@click.option("--policy", metavar="NAME", help="How to plan.  [default: that of PLAN, else longest-first]")
@click.option("--order", metavar="NAME", help="Queue order instead of the policy's own.")
@click.option("--objective", metavar="NAME", help="What bound and gap are about.  [default: that of PLAN]")
@click.option("--seed", metavar="N", type=int, help="For random choices.  [default: that of PLAN, else 0]")
@click.option("--time-limit", metavar="S", type=float, help="Policy search: seconds for each plan.")
@click.option("--iterations", metavar="N", type=int, help="Policy search: schedules for each plan.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def whatif_command(
    scenario_file: Path,
    plan_file: Path | None,
    add_job: str | None,
    add_servers: tuple[str, ...],
    remove_server: tuple[str, ...],
    inter_server_gbps: tuple[float, ...],
    link_factor: tuple[float, ...],
    contention: tuple[str, ...],
    together: bool,
    as_json: bool,
    time_limit: float | None,
    **planning: Any,
) -> None:
    """Say what one more job, other servers or other links would change.

    One more job is placed beside the plan, which stays: where and when it should start, when it would
    end, and whom it would delay. For all else the jobs are planned anew, for each change by itself, and
    compared with the plan. Without PLAN the scenario is planned first.
    """
    scenario = load_scenario(scenario_file)
    plan = None if plan_file is None else load_plan(plan_file)
    from ringsched.cli.whatif_changes import changes_of

    try:
        changes = changes_of(add_servers, remove_server, inter_server_gbps, link_factor, contention, together)
        _check_question(add_job, changes)
        given = planning | {"plan": plan, "time_limit_s": time_limit}
        if add_job is not None:
            _job(scenario, add_job, as_json, given)
        else:
            _variants(scenario, changes, as_json, given)
    except InputError as error:
        raise _located(error, scenario_file, plan_file) from None


def _check_question(add_job: str | None, changes: list[Change]) -> None:
    if add_job is not None and changes:
        raise InputError(
            "cannot stand together with other changes; ask for one after the other", field="add-job"
        )
    if add_job is None and not changes:
        raise InputError(
            "nothing to ask: give --add-job, --add-servers, --remove-server, --inter-server-gbps, "
            "--link-factor or --contention"
        )


def _job(scenario: Scenario, text: str, as_json: bool, given: dict[str, Any]) -> None:
    from ringsched.analysis.whatif.new_job import whatif_job
    from ringsched.cli.whatif_job import answer_to_json, print_answer
    from ringsched.io.job_given import job_given

    try:
        job = job_given(text, {job.name for job in scenario.jobs})
    except InputError as error:
        raise error.located(file=error.file or "--add-job") from None
    with Working("trying places for the job"):
        answer = whatif_job(scenario, job, **given)
    if as_json:
        click.echo(answer_to_json(answer))
    else:
        print_answer(answer)


def _variants(scenario: Scenario, changes: list[Change], as_json: bool, given: dict[str, Any]) -> None:
    from ringsched.analysis.whatif.variants import whatif
    from ringsched.cli.whatif_tables import print_variants, variants_to_json

    with Working("planning the variants"):
        answer = whatif(scenario, *changes, **given)
    if as_json:
        click.echo(variants_to_json(answer))
    else:
        print_variants(scenario, answer)


def _located(error: InputError, scenario_file: Path, plan_file: Path | None) -> InputError:
    """Return the error with the option or file it is about; what was added or changed stands in no file."""
    about_scenario = (error.place or "").startswith("jobs[")
    about_plan = (error.place or error.field or "job ").startswith(("job ", "plan")) and plan_file is not None
    if error.file or about_scenario or about_plan:
        return located(error, scenario_file, plan_file or scenario_file)
    if error.field is not None and error.place is None:
        return InputError(error.problem, field=f"--{error.field}")
    return error
