"""The choice of the least loaded GPUs: right, and without a look at every pair."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest

import ringsched
from ringsched.engine.problem import problem_of
from ringsched.engine.state import Arrays, State, arrays_of, new_state, reset
from ringsched.rules import shared
from ringsched.rules.shared import new_scratch


def loaded(num_servers: int, num_gpus: int, loads: list[int]) -> tuple[Arrays, State]:
    """All GPUs idle, with these loads."""
    cluster = ringsched.Cluster.of_servers(num_servers, num_gpus)
    workload = ringsched.Workload.uniform(jobs=1, sizes={num_servers * num_gpus: 1}, cluster=cluster)
    arrays = arrays_of(problem_of(ringsched.generate(workload)))
    state = new_state(arrays)
    reset(arrays, state)
    state.load[:] = loads
    for server in range(num_servers):
        gpus = range(server * num_gpus, (server + 1) * num_gpus)
        state.idle[gpus.start : gpus.stop] = sorted(gpus, key=lambda gpu: (loads[gpu], gpu))
    return arrays, state


@pytest.mark.parametrize("seed", range(30))
def test_least_is_what_sorting_would_choose(seed: int) -> None:
    generator = Random(seed)
    num_servers, num_gpus = generator.randint(1, 6), generator.randint(1, 6)
    total = num_servers * num_gpus
    loads = [generator.randint(0, 4) for _ in range(total)]
    arrays, state = loaded(num_servers, num_gpus, loads)
    state.idle_share[:] = [generator.randint(0, 2) / 2 for _ in range(num_servers)]
    servers = new_scratch(arrays).servers
    order = sorted(range(total), key=lambda gpu: (loads[gpu], state.idle_share[gpu // num_gpus], gpu))
    for limit in (1, 4):
        eligible = [gpu for gpu in order if loads[gpu] <= limit]
        for wanted in range(1, total + 1):
            found = shared.least(arrays, state, wanted, limit, servers, state.idle_share)
            assert found == (wanted <= len(eligible))
            if found:
                assert state.chosen[:wanted].tolist() == sorted(eligible[:wanted])


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_jobs_as_large_as_the_cluster_compared_every_pair(
    monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    """Each server better than those before it: the worst case of an insertion, n^2 / 2 comparisons."""
    num_servers = 500
    arrays, state = loaded(num_servers, 2, [num_servers - gpu // 2 for gpu in range(2 * num_servers)])
    compare, calls = shared._is_worse, []

    def counted(*arguments: Any) -> bool:
        calls.append(None)
        return compare(*arguments)

    monkeypatch.setattr(shared, "_is_worse", counted)
    wanted, scratch = int(share * 2 * num_servers), new_scratch(arrays)
    assert shared.least(arrays, state, wanted, num_servers, scratch.servers, scratch.no_tie)
    assert len(calls) < 3 * 2 * num_servers * math.log2(2 * num_servers)


@pytest.mark.compiled
@pytest.mark.parametrize("policy", ["list-scheduling", "sjf-bco"])
def test_whole_cluster_jobs_on_40000_gpus(policy: str) -> None:
    """A minute a trial when the choice compared every pair, a fifth of a second now."""
    sizes = {40_000: 1, 20_000: 1, 1: 2}
    cluster, time = ringsched.Cluster.of_servers(5000), ringsched.Time(slot_s=600.0)
    workload = ringsched.Workload.uniform(jobs=24, sizes=sizes, cluster=cluster, time=time)
    scenario = ringsched.generate(workload)
    plan = ringsched.plan(scenario, policy)
    assert ringsched.verify(scenario, plan).valid
