"""The fitted numbers as a file of their own, and how they become part of a scenario."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringsched.calibrate.duty import factor_at, share_at
from ringsched.calibrate.estimate import Estimate
from ringsched.calibrate.fit import Fit
from ringsched.errors import InputError
from ringsched.io.decode import check_keys, parse, table
from ringsched.io.files import write_lines
from ringsched.model import Contention, Scenario
from ringsched.model.checks import number, settle
from ringsched.model.contention import FAIR_MODELS

SPEEDS = ("inter_server_gbps", "intra_server_gbps", "reduce_gbps")
CONTENTION = ("share", "degradation", "table", "server_latency_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Fields of a scenario's [cluster] and [contention]; None leaves the scenario's own."""

    inter_server_gbps: float | None = None
    intra_server_gbps: float | None = None
    reduce_gbps: float | None = None
    server_latency_ms: float | None = None
    share: float | None = None
    degradation: float | None = None
    table: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        for name in SPEEDS:
            if getattr(self, name) is not None:
                settle(self, **{name: number(getattr(self, name), name, above=0)})
        if not self.contention_fields() and not any(getattr(self, name) for name in SPEEDS):
            raise InputError("holds nothing that was fitted")
        Contention(**self.contention_fields())

    def contention_fields(self) -> dict[str, Any]:
        """Return those of [contention] that are known."""
        return {name: getattr(self, name) for name in CONTENTION if getattr(self, name) is not None}


def calibration_of(fit: Fit, *, duty_cycle: float = 1.0) -> Calibration:
    """Return what goes into a scenario whose jobs communicate for `duty_cycle` of an iteration alone."""
    share = share_at(fit.duty_shares, duty_cycle)
    form: dict[str, Any] = {}
    if fit.sharing is not None and fit.sharing.form == "table" and fit.sharing.table is not None:
        factor, counts = factor_at(fit.sharing), range(1, len(fit.sharing.table) + 1)
        form = {"table": tuple(factor(max(1.0, share * count)) for count in counts)}
    elif fit.sharing is not None and fit.sharing.degradation is not None:
        form = {"share": share, "degradation": fit.sharing.degradation.value}
    known: dict[str, Any] = {
        name: estimate.value for name, estimate in _estimates(fit).items() if estimate is not None
    }
    return Calibration(**known, **form)


def save_calibration(fit: Fit, calibration: Calibration, path: str | os.PathLike[str], source: str) -> None:
    """Write a calibration as TOML with the intervals as comments, atomically."""
    write_lines(Path(path), _lines(fit, calibration, source))


def load_calibration(path: str | os.PathLike[str]) -> Calibration:
    """Read a calibration: a TOML or JSON file with a part of [cluster] and [contention]."""
    path = Path(path)
    content = parse(path)
    try:
        check_keys(content, ("cluster", "contention"), (), None)
        given: dict[str, Any] = {}
        for section, known in (("cluster", SPEEDS), ("contention", CONTENTION)):
            part = table(content.get(section, {}), section)
            check_keys(part, known, (), section)
            given |= part
        if isinstance(given.get("table"), list):
            given["table"] = tuple(given["table"])
        return Calibration(**given)
    except InputError as error:
        raise error.located(file=str(path)) from None


def apply_calibration(calibration: Calibration, scenario: Scenario) -> Scenario:
    """Return the scenario with what was fitted; what was not stays as it is.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> measured = apply_calibration(Calibration(inter_server_gbps=9.4, degradation=0.1), scenario)
    >>> measured.cluster.inter_server_gbps, measured.contention.degradation
    (9.4, 0.1)
    """
    speeds = {name: value for name in SPEEDS if (value := getattr(calibration, name)) is not None}
    contention, changes = scenario.contention, calibration.contention_fields()
    if contention.model in FAIR_MODELS:  # they need no more of it
        changes = {name: value for name, value in changes.items() if name == "server_latency_ms"}
    if contention.model == "reserved" and changes.keys() - {"server_latency_ms"}:
        changes = {"model": "paper"} | changes  # lanes know no slow-down
    return scenario.replace(
        cluster=scenario.cluster.replace(**speeds), contention=contention.replace(**changes)
    )


def _estimates(fit: Fit) -> dict[str, Estimate | None]:
    return {
        "inter_server_gbps": fit.links.inter_server_gbps,
        "intra_server_gbps": fit.links.intra_server_gbps,
        "reduce_gbps": fit.links.reduce_gbps,
        "server_latency_ms": fit.links.server_latency_ms,
    }


def _lines(fit: Fit, calibration: Calibration, source: str) -> Iterator[str]:
    intervals = _estimates(fit)
    if fit.sharing is not None and calibration.table is None:
        intervals["degradation"] = fit.sharing.degradation
    yield f"# Fitted by ringsched calibrate fit to {source}; comments are 95 % intervals.\n"
    yield f"# {fit.verdict}.\n"
    for section, names in (("cluster", SPEEDS), ("contention", CONTENTION)):
        known = [name for name in names if getattr(calibration, name) is not None]
        if known:
            yield f"\n[{section}]\n"
        for name in known:
            value, estimate = getattr(calibration, name), intervals.get(name)
            shown = [round(each, 6) for each in value] if isinstance(value, tuple) else float(f"{value:.9g}")
            interval = ""
            if estimate is not None and estimate.low is not None and estimate.high is not None:
                interval = f"  # {estimate.low:.6g} to {estimate.high:.6g}"
            yield f"{name} = {shown}{interval}\n"
