"""The ledger: the example of docs/concepts/blame.md, and the corners of the model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import InputError, Plan, Scenario, Server
from ringsched.analysis.explain.ledger import Ledger
from ringsched.errors import UnknownName
from ringsched.model import Placement, PlannedJob

BY_HAND = ringsched.load_scenario("examples/blame.toml")
SPREAD = {
    "gradient_mb": 1000,
    "forward_ms": 290,
    "backward_ms": 600,
}  # as there: 1 s inside, 1.9 s alone, ...


def placed(
    setting: Scenario, gpus: Sequence[Mapping[str, Sequence[int]]], starts: Sequence[float] = ()
) -> Plan:
    """A plan with these placements; finishes as they come."""
    starts = starts or [0.0] * len(gpus)

    def plan(finishes: Sequence[float]) -> Plan:
        return Plan(
            scenario_sha256=setting.sha256(),
            policy="by hand",
            makespan_s=max(finishes, default=0.0),
            mean_completion_s=0.0,
            lower_bound_s=0.0,
            gap=1.0,
            jobs=tuple(
                PlannedJob(name=each.name, start_s=start, finish_s=finish, gpus=Placement(held), ring=())
                for each, start, finish, held in zip(setting.jobs, starts, finishes, gpus, strict=True)
            ),
        )

    return plan(ringsched.replay(setting, plan([0.0] * len(gpus))).finishes_s)


def parts(ledger: Ledger, name: str) -> tuple[float, ...]:
    account = ledger.job(name)
    found = (account.best_case_s, account.spreading_s, account.contention_s, account.rounding_s)
    assert math.fsum(found) == account.duration_s
    return tuple(round(part, 9) for part in found)


@pytest.fixture(scope="module")
def by_hand() -> Ledger:
    gpus = [{"s0": [0], "s1": [2]}, {"s0": [1], "s1": [1]}, {"s1": [0], "s2": [0]}]
    return ringsched.explain(BY_HAND, placed(BY_HAND, gpus))


def test_the_parts_are_those_computed_by_hand(by_hand: Ledger) -> None:
    assert [account.duration_s for account in by_hand.jobs] == [40, 50, 20]
    assert parts(by_hand, "a") == (10, 9, 14, 7)
    assert parts(by_hand, "b") == (15, 13.5, 14, 7.5)
    assert parts(by_hand, "c") == (4, 3.6, 8, 4.4)


def test_the_blame_is_that_laid_by_hand(by_hand: Ledger) -> None:
    blames = {
        (blame.victim, blame.culprit, blame.link): round(blame.seconds, 9) for blame in by_hand.attributions()
    }
    assert blames == {
        ("a", "b", "s0"): 6,
        ("a", "b", "s1"): 4,
        ("a", "c", "s1"): 4,
        ("b", "a", "s0"): 6,
        ("b", "a", "s1"): 4,
        ("b", "c", "s1"): 4,
        ("c", "a", "s1"): 4,
        ("c", "b", "s1"): 4,
    }
    assert [blame.seconds for blame in by_hand.attributions()] == sorted(blames.values(), reverse=True)
    assert by_hand.by_culprit() == pytest.approx({"a": 14, "b": 14, "c": 8})
    assert by_hand.by_victim() == pytest.approx({"a": 14, "b": 14, "c": 8})
    assert by_hand.by_link() == pytest.approx({"s1": 24, "s0": 12})
    assert by_hand.matrix()["a", "b"] == pytest.approx(10)
    assert by_hand.worst_culprits() == {"a": "b", "b": "a", "c": "a"}


def test_nobody_is_blamed_for_what_happened_before_or_after() -> None:
    """a and b meet for 29 s, b and c for 29 s, and a and c never."""
    setting = scenario(
        cluster(3, 3, inter_server_gbps=8, intra_server_gbps=80),
        *(job(name, 2, 10 * size, **SPREAD) for name, size in (("a", 1), ("b", 3), ("c", 1))),
        time={"model": "continuous"},
    )
    gpus = [{"s0": [at], "s1": [at]} for at in range(3)]
    ledger = ringsched.explain(setting, placed(setting, gpus, [0, 0, 29]))
    assert {pair: round(seconds, 9) for pair, seconds in ledger.matrix().items()} == {
        ("a", "b"): 10,
        ("b", "a"): 10,
        ("b", "c"): 10,
        ("c", "b"): 10,
    }


def test_links_over_time(by_hand: Ledger) -> None:
    s0, s1, s2 = by_hand.links
    assert (s0.times_s, s0.num_jobs) == ((0, 40, 50), (2, 1, 0))
    assert (s1.times_s, s1.num_jobs) == ((0, 20, 40, 50), (3, 2, 1, 0))
    assert (s2.times_s, s2.num_jobs, s2.contended_s, s2.contention_s) == ((0, 20), (1, 0), 0, 0)
    assert (s1.contended_s, s1.jobs, s1.most_jobs) == (40, 3, 3)
    assert [s1.most_jobs_between(start, start + 10) for start in (0, 10, 20, 30, 40, 50)] == [
        3,
        3,
        2,
        2,
        1,
        0,
    ]
    assert s1.most_jobs_between(15, 25) == 3


def test_without_a_job(by_hand: Ledger) -> None:
    without = by_hand.without("b")
    assert [(gain.job, gain.finish_s, gain.gain_s) for gain in without.gains] == [("a", 30, 10)]
    assert (without.makespan_s, without.total_gain_s, without.gain_of("c")) == (30, 10, 0)
    assert by_hand.without("c").gains == ()


def on_fair_links(
    model: str, iterations: Mapping[str, int], gpus: Mapping[str, Mapping[str, Sequence[int]]]
) -> Ledger:
    """Jobs that only exchange, a second an iteration alone; one named "silent" sends nothing."""
    setting = scenario(
        cluster(3, 3, 3, 3, inter_server_gbps=10, reduce_gbps=1e15),
        *(
            job(name, 2, number, gradient_mb=0, backward_ms=1000)
            if name == "silent"
            else job(name, 2, number, gradient_mb=1250, backward_ms=1e-6)
            for name, number in iterations.items()
        ),
        contention={"model": model},
        time={"model": "continuous"},
    )
    return ringsched.explain(setting, placed(setting, [gpus[name] for name in iterations]))


@pytest.mark.parametrize("model", ["max-min", "phases"])
def test_without_a_job_another_may_end_later_on_fair_links(model: str) -> None:
    """docs/concepts/blame.md: without D, B has more beside C and leaves less to A."""
    ledger = on_fair_links(
        model,
        {"A": 100, "B": 400, "C": 400, "D": 400},
        {
            "A": {"s0": [0], "s1": [0]},
            "B": {"s1": [1], "s2": [0]},
            "C": {"s2": [1], "s3": [0]},
            "D": {"s2": [2], "s3": [1]},
        },
    )
    assert [account.finish_s for account in ledger.jobs] == pytest.approx([150, 1200, 1200, 1200])
    without = ledger.without("D")
    assert [gain.job for gain in without.gains] == ["B", "C", "A"]
    assert [gain.gain_s for gain in without.gains] == pytest.approx([400, 400, -50])
    assert [gain.finish_s for gain in without.gains] == pytest.approx([800, 800, 200])
    assert without.gain_of("A") == pytest.approx(-50)
    assert without.total_gain_s == pytest.approx(750)


@pytest.mark.parametrize("model", ["max-min", "phases"])
def test_who_sends_nothing_is_not_blamed_on_fair_links(model: str) -> None:
    """Two share both links, each a half; the third crosses them and leaves in the middle."""
    ledger = on_fair_links(
        model,
        {"a": 100, "silent": 70, "b": 100},
        {name: {"s0": [at], "s1": [at]} for at, name in enumerate(("a", "silent", "b"))},
    )
    assert [account.finish_s for account in ledger.jobs] == pytest.approx([200, 70, 200])
    assert parts(ledger, "silent") == (70, 0, 0, 0)
    assert ledger.matrix() == pytest.approx({("a", "b"): 100, ("b", "a"): 100})
    assert {name: ledger.job(name).contention_s for name in "ab"} == pytest.approx({"a": 100, "b": 100})
    assert ledger.by_link() == pytest.approx({"s0": 200})


def test_heads_are_blamed_where_heads_are_counted() -> None:
    """In the paper's f a job that sends nothing is one job more: for 100 s the others are three, then two."""
    ledger = on_fair_links(
        "paper",
        {"a": 100, "silent": 100, "b": 100},
        {name: {"s0": [at], "s1": [at]} for at, name in enumerate(("a", "silent", "b"))},
    )
    third = 100 / 3
    assert ledger.matrix() == pytest.approx(
        {("a", "silent"): third, ("b", "silent"): third, ("a", "b"): 100, ("b", "a"): 100}
    )


def test_continuous_time_rounds_nothing() -> None:
    setting = BY_HAND.replace(time=BY_HAND.time.replace(model="continuous"))
    gpus = [{"s0": [0], "s1": [2]}, {"s0": [1], "s1": [1]}, {"s1": [0], "s2": [0]}]
    ledger = ringsched.explain(setting, placed(setting, gpus))
    assert ledger.job("c").duration_s == pytest.approx(4 * 3.9)
    assert parts(ledger, "c")[:3] == (4, 3.6, 8)
    assert ledger.job("a").duration_s == pytest.approx(10 + 9 + 8 + 6)  # as with slots, but nothing idles
    assert [account.rounding_s for account in ledger.jobs] == pytest.approx([0, 0, 0], abs=1e-9)


def test_a_running_job_has_no_better_place() -> None:
    held = {"s0": [0], "s1": [0]}
    setting = BY_HAND.replace(jobs=(BY_HAND.jobs[0].replace(running_on=held, done_iterations=4),))
    ledger = ringsched.explain(setting, placed(setting, [held]))
    assert parts(ledger, "a") == (11.4, 0, 0, 8.6)  # 6 iterations of 1.9 s, 5 a slot


def test_racks_are_blamed_too_and_named_as_racks() -> None:
    racks = {"r": 8.0, "s0": 4.0}
    servers = tuple(
        Server(name=f"s{at}", gpus=2, switch=rack) for at, rack in enumerate(("s0", "s0", "r", "r"))
    )
    place = cluster(servers=servers, switches=racks, inter_server_gbps=8, intra_server_gbps=80)
    setting = scenario(place, *(job(name, 2, 4, **SPREAD) for name in "ab"), time={"model": "continuous"})
    gpus = [{"s0": [0], "s2": [0]}, {"s1": [0], "s3": [0]}]  # they meet above the racks only
    ledger = ringsched.explain(setting, placed(setting, gpus))
    assert ledger.by_link() == pytest.approx({"rack s0": 2 * 4 * 2.0})  # 8 Gbit at 2 instead of 4 Gbit/s
    assert {blame.link for blame in ledger.attributions()} == {"rack s0"}
    assert [link.kind for link in ledger.links] == ["server"] * 4 + ["rack"] * 2
    assert ledger.job("a").links == ("s0", "s2", "rack s0", "rack r")


@pytest.mark.parametrize(
    ("contention", "lost_s"),
    [
        ({"table": (1.0, 1.0, 2.0)}, 0.0),  # two share for nothing
        ({"share": 0.5}, 0.0),
        ({"model": "reserved", "lanes": 2}, 0.0),
        ({"model": "reserved", "lanes": 1}, 8.0),
        ({"degradation": 0.5}, 12.0),
    ],
)
def test_contention_is_what_the_others_add(contention: dict[str, object], lost_s: float) -> None:
    setting = scenario(
        cluster(2, 2, inter_server_gbps=8, intra_server_gbps=80),
        *(job(name, 2, 4, **SPREAD) for name in "ab"),
        contention=contention,
        time={"slot_s": 100.0},
    )
    ledger = ringsched.explain(setting, placed(setting, [{"s0": [0], "s1": [0]}, {"s0": [1], "s1": [1]}]))
    assert sum(ledger.by_victim().values()) == pytest.approx(lost_s)
    assert ledger.links[0].contended_s == (100 if lost_s else 0)
    assert sum(parts(ledger, "a")) == pytest.approx(100)


def test_waiting_names_those_who_held_the_gpus() -> None:
    setting = scenario(cluster(2), job("a", 2), job("b", 1), job("c", 1, submit_s=0.5))
    plan = placed(setting, [{"s0": [0, 1]}, {"s0": [0]}, {"s0": [1]}], [0, 1, 2])
    ledger = ringsched.explain(setting, plan)
    assert [account.waiting_s for account in ledger.jobs] == [0, 1, 1.5]
    assert [account.waited_for for account in ledger.jobs] == [(), ("a",), ()]  # c waited for nobody


def test_an_empty_plan() -> None:
    setting = scenario(cluster(2))
    ledger = ringsched.explain(setting, ringsched.plan(setting))
    assert (ledger.jobs, ledger.attributions(), ledger.by_link(), ledger.matrix()) == ((), (), {}, {})
    assert ledger.worst_culprits() == {}


def test_an_unknown_job_is_guessed(by_hand: Ledger) -> None:
    for ask in (by_hand.job, by_hand.without, lambda name: by_hand.attributions(victim=name)):
        with pytest.raises(UnknownName, match=r"unknown job 'd'.*choose from a, b, c"):
            ask("d")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"finish_s": 30}, "does not run as the plan states"),
        ({"start_s": 10}, "does not run as the plan states"),
        ({"start_s": 1.5}, "does not run as the plan states"),  # within the first slot
        ({"start_s": -1.0}, "does not run as the plan states"),
        ({"gpus": Placement({"s1": [2], "s0": [7]})}, "cannot be used"),
        ({"name": "z"}, "jobs are not those of the scenario"),
    ],
)
def test_plans_that_are_not_true_are_refused(
    by_hand: Ledger, changes: Mapping[str, object], complaint: str
) -> None:
    jobs = by_hand.plan.jobs
    wrong = by_hand.plan.replace(jobs=(jobs[0].replace(**changes), *jobs[1:]))
    with pytest.raises(InputError, match=complaint):
        ringsched.explain(BY_HAND, wrong)


def test_a_plan_of_another_scenario_is_refused(by_hand: Ledger) -> None:
    other = BY_HAND.replace(name="other")
    with pytest.raises(InputError, match="made for another scenario"):
        ringsched.explain(other, by_hand.plan)


def test_running_jobs_elsewhere_or_starts_before_the_submit_are_refused() -> None:
    held = {"s0": [0], "s1": [0]}
    setting = BY_HAND.replace(
        jobs=(BY_HAND.jobs[0].replace(running_on=held), BY_HAND.jobs[1].replace(submit_s=10))
    )
    good = placed(setting, [held, {"s0": [1], "s1": [1]}], [0, 10])
    ringsched.explain(setting, good)
    moved = good.replace(jobs=(good.jobs[0].replace(gpus=Placement({"s0": [0], "s1": [2]})), good.jobs[1]))
    early = placed(setting, [held, {"s0": [1], "s1": [1]}], [0, 0])
    for wrong, name in ((moved, "a"), (early, "b")):
        with pytest.raises(InputError, match=f"job '{name}' does not run as the plan states"):
            ringsched.explain(setting, wrong)
