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
    CONTENTION_KEYS,
    AddServers,
    Change,
    LinkFactor,
    LinkSpeed,
    OtherContention,
    RemoveServer,
    Together,
)
from ringsched.analysis.whatif.new_job import Answer, Option, whatif_job
from ringsched.analysis.whatif.variants import FinishChange, Variant, WhatIf, whatif
from ringsched.cli.files import located
from ringsched.cli.options import FILE, json_option, scenario_argument
from ringsched.cli.progress import Working
from ringsched.cli.tables import figures_table, show
from ringsched.display import placed
from ringsched.errors import InputError, UnknownName
from ringsched.formats.jobs import field_from_text, job_given
from ringsched.formats.plan import load_plan
from ringsched.formats.scenario import load_scenario
from ringsched.model import Plan, Scenario
from ringsched.model.objective import objective_named
from ringsched.phrases import counted, figure, seconds


def _servers(text: str) -> AddServers:
    match = re.fullmatch(r"(\d{1,9})(?:x(\d{1,9}))?", text)
    if match is None:
        raise InputError(
            f"must be a number, or a number and GPUs such as 4x8, not {text!r}", field="add-servers"
        )
    return AddServers(count=int(match[1]), gpus=None if match[2] is None else int(match[2]))


def _contention(text: str) -> OtherContention:
    fields: dict[str, Any] = {}
    for part in text.split(","):
        key, sign, value = (word.strip() for word in part.partition("="))
        if not sign or not value:
            raise InputError(
                f"must be written as share=0.5,degradation=0.2, not {text!r}", field="contention"
            )
        if key not in CONTENTION_KEYS:
            raise UnknownName("key", key, CONTENTION_KEYS, field="contention")
        fields[key] = value if key == "model" else field_from_text(key, value)
    return OtherContention(fields=fields)


# By the name of its option: the change that each of its values asks for.
KINDS: dict[str, Callable[[Any], Change]] = {
    "add_servers": _servers,
    "remove_server": lambda name: RemoveServer(name=name),
    "inter_server_gbps": lambda speed: LinkSpeed(inter_server_gbps=speed),
    "link_factor": lambda factor: LinkFactor(factor=factor),
    "contention": _contention,
}
MOST_DELAYS = 5


def print_answer(answer: Answer) -> None:
    """Print the advice in a sentence, the choices in a table, and those who are hurt."""
    job, best = answer.job, answer.best
    what = f"{counted(job.gpus, 'GPU')}, {counted(job.iterations, 'iteration')}"
    present = f"beside the plan of {counted(len(answer.present.jobs), 'job')} by {answer.present.policy}"
    parts: list[str | Table] = [
        f"{job.name}: {what}, at best {seconds(answer.best_case_s)}; {present}",
        _advice(best),
        *_waiting(answer),
        "",
        _options_table(answer),
        f"{counted(len(answer.options), 'choice')} tried; cost: by how much the sum of all completions grows",
    ]
    if best.delays:
        parts += ["", "whom the best choice delays", changes_table(best.delays[:MOST_DELAYS])]
        more = len(best.delays) - MOST_DELAYS
        parts += [f"... and {counted(more, 'more job')}"] if more > 0 else []
    show([*parts, "", *_anew(answer)])


def answer_to_json(answer: Answer) -> str:
    """Return the four choices, those planned anew, and the present totals."""
    return json.dumps(new_job_data(answer), indent=1, ensure_ascii=False)


def _advice(best: Option) -> str:
    place = f"start it at {seconds(best.start_s)} on {placed(best.gpus)}, it ends at {seconds(best.finish_s)}"
    if not best.delays:
        return f"{place} and delays nobody"
    return f"{place} and delays {counted(len(best.delays), 'job')} by {seconds(best.total_delay_s)} in all"


def _waiting(answer: Answer) -> list[str]:
    """Say whether it pays to wait."""
    best, now = answer.best, answer.at_once
    if best.waiting_s <= 0:
        return ["waiting would be no better"]
    if now is None:
        return ["it cannot start at once: too few GPUs are idle"]
    saved = now.cost_s - best.cost_s
    return [f"waiting is better: at once it would cost {seconds(saved)} more, see below"]


def _options_table(answer: Answer) -> Table:
    headings = ("start\ns", "end\ns", "others\nlater s", "how\nmany", "cost\ns", "makespan\ns")
    table = figures_table("choice", *headings, last="servers:GPUs")
    rows: dict[int, tuple[list[str], Option]] = {}
    words = {"at_once": "at once", "harmless": "delays nobody"}
    for name, option in named_options(answer).items():
        if option is not None:
            rows.setdefault(id(option), ([], option))[0].append(words.get(name, name))
    for names, option in rows.values():
        table.add_row(
            ", ".join(names),
            figure(option.start_s),
            figure(option.finish_s),
            figure(option.total_delay_s),
            str(len(option.delays)),
            figure(option.cost_s),
            figure(option.makespan_s),
            placed(option.gpus),
        )
    return table


def _anew(answer: Answer) -> list[str]:
    if answer.anew is None:
        return [f"planned anew with it by {answer.policy}: no plan within the horizon"]
    plan = answer.anew
    was = f"makespan {seconds(plan.makespan_s)} (now {seconds(answer.present.makespan_s)})"
    return [f"all planned anew by {answer.policy}: it ends at {seconds(plan.jobs[-1].finish_s)}, {was}"]


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
    table = figures_table("what if", "makespan\ns", "", "mean com-\npletion s", "", "bound\ns", "gap")
    table.add_row("as it is", *_row(answer.present, None))
    if answer.anew is not None:
        table.add_row("as it is, planned anew", *_row(answer.anew, answer.present))
    for variant in answer.variants:
        row = ["infeasible"] if variant.plan is None else _row(variant.plan, answer.present)
        table.add_row(variant.label, *row)
    return table


def _row(plan: Plan, present: Plan | None) -> list[str]:
    return [
        figure(plan.makespan_s),
        "" if present is None else _percent(plan.makespan_s, present.makespan_s),
        figure(plan.mean_completion_s),
        "" if present is None else _percent(plan.mean_completion_s, present.mean_completion_s),
        figure(plan.lower_bound_s),
        f"{plan.gap:.3f}",
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
    table = figures_table("job", "ended s", "would end s", "change")
    for change in changes:
        sign = "+" if change.change_s > 0 else ""
        table.add_row(
            change.job, figure(change.before_s), figure(change.after_s), f"{sign}{seconds(change.change_s)}"
        )
    return table


@click.command("whatif")
@scenario_argument
@click.argument("plan_file", metavar="[PLAN]", type=FILE, required=False)
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
@click.option(
    "--time-limit", "time_limit_s", metavar="S", type=float, help="Policy search: seconds for each plan."
)
@click.option("--iterations", metavar="N", type=int, help="Policy search: schedules for each plan.")
@json_option("Print the answer as JSON.")
def whatif_command(
    scenario_file: Path,
    plan_file: Path | None,
    add_job: str | None,
    together: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Say what one more job, other servers or other links would change.

    One more job is placed beside the plan, which stays: where and when it should start, when it would
    end, and whom it would delay. For all else the jobs are planned anew, for each change by itself, and
    compared with the plan. Without PLAN the scenario is planned first.
    """
    scenario = load_scenario(scenario_file)
    given["plan"] = None if plan_file is None else load_plan(plan_file)
    asked = {name: given.pop(name) for name in KINDS}
    try:
        changes = [KINDS[name](value) for name, values in asked.items() for value in values]
        if together and len(changes) > 1:
            changes = [Together(changes=tuple(changes))]
        _check_question(add_job, changes)
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
    """Return the error with the option or file it is about; what was added or changed stands in no file."""
    about_scenario = (error.place or "").startswith("jobs[")
    about_plan = (error.place or error.field or "job ").startswith(("job ", "plan")) and plan_file is not None
    if error.file or about_scenario or about_plan:
        return located(error, scenario_file, plan_file or scenario_file)
    if error.field is not None and error.place is None:
        return InputError(error.problem, field=f"--{error.field}")
    return error
