"""Files that a command writes, seen before any work is done for them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ringsched.errors import InputError
from ringsched.io.scenario_file import input_files


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
                raise InputError("is to be two outputs at once", file=str(output))
            seen.add(output.resolve())
