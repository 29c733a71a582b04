"""The area bound made tight: what cannot lie before an instant must fit behind it."""

from __future__ import annotations

from ringsched.bounds.work import Work
from ringsched.model import Bound


def work_left(work: Work) -> Bound:
    """After any instant t, jobs released at r lack at least min(d, r + d - t) of their shortest duration d.

    Their GPU-seconds must fit into the GPUs after t. With t = the last earliest end nothing is left, and
    this is the longest job; with t = a release it is the core's area and what older jobs still lack.
    """
    reached, instant, left = work.best_start(work.gpus, work.problem.num_gpus)
    seconds = work.problem.clock.seconds
    return Bound(
        name="work-left",
        value_s=seconds(reached),
        terms={
            "from_s": seconds(instant),
            "gpu_seconds": seconds(left),
            "gpus": work.problem.num_gpus,
        },
    )
