"""What was measured of a cluster: numbers for its scenarios, and how sure they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ringsched.errors import InputError
from ringsched.model.checks import Replaceable, choice, number, sequence, settle, shown
from ringsched.model.contention import Contention
from ringsched.model.scenario import Scenario

SPEEDS = ("inter_server_gbps", "intra_server_gbps", "reduce_gbps")
CONTENTION = ("share", "degradation", "table", "server_latency_ms")
UNCERTAIN = (*SPEEDS, "share", "degradation", "server_latency_ms")
EVERY_MODEL = ("server_latency_ms",)  # the rest of CONTENTION belongs to some models only

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration(Replaceable):
    """Fields of a scenario's [cluster] and [contention]; None leaves the scenario's own.

    Parameters
    ----------
    intervals
        Low and high end of the 95 % interval, by field; a field without one counts as known.
    table_intervals
        The same for every entry of `table`.
    """

    inter_server_gbps: float | None = None
    intra_server_gbps: float | None = None
    reduce_gbps: float | None = None
    server_latency_ms: float | None = None
    share: float | None = None
    degradation: float | None = None
    table: tuple[float, ...] | None = None
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    table_intervals: tuple[Interval, ...] | None = None

    def __post_init__(self) -> None:
        for name in SPEEDS:
            if getattr(self, name) is not None:
                settle(self, **{name: number(getattr(self, name), name, above=0)})
        if not self.contention_fields() and not any(getattr(self, name) for name in SPEEDS):
            raise InputError("holds nothing that was fitted")
        given = self.contention_fields()
        contention = Contention(**given)
        if not isinstance(self.intervals, Mapping):
            raise InputError(f"must be a table, not {shown(self.intervals)}", field="intervals")
        settle(self, **{name: getattr(contention, name) for name in given})
        settle(
            self,
            intervals={name: self._checked(name, ends) for name, ends in self.intervals.items()},
            table_intervals=self._checked_table(),
        )

    def contention_fields(self, settings: Contention | None = None) -> dict[str, Any]:
        """Return those of [contention] that are known; of a model only those that belong to it."""
        names = (
            name for name in CONTENTION if settings is None or name in EVERY_MODEL or settings.takes(name)
        )
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @property
    def uncertain(self) -> tuple[str, ...]:
        """The fields that have an interval."""
        return (*self.intervals, *(() if self.table_intervals is None else ("table",)))

    @property
    def certain(self) -> tuple[str, ...]:
        """The fields that were given without one."""
        given = (name for name in (*SPEEDS, *CONTENTION) if getattr(self, name) is not None)
        return tuple(name for name in given if name not in self.uncertain)

    def _checked(self, name: str, ends: object) -> Interval:
        return _interval(ends, getattr(self, choice(name, "intervals", UNCERTAIN)), name)

    def _checked_table(self) -> tuple[Interval, ...] | None:
        if self.table_intervals is None:
            return None
        pairs = sequence(self.table_intervals, "intervals.table", "intervals")
        if self.table is None or len(pairs) != len(self.table):
            raise InputError("must have an interval for every entry of the table", field="intervals.table")
        entries = zip(pairs, self.table, strict=True)
        return tuple(_interval(ends, value, f"table[{at}]") for at, (ends, value) in enumerate(entries))


def apply_calibration(calibration: Calibration, scenario: Scenario, *, keep_model: bool = False) -> Scenario:
    """Return the scenario with what was fitted; what was not stays as it is.

    Links that share fairly have no share, degradation or table, so these are left out there. Neither have
    lanes: a scenario with `contention.model = "reserved"` gets the paper's model, unless `keep_model`.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> measured = apply_calibration(Calibration(inter_server_gbps=9.4, degradation=0.1), scenario)
    >>> measured.cluster.inter_server_gbps, measured.contention.degradation
    (9.4, 0.1)
    """
    speeds = {name: value for name in SPEEDS if (value := getattr(calibration, name)) is not None}
    contention, known = scenario.contention, calibration.contention_fields()
    if contention.takes("lanes") and not keep_model and known.keys() - EVERY_MODEL:
        contention = contention.replace(model="paper")
    changes = calibration.contention_fields(contention)
    return scenario.replace(
        cluster=scenario.cluster.replace(**speeds), contention=contention.replace(**changes)
    )


def _interval(ends: object, value: float | None, name: str) -> Interval:
    """Return low and high end, with the value between them."""
    where = f"intervals.{name}"
    pair = sequence(ends, where, "two numbers")
    if len(pair) != 2 or value is None:
        wrong = "belongs to a field that is not given" if value is None else "must be two numbers"
        raise InputError(wrong, field=where)
    low, high = (number(end, where, minimum=0) for end in pair)
    if not low <= value <= high:
        raise InputError(f"must hold the value {value:g}, but is {low:g} to {high:g}", field=where)
    return low, high
