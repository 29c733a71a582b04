"""The settings of a comparison: contention models, and draws from a calibration."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from statistics import NormalDist
from typing import Any

from ringsched.errors import InputError
from ringsched.model import Scenario
from ringsched.model.calibration import EVERY_MODEL, SPEEDS, Calibration, Interval, apply_calibration
from ringsched.model.checks import choice, integer
from ringsched.model.contention import model_names

NORMAL = NormalDist()
END = NORMAL.inv_cdf(0.975)  # standard deviations from the middle to the end of a 95 % interval


def drawn(calibration: Calibration, seed: int, draw: int) -> Calibration:
    """Return the calibration with every field that has an interval drawn from it, independently.

    Values above and below the fitted one are equally likely. Each side is normal with its own spread, so
    one draw in forty is beyond either end. Impossible values are drawn again, so there are fewer draws
    near such a limit. A table moves as a whole.

    Examples
    --------
    >>> measured = Calibration(degradation=0.2, share=1.0, intervals={"degradation": (0.1, 0.3)})
    >>> other = drawn(measured, seed=0, draw=1)
    >>> other == drawn(measured, seed=0, draw=1), other.degradation != 0.2, other.share
    (True, True, 1.0)
    """
    changes: dict[str, Any] = {
        name: _number(name, getattr(calibration, name), interval, Random(f"{seed}/{draw}/{name}"))
        for name, interval in calibration.intervals.items()
    }
    if calibration.table is not None and calibration.table_intervals is not None:
        pairs = zip(calibration.table, calibration.table_intervals, strict=True)
        deviation = _deviation(Random(f"{seed}/{draw}/table"))
        entries = [max(1.0, _moved(value, interval, deviation)) for value, interval in pairs]
        changes["table"] = tuple(accumulate([1.0, *entries[1:]], max))
    return calibration.replace(**changes, intervals={}, table_intervals=None)


def _number(name: str, value: float, interval: Interval, random: Random) -> float:
    most = 1.0 if name == "share" else math.inf
    while True:
        found = _moved(value, interval, _deviation(random))
        if (found > 0 or (found == 0 and name not in (*SPEEDS, "share"))) and found <= most:
            return found


def _moved(value: float, interval: Interval, deviation: float) -> float:
    low, high = interval
    return value + deviation / END * (high - value if deviation > 0 else value - low)


def _deviation(random: Random) -> float:
    """Return a standard normal number from the stream that Python keeps stable across versions."""
    while (at := random.random()) == 0:
        pass
    return NORMAL.inv_cdf(at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Changes to the scenarios before planning; None changes nothing."""

    model: str | None = None
    draw: int | None = None  # None for the fitted values themselves
    calibration: Calibration | None = None

    def apply(self, scenario: Scenario) -> Scenario:
        """Return the scenario in this setting, or raise if it is invalid."""
        try:
            if self.model is not None:
                scenario = scenario.replace(contention=scenario.contention.replace(model=self.model))
        except InputError as error:
            raise error.located(place="contention") from None
        if self.calibration is not None:
            scenario = apply_calibration(self.calibration, scenario, keep_model=True)
        return scenario

    @property
    def words(self) -> str:
        """The setting in words, for the end of a sentence."""
        model = "" if self.model is None else f"under contention model {self.model}"
        calibrated = "" if self.calibration is None else "with the fitted values"
        draw = calibrated if self.draw is None else f"in draw {self.draw}"
        return " ".join(part for part in (model, draw) if part)


def settings_of(
    models: Sequence[str], calibration: Calibration | None, draws: int, seed: int
) -> list[Setting]:
    """Return every model with the fitted values and every draw; the draws are the same under all models."""
    for at, model in enumerate(models):
        if choice(model, "contention-models", model_names()) in models[:at]:
            raise InputError(f"names {model!r} twice", field="contention-models")
    chosen: list[str | None] = [*models] or [None]
    number = integer(draws, "draws", minimum=0)
    if number and calibration is None:
        raise InputError("needs a calibration; `ringsched calibrate fit -o FILE` writes one", field="draws")
    if number and calibration is not None and not calibration.uncertain:
        raise InputError("has no intervals to draw from; fit it again", field="calibration")
    numbers: list[int | None] = [None, *range(1, number + 1)]
    values = [
        calibration if calibration is None or draw is None else drawn(calibration, seed, draw)
        for draw in numbers
    ]
    return [
        Setting(model=model, draw=draw, calibration=value)
        for model in chosen
        for draw, value in zip(numbers, values, strict=True)
    ]


def notes_of(calibration: Calibration | None, draws: int, scenarios: Iterable[Scenario]) -> tuple[str, ...]:
    """Return notes on the parts of a calibration that are not applied or do not vary."""
    if calibration is None:
        return ()
    notes = []
    if draws and calibration.certain:
        notes.append(f"not drawn, because they have no interval: {', '.join(calibration.certain)}")
    scenarios = list(scenarios)
    if only_paper := sorted(calibration.contention_fields().keys() - EVERY_MODEL):
        others = sorted(
            {
                scenario.contention.model_name
                for scenario in scenarios
                if not any(map(scenario.contention.takes, only_paper))
            }
        )
        notes += [f"not used by {model}: {', '.join(only_paper)}" for model in others]
    if calibration.inter_server_gbps is not None and any(
        server.uplink_gbps is not None for scenario in scenarios for server in scenario.cluster.servers
    ):
        notes.append("servers with their own uplink_gbps keep it")
    return tuple(notes)
