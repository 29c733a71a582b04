"""The rule that spreads a large job over what smaller jobs left of their servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import Policy
from ringsched.rules.table import FULLEST_SERVERS

POLICY = Policy(name="fullest", placement=FULLEST_SERVERS)
SERVER_GPUS = 6


def placed(idle: Sequence[int], gpus: int) -> Mapping[str, Sequence[int]] | None:
    """Return where a job starts beside running ones that leave so many GPUs idle; None if it waits."""
    running = [
        job(f"on {server}", gpus=SERVER_GPUS - left, running_on={f"s{server}": range(left, SERVER_GPUS)})
        for server, left in enumerate(idle)
        if left < SERVER_GPUS
    ]
    problem = scenario(cluster(*[SERVER_GPUS] * len(idle)), *running, job("new", gpus=gpus))
    new = ringsched.simulate(problem, POLICY).plan().jobs[-1]
    return new.gpus if new.start_s == 0 else None


def literal(idle: Sequence[int], gpus: int) -> dict[str, int] | None:
    """Return the GPUs on each server by the rule's description."""
    if sum(idle) < gpus:
        return None
    if holding := [server for server, left in enumerate(idle) if left >= gpus]:
        return {f"s{min(holding, key=lambda server: (idle[server], server))}": gpus}
    fullest_first = sorted(
        (server for server, left in enumerate(idle) if left), key=lambda at: (idle[at], at)
    )
    used: list[int] = []
    while sum(idle[server] for server in used) < gpus:
        used.append(fullest_first[len(used)])
    left_over = sum(idle[server] for server in used) - gpus
    exact = [server for server in used if idle[server] == left_over]
    if exact:
        used.remove(exact[0])
        left_over = 0
    taken = {f"s{server}": idle[server] for server in used}
    taken[f"s{used[-1]}"] -= left_over
    return taken


@given(st.lists(st.integers(0, SERVER_GPUS), min_size=1, max_size=7), st.integers(1, 20))
def test_the_fullest_servers_are_used_first(idle: list[int], gpus: int) -> None:
    gpus = min(gpus, SERVER_GPUS * len(idle))
    found = placed(idle, gpus)
    expected = literal(idle, gpus)
    assert (found and {server: len(chosen) for server, chosen in found.items()}) == expected


def test_a_server_is_left_out_so_that_the_last_one_is_used_whole() -> None:
    """The fullest servers have 1, 2 and 4 idle GPUs, and 6 are wanted: without the first it is exact."""
    assert placed([4, 1, 5, 2], 6) == {"s0": (0, 1, 2, 3), "s3": (0, 1)}


def test_links_in_use_are_avoided() -> None:
    """A running job crosses the links of the two fullest servers."""
    ring = job("ring", gpus=2, running_on={"s0": [5], "s1": [5]})
    problem = scenario(
        cluster(6, 6, 6, 6),
        ring,
        *(job(f"on {at}", gpus=4, running_on={f"s{at}": [0, 1, 2, 3]}) for at in range(2)),
        *(job(f"on {at}", gpus=2, running_on={f"s{at}": [0, 1]}) for at in (2, 3)),
        job("new", gpus=7),
    )
    new = ringsched.simulate(problem, POLICY).plan().jobs[-1]
    assert new.start_s == 0
    assert {server: len(gpus) for server, gpus in new.gpus.items()} == {"s2": 4, "s3": 3}
