"""Links, sharing, iteration times: small cases by hand."""

from __future__ import annotations

import pytest
from tests.scenarios import cluster, job, scenario

from ringsched import Contention, Server
from ringsched.contention.fabric import Extremes, Fabric, fabric_of
from ringsched.contention.iteration_time import Ring, Work, work_of
from ringsched.contention.network import Shape, network_of, shape_of
from ringsched.contention.sharing import model_of
from ringsched.contention.traffic import NUM_TOUCHED
from ringsched.engine import events
from ringsched.engine.problem import problem_of
from ringsched.engine.state import arrays_of, new_state, reset

RACKED = cluster(
    switches={"left": 40.0, "right": 20.0},
    servers=(
        Server(name="a", gpus=4, switch="left"),
        Server(name="b", gpus=4, switch="left", unavailable=(0,)),
        Server(name="c", gpus=2, switch="right", uplink_gbps=25.0),
        Server(name="d", gpus=1),
    ),
)


def ring(work: Work, num_servers: int, latency_s: float = 0.0) -> Ring:
    return Ring(work, Shape((), num_servers, float("inf")), latency_s)


def test_nodes_are_servers_then_switches() -> None:
    network = network_of(RACKED)
    assert network.uplink_gbps == (10, 10, 25, 10, 40, 20)
    assert network.parent_of == (4, 4, 5, -1, -1, -1)
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
    assert model_of(contention).factor(num_jobs) == pytest.approx(factor)


def test_iteration_time_by_hand() -> None:
    """w = 4, m = 100 MB: 1.2 Gbit exchanged at 10 Gbit/s, 0.6 Gbit summed at 400, two servers, 100 ms."""
    work = work_of(job(gpus=4, gradient_mb=100), RACKED)
    tau = ring(work, 2, latency_s=0.002).tau(10)
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
        events.start(arrays, state, index, 0)
        return touched()

    def touched() -> set[int]:
        jobs_touched = set(state.traffic.touched[: state.traffic.counts[NUM_TOUCHED]].tolist())
        events.settle(arrays, state)
        return jobs_touched

    assert start_on(0, 0, 2) == {0}  # servers 0 and 1
    assert start_on(1, 6, 8) == {1}  # servers 3 and 4
    alone = state.finish[0]
    assert start_on(2, 3, 4) == {0, 2}  # servers 1 and 2
    assert state.finish[0] > alone
    assert touched() == set()
    events.advance(arrays, state, state.finish[1])
    assert touched() == set()  # nobody shared a link with it
    assert (state.traffic.num_on_link[:5] == [1, 2, 1, 0, 0]).all()


def test_best_case_is_the_better_of_one_server_and_two() -> None:
    """With uplinks faster than the inside of a server, two servers win."""
    fast, slow = (fabric_of(cluster(4, 4, inter_server_gbps=speed), Contention()) for speed in (400, 10))
    work = work_of(job(gpus=4, gradient_mb=1000), RACKED)
    one, two = ring(work, 1).tau(200), ring(work, 2).tau(400)
    assert Extremes(fast, 1).best_case_tau(work, 4) == two < one
    assert Extremes(slow, 1).best_case_tau(work, 4) == one


def test_worst_case_fills_every_link() -> None:
    """Six jobs of two or more GPUs, but at most four GPUs behind an uplink: four share it."""
    fabric = fabric_of(cluster(4, 2), Contention())
    work = work_of(job(gpus=2, gradient_mb=100), RACKED)
    assert Extremes(fabric, 6).worst_case_tau(work, 2) == ring(work, 2).tau(10 / 4)
    assert Extremes(fabric, 1).worst_case_tau(work, 2) == ring(work, 2).tau(10)


def test_of_links_as_full_by_exchanges_the_lowest_slows() -> None:
    """Sums in another order differ by rounding, which must not decide whom to blame."""
    rests_s = [0.1, 0.3, 0.7, 1.1, 0.2, 0.9, 0.13]
    network = network_of(cluster(9, 9, inter_server_gbps=10.0))
    fabric = Fabric(network, model_of(Contention(model="phases")), 0.0)
    first = [Ring(Work(1.0, 0.0, rest_s), Shape((0,), 2, 10.0), 0.0) for rest_s in rests_s]
    second = [ring._replace(shape=Shape((1,), 2, 10.0)) for ring in reversed(first)]
    for at in range(len(first)):
        others = [*first[at:], *second, *first[:at]]
        both = Ring(Work(1.0, 0.0, 0.5), Shape((0, 1), 2, 10.0), 0.0)
        paces = fabric.iteration_times(dict(enumerate([*others, both])))
        assert paces[len(others)].link == 0
