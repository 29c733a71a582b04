"""A lower bound with its reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ringsched.model.checks import instance, number, settle, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """No plan can do better than `value_s`; `terms` say why."""

    name: str
    value_s: float
    terms: Mapping[str, float | int | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settle(self, name=text(self.name, "name"), value_s=number(self.value_s, "value_s"))
        terms = instance(self.terms, "terms", Mapping)  # type: ignore[type-abstract]
        for key, value in terms.items():
            if not isinstance(value, str):
                number(value, f"terms.{key}")
