"""One measured job: how long an iteration of it took, and beside how many others."""

from __future__ import annotations

from dataclasses import dataclass

from ringsched.errors import InputError
from ringsched.model.checks import Replaceable, integer, number, settle

GIGABITS_PER_MEGABYTE = 8e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement(Replaceable):
    """The seconds of one iteration of a job, computation included.

    Parameters
    ----------
    servers, workers
        Over how many servers the ring of so many workers goes.
    concurrent
        How many like jobs shared its links, itself included.
    message_mb
        What was reduced, in MB of 10^6 bytes.
    seconds
        One iteration; the median of many is best.
    compute_s, reduce_s
        How much of it was computation, and how much summing up, where that was measured.
    job
        Which of the concurrent jobs it was. Rows with different names and else alike are one block.

    Examples
    --------
    >>> row = Measurement(servers=2, workers=4, concurrent=1, message_mb=2.0, seconds=0.3)
    >>> row.exchange_gbit
    0.024
    """

    servers: int
    workers: int
    concurrent: int
    message_mb: float
    seconds: float
    compute_s: float = 0.0
    reduce_s: float | None = None
    job: str = ""

    def __post_init__(self) -> None:
        settle(
            self,
            servers=integer(self.servers, "servers", minimum=1),
            workers=integer(self.workers, "workers", minimum=2),
            concurrent=integer(self.concurrent, "concurrent", minimum=1),
            message_mb=number(self.message_mb, "message_mb", above=0),
            seconds=number(self.seconds, "seconds", above=0),
            compute_s=number(self.compute_s, "compute_s", minimum=0),
        )
        if self.reduce_s is not None:
            settle(self, reduce_s=number(self.reduce_s, "reduce_s", minimum=0))
        if self.workers < self.servers:
            raise InputError(
                f"must be at least servers ({self.servers}), not {self.workers}", field="workers"
            )
        if self.compute_s + (self.reduce_s or 0.0) >= self.seconds:
            raise InputError(
                "must be more than compute_s and reduce_s, which are a part of it", field="seconds"
            )

    @property
    def exchange_gbit(self) -> float:
        """2m(w-1)/w: what every worker sends in an iteration."""
        return 2 * self.message_mb * GIGABITS_PER_MEGABYTE * (self.workers - 1) / self.workers

    @property
    def ring_s(self) -> float:
        """The iteration without computation and without the part of the summing up that was measured."""
        return self.seconds - self.compute_s - (self.reduce_s or 0.0)

    @property
    def computes(self) -> bool:
        """Whether computation is a part of the iteration that counts."""
        return self.compute_s > 0.01 * self.seconds
