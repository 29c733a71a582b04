"""The settings of contention: what jobs that share a link do to each other."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Protocol, Self

from ringsched.errors import InputError
from ringsched.model.checks import Replaceable, choice, integer, number, sequence, settle


class NamedModel(Protocol):
    """A contention model of the user's; ringsched.contention.model says what it can do."""

    @property
    def name(self) -> str:
        """What plans call it."""


class _OwnModel(Protocol):
    """What a contention model of ringsched's says of its settings."""

    takes: tuple[str, ...]  # those of the fields below that belong to it
    needs: tuple[str, ...]


_SETTINGS = ("share", "degradation", "table", "lanes")  # those that belong to some models only


@cache
def _own_models() -> Mapping[str, _OwnModel]:
    """Return ringsched's own models by name."""
    models: Mapping[str, _OwnModel] = import_module("ringsched.contention.sharing").MODELS
    return models


def model_names() -> tuple[str, ...]:
    """Return the names of ringsched's own models."""
    return tuple(_own_models())


@dataclass(frozen=True, slots=True, kw_only=True)
class Contention(Replaceable):
    """How much a link slows down when jobs share it.

    Parameters
    ----------
    model
        A name, or an object of your own (docs/how-to/add-a-contention-model.md). "paper": the bottleneck rule
        of the paper's section 4.1. "max-min": links share their speed fairly among the average rates that
        the jobs ask for, and what one leaves others take. "phases": they do so at each moment, among those
        that exchange just then, which they do by chance. "reserved": every link is divided into lanes of
        equal speed, and each job on it has one of them, whatever other jobs do.
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

    model: str | NamedModel = "paper"
    share: float | None = None
    degradation: float | None = None
    server_latency_ms: float = 0.0
    table: tuple[float, ...] | None = None
    lanes: int | None = None

    def __post_init__(self) -> None:
        name = self.model if isinstance(self.model, str) else getattr(self.model, "name", None)
        if isinstance(self.model, str) or not isinstance(name, str) or not name:
            choice(self.model, "model", _own_models())
        elif name in _own_models():
            raise InputError(f"is a custom model with the name of ringsched's own {name!r}", field="model")
        settle(self, server_latency_ms=number(self.server_latency_ms, "server_latency_ms", minimum=0))
        self._check_fields()
        if self.table is not None:
            settle(self, table=self._checked_table(self.table))
        elif self.takes("share"):
            share = 1.0 if self.share is None else number(self.share, "share", above=0, maximum=1)
            loss = 0.0 if self.degradation is None else number(self.degradation, "degradation", minimum=0)
            settle(self, share=share, degradation=loss)
        if self.lanes is not None:
            settle(self, lanes=integer(self.lanes, "lanes", minimum=1))

    @classmethod
    def ethernet(cls) -> Self:
        """Return the settings assumed where nothing is known: those that Wang et al. measured on Ethernet."""
        return cls(degradation=0.2745, server_latency_ms=0.2)

    @property
    def model_name(self) -> str:
        """The name of the model, also of one of the user's."""
        return self.model if isinstance(self.model, str) else self.model.name

    def takes(self, field: str) -> bool:
        """Whether a field belongs to the model."""
        return isinstance(self.model, str) and field in _own_models()[self.model].takes

    def _check_fields(self) -> None:
        for field in _SETTINGS:
            if getattr(self, field) is not None and not self.takes(field):
                owner = next(name for name, model in _own_models().items() if field in model.takes)
                raise InputError(f'is only allowed with model = "{owner}"; remove it', field=field)
        if isinstance(self.model, str):
            for field in _own_models()[self.model].needs:
                if getattr(self, field) is None:
                    raise InputError(f'is required with model = "{self.model}"', field=field)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with `changes` applied; a table replaces share and degradation, and they a table.

        With another model go the fields of the old one.
        """
        if changes.get("model", self.model) != self.model:
            changes = dict.fromkeys(_SETTINGS) | changes
        elif changes.get("table") is not None:
            changes = {"share": None, "degradation": None} | changes
        elif not changes.keys().isdisjoint({"share", "degradation"}):
            changes = {"table": None} | changes
        return dataclasses.replace(self, **changes)

    def _checked_table(self, table: object) -> tuple[float, ...]:
        for field in ("share", "degradation"):
            if getattr(self, field) is not None:
                raise InputError(f"cannot be combined with {field}; keep one of them", field="table")
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
        model: Any = self.model
        if not isinstance(model, str):  # no file can hold it, but a checksum can
            kind = type(model)
            settings = dict(getattr(model, "settings", dict)())
            model = {"name": model.name, "class": f"{kind.__module__}.{kind.__qualname__}"} | settings
        fields: dict[str, Any] = {"model": model, "server_latency_ms": self.server_latency_ms}
        given = {name: getattr(self, name) for name in _SETTINGS if getattr(self, name) is not None}
        if self.table is not None:
            given["table"] = list(self.table)
        return fields | given
