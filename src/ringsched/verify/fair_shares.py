"""The verifier's own copy of max-min fair sharing."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence

_WISH, _PART = 0, 1  # of equals, wishes come first


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
    waiting: dict[int, set[int]] = {}  # on each link, for a rate
    for job in wishes:
        for link in links_of[job]:
            waiting.setdefault(link, set()).add(job)
    left = {link: speeds[link] for link in waiting}
    smallest = [(wish, _WISH, job) for job, wish in wishes.items()]
    smallest += [(speeds[link] / len(jobs), _PART, link) for link, jobs in waiting.items()]
    heapq.heapify(smallest)
    while len(rates) < len(wishes):
        rate, kind, which = heapq.heappop(smallest)
        content = [which] if kind == _WISH else sorted(waiting[which])
        if kind == _PART and content:
            # What others have taken since was less than an equal part each, so the part has only grown.
            part = left[which] / len(content)
            if part > rate:
                heapq.heappush(smallest, (part, _PART, which))
                continue
        for job in content:
            if job in rates:
                continue
            rates[job] = rate
            for link in links_of[job]:
                left[link] = max(0.0, left[link] - rate)
                waiting[link].remove(job)
    return rates
