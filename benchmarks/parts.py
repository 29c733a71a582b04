"""The parts of `make bench`: what each measures, and its goal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks import (
    cold,
    contention,
    event_loops,
    exact,
    gaps,
    insight,
    lab,
    measure,
    online,
    planner,
    policies,
    profile_overhead,
    report,
    slurm_cycle,
    validation,
)


@dataclass(frozen=True, slots=True)
class Part:
    """One function that measures; the first line of its docstring is its title in docs/benchmarks.md."""

    measure: Callable[[], dict[str, Any]]
    goal: str = ""
    note: str = ""  # how to read the figures

    @property
    def title(self) -> str:
        """What is measured, in a line."""
        return (self.measure.__doc__ or "").splitlines()[0].rstrip(".")


PARTS = {
    "cold": Part(
        cold.cold,
        "first.toml cold within 2.5 s and 3 times warm; 160 jobs cold: a plan within 5 s, the result within "
        "40 s; --help within 0.3 s",
    ),
    "one_trial": Part(measure.one_trial, "at most 0.2 ms"),
    "algorithm_1": Part(measure.algorithm_1, "at least 100 times faster than the literal one"),
    "large": Part(measure.large, "longest-first under 5 s, sjf-bco under 60 s, under 1024 MiB"),
    "compare": Part(measure.compare, "under 30 s on 2 cores"),
    "scaling": Part(measure.scaling, "a plot and the fitted exponents"),
    "makespans": Part(
        planner.makespans,
        "mean gap at most 3 % with 20 servers and 4 % with 10, none above 8 %; at 0.15 on average 30 % below "
        "SJF-BCO, 15 % on every seed; never above longest-first",
    ),
    "completions": Part(planner.completions, "never above SJF-BCO, 3 % below on average"),
    "large_search": Part(
        planner.large_search,
        "half of the distance from the best simple policy to the bound, or a gap of 1 %; under 2048 MiB",
    ),
    "cp_sat": Part(planner.cp_sat),
    "exact": Part(exact.exact),
    "policies": Part(policies.policies),
    "bounds": Part(policies.bounds),
    "philly": Part(
        online.philly,
        "fifo at least 50,000 jobs a second (better 100,000), 20,000 with EASY; the command under 15 s",
        "Mean completions of thousands of hours mean that the cluster is overloaded under this policy and "
        "contention model. They are not a forecast.",
    ),
    "muri": Part(online.muri),
    "planning": Part(online.planning),
    "million": Part(
        online.million, "under 2048 MiB; a job of a million at most twice the cost of one of 10,000"
    ),
    "simpy": Part(online.simpy, "the same results, at least 30 times faster"),
    "event_loops": Part(
        event_loops.event_loops,
        "an online policy in Python at most 30 times slower than the built-in one",
        "The bare loops know no placement and no contention. They bound what any simulation takes.",
    ),
    "gaps_philly": Part(gaps.philly, gaps.GOAL, gaps.NOTE),
    "gaps_muri_0.9": Part(gaps.muri_09, gaps.GOAL, gaps.NOTE),
    "gaps_muri_1.1": Part(gaps.muri_11, gaps.GOAL, gaps.NOTE),
    "gaps_diurnal": Part(gaps.diurnal, gaps.GOAL, gaps.NOTE),
    "explain": Part(insight.explain),
    "whatif": Part(insight.whatif, "variants under 1 s"),
    "report": Part(report.report, "160 jobs under 3 MB, 2,000 jobs open in under 2 s"),
    "models": Part(contention.models),
    "crowded": Part(contention.crowded),
    "validation": Part(validation.validation, "no block suspect"),
    "ddp": Part(
        validation.ddp,
        "alone: median error of phases at most 3 %, worst 8 %; together: at most 6 %, worst 15 %",
    ),
    "slurm_cycle": Part(slurm_cycle.slurm_cycle, "the controller itself under 1 s with 200 queued jobs"),
    "profile": Part(profile_overhead.profile, "at most 2 % longer"),
    "whole_way": Part(validation.whole_way, "every job within 10 %"),
    "lab": Part(
        lab.lab,
        "160 jobs under 200 ms, pictures included; 50 requests at once answered or refused with status 503",
    ),
}
