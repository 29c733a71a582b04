"""`ringsched whatif`: other clusters for the same jobs, or one more job for the same plan."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from ringsched.analysis.as_json import named_options, new_job_data, variants_data
from ringsched.analysis.whatif.changes import (
    AddServers,
    Change,
    LevelSpeed,
    LinkFactor,
    LinkSpeed,
    OtherContention,
    RemoveServer,
    SetField,
    Together,
)
from ringsched.analysis.whatif.new_job import Answer, Option, whatif_job
from ringsched.analysis.whatif.variants import FinishChange, Variant, WhatIf, whatif
from ringsched.cli.command import SEARCH, Command, option
from ringsched.cli.files import located
from ringsched.cli.options import (
    FILE,
    POLICY,
    SERVER,
    json_option,
    limit_options,
    objective_option,
    order_option,
    scenario_argument,
    seed_option,
)
from ringsched.cli.progress import Working
from ringsched.cli.tables import figures_table, show
from ringsched.cli.values import Assignment
from ringsched.errors import InputError
from ringsched.formats.decode import link_gbps
from ringsched.formats.jobs import job_given
from ringsched.formats.overrides import override_of
from ringsched.formats.plan import load_plan
from ringsched.formats.scenario import load_scenario
from ringsched.formatting import counted, duration, percent_above, placed
from ringsched.model import Plan, Scenario
from ringsched.model.objective import objective_named


def _servers(text: str) -> AddServers:
    match = re.fullmatch(r"(\d{1,9})(?:x(\d{1,9}))?", text)
    if match is None:
        raise InputError(
            f"must be a number, or a number and GPUs such as 4x8, not {text!r}", field="add-servers"
        )
    return AddServers(count=int(match[1]), gpus=None if match[2] is None else int(match[2]))


def _at_level(text: str, option: str, *, required: bool = False) -> tuple[float, int | None]:
    """Return a number and the level after an @, if there is one."""
    value, at, level = text.partition("@")
    try:
        if required and not at:
            raise ValueError
        return float(value), int(level) if at else None
    except ValueError:
        example = "a speed and a level such as 400@1" if required else "a number, or with a level such as 2@1"
        raise InputError(f"must be {example}, not {text!r}", field=option) from None


def _factor(text: str) -> LinkFactor:
    factor, level = _at_level(text, "link-factor")
    return LinkFactor(factor=factor, level=level)


def _speed(text: str) -> LevelSpeed:
    gbps, level = _at_level(text, "link-gbps", required=True)
    return LevelSpeed(gbps=gbps, level=level or 0)


def _field(written: str) -> Change:
    """Return the change of one field; those that the lab can make too have its labels."""
    override = override_of(written)
    if override.table == "contention":
        return OtherContention(fields={override.field: override.value} if override.field else override.value)
    if override.field == "inter_server_gbps":
        return LinkSpeed(inter_server_gbps=link_gbps(override.value, "inter-server-gbps"))
    return SetField(written=written)


# By the name of its option: the change that each of its values asks for.
KINDS: dict[str, Callable[[Any], Change]] = {
    "add_servers": _servers,
    "remove_server": lambda name: RemoveServer(name=name),
    "link_factor": _factor,
    "link_gbps": _speed,
    "set": _field,
}
MOST_DELAYS = 5


def print_answer(answer: Answer) -> None:
    """Print the advice in a sentence, the choices in a table, and those who are hurt."""
    job, best = answer.job, answer.best
    what = f"{counted(job.gpus, 'GPU')}, {counted(job.iterations, 'iteration')}"
    present = f"beside the plan of {counted(len(answer.present.jobs), 'job')} by {answer.present.policy}"
    parts: list[str | Table] = [
        f"{job.name}: {what}, at best {duration(answer.best_case_s)}; {present}",
        _advice(best),
        *_waiting(answer),
        "",
        _options_table(answer),
        f"{counted(len(answer.options), 'choice')} tried; "
        "total cost: increase in the sum of all completion times",
    ]
    if best.delays:
        parts += ["", "jobs that the best choice delays", changes_table(best.delays[:MOST_DELAYS])]
        more = len(best.delays) - MOST_DELAYS
        parts += [f"... and {counted(more, 'more job')}"] if more > 0 else []
    show([*parts, "", *_replanned(answer)])


def answer_to_json(answer: Answer) -> str:
    """Return the four choices, those planned again, and the present totals."""
    return json.dumps(new_job_data(answer), indent=1, ensure_ascii=False)


def _advice(best: Option) -> str:
    place = (
        f"start it at {duration(best.start_s)} on {placed(best.gpus)}, it ends at {duration(best.finish_s)}"
    )
    if not best.delays:
        return f"{place} and delays no job"
    return f"{place} and delays {counted(len(best.delays), 'job')} by {duration(best.total_delay_s)} in all"


def _waiting(answer: Answer) -> list[str]:
    """Say whether it pays to wait."""
    best, now = answer.best, answer.at_once
    if best.waiting_s <= 0:
        return ["waiting would be no better"]
    if now is None:
        return ["it cannot start at once: too few GPUs are idle"]
    saved = now.cost_s - best.cost_s
    return [f"waiting is better: at once it would cost {duration(saved)} more, see below"]


def _options_table(answer: Answer) -> Table:
    headings = ("start", "end", "total\ndelay", "jobs\ndelayed", "total\ncost", "makespan")
    table = figures_table("choice", *headings, last="servers:GPUs")
    rows: dict[int, tuple[list[str], Option]] = {}
    words = {"at_once": "at once", "harmless": "delays no job"}
    for name, found in named_options(answer).items():
        if found is not None:
            rows.setdefault(id(found), ([], found))[0].append(words.get(name, name))
    for names, found in rows.values():
        table.add_row(
            ", ".join(names),
            duration(found.start_s),
            duration(found.finish_s),
            duration(found.total_delay_s),
            str(len(found.delays)),
            duration(found.cost_s),
            duration(found.makespan_s),
            placed(found.gpus),
        )
    return table


def _replanned(answer: Answer) -> list[str]:
    if answer.replanned is None:
        return [f"re-planned with it by {answer.policy}: no plan within the horizon"]
    plan = answer.replanned
    was = f"makespan {duration(plan.makespan_s)} (now {duration(answer.present.makespan_s)})"
    return [f"re-planned by {answer.policy}: it ends at {duration(plan.jobs[-1].finish_s)}, {was}"]


MOST_CHANGES = 3  # of each variant, sooner and later together


def print_variants(scenario: Scenario, answer: WhatIf) -> None:
    """Print the present plan and every variant."""
    cluster = scenario.cluster
    size = f"{counted(len(cluster.servers), 'server')} with {counted(cluster.capacity, 'GPU')}"
    head = f"{counted(len(scenario.jobs), 'job')} on {size}, variants planned by {answer.policy}"
    objective = objective_named(answer.present.objective)
    if not objective.is_default:
        head += f"; bound and gap are those of the {objective.words}"
    parts: list[str | Table] = [head, _variants_table(answer)]
    for variant in answer.variants:
        parts += ["", *_changes(variant)]
    show(parts)


def variants_to_json(answer: WhatIf) -> str:
    """Return the totals of all plans, and all jobs that end at other times."""
    return json.dumps(variants_data(answer), indent=1, ensure_ascii=False)


def _variants_table(answer: WhatIf) -> Table:
    objective = objective_named(answer.present.objective)
    own = [objective.words.replace("slowdown", "slow-\ndown"), ""] if objective.is_ratio else []
    table = figures_table("what if", "makespan", "", "mean com-\npletion", "", *own, "bound", "gap")
    table.add_row("as it is", *_row(answer.present, None))
    if answer.replanned is not None:
        table.add_row("as it is, re-planned", *_row(answer.replanned, answer.present))
    for variant in answer.variants:
        row = ["infeasible"] if variant.plan is None else _row(variant.plan, answer.present)
        table.add_row(variant.label, *row)
    return table


def _row(plan: Plan, present: Plan | None) -> list[str]:
    objective = objective_named(plan.objective)
    own = [
        objective.text(plan.objective_s),
        "" if present is None else _percent(plan.objective_s, present.objective_s),
    ]
    return [
        duration(plan.makespan_s),
        "" if present is None else _percent(plan.makespan_s, present.makespan_s),
        duration(plan.mean_completion_s),
        "" if present is None else _percent(plan.mean_completion_s, present.mean_completion_s),
        *(own if objective.is_ratio else []),
        objective.text(plan.lower_bound_s),
        percent_above(plan.gap),
    ]


def _percent(after: float, before: float) -> str:
    """Return a relative change.

    Examples
    --------
    >>> _percent(90.0, 120.0), _percent(1.0, 1.0), _percent(1.0, 0.0)
    ('-25.0 %', '=', '')
    """
    if after == before:
        return "="
    return f"{100 * (after / before - 1):+.1f} %" if before else ""


def _changes(variant: Variant) -> list[str | Table]:
    if variant.plan is None:
        return [f"{variant.label}: no plan within the horizon"]
    later = sum(change.change_s > 0 for change in variant.changes)
    sooner = len(variant.changes) - later
    if not variant.changes:
        return [f"{variant.label}: every job ends as before"]
    counts = f"{counted(sooner, 'job')} sooner, {later} later"
    table = changes_table(variant.changes[:MOST_CHANGES])
    return [f"{variant.label}: {counts}; the largest changes", table]


def changes_table(changes: tuple[FinishChange, ...]) -> Table:
    """Return jobs with their old and their new end."""
    table = figures_table("job", "ended", "would end", "change")
    for change in changes:
        sign = "+" if change.change_s > 0 else ""
        table.add_row(
            change.job,
            duration(change.before_s),
            duration(change.after_s),
            f"{sign}{duration(change.change_s)}",
        )
    return table


@click.command("whatif", cls=Command)
@scenario_argument
@click.argument("plan_file", metavar="[PLAN]", type=FILE, required=False)
@option("--add-job", metavar="JOB", help="One more job: gpus=8,iterations=20000,model=resnet50, or a file.")
@option("--add-servers", metavar="N[xGPUS]", multiple=True, help="N more servers, such as 4x8.")
@option("--remove-server", metavar="NAME", type=SERVER, multiple=True, help="Remove this server.")
@option(
    "--link-factor",
    metavar="X[@LEVEL]",
    multiple=True,
    help="Links X times as fast: all, or those of a level, such as 2@1; 0: servers, 1: racks, ...",
)
@option("--link-gbps", metavar="X@LEVEL", multiple=True, help="Another speed of all links of a level.")
@option(
    "--set",
    metavar="KEY=VALUE",
    multiple=True,
    type=Assignment(),
    help="Another value of a field, such as inter_server_gbps=25 or contention.share=0.5.",
)
@option("--together", is_flag=True, help="Apply all changes at once, not each by itself.")
@json_option("Print the answer as JSON.")
@option(
    "--policy",
    metavar="NAME",
    type=POLICY,
    stated="that of PLAN, else longest-first",
    help="Policy for the new plans.",
    group=SEARCH,
)
@order_option()
@objective_option(None, stated="that of PLAN", group=SEARCH)
@limit_options("each search", time="2s")
@seed_option(default=None, stated="that of PLAN, else 0")
def whatif_command(
    scenario_file: Path,
    plan_file: Path | None,
    add_job: str | None,
    together: bool,
    as_json: bool,
    time_limit: float | None,
    max_schedules: int | None,
    **given: Any,
) -> None:
    """Show what another job, server or link would change.

    A new job is added to the plan. The other jobs keep their GPUs. Prints where and when it should start,
    when it would end, and which jobs it delays. For any other change, all jobs are re-planned and compared
    with PLAN. Without PLAN the scenario is planned first.
    """
    given |= {"time_limit_s": time_limit, "max_schedules": max_schedules}
    scenario = load_scenario(scenario_file)
    given["plan"] = None if plan_file is None else load_plan(plan_file)
    asked = {name: given.pop(name) for name in KINDS}
    try:
        changes = [_change(name, value) for name, values in asked.items() for value in values]
        if together and len(changes) > 1:
            changes = [Together(changes=tuple(changes))]
        _check_question(add_job, changes)
        if add_job is not None:
            _job(scenario, add_job, as_json, given)
        else:
            _variants(scenario, changes, as_json, given)
    except InputError as error:
        raise _located(error, scenario_file, plan_file) from None


def _change(name: str, value: Any) -> Change:
    try:
        return KINDS[name](value)
    except InputError as error:
        raise error.located(file=f"--set {value}") if name == "set" else error from None


def _check_question(add_job: str | None, changes: list[Change]) -> None:
    if add_job is not None and changes:
        raise InputError(
            "cannot be combined with other changes; ask one question after the other", field="add-job"
        )
    if add_job is None and not changes:
        raise InputError(
            "nothing to ask: give --add-job, --add-servers, --remove-server, --link-factor, --link-gbps or "
            "--set"
        )


def _job(scenario: Scenario, text: str, as_json: bool, given: dict[str, Any]) -> None:
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
    with Working("planning the variants"):
        answer = whatif(scenario, *changes, **given)
    if as_json:
        click.echo(variants_to_json(answer))
    else:
        print_variants(scenario, answer)


def _located(error: InputError, scenario_file: Path, plan_file: Path | None) -> InputError:
    """Return the error with the option or file it is about; what was added or changed is in no file."""
    about_scenario = (error.place or "").startswith("jobs[")
    about_plan = (error.place or error.field or "job ").startswith(("job ", "plan")) and plan_file is not None
    if error.file or about_scenario or about_plan:
        return located(error, scenario_file, plan_file or scenario_file)
    if error.field is not None and error.place is None:
        return InputError(error.problem, field=f"--{error.field}")
    return error
