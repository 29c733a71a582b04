"""Why no plan can beat a bound, in one line for people."""

from __future__ import annotations

from collections.abc import Callable

from ringsched.cli.figures import figure, seconds
from ringsched.model import Bound


def reason(bound: Bound) -> str:
    """Return the name of a bound and what its terms say; the name alone if we do not know them."""
    try:
        return f"{bound.name}: {REASONS[bound.name](bound)}"
    except KeyError:
        return bound.name


def _time(bound: Bound, term: str) -> str:
    return seconds(float(bound.terms[term]))


def _amount(bound: Bound, term: str) -> str:
    return figure(float(bound.terms[term]))


def _after(bound: Bound) -> str:
    return f" after {_time(bound, 'release_s')}" if bound.terms["release_s"] else ""


REASONS: dict[str, Callable[[Bound], str]] = {
    "longest-job": lambda bound: f"{bound.terms['job']} needs {_time(bound, 'best_case_s')}{_after(bound)}",
    "area": lambda bound: (
        f"{_amount(bound, 'gpu_seconds')} GPU-seconds on {bound.terms['gpus']} GPUs{_after(bound)}"
    ),
    "large-jobs": lambda bound: (
        f"{bound.terms['jobs']} jobs with more than half of the GPUs need "
        f"{_time(bound, 'best_cases_s')}{_after(bound)}"
    ),
    "best-cases": lambda bound: f"{bound.terms['jobs']} jobs, each alone on the cluster",
}
