"""Where a command puts the scenario it made, and what it says about it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ringsched.errors import InputError
from ringsched.io.files import check_writable
from ringsched.io.scenario_save import jobs_file_of, save_scenario
from ringsched.io.scenario_text import scenario_lines
from ringsched.model import Scenario


def check_output(output: Path | None) -> None:
    """Raise if the scenario cannot be written there, before any work is done for it."""
    if output is None:
        return
    if output == Path("-"):
        raise InputError("names no file; without -o the scenario is printed", field="-o -")
    check_writable(output)
    if (jobs_file := jobs_file_of(output)) is not None:
        check_writable(jobs_file)


def put_scenario(scenario: Scenario, output: Path | None) -> None:
    """Write the scenario, or print it."""
    if output is not None:
        save_scenario(scenario, output)
        return
    sys.stdout.writelines(scenario_lines(scenario))
    sys.stdout.flush()


def written_line(output: Path) -> str:
    """Return the sentence that says where the scenario is."""
    jobs_file = jobs_file_of(output)
    return f"scenario written to {output}" + ("" if jobs_file is None else f", its jobs to {jobs_file}")


@contextmanager
def options_for_arguments(renamed: dict[str, str] | None = None) -> Iterator[None]:
    """Let an error about an argument of the API name the option that sets it."""
    try:
        yield
    except InputError as error:
        if error.field is None or error.place is not None or error.file is not None:
            raise
        option = (renamed or {}).get(error.field, error.field.removesuffix("_s").replace("_", "-"))
        raise InputError(error.problem, field=f"--{option}") from None
