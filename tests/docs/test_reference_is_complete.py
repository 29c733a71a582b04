"""Every field, option, constraint and public name is described; every other name is where the page says."""

from __future__ import annotations

import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from fastapi import FastAPI

import ringsched
from ringsched.cli.main import COMMANDS
from ringsched.cli.main import ringsched as group
from ringsched.clusters.slurm.comments import JOB_FIELDS
from ringsched.formats import plan
from ringsched.formats.catalogue import CATALOGUE, SOURCES
from ringsched.formats.job_description import DESCRIPTION_KEYS
from ringsched.model import Cluster, Contention, Job, Scenario, Server, Switch, Time
from ringsched.model.plan import ENDINGS
from ringsched.web.lab import Lab
from ringsched.web.limits import Limits
from ringsched.web.routes import REFUSALS, api_routes

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", [Scenario, Cluster, Server, Switch, Contention, Time, Job])
def test_scenario_fields(kind: type) -> None:
    for field in fields(kind):
        if field.init:  # the others are not given, but derived
            assert f"`{field.name}`" in page("scenario.md")


@pytest.mark.parametrize("key", ["count", "model", "jobs_file", *CATALOGUE])
def test_scenario_keys_of_files(key: str) -> None:
    assert f"`{key}`" in page("scenario.md")


def test_catalogue_numbers() -> None:
    """The tables of the page are the data, in the same order and nothing else."""
    times = ("minibatch", "forward_ms_per_iteration", "backward_ms")
    rows = [
        f"| `{name}` | {known.family} | {known.parameters_m:.7g} | {known.gradient_mb:.7g} | {known.gpu} | "
        f"{known.computed_in} | {' | '.join(_figure(getattr(known, each)) for each in times)} | "
        f"{known.source} | {known.size_source} |"
        for name, known in CATALOGUE.items()
    ]
    sources = [
        f"| {name} | {source.title} | {source.evidence} | <{source.address}> |"
        for name, source in SOURCES.items()
    ]
    section = page("scenario.md").split("## Model catalogue")[1].split("\n## ")[0]
    written = [line for line in section.splitlines() if line.startswith("| ") and "---" not in line]
    assert written[1 : len(rows) + 1] == rows
    assert written[len(rows) + 2 :] == sources


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"


@pytest.mark.parametrize("key", DESCRIPTION_KEYS)
def test_description_fields(key: str) -> None:
    assert f"| `{key}` |" in page("scenario.md").split("## `[[jobs]]`")[1]


@pytest.mark.parametrize("key", [*plan.REQUIRED_KEYS, *plan.OPTIONAL_KEYS, *plan.JOB_KEYS])
def test_plan_keys(key: str) -> None:
    assert f"`{key}`" in page("plan.md")


@pytest.mark.parametrize("ending", ENDINGS)
def test_plan_endings(ending: str) -> None:
    assert f'| `"{ending}"` |' in page("plan.md")


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


@pytest.mark.parametrize("field", JOB_FIELDS)
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
    assert str(status) in page("http.md").split("## Errors")[1].split("\n## ")[0]


@pytest.mark.parametrize("name", ringsched.__all__)
def test_public_names(name: str) -> None:
    assert f"`{name}" in page("python.md").split("## Names in packages")[0]
    assert hasattr(ringsched, name)


def names_in_packages() -> list[tuple[str, str]]:
    """Return each name of the table, and the module it is said to be in."""
    rows = re.findall(r"^\| (`.*) \| `(ringsched\.[\w.]+)` \|", page("python.md"), re.MULTILINE)
    return [(name, module) for names, module in rows for name in re.findall(r"`(\w+)[^`]*`", names)]


@pytest.mark.parametrize(("name", "module"), names_in_packages())
def test_names_in_packages(name: str, module: str) -> None:
    assert hasattr(import_module(module), name)
    assert name not in ringsched.__all__


def test_every_class_the_page_mentions_has_its_place() -> None:
    known = {*ringsched.__all__, *(name for name, _ in names_in_packages())}
    mentioned = re.findall(r"`([A-Z][a-z]\w+)[^`]*`", page("python.md"))
    assert set(mentioned) <= known


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_dotted_names_exist(document: Path) -> None:
    for path in re.findall(r"`(ringsched\.[\w.]*\w)[^`]*`", document.read_text(encoding="utf-8")):
        assert path.endswith((".toml", ".json", ".py", ".html")) or _exists(path), path


def _exists(path: str) -> bool:
    module, _, name = path.rpartition(".")
    try:
        return hasattr(import_module(module), name) or import_module(path) is not None
    except ImportError:
        return False
