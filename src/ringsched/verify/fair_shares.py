"""The verifier's own copy of max-min fair sharing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def connected(
    jobs: Iterable[int], links_of: Mapping[int, Sequence[int]], on_link: Sequence[set[int]]
) -> set[int]:
    """Return the jobs, and all who share a link with one of them, or with one of those, and so on."""
    found = set(jobs)
    unseen = list(found)
    while unseen:
        for link in links_of[unseen.pop()]:
            unseen.extend(on_link[link] - found)
            found |= on_link[link]
    return found


def fair_rates(
    wishes: Mapping[int, float], links_of: Mapping[int, Sequence[int]], speeds: Sequence[float]
) -> dict[int, float]:
    """Return the max-min fair rate of every job: no more than its wish, no link over its speed.

    A job gets less than its wish only on a link that is full and on which nobody has more. So as long as
    some have no rate: the smallest of all wishes and of all equal parts of what a link has left is the
    rate of whoever it belongs to.

    Examples
    --------
    >>> fair_rates({0: 9.0, 1: 2.0, 2: 9.0}, {0: [0], 1: [0], 2: [0]}, [10.0])
    {1: 2.0, 0: 4.0, 2: 4.0}
    """
    rates: dict[int, float] = {}
    left = dict(wishes)
    while left:
        parts: dict[int, float] = {}
        for link in {link for job in left for link in links_of[job]}:
            taken = sum(rate for job, rate in rates.items() if link in links_of[job])
            number = sum(link in links_of[job] for job in left)
            parts[link] = max(0.0, speeds[link] - taken) / number
        level = min(parts.values())
        content = [job for job, wish in left.items() if wish <= level]
        # With all wishes above it, those on the fullest link have to be content with equal parts.
        tightest = {link for link, part in parts.items() if part <= level}
        for job in content or [job for job in left if not tightest.isdisjoint(links_of[job])]:
            rates[job] = min(left.pop(job), level)
    return rates
