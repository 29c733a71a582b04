"""The two ways time runs: whole slots, or seconds.

Both count in *instants* from the first release, the *origin*: whether that was at 0 or in Unix seconds
changes no total and no judgement of how close two instants are. Slots are Python integers, so their sums
are exact; seconds are floats.
A job's *pace* is what its iteration time means on the clock: iterations per slot, or seconds per iteration.
"""

# ruff: noqa: D102 - the protocol says what the methods of both clocks do

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Protocol

from ringsched.model import Job, Time

# So many units in the last place may be rounding of the instants themselves ...
ROUNDED_ULPS = 8
# ... and so many are what completions may differ by for this reason, and still be one.
MERGED_ULPS = 2
# A job has at most 2^53 iterations, so a faster pace than that per slot changes nothing.
MOST_PER_SLOT = 2**53


class Clock(Protocol):
    """What checks, replay and bound ask of time."""

    @property
    def origin_s(self) -> float:
        """The first release, in seconds."""

    def instant(self, time_s: float) -> float:
        """Return the instant nearest to `time_s`, which plans and scenarios count from 0."""

    def seconds(self, instant: float) -> float:
        """Return the instant in seconds from 0."""

    def length(self, duration_s: float) -> float:
        """Return the duration nearest to `duration_s`, or the instant so long after the origin."""

    def length_s(self, duration: float) -> float:
        """Return a duration in seconds, or how long after the origin an instant is."""

    def whole(self, duration_s: float) -> float:
        """Return a duration with the rest of the slot in which it ends."""

    def slot_before(self, time_s: float) -> float:
        """Return the instant of `time_s`, or the last one before it at which something may happen."""

    def on_grid(self, time_s: float) -> bool:
        """Whether something may happen at `time_s`."""

    def release(self, submit_s: float) -> float:
        """Return the first instant at which a job submitted then may start."""

    def pace(self, tau_s: float) -> float:
        """Return the pace of a job whose iterations take `tau_s`."""

    def progress(self, elapsed: float, pace: float) -> float:
        """Return the iterations done in `elapsed`."""

    def duration(self, iterations: float, pace: float) -> float:
        """Return how long so many iterations take; infinity at a standstill."""

    def merge_slack(self, instant: float) -> float:
        """Return how much later completions may be to count as simultaneous with one at `instant`."""

    def spread(self, area: float, num_gpus: int) -> float:
        """Return the least time in which `num_gpus` GPUs do `area` GPU-instants of work."""

    def is_at(self, stated_s: float, instant: float) -> bool:
        """Whether a stated time is that instant."""

    def overlaps(self, begin: float, end: float, shorter: float) -> bool:
        """Whether `begin` to `end` is more than a rounding error for holds of at least `shorter`."""

    def agree(self, stated: float, expected: float, scale: float = 0.0) -> bool:
        """Whether a stated total is the recomputed one; `scale` is the largest number that went into it."""


@dataclass(frozen=True, slots=True)
class Slots:
    """The paper's time: everything happens on whole multiples of `slot_s`."""

    slot_s: float
    origin: int = 0

    @property
    def origin_s(self) -> float:
        return self.origin * self.slot_s

    def instant(self, time_s: float) -> float:
        return round(self._ratio(time_s)) - self.origin

    def seconds(self, instant: float) -> float:
        return (self.origin + instant) * self.slot_s

    def length(self, duration_s: float) -> float:
        return round(self._ratio(duration_s))

    def length_s(self, duration: float) -> float:
        return duration * self.slot_s

    def whole(self, duration_s: float) -> float:
        ratio = self._ratio(duration_s)
        return math.ceil(ratio - (1e-9 + 2 * math.ulp(ratio)))

    def slot_before(self, time_s: float) -> float:
        ratio = self._ratio(time_s)
        return math.floor(ratio + (1e-9 + 2 * math.ulp(ratio))) - self.origin

    def on_grid(self, time_s: float) -> bool:
        slot = round(self._ratio(time_s))
        return abs(self._ratio(time_s) - slot) <= min(1e-9 * max(1, abs(slot)), 1e-3)

    def release(self, submit_s: float) -> float:
        ratio = self._ratio(submit_s)
        return math.ceil(ratio - (1e-9 + 2 * math.ulp(ratio))) - self.origin

    def pace(self, tau_s: float) -> float:
        # phi = floor(slot / tau + 1e-9), section "Time".
        per_slot = self.slot_s / tau_s if tau_s > 0 else math.inf
        return math.floor(min(per_slot + 1e-9, MOST_PER_SLOT))

    def progress(self, elapsed: float, pace: float) -> float:
        return elapsed * pace

    def duration(self, iterations: float, pace: float) -> float:
        return -(-iterations // pace) if pace > 0 else math.inf

    def merge_slack(self, instant: float) -> float:  # noqa: ARG002
        return 0

    def spread(self, area: float, num_gpus: int) -> float:
        return -(-area // num_gpus)

    def is_at(self, stated_s: float, instant: float) -> bool:
        return self.on_grid(stated_s) and self.instant(stated_s) == instant

    def overlaps(self, begin: float, end: float, shorter: float) -> bool:  # noqa: ARG002
        return end > begin

    def agree(self, stated: float, expected: float, scale: float = 0.0) -> bool:
        return math.isclose(stated, expected, rel_tol=1e-9, abs_tol=ROUNDED_ULPS * math.ulp(scale))

    def _ratio(self, time_s: float) -> float:
        # A plan may name any finite time; one that overflows here is wrong anyway, but must not raise.
        largest = sys.float_info.max
        return max(-largest, min(largest, time_s / self.slot_s))


@dataclass(frozen=True, slots=True)
class Seconds:
    """Continuous time: any instant, compared as far as floating point carries."""

    origin_s: float = 0.0

    def instant(self, time_s: float) -> float:
        return time_s - self.origin_s

    def seconds(self, instant: float) -> float:
        return self.origin_s + instant

    def length(self, duration_s: float) -> float:
        return duration_s

    def length_s(self, duration: float) -> float:
        return duration

    def whole(self, duration_s: float) -> float:
        return duration_s

    def slot_before(self, time_s: float) -> float:
        return time_s - self.origin_s

    def on_grid(self, time_s: float) -> bool:  # noqa: ARG002
        return True

    def release(self, submit_s: float) -> float:
        return submit_s - self.origin_s

    def pace(self, tau_s: float) -> float:
        return tau_s

    def progress(self, elapsed: float, pace: float) -> float:
        return elapsed / pace if elapsed > 0 and pace > 0 else 0.0

    def duration(self, iterations: float, pace: float) -> float:
        return iterations * pace

    def merge_slack(self, instant: float) -> float:
        return 1e-9 * max(1.0, instant) + MERGED_ULPS * math.ulp(self.seconds(instant))

    def spread(self, area: float, num_gpus: int) -> float:
        return area / num_gpus

    def is_at(self, stated_s: float, instant: float) -> bool:
        return self.agree(self.instant(stated_s), instant, self.seconds(instant))

    def overlaps(self, begin: float, end: float, shorter: float) -> bool:
        # Rounding grows with time; what it excuses must not grow beyond a sliver of a job.
        slack = min(1e-8 * max(1.0, abs(begin)), 1e-3 * shorter)
        return end - begin > max(slack, ROUNDED_ULPS * math.ulp(self.seconds(begin)))

    def agree(self, stated: float, expected: float, scale: float = 0.0) -> bool:
        return math.isclose(stated, expected, rel_tol=1e-8, abs_tol=max(1e-9, ROUNDED_ULPS * math.ulp(scale)))


def time_limit(job: Job, clock: Clock) -> float:
    """Return how long a job may run: its limit, up to the end of the last slot that it begins."""
    return math.inf if job.limit_s is None else clock.whole(job.limit_s)


def clock_of(time: Time, first_submit_s: float = 0.0) -> Clock:
    """Return the clock of a scenario.

    Examples
    --------
    >>> clock_of(Time(slot_s=2.0)).pace(0.5)
    4
    """
    if not time.slotted:
        return Seconds(first_submit_s)
    return Slots(time.slot_s, int(Slots(time.slot_s).release(first_submit_s)))
