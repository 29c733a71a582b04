"""Policies x scenarios x seeds: run them all, keep the rows, say what they mean."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ringsched.analysis.row_files import RowFile, row_file
from ringsched.analysis.runs import ComparisonRow, Key, Task
from ringsched.analysis.sole_writer import sole_writer
from ringsched.analysis.summary import PolicySummary, summaries
from ringsched.analysis.tasks import tasks_of
from ringsched.analysis.workers import check_dask, rows_of
from ringsched.errors import InputError
from ringsched.io.scenario_file import input_files
from ringsched.model import Scenario
from ringsched.model.checks import integer, number
from ringsched.model.objective import MAKESPAN
from ringsched.policies.custom import CustomPolicy
from ringsched.policies.policy import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The rows, in the order policy, scenario, seed, and a summary of every policy."""

    rows: tuple[ComparisonRow, ...]
    summary: tuple[PolicySummary, ...]  # the first is the baseline
    num_resumed: int = 0  # rows that were in the output already


def compare(
    scenarios: Iterable[Scenario | str | os.PathLike[str]],
    policies: Iterable[str | CustomPolicy],
    *,
    orders: Iterable[str] = ("own",),
    seeds: int = 1,
    seed: int = 0,
    objective: str = MAKESPAN,
    time_limit_s: float | None = None,
    iterations: int | None = None,
    output: str | os.PathLike[str] | None = None,
    resume: bool = True,
    workers: int | None = None,
    dask: str | None = None,
    on_row: Callable[[int, int], None] = lambda _done, _total: None,
) -> Comparison:
    """Plan every scenario by every policy and compare them with the first, the baseline.

    Parameters
    ----------
    scenarios
        Scenarios, or files of them.
    policies
        Names out of `list_policies()`, or objects with a method `place`, which must be picklable
        unless `workers` is 1.
    orders
        Queue orders out of `ORDERS`, each with every policy; "own" is the policy's own.
    seeds, seed
        How many seeds, from which on; policies that draw no random numbers run once.
    objective
        Out of `OBJECTIVES`: what policies that search improve, and what bound and gap are about; the
        ratio stays that of makespans.
    time_limit_s, iterations
        When policies that search end; of two limits `iterations` counts where a policy has it. Every run
        has one core.
    output
        A .csv or .parquet file for the rows.
    resume
        Take over rows that `output` has already, except those of policy objects, whose code may have changed.
    workers
        Processes; None for one a core where that pays off.
    dask
        Address of a Dask scheduler that does the work instead.
    on_row
        Called with the number of rows that are done and of all.

    Examples
    --------
    >>> import ringsched
    >>> result = ringsched.compare(["examples/first.toml"], ["longest-first", "first-fit"])
    >>> [(row.policy, row.status) for row in result.rows]
    [('longest-first', 'ok'), ('first-fit', 'ok')]
    """
    num_workers = None if workers is None else integer(workers, "workers", minimum=1)
    if dask is not None:
        check_dask()
    file = None if output is None else row_file(Path(output))
    scenarios = list(scenarios)
    tasks = tasks_of(
        scenarios,
        list(policies),
        list(orders),
        seeds=seeds,
        first_seed=seed,
        objective=objective,
        limits=Limits(
            time_limit_s=None if time_limit_s is None else number(time_limit_s, "time-limit", minimum=0),
            iterations=None if iterations is None else integer(iterations, "iterations", minimum=0),
        ),
    )
    if output is not None:
        _check_no_input(Path(output), scenarios)
    with sole_writer(None if output is None else Path(output)):
        found = _latest(file.read()) if file is not None and resume else []
        rows = _taken_over(tasks, found)
        num_resumed = len(rows)
        left = [task for task in tasks if task.key not in rows]
        coming = rows_of(left, workers=num_workers, dask=dask)
        on_row(len(rows), len(tasks))
        with _Kept(file, tasks, found, rows) as kept:
            for row in coming:
                kept.add(row)
                on_row(len(rows), len(tasks))
    ordered = tuple(rows[task.key] for task in tasks)
    return Comparison(rows=ordered, summary=summaries(ordered), num_resumed=num_resumed)


class _Kept:
    """Adds rows to the file as they come and leaves it in order, however the work ends."""

    def __init__(
        self,
        file: RowFile | None,
        tasks: Sequence[Task],
        found: Sequence[ComparisonRow],
        rows: dict[Key, ComparisonRow],
    ) -> None:
        self._file, self._tasks, self._rows = file, tasks, rows
        self._found = [row for row in found if row.key not in rows]

    def add(self, row: ComparisonRow) -> None:
        self._rows[row.key] = row
        if self._file is not None:
            self._file.add(row)

    def __enter__(self) -> _Kept:
        if self._file is not None:
            self._file.open(self._all())
        return self

    def __exit__(self, *_error: object) -> None:
        if self._file is not None:
            self._file.close(self._all())

    def _all(self) -> list[ComparisonRow]:
        """Return our rows and those found that stay: of other runs, and of older code until run anew."""
        ours = [self._rows[task.key] for task in self._tasks if task.key in self._rows]
        replaced = {row.key[:-1] for row in ours}
        return [*ours, *(row for row in self._found if row.key[:-1] not in replaced)]


def _latest(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """Return each run once: a crash may have left a row beside the one that was to replace it."""
    return list({row.key: row for row in rows}.values())


def _taken_over(tasks: Sequence[Task], found: Sequence[ComparisonRow]) -> dict[Key, ComparisonRow]:
    """Return the rows that need not be computed again, under the names the scenarios have now."""
    by_key = {row.key: row for row in found}
    return {
        task.key: replace(by_key[task.key], scenario=task.row.scenario)
        for task in tasks
        if task.key in by_key and isinstance(task.policy, str)
    }


def _check_no_input(output: Path, scenarios: Sequence[Scenario | str | os.PathLike[str]]) -> None:
    """Raise if the rows would be written over what they are made from."""
    if not output.exists():
        return
    for scenario in scenarios:
        files = {} if isinstance(scenario, Scenario) else input_files(Path(scenario))
        for what, path in files.items():
            if output.samefile(path):
                raise InputError(f"is a {what} itself; write the rows to another file", file=str(output))
