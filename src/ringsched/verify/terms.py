"""What the terms of a bound state, read with care: a plan file may state anything."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ringsched.model.plan import Term
from ringsched.verify.bounds import Facts

Terms = Mapping[str, Term]


class BadTerms(Exception):
    """The terms of a bound do not say what its argument needs."""


def instant(facts: Facts, terms: Terms, term: str) -> float:
    """Return the instant, from the origin on, or the duration that a term states."""
    value = terms.get(term)
    if not isinstance(value, int | float):
        raise BadTerms(f"lacks the term {term}")
    return facts.clock.length(value)


def whole(terms: Terms, term: str, most: int) -> int:
    """Return the whole number, at least 1, that a term states."""
    value = terms.get(term)
    if not isinstance(value, int) or not 1 <= value <= most:
        raise BadTerms(f"needs a term {term} from 1 to {most}")
    return value


def above_0(terms: Terms, term: str) -> float:
    """Return the number above 0 that a term states."""
    value = terms.get(term)
    if not isinstance(value, int | float) or value <= 0:
        raise BadTerms(f"needs a term {term} above 0")
    return value


def numbers(terms: Terms, term: str, most: int) -> list[float]:
    """Return the numbers of at least 0 that a term lists."""
    values = terms.get(term)
    if not isinstance(values, list | tuple) or not 1 <= len(values) <= most:
        raise BadTerms(f"needs a term {term} with a list of 1 to {most} numbers")
    if not all(0 <= value < math.inf for value in values):
        raise BadTerms(f"needs a term {term} with numbers of at least 0")
    return [float(value) for value in values]
