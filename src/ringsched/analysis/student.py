"""Student's t distribution, as much of it as a confidence interval needs."""

from __future__ import annotations

import math

# The 97.5 % point of the normal distribution: 95 % lie between minus and plus this.
NORMAL_QUANTILE = 1.959963984540054
# Up to here the exact series is summed; beyond, three terms around the normal are right to 1e-12.
MOST_TERMS = 1000


def t_quantile(degrees: int) -> float:
    """Return the t that 95 % of Student's distribution lie within, on both sides.

    Examples
    --------
    >>> [round(t_quantile(degrees), 3) for degrees in (1, 2, 9, 30)]
    [12.706, 4.303, 2.262, 2.042]
    """
    if degrees > MOST_TERMS:
        return _expanded(NORMAL_QUANTILE, degrees)
    # t = sqrt(degrees) tan(angle); the share within grows with the angle.
    low, high = 0.0, math.pi / 2
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if _share_within(middle, degrees) < 0.95 else (low, middle)
    return math.sqrt(degrees) * math.tan(high)


def _share_within(angle: float, degrees: int) -> float:
    """Return A(t | degrees), Abramowitz and Stegun 26.7.3 (odd) and 26.7.4 (even)."""
    odd = degrees % 2
    sine, square = math.sin(angle), math.cos(angle) ** 2
    term = math.cos(angle) if odd else 1.0
    total = term if degrees > 1 else 0.0
    for k in range(2 + odd, degrees - 1, 2):
        term *= square * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def _expanded(normal: float, degrees: int) -> float:
    """Return the quantile as a series in 1/degrees, Abramowitz and Stegun 26.7.5."""
    z, v = normal, degrees
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / v + second / v**2 + third / v**3
