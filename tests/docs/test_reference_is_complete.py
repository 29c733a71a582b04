"""Every field, option, constraint and public name is described."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest
from fastapi import FastAPI

import ringsched
from ringsched.cli.main import COMMANDS
from ringsched.cli.main import ringsched as group
from ringsched.clusters.slurm.comments import JOB_FIELDS, OWN_FIELDS
from ringsched.formats import plan
from ringsched.formats.jobs import CATALOGUE
from ringsched.model import Cluster, Contention, Job, Scenario, Server, Switch, Time
from ringsched.web.lab import Lab
from ringsched.web.limits import Limits
from ringsched.web.routes import REFUSALS, api_routes

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", [Scenario, Cluster, Server, Switch, Contention, Time, Job])
def test_scenario_fields(kind: type) -> None:
    for field in fields(kind):
        assert f"`{field.name}`" in page("scenario.md")


@pytest.mark.parametrize("key", ["count", "model", "jobs_file", *CATALOGUE])
def test_scenario_keys_of_files(key: str) -> None:
    assert f"`{key}`" in page("scenario.md")


def test_catalogue_numbers() -> None:
    for name, known in CATALOGUE.items():
        row = f"| `{name}` | {known.gradient_mb:g} | {known.minibatch} | {known.forward_ms_per_iteration:g} |"
        assert f"{row} {known.backward_ms:g} | {known.source} |" in page("scenario.md")


@pytest.mark.parametrize("key", [*plan.REQUIRED_KEYS, *plan.OPTIONAL_KEYS, *plan.JOB_KEYS])
def test_plan_keys(key: str) -> None:
    assert f"`{key}`" in page("plan.md")


CONTEXT = click.Context(group)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_what_the_command_says_itself(name: str) -> None:
    command = group.get_command(CONTEXT, name)
    assert command is not None
    assert COMMANDS[name] == (command.help or "").split("\n")[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_and_options(name: str) -> None:
    section = page("commands.md").split(f"## `ringsched {name}")[1].split("\n## ")[0]
    command = group.get_command(CONTEXT, name)
    assert command is not None
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert all(f"`{option}" in section for option in parameter.opts)


SLURM = group.get_command(CONTEXT, "slurm")
assert isinstance(SLURM, click.Group)


@pytest.mark.parametrize("name", SLURM.commands)
def test_slurm_commands_and_options(name: str) -> None:
    section = page("slurm.md").split(f"### `ringsched slurm {name}")[1].split("\n### ")[0]
    shared = page("slurm.md").split("### Options of several commands")[1].split("\n### ")[0]
    for parameter in SLURM.commands[name].params:
        if isinstance(parameter, click.Option):
            assert all(f"`{option}" in section + shared for option in parameter.opts)


@pytest.mark.parametrize("field", [*JOB_FIELDS, *OWN_FIELDS])
def test_slurm_comment_fields(field: str) -> None:
    assert f"`{field}`" in page("slurm.md")


@pytest.mark.parametrize("field", fields(Limits), ids=lambda field: field.name)
def test_limits_of_the_lab(field: Any) -> None:
    rows = [line for line in page("http.md").split("## Limits")[1].splitlines() if f"`{field.name}`" in line]
    assert len(rows) == 1
    default = "cores (2 to 4)" if field.name == "workers" else f"{field.default:.10g}"
    assert default in rows[0]


def test_requests_to_the_lab() -> None:
    app = FastAPI()
    app.include_router(api_routes(Lab(Limits())))
    for path, methods in app.openapi()["paths"].items():
        for method in methods:
            assert f"`{method.upper()} {path.removeprefix('/api/v1')}`" in page("http.md")


@pytest.mark.parametrize("status", REFUSALS)
def test_refusals_of_the_lab(status: int) -> None:
    assert str(status) in page("http.md").split("## Refusals")[1].split("\n## ")[0]


@pytest.mark.parametrize("name", ringsched.__all__)
def test_public_names(name: str) -> None:
    assert f"`{name}" in page("python.md")
    assert hasattr(ringsched, name)
