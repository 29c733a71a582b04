"""The loss figures: which share of the GPU time goes to spreading, contention and rounding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ringsched.analysis.explain.parts import Parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Shares of the GPU time that the jobs of a plan hold; together they are 1.

    A job that holds 8 GPUs counts 8 times as much as a job that holds one. This is the one definition of
    "lost to contention" and "lost to spreading"; `explain`, `compare`, the report and the lab print it.

    Parameters
    ----------
    held_gpu_s
        GPU-seconds that jobs hold, from start to finish. If 0, all shares are 0.
    best_case, spreading, contention, rounding
        The parts of docs/concepts/blame.md.
    """

    held_gpu_s: float
    best_case: float
    spreading: float
    contention: float
    rounding: float


def losses_of(gpus: Sequence[int], parts: Iterable[Parts]) -> Losses:
    """Return the loss figures of jobs, given their GPUs and the parts of their durations.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> ledger = ringsched.explain(scenario, ringsched.plan(scenario, "first-fit"))
    >>> gpus, parts = zip(*((account.gpus, account.parts) for account in ledger.jobs))
    >>> losses_of(gpus, parts) == ledger.losses
    True
    """
    in_gpu_s = [
        (num * part.best_case_s, num * part.spreading_s, num * part.contention_s, num * part.rounding_s)
        for num, part in zip(gpus, parts, strict=True)
    ]
    totals = [math.fsum(column) for column in zip(*in_gpu_s, strict=True)] or [0.0] * 4
    held_gpu_s = math.fsum(totals)
    best_case, spreading, contention, rounding = (
        total / held_gpu_s if held_gpu_s > 0 else 0.0 for total in totals
    )
    return Losses(
        held_gpu_s=held_gpu_s,
        best_case=best_case,
        spreading=spreading,
        contention=contention,
        rounding=rounding,
    )
