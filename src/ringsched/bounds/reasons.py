"""What the terms of a bound say, in words."""

from __future__ import annotations

from collections.abc import Callable

from ringsched.formatting import duration, figure
from ringsched.model import Bound


def reason(bound: Bound) -> str:
    """Return the name of a bound and what its terms say; the name alone if we do not know them."""
    try:
        return f"{bound.name}: {REASONS[bound.name](bound)}"
    except (KeyError, ValueError, TypeError, OverflowError):  # a plan file may state anything
        return bound.name


def _time(bound: Bound, term: str) -> str:
    return duration(float(bound.terms[term]))  # type: ignore[arg-type]


def _amount(bound: Bound, term: str) -> str:
    return figure(float(bound.terms[term]))  # type: ignore[arg-type]


def _priced(bound: Bound) -> str:
    """Return what has a price."""
    kinds = {"gpus": "GPUs", "jobs": "places for large jobs", "slots": "places in servers", "links": "links"}
    named = [kinds.get(name.split("_")[0]) for name in bound.terms]
    priced = list(dict.fromkeys(kind for kind in named if kind is not None))
    if not priced:
        return "no job has to wait for more than running jobs"
    return f"every job at its best start and placement, if {' and '.join(priced)} had prices"


def _after(bound: Bound, term: str = "release_s") -> str:
    return f" after {_time(bound, term)}" if bound.terms[term] else ""


REASONS: dict[str, Callable[[Bound], str]] = {
    "longest-job": lambda bound: f"{bound.terms['job']} needs {_time(bound, 'best_case_s')}{_after(bound)}",
    "area": lambda bound: (
        f"{_amount(bound, 'gpu_seconds')} GPU-seconds on {bound.terms['gpus']} GPUs{_after(bound)}"
    ),
    "large-jobs": lambda bound: (
        f"{bound.terms['jobs']} jobs with more than half of the GPUs need "
        f"{_time(bound, 'best_cases_s')}{_after(bound)}"
    ),
    "work-left": lambda bound: (
        f"{_amount(bound, 'gpu_seconds')} GPU-seconds left for {bound.terms['gpus']} GPUs"
        f"{_after(bound, 'from_s')}"
    ),
    "side-by-side": lambda bound: (
        f"jobs of {bound.terms['unit']} or more GPUs need {_time(bound, 'durations_s')}, "
        f"{bound.terms['at_once']} at once{_after(bound, 'from_s')}"
    ),
    "wide-jobs": lambda bound: (
        f"no job of {bound.terms['least']} or more GPUs fits beside those that leave fewer free"
        f"{_after(bound, 'from_s')}"
    ),
    "long-jobs": lambda bound: (
        f"after one of {_time(bound, 'long_s')} no GPU has time for another of {_time(bound, 'short_s')}"
    ),
    "server-classes": lambda bound: (
        f"servers hold {bound.terms['units']} times {bound.terms['unit']} GPUs, and spread jobs take longer"
        f"{_after(bound)}"
    ),
    "after-running": lambda bound: (
        f"{_amount(bound, 'gpu_seconds')} GPU-seconds left for {bound.terms['gpus']} GPUs"
        f"{_after(bound, 'from_s')}, as running jobs end"
        if bound.terms["gpu_seconds"]
        else f"running jobs end after {_time(bound, 'from_s')} at the earliest"
    ),
    "few-at-once": lambda bound: (
        f"jobs of {bound.terms['least']} or more GPUs need {_time(bound, 'durations_s')}, "
        f"at most {bound.terms['at_once']} at once{_after(bound, 'from_s')}"
    ),
    "required-servers": lambda bound: (
        f"{_amount(bound, 'gpu_seconds')} GPU-seconds left for the {bound.terms['gpus']} GPUs that "
        f"{bound.terms['job']} may use{_after(bound, 'from_s')}"
    ),
    "shared-links": lambda bound: (
        f"jobs that must cross the {bound.terms['links']} links of level {bound.terms['level']} "
        f"need their time{_after(bound, 'from_s')}"
    ),
    "squashed-area": lambda bound: (
        f"{_amount(bound, 'gpu_seconds')} GPU-seconds on {bound.terms['gpus']} GPUs, smallest first"
    ),
    "priced-gpus": lambda bound: (
        f"every job at its best start, if GPUs cost less and less until {_time(bound, 'until_s')}"
    ),
    "priced-placements": _priced,
    "earliest-ends": lambda bound: f"{bound.terms['job']} cannot end before {_time(bound, 'end_s')}",
    "due-work": lambda bound: (
        f"until {_time(bound, 'until_s')}{_after(bound, 'from_s')}, {bound.terms['gpus']} GPUs cannot do "
        "what would be due if all slowdowns were smaller"
    ),
    "best-cases": lambda bound: f"{bound.terms['jobs']} jobs, each alone on the cluster",
}
