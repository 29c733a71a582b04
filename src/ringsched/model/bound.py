"""A lower bound with its reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """No plan can do better than `value_s`; `terms` say why."""

    name: str
    value_s: float
    terms: Mapping[str, float | int | str] = field(default_factory=dict)
