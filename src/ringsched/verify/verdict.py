"""What the verifier answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One broken constraint: its short name, one sentence, and the job if it is about one.

    Examples
    --------
    >>> print(Violation(constraint="makespan", message="makespan is 4 s in the plan, but 5 s in truth"))
    makespan: makespan is 4 s in the plan, but 5 s in truth
    """

    constraint: str
    message: str
    job: str | None = None

    def __str__(self) -> str:
        return f"{self.constraint}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """All violations of a plan; a plan without any is valid.

    Examples
    --------
    >>> Verdict(violations=()).valid
    True
    """

    violations: tuple[Violation, ...]

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong."""
        return not self.violations


def shown(number: float) -> str:
    """Return a time or ratio for a message, with digits enough to see what differs.

    Examples
    --------
    >>> shown(2.5), shown(7), shown(float("inf"))
    ('2.5', '7', 'infinity')
    """
    return "infinity" if number == float("inf") else f"{number:.12g}"
