"""Hand-computed cases for the reference implementation, and agreement of its parts with each other."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest
from tests.reference import formulas
from tests.reference.algorithm_1 import bisect_theta, horizon_ticks, kappas, sjf_bco
from tests.reference.dispatch import ORDERS, dispatch
from tests.reference.replay import replay
from tests.reference.rules import RULES, State, charges, choose
from tests.scenarios import cluster, job, scenario

from ringsched.model import Contention, Job, Scenario, Server, Switch

CONTINUOUS = {"model": "continuous"}


def slots_job(name: str, slots: int, gpus: int = 1, **fields: Any) -> Job:
    """A job of so many slots of 1 s wherever it runs: one iteration a slot, nothing to exchange."""
    return job(name, gpus, slots, backward_ms=1000, **fields)


def two_racks(*jobs: Job, **parts: Any) -> Scenario:
    """Racks r0 (s0, s1) and r1 (s2, s3) of 2-GPU servers, 10 Gbit/s a server and 8 a rack."""
    servers = tuple(Server(name=f"s{at}", gpus=2, switch=f"r{at // 2}") for at in range(4))
    return scenario(cluster(servers=servers, switches={"r0": 8, "r1": 8}), *jobs, **parts)


# --- formulas ---------------------------------------------------------------------------------


def test_contention_factor_of_wang_et_al() -> None:
    contention = Contention(degradation=0.2745)
    assert round(float(formulas.contention_factor(contention, 4)), 2) == 4.82
    assert formulas.contention_factor(contention, 1) == 1


def test_share_below_one_job_is_clamped() -> None:
    contention = Contention(share=0.25, degradation=0.5)
    assert [formulas.contention_factor(contention, n) for n in (1, 4, 8)] == [1, 1, Fraction(5, 2)]


def test_table_goes_on_with_the_last_slope() -> None:
    contention = Contention(table=(1.0, 2.5, 3.0))
    assert [formulas.contention_factor(contention, n) for n in (1, 2, 3, 4, 6)] == [1, 2.5, 3, 3.5, 4.5]


def test_iteration_time_with_racks_by_hand() -> None:
    # m (w-1)/w = 500 MB = 4 Gbit, so the exchange is 8 Gbit / B, the reduction 4/400 s = 0.01 s.
    a, b, c = (job(name, 2, 10, gradient_mb=1000) for name in "abc")
    case = two_racks(a, b, c)
    running = [(a, {"s0": [0], "s1": [0]}), (b, {"s0": [1], "s2": [0]}), (c, {"s1": [1], "s3": [0]})]
    taus = formulas.iteration_times(case, running)
    # a crosses s0 and s1, each with one more job: B = 10/2. b and c share the racks: B = 8/2.
    assert taus == {"a": Fraction(171, 100), "b": Fraction(211, 100), "c": Fraction(211, 100)}
    assert formulas.iteration_time(case, *running[0]) == Fraction(8, 10) + Fraction(11, 100)
    assert formulas.iteration_time(case, *running[1]) == 1 + Fraction(11, 100)


def test_intra_server_speed_counts_where_two_workers_share_a_server() -> None:
    one = job("one", 3, 10, gradient_mb=750)  # m (w-1)/w = 500 MB = 4 Gbit
    case = scenario(cluster(2, 2, 4, intra_server_gbps=5), one, contention={"server_latency_ms": 10})
    assert formulas.iteration_time(case, one, {"s2": [0, 1, 2]}) == Fraction(8, 5) + Fraction(12, 100)
    assert formulas.iteration_time(case, one, {"s0": [0, 1], "s1": [0]}) == Fraction(8, 5) + Fraction(13, 100)
    assert formulas.iteration_time(case, one, {"s0": [0], "s1": [0], "s2": [0]}) == Fraction(94, 100)


def test_best_and_worst_case_by_hand() -> None:
    big = job("big", 4, 10, gradient_mb=1000)  # m (w-1)/w = 750 MB = 6 Gbit; exchange 12 Gbit / B
    other = job("other", 2)
    case = scenario(cluster(3, 3, 1), big, other, contention={"degradation": 0.5, "server_latency_ms": 10})
    compute = Fraction(1, 10) + Fraction(6, 400)
    # No server holds 4. Best: two servers at 10 Gbit/s. Worst: three servers, n = 2, f = 2.5, B = 4.
    assert formulas.best_case_tau(case, big) == Fraction(12, 10) + Fraction(20, 1000) + compute
    assert formulas.worst_case_tau(case, big) == 3 + Fraction(30, 1000) + compute
    # other: one server at 200 Gbit/s against two servers: nothing to exchange, so the latency decides.
    assert formulas.best_case_tau(case, other) == Fraction(110, 1000)
    assert formulas.worst_case_tau(case, other) == Fraction(120, 1000)


def test_worst_case_of_a_one_gpu_job_is_its_best_case() -> None:
    one = job("one", 1, gradient_mb=1000)
    case = scenario(cluster(2, 2), one, job("two", 2), contention={"server_latency_ms": 10})
    assert formulas.worst_case_tau(case, one) == formulas.best_case_tau(case, one) == Fraction(11, 100)


def test_worst_case_counts_racks_and_running_jobs() -> None:
    a = job("a", 2, 10, gradient_mb=1000, running_on={"s0": [0, 1]})
    b = job("b", 2, 10, gradient_mb=1000)
    case = two_racks(a, b)
    assert formulas.worst_case_tau(case, b) == Fraction(8, 4) + Fraction(11, 100)  # rack: 8 / f(2)


def test_slots_have_a_slack_of_a_billionth() -> None:
    case = scenario(cluster(1), job())  # an iteration takes 0.1 s, a slot 1 s
    assert formulas.iterations_per_slot(case, Fraction(1, 10)) == 10
    assert formulas.iterations_per_slot(case, Fraction(1, 10) + Fraction(1, 10**12)) == 10
    assert formulas.iterations_per_slot(case, Fraction(1, 10) + Fraction(1, 10**9)) == 9
    late = [job(f"j{at}", submit_s=s) for at, s in enumerate((0.0, 1e-10, 1e-8, 1.0, 1.5))]
    assert [formulas.release_ticks(case, one) for one in late] == [0, 0, 1, 1, 2]


def test_lower_bound_terms_by_hand() -> None:
    jobs = [
        slots_job("a", 10, 3),
        slots_job("b", 4, 1),
        slots_job("c", 5, 4, submit_s=3.5),
        slots_job("d", 1),
    ]
    # N = 4. Longest: c 4 + 5, a 10. Area: ceil((30 + 4 + 20 + 1)/4) = 14. Wide: a and c, 15.
    case = scenario(cluster(4), *jobs)
    assert formulas.core_bounds(case) == (10, 14, 15)
    assert formulas.lower_bound(case) == 15
    continuous = scenario(cluster(4), *jobs, time=CONTINUOUS)
    assert formulas.core_bounds(continuous) == (10, Fraction(55, 4), 15)
    half = scenario(cluster(4), *jobs, time={"slot_s": 2.0})  # 5, 2, 2 + 3, 1 slots
    assert formulas.core_bounds(half) == (10, 2 * 8, 2 * 8)
    assert formulas.lower_bound(scenario(cluster(4))) == 0


def test_lower_bound_takes_a_running_job_at_its_own_placement() -> None:
    # 8 Gbit / 10 + 4/400 + 0.1 = 0.91 s an iteration, 6 left: one a slot.
    spread = job("r", 2, 10, gradient_mb=1000, running_on={"s0": [0], "s1": [0]}, done_iterations=4)
    assert formulas.lower_bound(scenario(cluster(2, 2), spread)) == 6
    expected = 6 * Fraction(91, 100)
    assert formulas.lower_bound(scenario(cluster(2, 2), spread, time=CONTINUOUS)) == expected


# --- replay -----------------------------------------------------------------------------------


def spread_pair(**time: Any) -> tuple[Scenario, list[dict[str, list[int]]]]:
    """Two jobs of 10 iterations over the same two servers: 0.91 s alone, 1.71 s together."""
    pair = [job(name, 2, 10, gradient_mb=1000) for name in "ab"]
    case = scenario(cluster(2, 2), *pair, time=time)
    return case, [{"s0": [at], "s1": [at]} for at in range(2)]


def test_replay_slotted_by_hand() -> None:
    case, places = spread_pair(slot_s=2.0)  # 2 a slot alone, 1 together
    # a alone in slots 0, 1 (4 done), together in 2 .. 7 (10 done); b has 6 done, alone in 8, 9.
    assert replay(case, [0, 4], places) == [16, 20]


def test_replay_continuous_by_hand() -> None:
    case, places = spread_pair(model="continuous")
    alone, together = Fraction(91, 100), Fraction(171, 100)
    # a does one iteration alone, then nine next to b, which then does its last one alone.
    finish = alone + 9 * together
    assert replay(case, [0, alone], places) == [finish, finish + alone]


def test_completions_within_a_billionth_are_one_instant() -> None:
    jobs = [job("a", 1, 10), job("b", 1, 10, backward_ms=100.00000001), job("c", 1, 10, backward_ms=100.0001)]
    case = scenario(cluster(4), *jobs, time=CONTINUOUS)
    finishes = replay(case, [0, 0, 0], [{"s0": [at]} for at in range(3)])
    assert finishes[:2] == [1, 1]
    assert finishes[2] > 1


# --- rules ------------------------------------------------------------------------------------


def state(*capacity: int, busy: dict[int, list[int]] | None = None, **load: int) -> State:
    made = State.empty(scenario(cluster(*capacity)))
    for server, gpus in (busy or {}).items():
        for gpu in gpus:
            made.idle[server, gpu] = False
    for place, u in load.items():  # g0_1 = server 0, GPU 1
        at, index = place[1:].split("_")
        made.load[int(at), int(index)] = u
    return made


def test_first_fit_and_list_scheduling() -> None:
    now = state(2, 2, busy={0: [0]}, g0_1=5, g1_0=3)
    two = job(gpus=2)
    assert choose("first-fit", now, two, 1, 10) == [(0, 1), (1, 0)]
    assert choose("list-scheduling", now, two, 1, 10) == [(1, 1), (1, 0)]


def test_theta_is_inclusive_and_in_ticks() -> None:
    now = state(2, g0_0=600_000)
    assert choose("first-fit", now, job(gpus=2), 400_000, 1) == [(0, 0), (0, 1)]
    assert choose("first-fit", now, job(gpus=2), 400_001, 1) is None
    assert choose("first-fit", now, job(gpus=2), 400_001, None) is not None


def test_fragment_aware_prefers_busy_servers_among_equal_loads() -> None:
    now = state(4, 3, 4, busy={1: [0], 2: [1]})  # shares 0, 1/3, 1/4
    assert choose("fa-ffp", now, job(gpus=3), 1, None) == [(1, 1), (1, 2), (2, 0)]
    loaded = state(4, 3, 4, busy={1: [0], 2: [1]}, g1_1=1, g1_2=1)
    assert choose("fa-ffp", loaded, job(gpus=3), 1, None) == [(2, 0), (2, 2), (2, 3)]


def test_least_busy_servers_take_the_shortest_prefix() -> None:
    now = state(4, 2, 2, g0_0=4, g1_0=3, g2_1=1)  # averages 1, 3/2, 1/2: order s2, s0, s1
    assert choose("lbsgf", now, job(gpus=2), 0, None) == [(2, 0), (2, 1)]
    assert choose("lbsgf", now, job(gpus=3), 0, None) == [(0, 1), (0, 2), (0, 3)]
    assert choose("lbsgf", now, job(gpus=3), 0, None, slack=2.1) == [(0, 1), (0, 2), (0, 3)]
    now.idle[2, 0] = False
    assert choose("lbsgf", now, job(gpus=2), 0, None) is None
    assert choose("lbsgf", now, job(gpus=2, server_slack=2), 0, None) == [(0, 1), (0, 2)]


def test_best_fit() -> None:
    now = state(4, 2, 3, busy={0: [0]})  # idle 3, 2, 3
    assert choose("best-fit", now, job(gpus=2), 9, 0) == [(1, 0), (1, 1)]
    assert choose("best-fit", now, job(gpus=3), 9, 0) == [(0, 1), (0, 2), (0, 3)]
    assert choose("best-fit", now, job(gpus=5), 9, 0) == [(0, 1), (0, 2), (0, 3), (2, 0), (2, 1)]
    assert choose("best-fit", now, job(gpus=9), 9, 0) is None


def test_random_draws_only_when_the_job_can_be_placed() -> None:
    rng, same = random.Random(7), random.Random(7)
    assert choose("random", state(2), job(gpus=3), 0, None, rng=rng) is None
    assert rng.random() == same.random()
    chosen = choose("random", state(2, 2), job(gpus=4), 0, None, rng=rng)
    assert sorted(chosen or []) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_charges_divide_by_the_largest_overestimate() -> None:
    jobs = [slots_job("a", 10, estimate_s=30), slots_job("b", 10, estimate_s=5), slots_job("c", 10)]
    running = slots_job("r", 10, estimate_s=12, running_on={"s0": [0]}, done_iterations=5)
    expected = {"a": 10_000_000, "b": 1_666_667, "c": 3_333_333}
    assert charges(scenario(cluster(4), *jobs, time=CONTINUOUS)) == expected
    assert charges(scenario(cluster(4), *jobs, running)) == expected | {"r": 2_000_000}  # half of 12, over 3


# --- dispatch ---------------------------------------------------------------------------------


def test_a_blocked_head_holds_back_the_queue() -> None:
    jobs = [slots_job("a", 5, 1), slots_job("b", 3, 2), slots_job("c", 1, 1)]
    found = dispatch(scenario(cluster(2), *jobs), "fifo", "first-fit", None)
    assert found is not None
    assert found.starts == {"a": 0, "b": 5, "c": 8}
    assert found.makespan == 9
    assert found.placements["b"] == {"s0": [0, 1]}


def test_a_new_arrival_that_sorts_earlier_goes_first() -> None:
    jobs = [slots_job("a", 5, 2), slots_job("b", 3, 2), slots_job("c", 1, 1, submit_s=4.2)]
    found = dispatch(scenario(cluster(2), *jobs), "smallest-first", "first-fit", None)
    assert found is not None
    assert found.starts == {"a": 0, "c": 5, "b": 6}


def test_running_jobs_hold_their_gpus_and_charge_what_remains() -> None:
    jobs = [slots_job("r", 9, 1, running_on={"s0": [0]}, done_iterations=4), slots_job("q", 2, 2)]
    assert dispatch(scenario(cluster(2), *jobs), "fifo", "list-scheduling", 6) is None
    found = dispatch(scenario(cluster(2), *jobs), "fifo", "list-scheduling", 7)
    assert found is not None
    assert found.starts == {"r": 0, "q": 5}
    assert found.finishes == {"r": 5, "q": 7}


def test_a_trial_over_theta_is_infeasible() -> None:
    case = scenario(cluster(1), slots_job("a", 3), slots_job("b", 3))
    assert dispatch(case, "fifo", "first-fit", 5) is None
    assert dispatch(case, "fifo", "first-fit", 6) is not None


def test_orders() -> None:
    jobs = [slots_job("a", 4, 2), slots_job("b", 7, 1), slots_job("c", 3, 2), slots_job("d", 2, 3)]
    firsts = {
        "fifo": "abcd",
        "smallest-first": "bacd",
        "shortest-first": "dcab",
        "longest-first": "bacd",
        "smallest-area-first": "cdba",
    }
    case = scenario(cluster(3), *jobs)
    for order, names in firsts.items():
        keys = {one.name: at for at, one in enumerate(case.jobs)}
        found = dispatch(case, order, "first-fit", None)
        assert found is not None
        started = sorted(keys, key=lambda name: (found.starts[name], names.index(name)))
        assert "".join(started) == names, order


# --- Algorithm 1 ------------------------------------------------------------------------------


@pytest.mark.parametrize("time", [{}, CONTINUOUS], ids=["slotted", "continuous"])
def test_counterexample_to_the_approximation_ratio(time: dict[str, str]) -> None:
    jobs = [slots_job("a", 10), slots_job("b", 10), slots_job("c", 20)]
    case = scenario(cluster(2), *jobs, time=time)
    assert horizon_ticks(case) == 41
    found = sjf_bco(case)
    assert found is not None
    makespan, theta, kappa, _ = found
    # theta = 21 fails (a and b on one GPU each, c needs 30), 31 gives 30, nothing below does.
    assert (makespan, theta, kappa) == (30, 31, 1)
    assert formulas.lower_bound(case) == 20


def test_nothing_below_the_horizon_is_infeasible() -> None:
    jobs = [slots_job("a", 10), slots_job("b", 10)]
    assert sjf_bco(scenario(cluster(1), *jobs, time={"horizon_s": 20})) is None
    assert sjf_bco(scenario(cluster(1), *jobs, time={"horizon_s": 21})) is not None
    assert bisect_theta(scenario(cluster(1), *jobs, time={"horizon_s": 0.5}), "first-fit") is None


def test_horizon_is_floored_and_the_default_counts_what_is_left() -> None:
    jobs = [slots_job("a", 10, submit_s=2.5), slots_job("r", 9, running_on={"s0": [0]}, done_iterations=4)]
    assert horizon_ticks(scenario(cluster(2), *jobs)) == 3 + 10 + 5 + 1
    assert horizon_ticks(scenario(cluster(2), *jobs, time=CONTINUOUS)) == 18 + 1
    assert horizon_ticks(scenario(cluster(2), *jobs, time={"slot_s": 2.0, "horizon_s": 25})) == 12
    continuous = CONTINUOUS | {"slot_s": 2.0, "horizon_s": 25.5}
    assert horizon_ticks(scenario(cluster(2), *jobs, time=continuous)) == 25


def test_a_fully_unavailable_server_counts_as_a_server_but_holds_nothing() -> None:
    servers = (Server(name="dead", gpus=1, unavailable=(0,), uplink_gbps=40), Server(name="ok", gpus=2))
    two = job("two", 2, 10, gradient_mb=1000)
    case = scenario(cluster(servers=servers), two)
    assert formulas.worst_case_tau(case, two) == Fraction(8, 10) + Fraction(11, 100)
    assert formulas.best_case_tau(case, two) == Fraction(8, 200) + Fraction(11, 100)
    for rule in RULES:
        found = dispatch(case, "fifo", rule, None, kappa=1)
        assert found is not None
        assert found.placements == {"two": {"ok": [0, 1]}}, rule


def test_kappas() -> None:
    jobs = [slots_job("a", 1, 4), slots_job("b", 1, 2), slots_job("r", 1, 6, running_on={"s0": range(6)})]
    case = scenario(cluster(8), *jobs)
    assert kappas(case) == [1, 2, 4]
    assert kappas(case, every_kappa=True) == [1, 2, 3, 4]


# --- the parts agree --------------------------------------------------------------------------


def drawn(seed: int, model: str) -> Scenario:
    """A small random scenario with all there is: racks, broken GPUs, arrivals, a running job, a table."""
    rng = random.Random(seed)
    sizes = [rng.randint(1, 4) for _ in range(rng.randint(1, 5))]
    racks = tuple(
        Switch(name=f"r{at}", uplink_gbps=rng.choice([5, 10, 40])) for at in range(rng.randint(0, 2))
    )
    servers = tuple(
        Server(
            name=f"s{at}",
            gpus=size,
            switch=rng.choice([None, *(rack.name for rack in racks)]),
            uplink_gbps=rng.choice([None, 5, 25]),
            unavailable=tuple(gpu for gpu in range(size) if gpu and rng.random() < 0.2),
        )
        for at, size in enumerate(sizes)
    )
    made = cluster(servers=servers, switches={rack.name: rack.uplink_gbps for rack in racks})
    jobs = [_drawn_job(rng, f"j{at}", made.capacity) for at in range(rng.randint(1, 7))]
    if rng.random() < 0.4:
        running_on = {"running_on": {"s0": [0]}, "done_iterations": 3}
        jobs.append(job("running", 1, rng.randint(4, 40), **running_on))
    contention: dict[str, Any] = rng.choice([{"degradation": 0.3}, {"share": 0.6}, {"table": [1, 1.5, 3]}])
    extra = {"server_latency_ms": rng.choice([0, 5])}
    return scenario(made, *jobs, contention=contention | extra, time={"model": model, "slot_s": 2.0})


def _drawn_job(rng: random.Random, name: str, capacity: int) -> Job:
    return job(
        name,
        rng.randint(1, min(capacity, 5)),
        rng.randint(1, 60),
        gradient_mb=rng.choice([0, 20, 60]),
        submit_s=rng.choice([0, 0, rng.uniform(0, 10)]),
        server_slack=rng.choice([1, 1.5]),
        estimate_s=rng.choice([None, None, rng.uniform(1, 20)]),
    )


@pytest.mark.parametrize("model", ["slotted", "continuous"])
@pytest.mark.parametrize("seed", range(25))
def test_dispatch_agrees_with_replay_and_bounds(seed: int, model: str) -> None:
    case = drawn(seed, model)
    unit = formulas.tick_s(case)
    for rule in RULES:
        order = ORDERS[(seed + RULES.index(rule)) % len(ORDERS)]
        found = dispatch(case, order, rule, None, kappa=2, seed=seed)
        assert found is not None
        starts = [found.starts[one.name] * unit for one in case.jobs]
        finishes = [Fraction(found.finishes[one.name]) * unit for one in case.jobs]
        assert replay(case, starts, [found.placements[one.name] for one in case.jobs]) == finishes
        assert formulas.lower_bound(case) <= found.makespan * unit
        for one in case.jobs:
            lasted = found.finishes[one.name] - found.starts[one.name]
            assert lasted <= formulas.worst_case_ticks(case, one)
            assert one.is_running or formulas.best_case_ticks(case, one) <= lasted


@pytest.mark.parametrize("seed", range(15))
def test_floats_jumps_and_fewer_kappas_change_nothing_when_slotted(seed: int) -> None:
    case = drawn(seed, "slotted")
    literal = sjf_bco(case, every_kappa=True)
    assert literal == sjf_bco(case, exact=False, jump=True)
    assert bisect_theta(case, "first-fit") == bisect_theta(case, "first-fit", exact=False, jump=True)
