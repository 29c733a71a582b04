"""Files that commands read and write, looked at before any work is done for them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ringsched.errors import InputError
from ringsched.formats.files import check_writable
from ringsched.formats.scenario import input_files, locate
from ringsched.formats.scenario_text import jobs_file_of, save_scenario, scenario_lines
from ringsched.model import Scenario

MOST_PRINTED = 1000  # jobs, on a terminal


def check_no_input(outputs: Iterable[Path | None], scenario_file: Path) -> None:
    """Raise if something would be written over the scenario, which could be read, or over its jobs."""
    existing = [output for output in outputs if output is not None and output.exists()]
    for what, path in input_files(scenario_file).items() if existing else ():
        for output in existing:
            if output.samefile(path):
                raise InputError(f"is the {what} itself; write to another file", file=str(output))


def check_different(outputs: Iterable[Path | None]) -> None:
    """Raise if two outputs are one file."""
    seen: set[Path] = set()
    for output in outputs:
        if output is not None:
            if output.resolve() in seen:
                raise InputError("is given for two different outputs", file=str(output))
            seen.add(output.resolve())


def located(error: InputError, scenario_file: Path, plan_file: Path) -> InputError:
    """Return the error with the file it is about: what a scenario's job is refused for, else the plan."""
    if error.place and error.place.startswith("jobs["):
        return locate(error, scenario_file)
    return error if error.file else error.located(file=str(plan_file))


def check_plan_output(output: Path | None) -> None:
    """Raise if a plan cannot be written there, before any work is done for it."""
    if output is None:
        return
    if output == Path("-"):
        raise InputError("names no file; --json prints the plan", field="-o -")
    if output.suffix.lower() in (".toml", ".csv"):
        problem = f"plans are written as JSON; name it {output.with_suffix('.json').name}"
        raise InputError(problem, file=str(output))
    check_writable(output)


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
    if len(scenario.jobs) > MOST_PRINTED and sys.stdout.isatty():
        raise InputError(
            f"has {len(scenario.jobs)} jobs, too many for a terminal; write it with -o", place="the scenario"
        )
    sys.stdout.writelines(scenario_lines(scenario))
    sys.stdout.flush()


def written_line(output: Path) -> str:
    """Return the sentence that says where the scenario is."""
    jobs_file = jobs_file_of(output)
    return f"scenario written to {output}" + ("" if jobs_file is None else f", its jobs to {jobs_file}")


@contextmanager
def options_for_arguments(renamed: dict[str, str] | None = None) -> Iterator[None]:
    """Let an error about an argument of the API name the option that sets it; capitals are no option."""
    try:
        yield
    except InputError as error:
        if error.field is None or error.place is not None or error.file is not None:
            raise
        name, colon, part = error.field.partition(":")  # a field may name a part of its value
        option = (renamed or {}).get(name, name.removesuffix("_s").replace("_", "-")) + colon + part
        raise InputError(error.problem, field=option if option.isupper() else f"--{option}") from None
