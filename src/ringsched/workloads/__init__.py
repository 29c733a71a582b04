"""Workloads drawn from a seed: the paper's, and mixes of known models."""

from ringsched.workloads.generator import generate
from ringsched.workloads.load import contention_share, offered_load
from ringsched.workloads.workload import Arrivals, Diurnal, DrawnServers, Poisson, Spread, Workload

__all__ = [
    "Arrivals",
    "Diurnal",
    "DrawnServers",
    "Poisson",
    "Spread",
    "Workload",
    "contention_share",
    "generate",
    "offered_load",
]
