"""`ringsched plan`."""

from __future__ import annotations

from pathlib import Path

import click

from ringsched import api
from ringsched.cli.files import check_no_input
from ringsched.cli.interrupts import wishes
from ringsched.cli.progress import WatchedPlanning
from ringsched.errors import Infeasible, InputError
from ringsched.formats.files import check_writable
from ringsched.formats.plan import plan_to_json, save_plan
from ringsched.formats.scenario import load_scenario, locate
from ringsched.model import OBJECTIVES
from ringsched.policies.custom import policy_from_file
from ringsched.policies.policy import Stop


@click.command("plan")
@click.argument("scenario_file", metavar="SCENARIO", type=click.Path(path_type=Path))
@click.option(
    "--policy",
    metavar="NAME|FILE.py:NAME",
    default=api.DEFAULT_POLICY,
    show_default=True,
    help="How to plan; `ringsched policies` lists them. A policy of your own stands in a Python file.",
)
@click.option(
    "--order", metavar="NAME", help=f"Queue order instead of the policy's own: {', '.join(api.ORDERS)}."
)
@click.option("--kappa", metavar="K", type=int, help="Fix kappa of sjf-bco (else searched) or lwf (else 1).")
@click.option("--theta", metavar="N", type=int, help="Fix the load limit in slots (seconds when continuous).")
@click.option("--slack", metavar="X", type=float, help="Set server_slack (lambda) of every job.")
@click.option("--seed", metavar="N", type=int, default=0, show_default=True, help="For random choices.")
@click.option(
    "--objective",
    metavar="NAME",
    default=OBJECTIVES[0],
    show_default=True,
    help=f"What bound and gap are about: {', '.join(OBJECTIVES)}.",
)
@click.option("--time-limit", metavar="S", type=float, help="End the search after S seconds.  [default: 10]")
@click.option(
    "--iterations", metavar="N", type=int, help="End the search after N schedules: reproducible, no clock."
)
@click.option("--gap", metavar="X", type=float, help="End the search at X times the bound.  [default: 1]")
@click.option("--threads", metavar="N", type=int, help="Cores for the search.  [default: all]")
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write the plan there.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON instead of a table.")
def plan_command(
    scenario_file: Path,
    policy: str,
    order: str | None,
    kappa: int | None,
    theta: int | None,
    slack: float | None,
    seed: int,
    objective: str,
    time_limit: float | None,
    iterations: int | None,
    gap: float | None,
    threads: int | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Decide which GPUs each job gets and when it starts.

    Prints the plan with its makespan and mean completion, a lower bound on the objective that no plan can
    beat, and the gap between them. Ctrl-C ends a search early, with the best plan so far; with -o,
    better plans are written as they come, at most one a second.
    """
    if output is not None:
        if output == Path("-"):
            raise InputError("names no file; --json prints the plan", field="-o -")
        check_writable(output)
    own = policy_from_file(policy)
    if own is not None:
        own.load()  # what is wrong with it is not wrong with the scenario
    scenario = load_scenario(scenario_file)
    check_no_input([output], scenario_file)
    try:
        with WatchedPlanning(output) as watched, wishes(hold=lambda: watched.has_plan) as watched.asked:
            plan = api.plan(
                scenario,
                own or policy,
                order=order,
                kappa=kappa,
                theta=theta,
                slack=slack,
                seed=seed,
                objective=objective,
                stop=Stop(time_limit_s=time_limit, schedules=iterations, gap=gap),
                workers=threads,
                observer=watched,
            )
    except InputError as error:
        # What concerns a job stands in the scenario; what does not was given as an option.
        raise locate(error, scenario_file) if error.place else _option_error(error) from None
    except Infeasible as error:
        if as_json:
            click.echo(_infeasible_json(error))
        raise
    if output is not None:
        save_plan(plan, output)
    if as_json:
        click.echo(plan_to_json(plan), nl=False)
    else:
        from ringsched.cli.tables import print_plan

        print_plan(scenario, plan, output)


def _option_error(error: InputError) -> InputError:
    field = f"--{error.field}" if error.field else None
    return InputError(error.problem, field=field)


def _infeasible_json(error: Infeasible) -> str:
    import json

    return json.dumps(
        {"status": error.status, "message": str(error), "lower_bound_s": error.lower_bound_s}, indent=1
    )
