"""The scenarios of a comparison: read, named, and changed to what a setting says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ringsched.analysis.contenders import Contender
from ringsched.analysis.settings import Setting
from ringsched.engine.problem import problem_of
from ringsched.errors import InputError
from ringsched.io.scenario_file import load_scenario, locate
from ringsched.model import Scenario
from ringsched.model.checks import instance


@dataclass(frozen=True, slots=True)
class Given:
    """A scenario, what to call it, and the file it came from."""

    label: str
    path: Path | None
    scenario: Scenario

    def located(self, error: InputError) -> InputError:
        """Return the error with the file it is about."""
        return error if self.path is None else locate(error, self.path)


def scenarios_of(scenarios: Sequence[Scenario | str | os.PathLike[str]]) -> list[Given]:
    """Return the scenarios under labels of their own."""
    if not scenarios:
        raise InputError("must name at least one", field="scenarios")
    found: dict[str, Given] = {}
    for at, each in enumerate(scenarios):
        given = _read(at, each)
        label = f"{given.label}-{at}" if given.label in found else given.label
        found[label] = replace(given, label=label)
    return list(found.values())


def _read(at: int, given: Scenario | str | os.PathLike[str]) -> Given:
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        return Given(_printable(str(path)), path, load_scenario(path))
    scenario = instance(given, f"scenarios[{at}]", Scenario)
    return Given(scenario.name or f"scenario-{at}", None, scenario)


def changed_by(
    given: Sequence[Given], contenders: Sequence[Contender], setting: Setting
) -> dict[str, tuple[str, Scenario]]:
    """Return label and scenario by digest, all of which can be planned in this setting.

    The same one twice would count twice in every interval.
    """
    ready: dict[str, tuple[str, Scenario]] = {}
    for each in given:
        scenario = _ready(each, setting)
        _check_models(contenders, each, scenario, setting)
        digest = scenario.sha256()
        if digest in ready:
            where = f" {setting.words}" if setting.words else ""
            place = each.label if each.path is None else _printable(str(each.path))
            raise InputError(f"is the same scenario as {ready[digest][0]}{where}", file=place)
        ready[digest] = (each.label, scenario)
    return ready


def _ready(given: Given, setting: Setting) -> Scenario:
    try:
        scenario = setting.apply(given.scenario)
        problem_of(scenario)
    except InputError as error:
        problem = f"{error.problem} ({setting.words})" if setting.words else error.problem
        raise given.located(InputError(problem, field=error.field, place=error.place)) from None
    return scenario


def _check_models(
    contenders: Sequence[Contender], given: Given, scenario: Scenario, setting: Setting
) -> None:
    """Raise if a policy cannot plan under the model of contention, before anything runs."""
    for contender in contenders:
        try:
            contender.entry.check_model(scenario.contention)
        except InputError as error:
            if setting.model is None:
                raise given.located(error) from None
            problem = f"names {setting.model!r}, under which policy {contender.name!r} cannot plan"
            raise InputError(f"{problem}; leave out one of them", field="contention-models") from None


def _printable(name: str) -> str:
    # A file's name may hold what no table can.
    return name if name.isprintable() else ascii(name)[1:-1]
