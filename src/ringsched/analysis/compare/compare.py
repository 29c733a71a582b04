"""`compare()`: run policies x scenarios x seeds, keep their rows, and summarise them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ringsched.analysis.compare.ranking import Ranking, Stability, rankings, stabilities
from ringsched.analysis.compare.rows import KeptRows, row_file, sole_writer
from ringsched.analysis.compare.runs import ComparisonRow, Key, Task
from ringsched.analysis.compare.settings import Setting, notes_of, settings_of
from ringsched.analysis.compare.summary import IN_WORDS, PAIRED, SHARES, PolicySummary, labels_of, summaries
from ringsched.analysis.compare.tasks import tasks_of
from ringsched.analysis.compare.workers import check_dask, rows_of
from ringsched.drawing import draw_estimates, panel_for
from ringsched.errors import InputError
from ringsched.formats.calibration import load_calibration
from ringsched.formats.scenario import input_files
from ringsched.formatting import (
    counted,
    duration,
    figure,
    frame_of,
    html_table,
    one_line,
    percent_above,
)
from ringsched.model import Scenario
from ringsched.model.calibration import Calibration
from ringsched.model.checks import choice, instance, integer, number
from ringsched.model.objective import MAKESPAN, Objective, objective_named
from ringsched.policies.custom import CustomPolicy
from ringsched.policies.policy import Limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

_Entry = TypeVar("_Entry")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderModel:
    """The results under one contention model."""

    contention: str | None  # None if not given: every scenario has its own
    summary: tuple[PolicySummary, ...]  # the first is the baseline; with a calibration, for the fitted values
    stability: tuple[Stability, ...] = ()  # over the draws, by metric; empty without any

    def __repr__(self) -> str:
        model = "the scenarios' own model" if self.contention is None else self.contention
        return one_line("UnderModel", model, _num_policies(self.summary))


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The rows, in the order model, draw, policy, scenario, seed, and their summaries."""

    rows: tuple[ComparisonRow, ...]
    models: tuple[UnderModel, ...]  # in the given order
    rankings: tuple[Ranking, ...] = ()  # by metric; empty unless several models were given
    drawn: tuple[Mapping[str, Any], ...] = ()  # the fields of every draw, by name
    notes: tuple[str, ...] = ()  # parts of a calibration that were not drawn or not applied
    num_resumed: int = 0  # rows that were in the output already

    @property
    def summary(self) -> tuple[PolicySummary, ...]:
        """A summary of every policy, the first the baseline; of several models, under the first."""
        return self.models[0].summary

    @property
    def objective(self) -> Objective:
        """What bounds and gaps are about."""
        return objective_named(self.rows[0].objective) if self.rows else MAKESPAN

    def __repr__(self) -> str:
        return one_line("Comparison", *self._heading)

    @property
    def _heading(self) -> tuple[str, ...]:
        runs, policies = counted(len(self.rows), "run"), _num_policies(self.summary)
        return (runs, policies) if self._best is None else (runs, policies, f"smallest makespan {self._best}")

    @property
    def _best(self) -> str | None:
        """The policy with the smallest mean makespan, and its ratio to the baseline if it is another one."""
        feasible = [each for each in self.summary if each.means]
        if not feasible:
            return None
        best = min(feasible, key=lambda each: each.means["makespan_s"])
        labels, ratio = _labels(self.summary), best.makespan_ratio
        found = f"{duration(best.means['makespan_s'])} by {labels[best.key]}"
        if ratio is None or ratio.mean is None:
            return found
        return f"{found}, {ratio.mean:.3f} times that of {labels[self.summary[0].key]}"

    def _repr_html_(self) -> str:
        rows = [
            (model.contention or "", *_cells(each, _labels(model.summary)))
            for model in self.models
            for each in model.summary
        ]
        bound = "bound" if self.objective.is_ratio else "bound s"
        headings = ("contention", "policy", "runs", "makespan s", "mean s", bound, "gap", *_RATIO)
        first = 0 if len(self.models) > 1 else 1  # one model needs no column
        return html_table(
            ", ".join(self._heading),
            headings[first:],
            len(rows),
            lambda at: rows[at][first:],
            text=range(2 - first),
            noun="policies",
        )

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with a row for every run.

        Needs pandas (`pip install '.[frames]'` in a clone).
        """
        names = [field.name for field in fields(ComparisonRow)]
        return frame_of({name: [getattr(row, name) for row in self.rows] for name in names})

    def plot(self, metric: str = "makespan_s", ax: Axes | None = None) -> Axes:
        """Draw a metric of every policy against the baseline into `ax`, or into a new figure.

        A point is the mean over pairs of runs, its whiskers are the 95 % interval. Times are ratios to the
        baseline, shares are differences. Returns the axes. Needs matplotlib
        (`pip install '.[plot]'` in a clone).
        """
        share = choice(metric, "metric", PAIRED) in SHARES
        baseline, *others = [each.key for each in self.summary]
        panel = panel_for(ax, 1.2 + 0.3 * len(others) * len(self.models))
        labels, groups = _labels(self.summary), {}
        for model in self.models:
            pairs = {each.key: each.pairs.get(metric) for each in model.summary}
            groups[model.contention or ""] = [pairs.get(key) for key in others]
        names = [labels[key] for key in others]
        draw_estimates(panel, names, groups, reference=0.0 if share else 1.0, share=share)
        measure, unit = ("less that of", ", percentage points") if share else ("over that of", "")
        panel.set_xlabel(f"{IN_WORDS[metric]} {measure} {labels[baseline]}{unit}, with 95 % intervals")
        return panel


_RATIO = ("makespan ratio", "95 % interval")


def _num_policies(summary: Sequence[PolicySummary]) -> str:
    return "1 policy" if len(summary) == 1 else f"{len(summary)} policies"


def _labels(summary: Sequence[PolicySummary]) -> dict[tuple[str, str], str]:
    return labels_of([each.key for each in summary])


def _cells(summary: PolicySummary, labels: Mapping[tuple[str, str], str]) -> tuple[str, ...]:
    """Return the name of a policy, its means, and its makespan against the baseline's."""
    means, ratio = summary.means, summary.makespan_ratio
    times = ("makespan_s", "mean_completion_s", "lower_bound_s")
    shown = [figure(means[name]) for name in times] + [percent_above(means["gap"])] if means else ["-"] * 4
    mean = interval = "-"
    if ratio is not None and ratio.mean is not None:
        mean = f"{ratio.mean:.3f}"
    if ratio is not None and ratio.low is not None and ratio.high is not None:
        interval = f"{ratio.low:.3f} to {ratio.high:.3f}"
    return labels[summary.key], str(summary.num_runs - summary.num_infeasible), *shown, mean, interval


def comparison_of(
    settings: Sequence[Setting],
    rows: Sequence[Sequence[ComparisonRow]],
    *,
    notes: tuple[str, ...],
    num_resumed: int,
) -> Comparison:
    """Return the comparison of these rows, given for every setting in turn."""
    fitted: dict[str | None, Sequence[ComparisonRow]] = {}
    draws: dict[str | None, list[Sequence[ComparisonRow]]] = {}
    for setting, each in zip(settings, rows, strict=True):
        if setting.draw is None:
            fitted[setting.model] = each
        else:
            draws.setdefault(setting.model, []).append(each)
    models = tuple(
        UnderModel(
            contention=model,
            summary=summaries(each),
            stability=stabilities(each, draws.get(model, [])),
        )
        for model, each in fitted.items()
    )
    several = {model: each for model, each in fitted.items() if model is not None}
    return Comparison(
        rows=tuple(row for each in rows for row in each),
        models=models,
        rankings=rankings(several) if len(several) > 1 else (),
        drawn=_drawn(settings),
        notes=notes,
        num_resumed=num_resumed,
    )


def _drawn(settings: Sequence[Setting]) -> tuple[Mapping[str, Any], ...]:
    """Return the numbers of every draw, which are the same under all models."""
    first = settings[0]
    uncertain = () if first.calibration is None else first.calibration.uncertain
    return tuple(
        {"draw": each.draw} | {name: getattr(each.calibration, name) for name in uncertain}
        for each in settings
        if each.draw is not None and each.model == first.model
    )


def compare(
    scenarios: Iterable[Scenario | str | os.PathLike[str]],
    policies: Iterable[str | CustomPolicy],
    *,
    orders: Iterable[str] = ("own",),
    seeds: int = 1,
    seed: int = 0,
    objective: str = MAKESPAN.name,
    overrides: Sequence[str] = (),
    time_limit_s: float | None = None,
    max_schedules: int | None = None,
    contention_models: Iterable[str] = (),
    calibration: Calibration | str | os.PathLike[str] | None = None,
    draws: int = 0,
    output: str | os.PathLike[str] | None = None,
    resume: bool = True,
    workers: int | None = None,
    dask: str | None = None,
    on_row: Callable[[int, int], None] = lambda _done, _total: None,
) -> Comparison:
    """Plan every scenario with every policy and compare the policies with the first, the baseline.

    Parameters
    ----------
    scenarios
        Scenarios, or files of them.
    policies
        Names from `list_policies()`, or objects with a method `place`, which must be picklable
        unless `workers` is 1.
    orders
        Queue orders from `ORDERS`, each with every policy; "own" is the policy's own order.
    seeds, seed
        Number of seeds and the first one; policies without random numbers run once.
    objective
        One of `OBJECTIVES`: what searching policies minimise, and what bound and gap refer to; the
        ratio is always that of makespans.
    overrides
        Fields of all scenarios with other values, as for `load_scenario`.
    time_limit_s, max_schedules
        Limits of policies that search; if both are given, `max_schedules` applies where a policy supports
        it. Policies without a search ignore them. Every run uses one core.
    contention_models
        Repeat the comparison under each of these models ("paper", "max-min", "phases", "reserved");
        `rankings` reports whether the ranking changes. Default: the model of each scenario.
    calibration
        Parameters for all scenarios, or a file of them.
    draws
        Repeat the comparison this many times, with parameters drawn from the intervals of the calibration
        by `seed`, the same for every policy. `models[...].stability` reports how often the ranking stays.
    output
        A .csv or .parquet file for the rows.
    resume
        Reuse rows that are in `output`, except those of policy objects, whose code may have changed.
    workers
        Number of processes; None for one per core if that is faster.
    dask
        Address of a Dask scheduler that runs the work instead.
    on_row
        Called with the number of finished rows and of all rows.

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
    first_seed, scenarios = integer(seed, "seed", minimum=0), _list_of(scenarios, "scenarios")
    models = _list_of(contention_models, "contention-models")
    calibrated, settings = _settings(models, calibration, draws, first_seed)
    by_setting = tasks_of(
        scenarios,
        _list_of(policies, "policies"),
        _list_of(orders, "orders"),
        seeds=seeds,
        first_seed=first_seed,
        objective=objective,
        limits=Limits(
            time_limit_s=None if time_limit_s is None else number(time_limit_s, "time-limit", minimum=0),
            iterations=None if max_schedules is None else integer(max_schedules, "max-schedules", minimum=0),
        ),
        settings=settings,
        overrides=_list_of(overrides, "overrides"),
    )
    tasks = [task for each in by_setting for task in each]
    if output is not None:
        _check_no_input(Path(output), scenarios)
    with sole_writer(None if output is None else Path(output)):
        found = _latest(file.read()) if file is not None and resume else []
        rows = _taken_over(tasks, found)
        num_resumed = len(rows)
        left = [task for task in tasks if task.key not in rows]
        coming = rows_of(left, workers=num_workers, dask=dask)
        on_row(len(rows), len(tasks))
        with KeptRows(file, tasks, found, rows) as kept:
            for row in coming:
                kept.add(row)
                on_row(len(rows), len(tasks))
    return comparison_of(
        settings,
        [[rows[task.key] for task in each] for each in by_setting],
        notes=notes_of(calibrated, draws, (task.scenario for task in tasks)),
        num_resumed=num_resumed,
    )


def _list_of(given: Iterable[_Entry], field: str) -> list[_Entry]:
    if isinstance(given, str | os.PathLike) or not isinstance(given, Iterable):
        what = "a string" if isinstance(given, str) else f"a {type(given).__name__}"
        raise InputError(f"must be a list, not {what}", field=field)
    return list(given)


def _settings(
    models: Sequence[str], calibration: Calibration | str | os.PathLike[str] | None, draws: int, seed: int
) -> tuple[Calibration | None, list[Setting]]:
    """Return the calibration, read if it is a file, and every setting to compare in."""
    if calibration is None or not isinstance(calibration, str | os.PathLike):
        given = None if calibration is None else instance(calibration, "calibration", Calibration)
        return given, settings_of(models, given, draws, seed)
    loaded = load_calibration(calibration)
    try:
        return loaded, settings_of(models, loaded, draws, seed)
    except InputError as error:
        if error.field != "calibration":
            raise
        raise InputError(error.problem, file=str(calibration)) from None


def _latest(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """Return each run once: a crash may have left a row beside its replacement."""
    return list({row.key: row for row in rows}.values())


def _taken_over(tasks: Sequence[Task], found: Sequence[ComparisonRow]) -> dict[Key, ComparisonRow]:
    """Return the reusable rows, with the present names of the scenarios."""
    # Older files do not name the model, but the digest covers it.
    by_key = {row.key: row for row in found}
    return {
        task.key: replace(by_key[task.key], scenario=task.row.scenario, contention=task.row.contention)
        for task in tasks
        if task.key in by_key and isinstance(task.policy, str)
    }


def _check_no_input(output: Path, scenarios: Sequence[Scenario | str | os.PathLike[str]]) -> None:
    """Raise if the rows would overwrite an input file."""
    if not output.exists():
        return
    for scenario in scenarios:
        files = {} if isinstance(scenario, Scenario) else input_files(Path(scenario))
        for what, path in files.items():
            if output.samefile(path):
                raise InputError(f"is also a {what}; write the rows to another file", file=str(output))
