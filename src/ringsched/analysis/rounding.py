"""When two instants, or two durations, differ by no more than rounding."""

from __future__ import annotations

import math

SHARE = 1e-9
ULPS = 8  # by which an instant may be off that was computed in several steps


def same_time(one_s: float, other_s: float, *, since_s: float, share: float = SHARE) -> bool:
    """Whether two instants are one, but for so small a share of the time since the first submit, or a start.

    At Unix times a share of the instants themselves would be seconds.

    Examples
    --------
    >>> same_time(1e9 + 60, 1e9 + 61, since_s=0.0), same_time(1e9 + 60, 1e9 + 61, since_s=1e9)
    (True, False)
    """
    rounded = ULPS * math.ulp(max(abs(one_s), abs(other_s)))
    return math.isclose(one_s - since_s, other_s - since_s, rel_tol=share, abs_tol=max(share, rounded))


def same_duration(one_s: float, other_s: float, *, last_s: float) -> bool:
    """Whether two durations are one; the instants behind them are rounded, up to `last_s`."""
    return math.isclose(one_s, other_s, rel_tol=SHARE, abs_tol=max(SHARE, ULPS * math.ulp(last_s)))
