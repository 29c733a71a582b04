"""Calibrations as they could be too, by what is not known of them."""

from __future__ import annotations

import math
from itertools import accumulate
from random import Random
from statistics import NormalDist
from typing import Any

from ringsched.model.calibration import SPEEDS, Calibration, Interval

NORMAL = NormalDist()
END = NORMAL.inv_cdf(0.975)  # standard deviations from the middle to the end of a 95 % interval


def drawn(calibration: Calibration, seed: int, draw: int) -> Calibration:
    """Return the calibration with every field that has an interval drawn from it, independently.

    A field is above its value as often as below, and beyond either end in one draw of forty: normal, with
    a spread of its own on either side. What no scenario could have is drawn again, so where an interval
    ends near 0, or that of a share near 1, there is less beyond that end and more elsewhere. A table
    moves as a whole.

    Examples
    --------
    >>> measured = Calibration(degradation=0.2, share=1.0, intervals={"degradation": (0.1, 0.3)})
    >>> other = drawn(measured, seed=0, draw=1)
    >>> other == drawn(measured, seed=0, draw=1), other.degradation != 0.2, other.share
    (True, True, 1.0)
    """
    changes: dict[str, Any] = {
        name: _number(name, getattr(calibration, name), interval, Random(f"{seed}/{draw}/{name}"))
        for name, interval in calibration.intervals.items()
    }
    if calibration.table is not None and calibration.table_intervals is not None:
        pairs = zip(calibration.table, calibration.table_intervals, strict=True)
        deviation = _deviation(Random(f"{seed}/{draw}/table"))
        entries = [max(1.0, _moved(value, interval, deviation)) for value, interval in pairs]
        changes["table"] = tuple(accumulate([1.0, *entries[1:]], max))
    return calibration.replace(**changes, intervals={}, table_intervals=None)


def _number(name: str, value: float, interval: Interval, random: Random) -> float:
    most = 1.0 if name == "share" else math.inf
    while True:
        found = _moved(value, interval, _deviation(random))
        if (found > 0 or (found == 0 and name not in (*SPEEDS, "share"))) and found <= most:
            return found


def _moved(value: float, interval: Interval, deviation: float) -> float:
    low, high = interval
    return value + deviation / END * (high - value if deviation > 0 else value - low)


def _deviation(random: Random) -> float:
    """Return a standard normal number, out of the one stream that Python keeps stable."""
    while (at := random.random()) == 0:
        pass
    return NORMAL.inv_cdf(at)
