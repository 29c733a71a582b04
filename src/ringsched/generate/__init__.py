"""Workloads out of nothing but a seed: the paper's, and mixes of known models."""

from ringsched.generate.arrivals import generate_diurnal, generate_poisson
from ringsched.generate.load import Description, contention_share, describe, offered_load
from ringsched.generate.paper import generate_paper
from ringsched.generate.uniform import generate_uniform

__all__ = [
    "Description",
    "contention_share",
    "describe",
    "generate_diurnal",
    "generate_paper",
    "generate_poisson",
    "generate_uniform",
    "offered_load",
]
