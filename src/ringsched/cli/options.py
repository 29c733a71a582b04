"""Arguments and options that several commands have, written once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from ringsched.cli.command import COMMON, SEARCH, Decorated, option
from ringsched.cli.values import DURATION, Assignment, Name
from ringsched.errors import RingschedError
from ringsched.formats.scenario import load_scenario
from ringsched.model import OBJECTIVES, Job, Scenario, Server
from ringsched.policies.policy import ORDERS
from ringsched.policies.table import policies

Decorator = Callable[[Decorated], Decorated]

FILE = click.Path(path_type=Path)
LARGEST_COMPLETED = 2_000_000  # bytes of a scenario that a shell waits for
POLICY = Name("policy", lambda _: (policy.name for policy in policies()))
POLICIES = Name("policy", lambda _: (policy.name for policy in policies()), several=True)
ONLINE_POLICY = Name("policy", lambda _: (policy.name for policy in policies(online=True)))
ORDER = Name("order", ORDERS)
JOB = Name("job", lambda ctx: _names_in_scenario(ctx, lambda scenario: scenario.jobs))
SERVER = Name("server", lambda ctx: _names_in_scenario(ctx, lambda scenario: scenario.cluster.servers))
OBJECTIVE = Name("objective", OBJECTIVES)

scenario_argument = click.argument("scenario_file", metavar="SCENARIO", type=FILE)
plan_argument = click.argument("plan_file", metavar="PLAN", type=FILE)
set_option = option(
    "--set",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    type=Assignment(),
    help="Set a field, such as inter_server_gbps=25. Repeatable.",
)


def _names_in_scenario(
    ctx: click.Context, entries: Callable[[Scenario], Iterable[Job | Server]]
) -> list[str]:
    """Return names for a shell to complete; none of a scenario that takes long to read or is wrong."""
    # Before an option without a value, click leaves the arguments unparsed.
    words = [ctx.params.get("scenario_file"), *ctx.args]
    path = next((Path(word) for word in words if word is not None and not str(word).startswith("-")), None)
    try:
        if path is None or path.stat().st_size > LARGEST_COMPLETED:
            return []
        return [entry.name for entry in entries(load_scenario(path))]
    except (OSError, RingschedError):
        return []


def order_option(help: str = "Queue order instead of that of the policy:") -> Decorator[Any]:
    """Return the option that sets the queue order; after a colon the help lists all orders."""
    shown = f"{help} {', '.join(ORDERS)}." if help.endswith(":") else help
    return option("--order", metavar="NAME", type=ORDER, help=shown, group=SEARCH)


def objective_option(
    default: str | None = OBJECTIVES[0], *, stated: str = "", group: str = COMMON
) -> Decorator[Any]:
    """Return the option that names the objective; `stated` describes a default that depends on others."""
    return option(
        "--objective",
        metavar="NAME",
        type=OBJECTIVE,
        default=default,
        show_default=True,
        stated=stated,
        help=f"Objective to minimise. The bound and the gap refer to it: {', '.join(OBJECTIVES)}.",
        group=group,
    )


def limit_options(
    of: str, *, time: str = "", schedules: str = "", same: str = "; reproducible."
) -> Decorator[Any]:
    """Return the options that end a search, with their defaults in words."""

    def add(command: Any) -> Any:
        limits = (
            option(
                "--max-schedules",
                metavar="N",
                type=int,
                stated=schedules,
                help=f"End {of} after N tried schedules{same}",
                group=SEARCH,
            ),
            option(
                "--time-limit",
                metavar="DURATION",
                type=DURATION,
                stated=time,
                help=f"End {of} after this time.",
                group=SEARCH if of != "the search" else COMMON,
            ),
        )
        for each in limits:
            command = each(command)
        return command

    return add


def seed_option(help: str = "Random seed.", *, default: int | None = 0, stated: str = "") -> Decorator[Any]:
    """Return the option that seeds random choices."""
    return option(
        "--seed",
        metavar="N",
        type=int,
        default=default,
        show_default=True,
        stated=stated,
        help=help,
        group=SEARCH,
    )


def workers_option(help: str) -> Decorator[Any]:
    """Return the option that limits the processes or threads."""
    return option("--workers", metavar="N", type=int, stated="all cores", help=help, group=SEARCH)


def output_option(help: str, metavar: str = "FILE", *, group: str = COMMON) -> Decorator[Any]:
    """Return the option that says where to write."""
    return option("-o", "--output", metavar=metavar, type=FILE, help=help, group=group)


def json_option(help: str, *, group: str = COMMON) -> Decorator[Any]:
    """Return the flag that asks for JSON."""
    return option("--json", "as_json", is_flag=True, help=help, group=group)


scenario_output_option = output_option(
    "Write the scenario here instead of printing it; .toml puts the jobs into a CSV file."
)


def names_in(*listed: str) -> list[str]:
    """Return the names in lists with commas."""
    return [name.strip() for each in listed for name in each.split(",") if name.strip()]
