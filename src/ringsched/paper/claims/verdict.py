"""From findings to a verdict, by one rule for all claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ringsched.paper.experiments import TINY
from ringsched.paper.results import Estimate, Line, Results, difference, ratio

HOLDS, IN_PART, FAILS, UNDECIDED = "holds", "holds in part", "does not hold", "undecided"
VERDICTS = (HOLDS, IN_PART, FAILS, UNDECIDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of the paper and its verdict."""

    name: str
    where: str
    sentence: str
    verdict: str
    evidence: str
    figure: str  # the file that shows it, without its ending
    why: str  # in words, if there is something to say to this verdict


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a claim says: True, False, or None if the seeds do not decide it."""

    holds: bool | None
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A sentence of the paper, and how rows answer it."""

    name: str
    where: str
    sentence: str
    figure: str
    needs: Sequence[str]
    findings: Callable[[Results], Sequence[Finding]]
    why: Mapping[str, str] = field(default_factory=dict)  # by verdict: a reason is typed, a verdict is not

    def can_be_answered(self, results: Results) -> bool:
        """Whether its experiments were run."""
        return all(results.tiny if part == TINY else results.rows.get(part) for part in self.needs)

    def answered(self, results: Results) -> Claim:
        """Return the verdict and what it rests on."""
        found = self.findings(results)
        verdict = verdict_of([finding.holds for finding in found])
        return Claim(
            name=self.name,
            where=self.where,
            sentence=self.sentence,
            verdict=verdict,
            evidence="; ".join(finding.evidence for finding in found),
            figure=self.figure,
            why=self.why.get(verdict, ""),
        )


def verdict_of(found: Sequence[bool | None]) -> str:
    """Return the verdict of a claim whose parts hold, do not hold, or are undecided.

    Examples
    --------
    >>> verdict_of([True, True]), verdict_of([True, None]), verdict_of([False, None]), verdict_of([None])
    ('holds', 'holds in part', 'does not hold', 'undecided')
    """
    if all(found):
        return HOLDS
    if any(found):
        return IN_PART
    return FAILS if False in found else UNDECIDED


def less(own: Line, base: Line, what: str, metric: str = "makespan_s") -> Finding:
    """Find that a metric is smaller than that of the base: the interval of the ratio is below 1."""
    estimate = ratio(own, base, metric)
    return Finding(below(estimate, 1.0), f"{what} {in_words(estimate)}")


def more(own: Line, base: Line, what: str, metric: str = "makespan_s") -> Finding:
    """Find that a metric is larger than that of the base."""
    estimate = ratio(own, base, metric)
    return Finding(above(estimate, 1.0), f"{what} {in_words(estimate)}")


def less_share(own: Line, base: Line, what: str, metric: str) -> Finding:
    """Find that a share is smaller than that of the base, in percentage points."""
    estimate = difference(own, base, metric)
    return Finding(below(estimate, 0.0), f"{what} {points(estimate)}")


def more_share(own: Line, base: Line, what: str, metric: str) -> Finding:
    """Find that a share is larger than that of the base, in percentage points."""
    estimate = difference(own, base, metric)
    return Finding(above(estimate, 0.0), f"{what} {points(estimate)}")


def below(estimate: Estimate, limit: float) -> bool | None:
    """Whether the whole interval is below the limit; a mean alone counts where there is no interval."""
    low, high = _ends(estimate)
    if low is None or high is None or low < limit <= high:
        return None if low != high else False
    return high < limit


def above(estimate: Estimate, limit: float) -> bool | None:
    """Whether the whole interval is above the limit."""
    low, high = _ends(estimate)
    if low is None or high is None or low <= limit < high:
        return None if low != high else False
    return low > limit


def _ends(estimate: Estimate) -> tuple[float | None, float | None]:
    if estimate.low is None or estimate.high is None:
        return estimate.mean, estimate.mean
    return estimate.low, estimate.high


def in_words(estimate: Estimate) -> str:
    """Return a ratio and its interval.

    Examples
    --------
    >>> in_words(Estimate(mean=0.5, low=0.25, high=1.0, count=3))
    '0.500 (0.250 to 1.000)'
    """
    return _written(estimate, "{:.3f}", 1.0)


def points(estimate: Estimate) -> str:
    """Return a difference of shares and its interval, in percentage points."""
    return f"{_written(estimate, '{:+.1f}', 100.0)} points"


def percent(estimate: Estimate) -> str:
    """Return a relative change and its interval."""
    return f"{_written(estimate, '{:+.1f}', 100.0)} %"


def _written(estimate: Estimate, form: str, factor: float) -> str:
    if estimate.mean is None:
        return "no pair"
    shown = form.format(estimate.mean * factor)
    if estimate.low is None or estimate.high is None:
        return shown
    return f"{shown} ({form.format(estimate.low * factor)} to {form.format(estimate.high * factor)})"
