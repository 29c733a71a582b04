"""`ringsched plan`."""

from __future__ import annotations

from pathlib import Path

import click

from ringsched import api
from ringsched.cli.command import SEARCH, Command, option
from ringsched.cli.files import check_no_input, check_plan_output
from ringsched.cli.interrupts import stop_requests
from ringsched.cli.options import (
    POLICY,
    json_option,
    limit_options,
    objective_option,
    order_option,
    output_option,
    scenario_argument,
    seed_option,
    set_option,
    workers_option,
)
from ringsched.cli.progress import WatchedPlanning
from ringsched.cli.values import DURATION, GAP
from ringsched.errors import Infeasible, InputError
from ringsched.formats.plan import plan_to_json, save_plan
from ringsched.formats.scenario import load_scenario, locate
from ringsched.policies.custom import policy_from_file
from ringsched.policies.policy import Stop


@click.command("plan", cls=Command)
@scenario_argument
@option(
    "--policy",
    metavar="NAME|FILE.py:NAME",
    type=POLICY,
    default=api.DEFAULT_POLICY,
    show_default=True,
    help="Policy; `ringsched policies` lists them. FILE.py:NAME loads a custom policy.",
)
@objective_option()
@limit_options("the search", time="10s; exact: 1min", same=". The plan is then the same on every machine.")
@set_option
@output_option("Write the plan here.")
@json_option("Print the plan as JSON instead of a table.")
@order_option()
@option(
    "--gap",
    metavar="GAP",
    type=GAP,
    stated="0%",
    help="End the search at this gap above the bound, such as 1% or 0.01.",
    group=SEARCH,
)
@option(
    "--max-wait",
    metavar="DURATION",
    type=DURATION,
    help="search: jobs that have waited longer go first, such as 12h.",
    group=SEARCH,
)
@option(
    "--kappa",
    metavar="K",
    type=int,
    help="Fix kappa, the size in GPUs up to which sjf-bco and lwf place jobs GPU by GPU.",
    group=SEARCH,
)
@option(
    "--theta",
    metavar="N",
    type=int,
    help="Policies that bisect: load limit in slots (seconds when continuous).",
    group=SEARCH,
)
@option(
    "--server-slack",
    metavar="X",
    type=float,
    help="sjf-bco: server_slack (lambda) of every job.",
    group=SEARCH,
)
@seed_option("Random seed of search and random.")
@workers_option("Cores for the search.")
def plan_command(
    scenario_file: Path,
    policy: str,
    overrides: tuple[str, ...],
    order: str | None,
    kappa: int | None,
    theta: int | None,
    server_slack: float | None,
    seed: int,
    objective: str,
    time_limit: float | None,
    max_schedules: int | None,
    gap: float | None,
    max_wait: float | None,
    workers: int | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Decide which GPUs each job gets and when it starts.

    Prints the plan, its makespan and mean completion, a lower bound that no plan can beat, and the gap to it.
    Ctrl-C ends a search early with the best plan so far.
    """
    check_plan_output(output)
    own = policy_from_file(policy)
    if own is not None:
        own.load()  # what is wrong with it is not wrong with the scenario
    scenario = load_scenario(scenario_file, overrides)
    check_no_input([output], scenario_file)
    try:
        with (
            WatchedPlanning(output) as watched,
            stop_requests(hold=lambda: watched.has_plan) as watched.asked,
        ):
            plan = api.plan(
                scenario,
                own or policy,
                order=order,
                kappa=kappa,
                theta=theta,
                slack=server_slack,
                max_wait_s=max_wait,
                seed=seed,
                objective=objective,
                stop=Stop(time_limit_s=time_limit, max_schedules=max_schedules, gap=gap),
                workers=workers,
                observer=watched,
            )
    except InputError as error:
        if error.file is not None:  # the output
            raise
        # An error about a job is located in the scenario; all others are about an option.
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
    # A field with a dot is one of the scenario, and no option.
    field = f"--{error.field}" if error.field and "." not in error.field else error.field
    return InputError(error.problem, field=field)


def _infeasible_json(error: Infeasible) -> str:
    import json

    return json.dumps(
        {"status": error.status, "message": str(error), "lower_bound_s": error.lower_bound_s}, indent=1
    )
