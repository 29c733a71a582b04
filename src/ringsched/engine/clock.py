"""The two ways time runs; everything that differs between them stands here.

Instants and durations are whole slots when slotted and seconds when continuous. `rate` is a job's
speed in the clock's own terms: iterations per slot, or seconds per iteration. Which instant is 0, the
problem says (engine/problem.py).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeVar

from ringsched.model import Time
from ringsched.model.checks import MAX_INTEGER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Times = TypeVar("Times", float, NDArray[np.float64])

# Slack for ratios that are whole numbers but for rounding.
SLACK = 1e-9


class Clock(ABC):
    """Turns iteration times into instants."""

    slotted: bool
    unit_s: float  # seconds per unit of time

    @abstractmethod
    def rate(self, tau: float) -> float:
        """Return the speed of a job whose iterations take `tau` seconds."""

    @abstractmethod
    def duration(self, iterations: float, rate: float) -> float:
        """Return how long `iterations` take at a constant rate."""

    @abstractmethod
    def done(self, elapsed: float, rate: float) -> float:
        """Return how many iterations are done in `elapsed` at a constant rate."""

    @abstractmethod
    def release(self, submit_s: float) -> float:
        """Return the instant at which a job submitted at `submit_s` enters the queue."""

    @abstractmethod
    def instant(self, start_s: float) -> float:
        """Return the instant written as `start_s` in a plan."""

    @abstractmethod
    def same_instant_until(self, time: float) -> float:
        """Return the latest instant that counts as the same as `time` among completions."""

    def horizon(self, time: Time, longest: float) -> int:
        """Return T in whole units; without a horizon, enough for any plan of length `longest`."""
        if time.horizon_s is None:
            return math.ceil(longest) + 1
        return math.floor(min(self.units(time.horizon_s), MAX_INTEGER) + SLACK)

    def seconds(self, duration: Times) -> Times:
        """Return a duration in seconds."""
        return duration * self.unit_s

    def units(self, seconds: float) -> float:
        """Return a duration in seconds as a real number of units."""
        return seconds / self.unit_s


class SlottedClock(Clock):
    """The paper's time: phi = floor(slot/tau) whole iterations in every slot (after eq. (8))."""

    slotted = True

    def __init__(self, slot_s: float) -> None:
        self.unit_s = slot_s

    def rate(self, tau: float) -> int:
        """Return phi; more than the largest job has iterations makes no difference."""
        return math.floor(min(self.unit_s / tau, MAX_INTEGER) + SLACK)

    def duration(self, iterations: float, rate: float) -> int:
        """Return the fewest slots whose phi sum to `iterations`, eq. (9)."""
        return int(-(-iterations // rate))

    def done(self, elapsed: float, rate: float) -> float:
        """Return phi times the slots."""
        return elapsed * rate

    def release(self, submit_s: float) -> int:
        """Return the first slot boundary at or after `submit_s`."""
        return math.ceil(submit_s / self.unit_s - SLACK)

    def instant(self, start_s: float) -> int:
        """Return the slot that starts at `start_s`."""
        return round(start_s / self.unit_s)

    def same_instant_until(self, time: float) -> float:
        """Return `time`: slots are exact."""
        return time


class ContinuousClock(Clock):
    """Continuous time: 1/tau iterations per second, no floor."""

    slotted = False
    unit_s = 1.0

    def rate(self, tau: float) -> float:
        """Return tau itself, seconds per iteration."""
        return tau

    def duration(self, iterations: float, rate: float) -> float:
        """Return iterations times tau."""
        return iterations * rate

    def done(self, elapsed: float, rate: float) -> float:
        """Return elapsed over tau."""
        return elapsed / rate

    def release(self, submit_s: float) -> float:
        """Return the submit time itself."""
        return submit_s

    def instant(self, start_s: float) -> float:
        """Return the start itself."""
        return start_s

    def same_instant_until(self, time: float) -> float:
        """Return the end of the 1e-9 within which completions are one instant."""
        return time + SLACK * max(1.0, time)


def clock_of(time: Time) -> Clock:
    """Return the clock of a scenario."""
    return SlottedClock(time.slot_s) if time.slotted else ContinuousClock()
