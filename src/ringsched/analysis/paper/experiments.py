"""What is run: figures 4 to 7 of the paper, and what its text leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ringsched.analysis.paper.points import Point

FIFO, SMALLEST, LONGEST = "fifo", "smallest-first", "longest-first"
KAPPAS = (1, 2, 4, 8, 16, 32)  # the sizes of the jobs: values between them change nothing
SLACKS = (1, 2, 4, 8)
SERVERS = tuple(range(10, 21))
MANY_SERVERS = (20, 40, 80, 160)
HORIZONS_S = tuple(range(500, 2001, 100))
SHARES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
LONG_HORIZON_S = 3000  # T of the sweep over shares: at 0.5 list scheduling no longer ends before 1200

SJF_BCO = Point(policy="sjf-bco", order=SMALLEST)
BASELINES = tuple(
    Point(policy=policy, order=order)
    for policy in ("first-fit", "list-scheduling", "random")
    for order in (FIFO, SMALLEST)
)
BEST_FIT = Point(policy="longest-first", order=LONGEST)


EXPERIMENTS: Mapping[str, tuple[Point, ...]] = {
    "policies": (SJF_BCO, *BASELINES, BEST_FIT),
    "kappa": tuple(replace(SJF_BCO, kappa=kappa) for kappa in KAPPAS),
    "servers": tuple(
        replace(base, servers=servers, horizon_s=1500)
        for base in (SJF_BCO, *BASELINES[:4])
        for servers in SERVERS
    ),
    "lambda": tuple(replace(SJF_BCO, kappa=1, slack=slack) for slack in SLACKS),
    "plenty": tuple(replace(SJF_BCO, servers=servers) for servers in MANY_SERVERS),
    "ties": tuple(
        replace(base, order=order)
        for base in (replace(SJF_BCO, kappa=KAPPAS[-1]), Point(policy="list-scheduling", order=FIFO))
        for order in (FIFO, SMALLEST, LONGEST)
    ),
    "horizon": tuple(replace(SJF_BCO, horizon_s=horizon_s) for horizon_s in HORIZONS_S),
    "share": tuple(
        replace(base, contention=share, horizon_s=LONG_HORIZON_S)
        for base in (
            SJF_BCO,
            Point(policy="list-scheduling", order=SMALLEST),
            Point(policy="list-scheduling", order=LONGEST),
            BEST_FIT,
        )
        for share in SHARES
    ),
}
TINY = "tiny"
NUM_TINY = 20  # seeds of tiny instances, however many the experiments have
PARTS = (*EXPERIMENTS, TINY)
