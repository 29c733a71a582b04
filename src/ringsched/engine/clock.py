"""The two ways time runs; everything that differs between them is here.

Instants and durations are whole slots when slotted and seconds when continuous. `rate` is a job's
speed in the clock's own terms: iterations per slot, or seconds per iteration. Which instant is 0, the
problem says (engine/problem.py). The formulas are plain functions, which kernels compile.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ringsched.jit import part
from ringsched.model import Time
from ringsched.model.checks import MAX_INTEGER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Times = TypeVar("Times", float, NDArray[np.float64])

# Slack for ratios that are whole numbers but for rounding.
SLACK = 1e-9
_MOST_UNITS = 1e300  # more than can be counted, but a number


@part
def rate_at(slotted: bool, unit_s: float, tau: float) -> float:
    """Return the speed of a job whose iterations take `tau` seconds: phi = floor(slot/tau), or tau itself.

    More iterations per slot than the largest job has make no difference.
    """
    if slotted:
        return math.floor(min(unit_s / tau, MAX_INTEGER) + SLACK)
    return tau


@part
def duration_at(slotted: bool, iterations: float, rate: float) -> float:
    """Return how long iterations take: the fewest slots whose phi sum to them, eq. (9), or their sum."""
    if slotted:
        return -(-int(iterations) // int(rate))
    return iterations * rate


@part
def done_at(slotted: bool, elapsed: Times, rate: Times) -> Times:
    """Return how many iterations are done in `elapsed` at a constant rate."""
    return elapsed * rate if slotted else elapsed / rate


@part
def same_instant_until(slotted: bool, time: float) -> float:
    """Return the latest instant that counts as the same as `time` among completions; slots are exact."""
    if slotted:
        return time
    return time + SLACK * max(1.0, time)


@dataclass(frozen=True, slots=True)
class Clock:
    """Turns iteration times into instants; `unit_s` is seconds per slot, or 1."""

    slotted: bool
    unit_s: float

    def rate(self, tau: float) -> float:
        """Return the speed of a job whose iterations take `tau` seconds."""
        return rate_at(self.slotted, self.unit_s, tau)

    def rates(self, taus: Iterable[float]) -> list[float]:
        """Return the speeds of jobs whose iterations take these seconds."""
        slotted, unit_s = self.slotted, self.unit_s
        return [rate_at(slotted, unit_s, tau) for tau in taus]

    def duration(self, iterations: float, rate: float) -> float:
        """Return how long `iterations` take at a constant rate."""
        return duration_at(self.slotted, iterations, rate)

    def lasts_s(self, tau: float) -> float:
        """Return how many seconds one of many iterations of `tau` seconds takes: a part of a slot, or tau."""
        if not self.slotted:
            return tau
        rate = self.rate(tau)
        return self.unit_s / rate if rate > 0 else math.inf

    def done(self, elapsed: Times, rate: Times) -> Times:
        """Return how many iterations are done in `elapsed` at a constant rate."""
        return done_at(self.slotted, elapsed, rate)

    def release(self, submit_s: float) -> float:
        """Return the instant at which a job enters the queue: at its submit, or the next slot boundary."""
        if not self.slotted:
            return submit_s
        ratio = self._ratio(submit_s)
        return math.ceil(ratio - SLACK - 2 * math.ulp(ratio))  # at Unix times a ratio itself is rounded

    def floor(self, time_s: float) -> float:
        """Return the last slot boundary up to a time, or the time itself."""
        if not self.slotted:
            return time_s
        ratio = self._ratio(time_s)
        return math.floor(ratio + SLACK + 2 * math.ulp(ratio))

    def instant(self, start_s: float) -> float:
        """Return the instant written as `start_s` in a plan."""
        return round(self._ratio(start_s)) if self.slotted else start_s

    def _ratio(self, time_s: float) -> float:
        """Return how many slots a time is; where slots are so short that it is infinite, very many."""
        return min(time_s / self.unit_s, _MOST_UNITS)

    def same_instant_until(self, time: float) -> float:
        """Return the latest instant that counts as the same as `time` among completions."""
        return same_instant_until(self.slotted, time)

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


def clock_of(time: Time) -> Clock:
    """Return the clock of a scenario."""
    return Clock(time.slotted, time.unit_s)
