"""Max-min fair sharing as it reads; engine/fair_shares.py is its array twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

NO_LINK = -1
_EQUAL = 1 + 1e-12  # parts that differ by rounding alone


class FairShare(NamedTuple):
    """What a job gets: a rate, and the link that keeps it from more."""

    gbps: float
    link: int  # the lowest of them; NO_LINK for a job that has all it asks for


def fair_shares(
    wishes: Mapping[int, float], links_of: Mapping[int, Sequence[int]], uplink_gbps: Sequence[float]
) -> dict[int, FairShare]:
    """Return the share of every job: the rates of all rise alike until a wish is met or a link is full.

    Parameters
    ----------
    wishes
        The rate of each job with its links for itself: on average, or while it exchanges.
    links_of
        The links each job crosses, ascending.

    Examples
    --------
    >>> shares = fair_shares({0: 9.0, 1: 2.0, 2: 9.0}, {0: [0], 1: [0], 2: [0]}, [10.0])
    >>> shares[0], shares[1]
    (FairShare(gbps=4.0, link=0), FairShare(gbps=2.0, link=-1))
    """
    shares: dict[int, FairShare] = {}
    left = {link: uplink_gbps[link] for job in wishes for link in links_of[job]}
    number = dict.fromkeys(left, 0)
    for job in wishes:
        for link in links_of[job]:
            number[link] += 1
    rising = dict(wishes)
    while rising:
        parts = {link: left[link] / number[link] for link in left if number[link] > 0}
        level = min(parts.values())
        given = {job: FairShare(wish, NO_LINK) for job, wish in rising.items() if wish <= level}
        if not given:
            full = {link for link, part in parts.items() if part <= level * _EQUAL}
            for job in rising:
                hindering = next((link for link in links_of[job] if link in full), None)
                if hindering is not None:
                    given[job] = FairShare(level, hindering)
        for job, share in given.items():
            del rising[job]
            for link in links_of[job]:
                left[link] = max(0.0, left[link] - share.gbps)
                number[link] -= 1
        shares |= given
    return shares
