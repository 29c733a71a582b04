"""What a person sees of one more job: where it could go, and what that costs whom."""

from __future__ import annotations

import json

from rich.table import Table

from ringsched.analysis.as_json import named_options, new_job_data
from ringsched.analysis.whatif.options import Answer, Option
from ringsched.cli.columns import figures_table
from ringsched.cli.tables import placed, show
from ringsched.cli.whatif_tables import changes_table
from ringsched.words.figures import counted, figure, seconds

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
        _table(answer),
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


def _table(answer: Answer) -> Table:
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
