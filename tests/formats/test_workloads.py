"""Workloads check themselves, and what is generated from them is what they say."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import ringsched
from ringsched.engine.problem import problem_of
from ringsched.errors import InputError, UnknownName
from ringsched.formats.jobs import CATALOGUE
from ringsched.formats.scenario_text import scenario_to_json
from ringsched.model import Cluster, Contention, Job, Scenario, Server, Time
from ringsched.workloads import (
    Diurnal,
    DrawnServers,
    Poisson,
    Spread,
    Workload,
    contention_share,
    generate,
    offered_load,
)
from ringsched.workloads.draw import JOBS, SERVERS, Draw
from ringsched.workloads.load import LATENCY_FACTORS, Scale, scale_for, scaled
from ringsched.workloads.mixes import MODEL_MIXES, SIZE_MIXES, apportioned, model_mix, size_mix

PAPER_SIZES = {1: 80, 2: 14, 4: 26, 8: 30, 16: 8, 32: 2}


def paper(seed: int = 0, servers: int = 20, contention: float = 0.15, **fields: Any) -> Scenario:
    return generate(Workload.paper(servers, contention, **fields), seed=seed)


def uniform(seed: int = 0, servers: int = 4, **fields: Any) -> Scenario:
    return generate(Workload.uniform(cluster=Cluster.of_servers(servers), **fields), seed=seed)


# draws


def test_draws_cover_their_range_and_nothing_else() -> None:
    draw = Draw(3, JOBS)
    assert {draw.integer(2, 5) for _ in range(200)} == {2, 3, 4, 5}
    assert {draw.choice("abc") for _ in range(100)} == set("abc")
    assert all(2 <= draw.uniform(2, 3) <= 3 for _ in range(100))
    assert all(2 <= draw.log_uniform(2, 300) <= 300 for _ in range(100))
    assert sorted(draw.shuffled(range(50))) == list(range(50))


def test_shuffles_are_even() -> None:
    draw = Draw(0, JOBS)
    counts = Counter("".join(draw.shuffled("abc")) for _ in range(6000))
    assert len(counts) == 6
    assert all(850 < count < 1150 for count in counts.values())


def test_the_streams_of_all_seeds_differ() -> None:
    firsts = {Draw(seed, stream).uniform(0, 1) for seed in range(50) for stream in (JOBS, SERVERS)}
    assert len(firsts) == 100


def test_draws_stay_the_same() -> None:
    """The bytes of a seed must not change with the version; these were drawn by the first."""
    draw = Draw(1, SERVERS)
    assert [draw.integer(0, 99) for _ in range(8)] == [23, 54, 36, 60, 62, 6, 1, 83]


# the paper's workload


@pytest.mark.parametrize("seed", range(5))
def test_paper_mix_and_ranges(seed: int) -> None:
    scenario = paper(seed)
    assert Counter(job.gpus for job in scenario.jobs) == PAPER_SIZES
    for job in scenario.jobs:
        assert 1000 <= job.iterations <= 6000
        assert 0.01 - 1e-12 <= job.compute_s <= 0.05 + 1e-12
        assert 50 - 1e-9 <= job.iterations * job.compute_s <= 300 + 1e-9
        assert job.server_slack == 1
        assert job.submit_s == 0
    assert len(scenario.cluster.servers) == 20
    assert {server.gpus for server in scenario.cluster.servers} <= {4, 8, 16, 32}
    assert scenario.time == Time(model="slotted", slot_s=1, horizon_s=1200)
    assert scenario.contention.degradation == 0.2745


def test_paper_sizes_are_shuffled_and_servers_vary() -> None:
    orders = {tuple(job.gpus for job in paper(seed, contention=0).jobs) for seed in range(5)}
    assert len(orders) == 5
    servers = [
        server.gpus for seed in range(100) for server in paper(seed, contention=0, jobs=2).cluster.servers
    ]
    assert all(abs(servers.count(gpus) / len(servers) - 0.25) < 0.04 for gpus in (4, 8, 16, 32))


@pytest.mark.parametrize("seed", range(3))
def test_first_servers_and_jobs_are_the_same_for_every_number_of_servers(seed: int) -> None:
    whole = paper(seed, 20, share_servers=20)
    for servers in (10, 13, 19):
        fewer = paper(seed, servers, share_servers=20)
        assert fewer.cluster.servers == whole.cluster.servers[:servers]
        assert fewer.jobs == whole.jobs
        assert fewer.contention == whole.contention
        own = paper(seed, servers)
        assert own.cluster == fewer.cluster
        factors = [a.gradient_mb / b.gradient_mb for a, b in zip(own.jobs, whole.jobs, strict=True)]
        assert max(factors) - min(factors) < 1e-4
        assert [job.replace(gradient_mb=0) for job in own.jobs] == [
            job.replace(gradient_mb=0) for job in whole.jobs
        ]


def test_share_servers_is_where_the_share_is_reached() -> None:
    assert paper(0, 20, share_servers=20) == paper(0, 20)
    assert paper(0, 12, share_servers=20) != paper(0, 12)


@pytest.mark.parametrize("seed", [0, 1, 4, 24, 31])  # 24 and 31 jump over 0.15 at the first latency
@pytest.mark.parametrize("share", [0.05, 0.15, 0.3])
def test_share_is_reached(seed: int, share: float) -> None:
    scenario = paper(seed, contention=share)
    assert abs(contention_share(scenario) - share) <= 0.005
    assert abs(share_by_hand(scenario) - share) <= 0.005


@pytest.mark.parametrize("servers", [10, 14])
def test_share_is_reached_on_fewer_servers(servers: int) -> None:
    scenario = paper(7, servers)
    assert abs(contention_share(scenario) - 0.15) <= 0.005


def share_by_hand(scenario: Scenario) -> float:
    """From a plan with a theta that limits nothing, and whole slots of floor(1 / tau) iterations."""
    plan = ringsched.plan(scenario.replace(time=Time()), "list-scheduling", theta=10**9)
    actual = sum(job.finish_s - job.start_s for job in plan.jobs)
    compute_only = sum(math.ceil(job.iterations / int(1 / job.compute_s + 1e-9)) for job in scenario.jobs)
    return 1 - compute_only / actual


def test_no_contention_means_no_exchange_and_no_latency() -> None:
    scenario = paper(2, contention=0)
    assert {job.gradient_mb for job in scenario.jobs} == {0}
    assert scenario.contention.server_latency_ms == 0
    assert contention_share(scenario) == 0


def test_one_factor_scales_all() -> None:
    base = paper(0, contention=0.05)
    twice = scaled(base, Scale(2, 3))
    assert all(
        b.gradient_mb == pytest.approx(2 * a.gradient_mb, rel=1e-5)
        for a, b in zip(base.jobs, twice.jobs, strict=True)
    )
    assert twice.contention.server_latency_ms == pytest.approx(
        3 * base.contention.server_latency_ms, rel=1e-5
    )
    scale = scale_for(base, 0.1)
    assert round(scale.latency / scale.gradients, 6) in LATENCY_FACTORS


@pytest.mark.parametrize("share", [0.7, 1])
def test_share_that_cannot_be_reached(share: float) -> None:
    with pytest.raises(
        InputError, match=f"contention_share = {share} cannot be reached: at about 0.5"
    ) as caught:
        paper(0, contention=share)
    assert "worst case of an iteration fills a whole slot" in str(caught.value)


def test_as_far_as_is_said_one_can_go() -> None:
    with pytest.raises(InputError) as caught:
        paper(0, contention=1)
    said = float(str(caught.value).split("at about ")[1].split(" ")[0])
    scenario = paper(0, contention=said)
    assert abs(contention_share(scenario) - said) <= 0.005


def test_share_that_is_jumped_over() -> None:
    """One job in whole slots has few possible durations."""
    with pytest.raises(
        InputError, match=r"contention_share = 0.01 cannot be met within 0.005; the nearest found is"
    ):
        paper(0, contention=0.01, jobs=1)


def test_servers_must_hold_the_largest_job() -> None:
    refused = [seed for seed in range(20) if not holds(seed, 2)]
    assert 0 < len(refused) < 20
    with pytest.raises(
        InputError, match=r"servers = 2 is too few: with seed \d+ they hold \d+ GPUs, .* needs 32"
    ):
        paper(refused[0], 2, 0)


def holds(seed: int, servers: int) -> bool:
    whole = paper(seed, contention=0).cluster.servers
    return sum(server.gpus for server in whole[:servers]) >= 32


def test_other_numbers_of_jobs_keep_the_proportions() -> None:
    scenario = paper(0, 40, jobs=320)
    assert Counter(job.gpus for job in scenario.jobs) == {
        gpus: 2 * count for gpus, count in PAPER_SIZES.items()
    }
    assert scenario.cluster.servers[:20] == paper(0).cluster.servers


def test_horizon_can_be_set_and_left_out() -> None:
    assert paper(0, contention=0, horizon_s=1500).time.horizon_s == 1500
    assert paper(0, contention=0, horizon_s=None).time.horizon_s is None


@pytest.mark.parametrize("policy", ["sjf-bco", "longest-first"])
def test_paper_workload_plans_and_verifies(policy: str) -> None:
    scenario = paper(5)
    assert ringsched.verify(scenario, ringsched.plan(scenario, policy)).valid


# shares of other scenarios


def two_jobs(model: str, gradient_mb: float) -> Scenario:
    """Two jobs of two GPUs on two servers of two: list-scheduling gives each job one server."""
    job = Job(
        name="a", gpus=2, iterations=100, gradient_mb=gradient_mb, minibatch=1, forward_ms=0, backward_ms=100
    )
    cluster = Cluster(
        servers=(Server(name="s", gpus=2), Server(name="t", gpus=2)),
        inter_server_gbps=10,
        intra_server_gbps=8,
        reduce_gbps=8,
    )
    return Scenario(
        cluster=cluster,
        jobs=(job, job.replace(name="b")),
        time=Time(model=model),
        contention=Contention(server_latency_ms=5),
    )


def test_share_of_a_small_scenario() -> None:
    # 10 MB: 0.01 s exchanged, 0.005 s reduced, 0.005 s latency on top of 0.1 s.
    assert contention_share(two_jobs("continuous", 10)) == pytest.approx(1 - 0.1 / 0.12)
    # In slots: 8 instead of 10 iterations a slot, 13 slots instead of 10.
    assert contention_share(two_jobs("slotted", 10)) == pytest.approx(1 - 10 / 13)


def test_share_without_jobs_is_zero() -> None:
    assert contention_share(two_jobs("slotted", 1).replace(jobs=())) == 0


# mixes


@pytest.mark.parametrize("number_of", [1, 7, 160, 1000, 9999])
@pytest.mark.parametrize("name", SIZE_MIXES)
def test_apportioned_counts_are_within_one_of_the_weights(name: str, number_of: int) -> None:
    mix = SIZE_MIXES[name]
    counts = Counter(apportioned(mix, number_of))
    assert sum(counts.values()) == number_of
    for gpus, weight in mix.items():
        assert abs(counts[gpus] - number_of * weight / sum(mix.values())) < 1


def test_philly_mix_is_mostly_single_gpus() -> None:
    mix = SIZE_MIXES["philly"]
    assert sum(mix.values()) == 10_000
    assert 0.93 < mix[1] / 10_000 < 0.94
    assert max(mix) == 128


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("paper", {gpus: float(count) for gpus, count in PAPER_SIZES.items()}),
        ("1:80,2:14", {1: 80, 2: 14}),
        (" 4 : 0.5 , 8 ", {4: 0.5, 8: 1}),
        ("8", {8: 1}),
        ({3: 2}, {3: 2}),
    ],
)
def test_size_mixes(given: Any, expected: dict[int, float]) -> None:
    assert size_mix(given, "sizes") == expected


def test_model_mixes() -> None:
    assert set(model_mix("uniform", "models")) == set(CATALOGUE)
    assert all(set(mix) <= set(CATALOGUE) for mix in MODEL_MIXES.values())
    assert set(MODEL_MIXES["vision"]) | set(MODEL_MIXES["language"]) == set(CATALOGUE)
    assert model_mix("vgg16:2,bert-base", "models") == {"vgg16": 2, "bert-base": 1}


@pytest.mark.parametrize(
    ("mix", "said"),
    [
        ("", "sizes must look like 1:80,2:14 or be a name, not ''"),
        ("1:", "sizes must look like"),
        ("1,,2", "sizes must look like"),
        ("1:2:3", "sizes: the weight of 1 must be a number"),
        ("1:0", "sizes: the weight of 1 must be a number > 0"),
        ("1:nan", "sizes: the weight of 1 must be a number"),
        ("1:inf", "sizes: the weight of 1 must be a number"),
        ("0:1", "sizes: a size must be an integer >= 1, not 0"),
        ("-1:1", "sizes: a size must be an integer >= 1, not -1"),
        ("--1", "unknown mix of sizes '--1'"),
        ("1:1,1:2", "sizes names 1 twice"),
        ("phily", r"unknown mix of sizes 'phily' \(did you mean 'philly'\?\)"),
        ({}, "sizes must not be empty"),
        ({1.5: 1}, "sizes: a size must be an integer"),
        (None, "sizes must be a mix of sizes, not null"),
    ],
)
def test_size_mixes_that_are_none(mix: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        size_mix(mix, "sizes")


def test_unknown_model_lists_mixes_and_models() -> None:
    with pytest.raises(UnknownName, match="did you mean 'resnet50'") as caught:
        model_mix("resnet5", "models")
    assert {"uniform", "vision", "resnet50"} <= set(caught.value.choices)


# the uniform workload


def test_uniform_mixes_and_durations() -> None:
    scenario = uniform(
        2, 40, jobs=400, sizes="1:3,4:1", models="resnet50:3,vgg16:1", min_hours=1, max_hours=10
    )
    assert Counter(job.gpus for job in scenario.jobs) == {1: 300, 4: 100}
    models = Counter(job.name.rsplit("-", 1)[0] for job in scenario.jobs)
    assert models == {"resnet50": 300, "vgg16": 100}
    for job in scenario.jobs:
        assert job.gradient_mb == CATALOGUE[job.name.rsplit("-", 1)[0]].gradient_mb
    hours = [duration / 3600 for duration in problem_of(scenario).best_case]
    assert 1 - 1e-3 <= min(hours) < 1.1
    assert 9 < max(hours) <= 10 + 1e-3
    assert abs(sum(hour < math.sqrt(10) for hour in hours) / 400 - 0.5) < 0.08  # half below the middle
    assert not scenario.time.slotted
    assert {job.submit_s for job in scenario.jobs} == {0}


def test_sizes_and_models_are_drawn_independently() -> None:
    scenario = uniform(0, 40, jobs=400, sizes="1,4", models="resnet50,vgg16")
    kinds = Counter((job.gpus, job.gradient_mb) for job in scenario.jobs)
    assert len(kinds) == 4
    assert all(75 <= count <= 125 for count in kinds.values())


def test_switches_are_even_and_oversubscribed() -> None:
    cluster = Cluster.of_servers(10, switches=4)
    in_rack = Counter(server.switch for server in cluster.servers)
    assert sorted(in_rack.values()) == [2, 2, 3, 3]
    assert [rack.name for rack in cluster.switches] == ["r0", "r1", "r2", "r3"]
    assert {rack.uplink_gbps for rack in cluster.switches} == {100}  # 3 servers / 4 would be below one server
    cluster = Cluster.of_servers(32, switches=2, inter_server_gbps=10)
    assert {rack.uplink_gbps for rack in cluster.switches} == {40}
    cluster = Cluster.of_servers(32, switches=2, switch_uplink_gbps=7)
    assert {rack.uplink_gbps for rack in cluster.switches} == {7}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"servers": 0}, "servers must be an integer >= 1"),
        ({"servers": 10**6}, "servers = 1000000 of 8 GPUs are more than 1000000 GPUs"),
        ({"gpus_per_server": 1.5}, "gpus_per_server must be an integer"),
        ({"switches": 5}, "switches = 5 are more than the servers, 4"),
        ({"switch_uplink_gbps": 1}, "switch_uplink_gbps is only allowed with at least one switch"),
        ({"inter_server_gbps": 0}, "inter_server_gbps must be a number > 0"),
    ],
)
def test_refusals_of_identical_servers(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Cluster.of_servers(**({"servers": 4} | options))


def test_uniform_submit_times_and_slots() -> None:
    scenario = uniform(servers=4, jobs=50, submit_hours=2, time=Time(slot_s=60))
    submits_s = [job.submit_s for job in scenario.jobs]
    assert submits_s == sorted(submits_s)
    assert 0 < submits_s[0] < 1000 < 6000 < submits_s[-1] <= 7200
    assert scenario.time == Time(slot_s=60)


@pytest.mark.parametrize("switches", [0, 2])
@pytest.mark.parametrize("fields", [{}, {"time": Time(slot_s=60.0), "submit_hours": 5.0}])
def test_uniform_plans_and_verifies(switches: int, fields: dict[str, Any]) -> None:
    cluster = Cluster.of_servers(8, switches=switches)
    scenario = generate(Workload.uniform(jobs=60, cluster=cluster, **fields), seed=1)
    plan = ringsched.plan(scenario, stop=ringsched.Stop(max_schedules=500))
    assert ringsched.verify(scenario, plan).valid


# the workload object


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"jobs": 0}, "jobs must be an integer >= 1"),
        ({"jobs": 1_000_001}, "jobs must be at most 1000000"),
        ({"sizes": "64"}, "sizes asks for a job of 64 GPUs, but the cluster has 32"),
        ({"sizes": None}, "sizes must be a mix of sizes, not null"),
        ({"models": "resnet"}, "unknown mix or model 'resnet'"),
        ({"models": None}, "contention_share is required without models"),
        ({"contention_share": 0.1}, "contention_share is only allowed without models"),
        ({"contention_share": 2}, "contention_share must be a number >= 0 and <= 1, not 2"),
        (
            {"models": None, "contention_share": 0.1},
            "contention_share is only allowed in slotted time",
        ),
        ({"min_hours": 0}, "min_hours must be a number > 0"),
        ({"min_hours": 3, "max_hours": 2}, "min_hours = 3 h is above the longest, 2 h"),
        ({"submit_hours": -1}, "submit_hours must be a number >= 0"),
        ({"arrivals": 0.8}, "arrivals must be a Arrivals, not 0.8"),
        ({"cluster": 4}, "cluster must be a Cluster, not 4"),
        ({"contention": 0.15}, "contention must be a Contention, not 0.15"),
        ({"time": 60}, "time must be a Time, not 60"),
        ({"name": ""}, "name must"),
    ],
)
def test_a_workload_refuses_what_cannot_be(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Workload.uniform(**({"cluster": Cluster.of_servers(4), "jobs": 10} | fields))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Workload.paper(servers=0), "servers must be an integer >= 1"),
        (lambda: Workload.paper(share_servers=0), "share_servers must be an integer >= 1"),
        (lambda: Workload.paper(jobs=10_001), "jobs must be at most 10000"),
        (lambda: Workload.paper(horizon_s=0), "horizon_s must be a number > 0"),
        (lambda: Workload.poisson(load=0), "load must be a number > 0"),
        (lambda: Workload.diurnal(load=0), "load must be a number > 0"),
        (lambda: Workload.diurnal(swing=2), "swing must be a number >= 0 and <= 1"),
        (lambda: Workload.diurnal(peak_hour=25), "peak_hour must be a number >= 0 and <= 24"),
        (lambda: generate(Workload.paper(), seed=-1), "seed must be an integer >= 0"),
        (lambda: generate("paper"), "workload must be a Workload, not 'paper'"),
        (lambda: uniform(jobs=10, time=Time(slot_s=0.01)), r"slot_s = 0.01 is shorter .* of jobs\[0\]"),
    ],
)
def test_refusals(make: Callable[[], object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        make()


def test_replaced_fields_are_checked_and_the_rest_stays() -> None:
    workload = Workload.diurnal(load=0.5, jobs=30, sizes={1: 3, 4: 0.1})
    more = workload.replace(jobs=60)
    assert (more.jobs, more.sizes, more.arrivals) == (60, workload.sizes, Diurnal(0.5))
    assert generate(more.replace(jobs=30)) == generate(workload)
    with pytest.raises(InputError, match="jobs must be an integer"):
        workload.replace(jobs=1.5)
    with pytest.raises(InputError, match="load must be a number > 0"):
        Poisson(0.5).replace(load=-1)


def test_a_workload_is_a_value() -> None:
    """It has a hash, and mixes given as text and as mappings draw the same jobs."""
    text = Workload.uniform(jobs=40, sizes="1:3,4:0.1", models="vgg16:2,resnet50")
    mapping = Workload.uniform(jobs=40, sizes={1: 3, 4: 0.1}, models={"vgg16": 2, "resnet50": 1})
    assert generate(text) == generate(mapping)
    assert {text, Workload.uniform(jobs=40, sizes="1:3,4:0.1", models="vgg16:2,resnet50")} == {text}
    assert pickle.loads(pickle.dumps(mapping)) == mapping
    assert size_mix(Workload.uniform(sizes={1: 1 / 3, 4: 1e-9}).sizes, "sizes") == {1: 1 / 3, 4: 1e-9}


def test_parts_combine() -> None:
    """Known models on drawn servers; the paper's jobs on a given cluster, arriving over time."""
    drawn = generate(Workload.poisson(jobs=50, sizes="paper", cluster=DrawnServers(6)), seed=3)
    assert drawn.cluster == paper(3, 6, contention=0).cluster
    with pytest.raises(InputError, match="servers = 1 is too few"):
        generate(Workload.poisson(jobs=50, sizes="paper", cluster=DrawnServers(1)))
    cluster = Cluster.of_servers(10, switches=2)
    arriving = generate(Workload.paper(cluster=cluster, arrivals=Poisson(0.9), contention_share=0.1))
    assert arriving.cluster == cluster
    assert abs(contention_share(arriving) - 0.1) <= 0.005
    without_exchange = generate(Workload.paper(contention_share=0, arrivals=Poisson(0.9)))
    # The last of 160 jobs arrives somewhat before the span ends.
    assert offered_load(without_exchange) == pytest.approx(0.9, rel=0.03)
    later = generate(Workload.paper(arrivals=Spread(0.1), contention_share=0))
    assert 300 < later.jobs[-1].submit_s <= 360


# the text


@pytest.mark.parametrize(
    "scenario",
    [
        generate(Workload.uniform(jobs=4, cluster=Cluster.of_servers(3, switches=2), sizes="1")),
        two_jobs("slotted", 1),
        two_jobs("slotted", 1).replace(jobs=(), name="ß"),
    ],
    ids=["racks", "plain", "empty"],
)
def test_text_says_the_same_scenario(scenario: Scenario) -> None:
    import json

    text = scenario_to_json(scenario)
    assert ringsched.scenario_from_dict(json.loads(text)) == scenario
    assert text.endswith("}\n")
    assert sum('"iterations"' in line for line in text.splitlines()) == len(scenario.jobs)


def test_same_seed_same_bytes() -> None:
    for make in (paper, lambda seed: uniform(seed, 8, jobs=50)):
        texts = [scenario_to_json(make(seed)) for seed in (0, 1, 0)]
        assert texts[0] == texts[2] != texts[1]


# arrivals


ARRIVING = pytest.mark.parametrize("kind", [Workload.poisson, Workload.diurnal])


@ARRIVING
@pytest.mark.parametrize("load", [0.3, 0.8, 2.0])
def test_the_load_is_the_one_asked_for(kind: Callable[..., Workload], load: float) -> None:
    scenario = generate(kind(load=load, jobs=3000, cluster=Cluster.of_servers(64, switches=8)))
    problem = problem_of(scenario)
    area = sum(gpus * best for gpus, best in zip(problem.gpus, problem.best_case, strict=True))
    by_hand = area / (512 * scenario.jobs[-1].submit_s)
    assert by_hand == pytest.approx(load, rel=0.003)
    assert offered_load(scenario) == pytest.approx(by_hand, rel=1e-9)


@ARRIVING
def test_mixes_are_followed_and_time_is_continuous(kind: Callable[..., Workload]) -> None:
    cluster = Cluster.of_servers(4)
    scenario = generate(kind(jobs=400, sizes="1:3,8:1", models="vgg16:1,resnet50:1", cluster=cluster))
    assert Counter(job.gpus for job in scenario.jobs) == {1: 300, 8: 100}
    assert Counter(job.gradient_mb for job in scenario.jobs) == {526.4: 200, 99.2: 200}
    assert not scenario.time.slotted
    submits = [job.submit_s for job in scenario.jobs]
    assert submits == sorted(submits)
    assert all(0.5 <= hours / 3600 <= 8.01 for hours in problem_of(scenario).best_case)


@ARRIVING
def test_the_same_seed_gives_the_same_scenario(kind: Callable[..., Workload]) -> None:
    assert generate(kind(jobs=50), seed=1) == generate(kind(jobs=50), seed=1)
    assert generate(kind(jobs=50), seed=1) != generate(kind(jobs=50), seed=2)


def test_gaps_between_arrivals_are_exponential() -> None:
    submits = [job.submit_s for job in generate(Workload.poisson(jobs=20_000), seed=3).jobs]
    gaps = [later - earlier for earlier, later in pairwise(submits)]
    mean = sum(gaps) / len(gaps)
    for times in (0.5, 1, 2):
        above = sum(gap > times * mean for gap in gaps) / len(gaps)
        assert above == pytest.approx(math.exp(-times), abs=0.01)


@pytest.mark.parametrize(("swing", "peak_hour"), [(0.0, 14), (0.5, 6), (1.0, 20)])
def test_the_rate_follows_the_hour(swing: float, peak_hour: float) -> None:
    scenario = generate(Workload.diurnal(0.2, swing, peak_hour, jobs=40_000))
    days = int(scenario.jobs[-1].submit_s // 86400)
    hours = Counter(int(job.submit_s / 3600 % 24) for job in scenario.jobs if job.submit_s < days * 86400)
    mean = sum(hours.values()) / 24
    for hour in range(24):
        expected = 1 + swing * math.cos(2 * math.pi * (hour + 0.5 - peak_hour) / 24)
        assert hours[hour] / mean == pytest.approx(expected, abs=0.1)


def test_a_slot_too_short_is_refused() -> None:
    with pytest.raises(InputError, match="is shorter than an iteration"):
        generate(Workload.poisson(jobs=20, time=Time(slot_s=0.01)))
    assert generate(Workload.poisson(jobs=20, time=Time(slot_s=60.0))).time.slotted


def test_load_without_arrivals_is_none() -> None:
    assert offered_load(uniform(jobs=10, sizes="1")) == 0.0
    assert offered_load(ringsched.load_scenario("examples/first.toml").replace(jobs=())) == 0.0


def test_load_by_hand() -> None:
    """Two jobs, one of them running: 2 GPUs of 100 s and 1 GPU of 50 s, on 8 GPUs over 25 s."""
    scenario = ringsched.load_scenario("examples/first.toml")
    cluster = scenario.cluster.replace(servers=(scenario.cluster.servers[0].replace(gpus=8),), switches=())
    plain = scenario.jobs[0].replace(
        gpus=1, iterations=100, minibatch=1, forward_ms=0.0, backward_ms=500.0, submit_s=25.0
    )
    running = plain.replace(name="r", iterations=200, submit_s=0.0, running_on={cluster.servers[0].name: [0]})
    contention = scenario.contention.replace(server_latency_ms=0.0)
    scenario = scenario.replace(cluster=cluster, jobs=(plain, running), contention=contention)
    assert offered_load(scenario) == pytest.approx((50 + 100) / (8 * 25))
