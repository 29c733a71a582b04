"""Arguments and options that several commands have, written once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ringsched.model import OBJECTIVES

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)

scenario_argument = click.argument("scenario_file", metavar="SCENARIO", type=FILE)
plan_argument = click.argument("plan_file", metavar="PLAN", type=FILE)
objective_option = click.option(
    "--objective",
    metavar="NAME",
    default=OBJECTIVES[0],
    show_default=True,
    help=f"What bound and gap are about: {', '.join(OBJECTIVES)}.",
)


def output_option(help: str, metavar: str = "FILE") -> Callable[[Command], Command]:
    """Return the option that says where to write."""
    return click.option("-o", "--output", metavar=metavar, type=FILE, help=help)


def json_option(help: str) -> Callable[[Command], Command]:
    """Return the flag that asks for JSON."""
    return click.option("--json", "as_json", is_flag=True, help=help)


scenario_output_option = output_option(
    "Write the scenario there instead of printing it; .toml with the jobs in a CSV file beside it."
)


def names_in(listed: str) -> list[str]:
    """Return the names in a list with commas."""
    return [name.strip() for name in listed.split(",") if name.strip()]
