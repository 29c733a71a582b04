"""The settings of contention: what jobs that share a link do to each other."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Self

from ringsched.errors import InputError
from ringsched.model.checks import Replaceable, choice, integer, number, sequence, settle

MAX_MIN = "max-min"
PHASES = "phases"
FAIR_MODELS = (MAX_MIN, PHASES)  # links are shared fairly; nothing else is to be set
MODELS = ("paper", *FAIR_MODELS, "reserved")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contention(Replaceable):
    """How much a link slows down when jobs share it.

    Parameters
    ----------
    model
        "paper": the bottleneck rule of the paper's section 4.1. "max-min": links share their speed fairly
        among the average rates that the jobs ask for, and what one leaves others take. "phases": they do so
        at each moment, among those that exchange just then, which they do by chance. "reserved": every link
        is divided into lanes of equal speed, and a job on it has one of them, whatever the others do.
    share
        ξ1, the part of the jobs on a link that contend at a time, in (0, 1]; 1 if absent.
    degradation
        α, what is lost on top of fair sharing; 0 if absent.
    server_latency_ms
        ξ2, milliseconds per iteration for every server a job uses.
    table
        f at 1, 2, ... jobs on the link, instead of share and degradation; beyond its end the last
        step's slope goes on.
    lanes
        Of the model "reserved", and required there: into how many lanes every link is divided. More
        jobs than lanes share the link equally.
    """

    model: str = "paper"
    share: float | None = None
    degradation: float | None = None
    server_latency_ms: float = 0.0
    table: tuple[float, ...] | None = None
    lanes: int | None = None

    def __post_init__(self) -> None:
        settle(
            self,
            model=choice(self.model, "model", MODELS),
            server_latency_ms=number(self.server_latency_ms, "server_latency_ms", minimum=0),
        )
        if self.model in FAIR_MODELS:
            self._check_absent("share", "degradation", "table", "lanes")
        elif self.model == "reserved":
            self._check_reserved()
        elif self.lanes is not None:
            raise InputError('means something only with model = "reserved"', field="lanes")
        elif self.table is None:
            share = 1.0 if self.share is None else number(self.share, "share", above=0, maximum=1)
            loss = 0.0 if self.degradation is None else number(self.degradation, "degradation", minimum=0)
            settle(self, share=share, degradation=loss)
        else:
            settle(self, table=self._checked_table(self.table))

    def replace(self, **changes: Any) -> Self:
        """Return a copy with `changes` applied; a table replaces share and degradation, and they a table.

        With another model go the fields of the old one.
        """
        if changes.get("model", self.model) != self.model:
            changes = dict.fromkeys(("share", "degradation", "table", "lanes")) | changes
        elif changes.get("table") is not None:
            changes = {"share": None, "degradation": None} | changes
        elif not changes.keys().isdisjoint({"share", "degradation"}):
            changes = {"table": None} | changes
        return dataclasses.replace(self, **changes)

    def _check_absent(self, *fields: str) -> None:
        for field in fields:
            if getattr(self, field) is not None:
                raise InputError(f'means nothing with model = "{self.model}"', field=field)

    def _check_reserved(self) -> None:
        self._check_absent("share", "degradation", "table")
        if self.lanes is None:
            raise InputError('is required with model = "reserved"', field="lanes")
        settle(self, lanes=integer(self.lanes, "lanes", minimum=1))

    def _checked_table(self, table: object) -> tuple[float, ...]:
        for field in ("share", "degradation"):
            if getattr(self, field) is not None:
                raise InputError(f"cannot stand together with {field}; keep one of them", field="table")
        listed = sequence(table, "table", "numbers")
        factors = [number(factor, f"table[{at}]", minimum=1) for at, factor in enumerate(listed)]
        if len(factors) < 2:
            raise InputError("must have at least two entries", field="table")
        if factors[0] != 1:
            raise InputError(f"must be 1, not {factors[0]:g}: a job alone is not slowed", field="table[0]")
        for at in range(1, len(factors)):
            if factors[at] < factors[at - 1]:
                raise InputError(
                    f"must not be below the entry before it, but {factors[at]:g} < {factors[at - 1]:g}",
                    field=f"table[{at}]",
                )
        return tuple(factors)

    def expanded(self) -> dict[str, Any]:
        """Return the fields as a scenario file writes them, defaults filled in."""
        fields: dict[str, Any] = {"model": self.model, "server_latency_ms": self.server_latency_ms}
        if self.model in FAIR_MODELS:
            return fields
        if self.model == "reserved":
            return fields | {"lanes": self.lanes}
        if self.table is not None:
            return fields | {"table": list(self.table)}
        return fields | {"share": self.share, "degradation": self.degradation}
