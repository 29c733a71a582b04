"""How time runs in a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ringsched.model.checks import Replaceable, choice, number, settle


@dataclass(frozen=True, slots=True, kw_only=True)
class Time(Replaceable):
    """Slotted time, as in the paper, or continuous time.

    Parameters
    ----------
    model
        "slotted": starts and finishes on whole slots; "continuous": any instant.
    slot_s
        Length of a slot in seconds; without effect when continuous.
    horizon_s
        T, which limits the policies that bisect; absent: long enough for every plan.
    """

    model: str = "slotted"
    slot_s: float = 1.0
    horizon_s: float | None = None

    def __post_init__(self) -> None:
        settle(
            self,
            model=choice(self.model, "model", ["slotted", "continuous"]),
            slot_s=number(self.slot_s, "slot_s", above=0),
        )
        if self.horizon_s is not None:
            settle(self, horizon_s=number(self.horizon_s, "horizon_s", above=0))

    @property
    def slotted(self) -> bool:
        """Whether time runs in slots."""
        return self.model == "slotted"

    @property
    def unit_s(self) -> float:
        """Seconds per unit in which time is counted: a slot, or a second."""
        return self.slot_s if self.slotted else 1.0

    def expanded(self) -> dict[str, Any]:
        """Return the fields as a scenario file writes them, defaults filled in."""
        fields: dict[str, Any] = {"model": self.model, "slot_s": self.slot_s}
        return fields if self.horizon_s is None else fields | {"horizon_s": self.horizon_s}
