"""Links, sharing, iteration times: small cases by hand."""

from __future__ import annotations

import pytest
from tests.scenarios import cluster, job, scenario

from ringsched import Contention, Server
from ringsched.contention.extremes import Extremes
from ringsched.contention.iteration_time import iteration_time_s, sharing_factor, work_of
from ringsched.contention.network import network_of, shape_of
from ringsched.contention.phases import Ring, phase_shares
from ringsched.engine import kernels
from ringsched.engine.arrays import arrays_of
from ringsched.engine.problem import problem_of
from ringsched.engine.state import NUM_TOUCHED, new_state, reset

RACKED = cluster(
    switches={"left": 40.0, "right": 20.0},
    servers=(
        Server(name="a", gpus=4, switch="left"),
        Server(name="b", gpus=4, switch="left", unavailable=(0,)),
        Server(name="c", gpus=2, switch="right", uplink_gbps=25.0),
        Server(name="d", gpus=1),
    ),
)


def test_nodes_are_servers_then_racks() -> None:
    network = network_of(RACKED)
    assert network.uplink_gbps == (10, 10, 25, 10, 40, 20)
    assert network.rack_of == (4, 4, 5, -1)
    assert network.capacity == (4, 3, 2, 1, 7, 2)


@pytest.mark.parametrize(
    ("gpus_on", "links"),
    [
        ({0: 4}, ()),  # inside a server
        ({0: 1, 1: 1}, (0, 1)),  # inside a rack
        ({0: 1, 2: 1}, (0, 2, 4, 5)),  # across racks
        ({0: 1, 3: 1}, (0, 3, 4)),  # a server without a rack
        ({2: 2, 3: 1}, (2, 3, 5)),
    ],
)
def test_crossed_links(gpus_on: dict[int, int], links: tuple[int, ...]) -> None:
    assert shape_of(network_of(RACKED), gpus_on).links == links


def test_intra_server_speed_counts_only_where_two_gpus_share_a_server() -> None:
    network = network_of(RACKED)
    assert shape_of(network, {0: 1, 1: 1}).free_gbps == float("inf")
    assert shape_of(network, {0: 2, 1: 1}).free_gbps == 200


@pytest.mark.parametrize(
    ("contention", "num_jobs", "factor"),
    [
        (Contention(), 3, 3.0),
        (Contention(share=0.1, degradation=5), 3, 1.0),  # clamped: a lone job has the whole link
        (Contention(share=0.5, degradation=0.2), 4, 2.2),
        (Contention(table=(1, 2.3, 3.6)), 2, 2.3),
        (Contention(table=(1, 2.3, 3.6)), 10, 12.7),
        (Contention(table=(1, 1)), 10, 1.0),
    ],
)
def test_sharing_factor(contention: Contention, num_jobs: int, factor: float) -> None:
    assert sharing_factor(contention, num_jobs) == pytest.approx(factor)


def test_iteration_time_by_hand() -> None:
    """w = 4, m = 100 MB: 1.2 Gbit exchanged at 10 Gbit/s, 0.6 Gbit summed at 400, two servers, 100 ms."""
    work = work_of(job(gpus=4, gradient_mb=100), RACKED)
    tau = iteration_time_s(work, bandwidth_gbps=10, num_servers=2, server_latency_s=0.001)
    assert tau == pytest.approx(0.12 + 0.0015 + 0.002 + 0.1)


def test_a_lone_gpu_exchanges_nothing() -> None:
    assert work_of(job(gpus=1, gradient_mb=100), RACKED)[:2] == (0, 0)


def test_a_change_touches_only_jobs_that_share_a_link() -> None:
    jobs = [job(f"j{at}", gpus=2, gradient_mb=100) for at in range(3)]
    arrays = arrays_of(problem_of(scenario(cluster(2, 2, 2, 2, 2), *jobs)))
    state = new_state(arrays)
    reset(arrays, state)

    def start_on(index: int, *gpus: int) -> set[int]:
        state.chosen[:2] = gpus
        kernels.start(arrays, state, index, 0)
        return touched()

    def touched() -> set[int]:
        jobs_touched = set(state.touched[: state.counts[NUM_TOUCHED]].tolist())
        kernels.settle(arrays, state)
        return jobs_touched

    assert start_on(0, 0, 2) == {0}  # servers 0 and 1
    assert start_on(1, 6, 8) == {1}  # servers 3 and 4
    alone = state.finish[0]
    assert start_on(2, 3, 4) == {0, 2}  # servers 1 and 2
    assert state.finish[0] > alone
    assert touched() == set()
    kernels.advance(arrays, state, state.finish[1])
    assert touched() == set()  # nobody shared a link with it
    assert (state.num_on_link[:5] == [1, 2, 1, 0, 0]).all()


def test_best_case_is_the_better_of_one_server_and_two() -> None:
    """With uplinks faster than the inside of a server, two servers win."""
    fast = network_of(cluster(4, 4, inter_server_gbps=400))
    work = work_of(job(gpus=4, gradient_mb=1000), RACKED)
    one, two = (
        iteration_time_s(work, bandwidth_gbps=speed, num_servers=servers, server_latency_s=0)
        for speed, servers in ((200, 1), (400, 2))
    )
    assert Extremes(fast, Contention(), 1).best_case_tau(work, 4) == two < one
    assert Extremes(network_of(cluster(4, 4)), Contention(), 1).best_case_tau(work, 4) == one


def test_worst_case_fills_every_link() -> None:
    """Six jobs of two or more GPUs, but at most four GPUs behind an uplink: four share it."""
    network = network_of(cluster(4, 2))
    work = work_of(job(gpus=2, gradient_mb=100), RACKED)
    expected = iteration_time_s(work, bandwidth_gbps=10 / 4, num_servers=2, server_latency_s=0)
    assert Extremes(network, Contention(), 6).worst_case_tau(work, 2) == expected
    alone = iteration_time_s(work, bandwidth_gbps=10, num_servers=2, server_latency_s=0)
    assert Extremes(network, Contention(), 1).worst_case_tau(work, 2) == alone


def test_of_links_as_full_by_exchanges_the_lowest_slows() -> None:
    """Sums in another order differ by rounding, which must not decide whom to blame."""
    rests_s = [0.1, 0.3, 0.7, 1.1, 0.2, 0.9, 0.13]
    first = [Ring(exchange_gbit=1.0, rest_s=rest_s, free_gbps=10.0, links=[0]) for rest_s in rests_s]
    second = [ring._replace(links=[1]) for ring in reversed(first)]
    for at in range(len(first)):
        others = [*first[at:], *second, *first[:at]]
        both = Ring(exchange_gbit=1.0, rest_s=0.5, free_gbps=10.0, links=[0, 1])
        assert phase_shares(dict(enumerate([*others, both])), [10.0, 10.0])[len(others)].link == 0
