"""Reserved lanes: every link is divided into lanes of equal speed, and a job on it has one of them."""

from __future__ import annotations

from ringsched.contention.model import CountingModel
from ringsched.model import Contention


class Reserved(CountingModel):
    """A lane each as long as there are enough, then equal parts.

    Examples
    --------
    >>> lanes = Reserved(Contention(model="reserved", lanes=2))
    >>> [lanes.factor(num_jobs) for num_jobs in (1, 2, 3)]
    [2.0, 2.0, 3.0]
    """

    name = "reserved"
    takes = needs = ("lanes",)

    def __init__(self, settings: Contention) -> None:
        assert settings.lanes is not None  # checked with the settings
        self.lanes = settings.lanes

    def factor(self, num_jobs: int) -> float:
        """Return the lanes, or the jobs if they are more."""
        return float(max(self.lanes, num_jobs))
