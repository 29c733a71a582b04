"""How far a measurement was disturbed: cores taken away by the host, or by others on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

MOST_STEAL = 0.04  # of the time of all cores


MOST_WAITING = 0.25  # of a block, by the worker that waited longest for a core


MOST_SPREAD = 0.15  # of a median, between the quartiles of iterations that should be all alike


_STEAL = 7  # after the word "cpu": user nice system idle iowait irq softirq steal


class CpuTimes(NamedTuple):
    """Ticks of all cores since the machine was started."""

    total: int
    steal: int


def cpu_times(text: str | None = None) -> CpuTimes:
    """Return the ticks so far, out of /proc/stat.

    Examples
    --------
    >>> cpu_times("cpu  100 0 50 800 10 0 0 40 0 0")
    CpuTimes(total=1000, steal=40)
    """
    if text is None:
        try:
            text = Path("/proc/stat").read_text()
        except OSError:
            return CpuTimes(0, 0)
    ticks = [int(cell) for cell in text.splitlines()[0].split()[1:9]]
    return CpuTimes(sum(ticks), ticks[_STEAL])


class Noise(NamedTuple):
    """What disturbed a block."""

    steal: float  # share of the time of all cores that the host took
    waiting: float  # share of the block that some worker waited for a core
    spread: float = 0.0  # between the quartiles of iterations, as a share of their median

    @property
    def disturbed(self) -> bool:
        """Whether the block should be repeated."""
        return self.steal > MOST_STEAL or self.waiting > MOST_WAITING or self.spread > MOST_SPREAD

    @property
    def badness(self) -> float:
        """How far it is disturbed; above 1 is too far."""
        return max(self.steal / MOST_STEAL, self.waiting / MOST_WAITING, self.spread / MOST_SPREAD)

    def __str__(self) -> str:
        return f"steal {self.steal:.1%}, waiting {self.waiting:.1%}, spread {self.spread:.1%}"


def steal_between(before: CpuTimes, after: CpuTimes) -> float:
    """Return the share of the time between that was stolen."""
    return (after.steal - before.steal) / max(1, after.total - before.total)
