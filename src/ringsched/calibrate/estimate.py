"""A fitted number with its interval, by least squares of scipy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95

End = Literal["value", "low", "high"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number and its 95 % interval; no interval if it cannot be estimated."""

    value: float
    low: float | None
    high: float | None
    num_points: int

    def mapped(self, change: Callable[[float], float]) -> Estimate:
        """Return the estimate of a monotonous function of the number."""
        ends = (None if end is None else change(end) for end in (self.low, self.high))
        low, high = ends
        if low is not None and high is not None and low > high:
            low, high = high, low
        return Estimate(value=change(self.value), low=low, high=high, num_points=self.num_points)


def at_end(estimate: Estimate, end: End) -> float:
    """Return the number itself or an end of its interval; the number where it has none."""
    found: float | None = getattr(estimate, end)
    return estimate.value if found is None else found


def mean_of(values: Sequence[float], *, lowest: float = -math.inf) -> Estimate:
    """Return the mean with Student's interval.

    Examples
    --------
    >>> estimate = mean_of([2.0, 2.1, 1.9])
    >>> round(estimate.value, 3), round(estimate.low, 2), round(estimate.high, 2)
    (2.0, 1.75, 2.25)
    """
    value, count = float(np.mean(values)), len(values)
    if count < 2:
        return Estimate(value=value, low=None, high=None, num_points=count)
    half = _quantile(count - 1) * float(np.std(values, ddof=1)) / math.sqrt(count)
    return Estimate(value=value, low=max(lowest, value - half), high=value + half, num_points=count)


def least_squares_of(
    residuals: Callable[[NDArray[Any]], NDArray[Any]],
    start: Sequence[float],
    *,
    lowest: Sequence[float],
    highest: Sequence[float],
) -> list[Estimate]:
    """Return the parameters that make the squares of the residuals least, with their intervals.

    Examples
    --------
    >>> times, sizes = np.array([2.1, 3.9, 6.0]), np.array([1.0, 2.0, 3.0])
    >>> slope, = least_squares_of(lambda at: at[0] * sizes - times, [1.0], lowest=[0.0], highest=[9.0])
    >>> round(slope.value, 3), slope.low < 2 < slope.high
    (1.993, True)
    """
    from scipy.optimize import least_squares

    found = least_squares(residuals, start, bounds=(lowest, highest), xtol=1e-14, ftol=1e-14)
    return _with_intervals(found.x, found.fun, found.jac, lowest, highest)


def line_of(columns: Sequence[NDArray[Any]], target: NDArray[Any], *, lowest: float) -> list[Estimate]:
    """Return the factors of the columns whose sum comes closest to the target, none below `lowest`.

    Examples
    --------
    >>> slope, offset = line_of([np.array([1.0, 2.0, 3.0]), np.ones(3)], np.array([3.0, 5.0, 7.0]), lowest=0)
    >>> round(slope.value, 6), round(offset.value, 6)
    (2.0, 1.0)
    """
    from scipy.optimize import lsq_linear

    matrix = np.column_stack(columns)
    found = lsq_linear(matrix, target, bounds=(lowest, np.inf), method="bvls", tol=1e-15)
    count = len(columns)
    return _with_intervals(found.x, found.fun, matrix, [lowest] * count, [math.inf] * count)


def _with_intervals(
    values: NDArray[Any],
    residuals: NDArray[Any],
    jacobian: NDArray[Any],
    lowest: Sequence[float],
    highest: Sequence[float],
) -> list[Estimate]:
    count, degrees = len(residuals), len(residuals) - len(values)
    if degrees < 1:
        return [Estimate(value=float(at), low=None, high=None, num_points=count) for at in values]
    variance = float(residuals @ residuals) / degrees
    spreads = np.sqrt(np.diag(np.linalg.pinv(jacobian.T @ jacobian)) * variance)
    half = _quantile(degrees) * spreads
    return [
        Estimate(
            value=float(value),
            low=float(max(low, value - width)),
            high=float(min(high, value + width)),
            num_points=count,
        )
        for value, width, low, high in zip(values, half, lowest, highest, strict=True)
    ]


def _quantile(degrees: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + CONFIDENCE) / 2))
