"""The paper's bottleneck rule (section 4.1): f(n) = k + α(k-1), k = max(1, ξ1 n); or f by a table."""

from __future__ import annotations

from ringsched.contention.model import CountingModel
from ringsched.model import Contention


class Paper(CountingModel):
    """A link is divided equally, and contention wastes a part of it.

    Examples
    --------
    >>> round(Paper(Contention(degradation=0.2745)).factor(4), 2)
    4.82
    >>> Paper(Contention(table=(1.0, 2.5, 4.0))).factor(5)
    7.0
    """

    name = "paper"
    takes = ("share", "degradation", "table")

    def __init__(self, settings: Contention) -> None:
        self._share = settings.share or 1.0
        self._degradation = settings.degradation or 0.0
        self._table = settings.table

    def factor(self, num_jobs: int) -> float:
        """Return f, linear or by the table; the paper lets k fall below 1, which would speed a job up."""
        table = self._table
        if table is None:
            contending = max(1.0, self._share * num_jobs)
            return contending + self._degradation * (contending - 1)
        if num_jobs <= len(table):
            return table[num_jobs - 1]
        # Beyond its end the slope of its last step goes on.
        return table[-1] + (table[-1] - table[-2]) * (num_jobs - len(table))
