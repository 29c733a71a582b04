"""Numbers, bounds and the quality of a plan in words, the same for terminal, report and lab."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ringsched.model import Bound, Plan


def seconds(value: float) -> str:
    """Return a time for people: whole where it is whole, else to three figures or a tenth.

    Examples
    --------
    >>> seconds(412.0), seconds(4107.2727), seconds(0.12345)
    ('412 s', '4107.3 s', '0.123 s')
    """
    return f"{figure(value)} s"


def figure(value: float) -> str:
    """Return a number for people."""
    if value == round(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"


def counted(number: int, noun: str) -> str:
    """Return `1 job`, `2 jobs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)


def choices(plan: Plan) -> list[str]:
    """Return order, what a search chose, slack and seed, as far as the plan has them."""
    chosen = [] if plan.order is None else [f"order {plan.order}"]
    chosen += [f"{name} {value}" for name, value in plan.params.items()]
    chosen += [] if plan.slack is None else [f"slack {plan.slack:g}"]
    return [*chosen, f"seed {plan.seed}"] if plan.seed else chosen


ROUNDING = 1e-7  # in percent; continuous time leaves a value a hair above its bound


def quality(plan: Plan) -> str:
    """Return what the gap of a plan means.

    Examples
    --------
    >>> plan = Plan(
    ...     scenario_sha256="0",
    ...     policy="fifo",
    ...     makespan_s=12,
    ...     mean_completion_s=9,
    ...     lower_bound_s=10,
    ...     gap=1.2,
    ...     jobs=(),
    ... )
    >>> quality(plan), quality(plan.replace(gap=1.0))
    ('at most 20.0 % above the best possible', 'optimal')
    """
    proof = plan.params.get("proof")  # of a policy that knows more than the bounds do
    if proof:
        return f"{proof}, as policy {plan.policy} proved"
    excess = (plan.gap - 1) * 100
    if excess <= ROUNDING:
        return "optimal"
    return f"at most {excess:.1f} % above the best possible" if excess >= 0.1 else "optimal within 0.1 %"


def reason(bound: Bound) -> str:
    """Return the name of a bound and what its terms say; the name alone if we do not know them."""
    try:
        return f"{bound.name}: {REASONS[bound.name](bound)}"
    except (KeyError, ValueError, TypeError, OverflowError):  # a plan file may state anything
        return bound.name


def _time(bound: Bound, term: str) -> str:
    return seconds(float(bound.terms[term]))


def _amount(bound: Bound, term: str) -> str:
    return figure(float(bound.terms[term]))


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
        f"some leave fewer than {bound.terms['least']} GPUs free, and the others need more"
        f"{_after(bound, 'from_s')}"
    ),
    "long-jobs": lambda bound: (
        f"after one of {_time(bound, 'long_s')} no GPU has time for another of {_time(bound, 'short_s')}"
    ),
    "server-classes": lambda bound: (
        f"servers hold {bound.terms['units']} times {bound.terms['unit']} GPUs, and spread jobs take longer"
        f"{_after(bound)}"
    ),
    "squashed-area": lambda bound: (
        f"{_amount(bound, 'gpu_seconds')} GPU-seconds on {bound.terms['gpus']} GPUs, smallest first"
    ),
    "priced-gpus": lambda bound: (
        f"every job at its best start, if GPUs cost less and less until {_time(bound, 'until_s')}"
    ),
    "best-cases": lambda bound: f"{bound.terms['jobs']} jobs, each alone on the cluster",
}
