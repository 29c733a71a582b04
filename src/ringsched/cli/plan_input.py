"""Errors of commands that read a scenario and a plan for it."""

from __future__ import annotations

from pathlib import Path

from ringsched.errors import InputError
from ringsched.io.scenario_file import locate


def located(error: InputError, scenario_file: Path, plan_file: Path) -> InputError:
    """Return the error with the file it is about: what a scenario's job is refused for, else the plan."""
    if error.place and error.place.startswith("jobs["):
        return locate(error, scenario_file)
    return error if error.file else error.located(file=str(plan_file))
