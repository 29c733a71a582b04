"""What if: changes, variants, and one more job."""

from __future__ import annotations

import pytest
from tests import planning
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import InputError, Server, Switch
from ringsched.analysis.whatif import places
from ringsched.analysis.whatif.changes import (
    AddServers,
    LinkFactor,
    LinkSpeed,
    OtherContention,
    RemoveServer,
    Together,
)
from ringsched.analysis.whatif.places import follow
from ringsched.engine.problem import problem_of
from ringsched.errors import UnknownName

FIRST = ringsched.load_scenario("examples/first.toml")
SPREAD = {
    "gradient_mb": 1000,
    "forward_ms": 290,
    "backward_ms": 600,
}  # 1 s inside, 1.9 s spread and alone, ...


def test_more_servers_get_names_that_are_free_and_the_usual_size() -> None:
    servers = (Server(name="new-0", gpus=4), Server(name="b", gpus=2), Server(name="c", gpus=4))
    setting = scenario(cluster(servers=servers))
    larger = AddServers(count=2).apply(setting).cluster.servers
    assert [(server.name, server.gpus) for server in larger[3:]] == [("new-1", 4), ("new-2", 4)]
    assert AddServers(count=1, gpus=7).apply(setting).cluster.servers[-1].gpus == 7
    assert AddServers(count=1, gpus=1).label(setting) == "1 more server of 1 GPU"


def test_servers_are_added_below_a_root_without_an_uplink() -> None:
    switches = (Switch(name="top"), Switch(name="r", uplink_gbps=5, parent="top"))
    servers = (Server(name="a", gpus=2, switch="r"), Server(name="b", gpus=2, switch="top"))
    setting = scenario(cluster(servers=servers, switches=switches), job())
    assert AddServers(count=1).apply(setting).cluster.servers[-1].switch == "top"
    assert {
        switch.name: switch.uplink_gbps for switch in LinkFactor(factor=2).apply(setting).cluster.switches
    } == {
        "top": None,
        "r": 10,
    }


def test_links_are_all_made_faster_or_only_those_without_a_speed_of_their_own() -> None:
    servers = (Server(name="a", gpus=1, switch="r"), Server(name="b", gpus=1, switch="r", uplink_gbps=25))
    setting = scenario(cluster(servers=servers, switches={"r": 40}))
    faster = LinkFactor(factor=2).apply(setting).cluster
    assert (faster.inter_server_gbps, faster.servers[1].uplink_gbps, faster.switches[0].uplink_gbps) == (
        20,
        50,
        80,
    )
    assert faster.servers[0].uplink_gbps is None
    other = LinkSpeed(inter_server_gbps=100).apply(setting).cluster
    assert (other.inter_server_gbps, other.servers, other.switches) == (
        100,
        setting.cluster.servers,
        setting.cluster.switches,
    )


def test_a_server_less() -> None:
    fewer = RemoveServer(name="node-1").apply(FIRST)
    assert [server.name for server in fewer.cluster.servers] == ["node-0", "node-2", "node-3"]
    with pytest.raises(UnknownName, match="unknown server 'node-8'"):
        RemoveServer(name="node-8").apply(FIRST)
    busy = scenario(cluster(1, 1), job("here", running_on={"s1": [0]}))
    with pytest.raises(InputError, match=r"^without server s1: job 'here' runs there already"):
        ringsched.whatif(busy, RemoveServer(name="s1"))


def test_several_changes_are_one_after_the_other() -> None:
    both = Together(changes=(AddServers(count=1, gpus=3), OtherContention(fields={"share": 0.5})))
    changed = both.apply(FIRST)
    assert (len(changed.cluster.servers), changed.contention.share) == (5, 0.5)
    assert changed.contention.degradation == FIRST.contention.degradation
    assert both.label(FIRST) == "1 more server of 3 GPUs, contention share 0.5"


def test_a_change_that_cannot_be_is_named() -> None:
    with pytest.raises(InputError, match=r"^contention share 2: share must be a number > 0 and <= 1"):
        ringsched.whatif(FIRST, OtherContention(fields={"share": 2}))
    with pytest.raises(
        InputError, match=r"^links 0.001 times as fast: jobs\[0\] 'bert-pretrain': an iteration"
    ):
        ringsched.whatif(FIRST, LinkFactor(factor=0.001))


def test_variants_are_planned_as_the_plan_was() -> None:
    present = ringsched.plan(FIRST, "lwf", order="longest-first", kappa=4)
    answer = ringsched.whatif(FIRST, AddServers(count=1), plan=present)
    expected = ringsched.plan(AddServers(count=1).apply(FIRST), "lwf", order="longest-first", kappa=4)
    assert (answer.present, answer.replanned, answer.variants[0].plan) == (present, None, expected)
    searched = ringsched.plan(FIRST, "sjf-bco", slack=2.0, objective="mean-completion")
    answer = ringsched.whatif(FIRST, AddServers(count=1), plan=searched)
    expected = ringsched.plan(
        AddServers(count=1).apply(FIRST), "sjf-bco", slack=2.0, objective="mean-completion"
    )
    assert answer.variants[0].plan == expected  # theta and kappa chosen anew


def test_another_policy_shows_what_it_changes_by_itself() -> None:
    present = ringsched.plan(FIRST, "first-fit")
    answer = ringsched.whatif(FIRST, AddServers(count=1), plan=present, policy="longest-first")
    assert answer.replanned == ringsched.plan(FIRST, "longest-first")
    assert answer.variants[0].plan == ringsched.plan(AddServers(count=1).apply(FIRST), "longest-first")
    changes = answer.variants[0].changes
    sizes = [abs(change.change_s) for change in changes]
    assert sizes == sorted(sizes, reverse=True)
    before = {each.name: each.finish_s for each in present.jobs}
    assert all(change.before_s == before[change.job] != change.after_s for change in changes)


def test_without_a_plan_longest_first_plans() -> None:
    answer = ringsched.whatif(FIRST, AddServers(count=1))
    assert (answer.policy, answer.present, answer.replanned) == (
        "longest-first",
        ringsched.plan(FIRST, "longest-first"),
        None,
    )


def test_search_can_be_asked_too() -> None:
    answer = ringsched.whatif(FIRST, AddServers(count=2), policy="search", max_schedules=50)
    expected = planning.plan(AddServers(count=2).apply(FIRST), "search", iterations=50)
    assert answer.variants[0].plan == expected


def test_plans_that_cannot_be_varied_are_refused() -> None:
    plan = ringsched.plan(FIRST, "first-fit")
    with pytest.raises(InputError, match="made by 'recorded', which cannot re-plan"):
        ringsched.whatif(FIRST, AddServers(count=1), plan=plan.replace(policy="recorded"))
    with pytest.raises(InputError, match="made for another scenario"):
        ringsched.whatif(FIRST.replace(name="other"), AddServers(count=1), plan=plan)


def test_an_infeasible_variant_has_no_plan() -> None:
    tight = scenario(cluster(2, 2), *(job(name, 2, 10) for name in "abcd"), time={"horizon_s": 4})
    answer = ringsched.whatif(tight, RemoveServer(name="s1"), policy="first-fit")
    assert answer.variants[0].plan is None
    assert answer.variants[0].changes == ()


def test_waiting_for_a_quiet_link_can_be_better() -> None:
    """a spans both servers for 19 s. One more such job beside it slows both; after it, neither."""
    setting = scenario(
        cluster(2, 2, inter_server_gbps=8, intra_server_gbps=80),
        job("a", 2, 10, **SPREAD),
        time={"model": "continuous"},
    )
    plan = ringsched.plan(setting, "random", seed=0)
    assert len(plan.jobs[0].gpus) == 2
    answer = ringsched.whatif_job(setting, job("b", 2, 10, **SPREAD), plan=plan)
    at_once, best = answer.at_once, answer.best
    assert at_once is not None
    assert (at_once.start_s, at_once.finish_s) == (0, pytest.approx(29))
    assert [(delay.job, delay.change_s) for delay in at_once.delays] == [("a", pytest.approx(10))]
    assert (at_once.cost_s, at_once.total_delay_s) == (pytest.approx(39), pytest.approx(10))
    assert (best.start_s, best.finish_s) == (pytest.approx(19), pytest.approx(29))  # within one server
    assert (best.delays, best.waiting_s, len(best.gpus)) == ((), pytest.approx(19), 1)
    assert answer.harmless is best


def test_a_job_that_takes_gpus_others_will_need_delays_only_those() -> None:
    """b waits for the GPU of a. Whoever takes the idle one may run into c, which is to have it at 3 s."""
    setting = scenario(cluster(2), job("a", 1, 20), job("b", 1, 10), job("c", 1, 10, submit_s=3))
    plan = ringsched.plan(setting, "longest-first")
    starts = {each.name: (each.start_s, dict(each.gpus)) for each in plan.jobs}
    assert starts["a"] == (0, {"s0": (0,)})
    answer = ringsched.whatif_job(setting, job("new", 1, 40), plan=plan)
    for option in answer.options:
        assert all(delay.job in ("b", "c") for delay in option.delays)
    assert answer.harmless.delays == ()
    assert answer.soonest.start_s <= answer.harmless.start_s


def test_one_more_job_beside_none() -> None:
    setting = scenario(cluster(2))
    answer = ringsched.whatif_job(setting, job("only", 2, 10))
    assert answer.at_once is answer.best is answer.soonest is answer.harmless
    assert (answer.best.start_s, answer.best.finish_s, dict(answer.best.gpus)) == (0, 1, {"s0": (0, 1)})
    assert answer.replanned is not None


def test_a_job_submitted_later_than_everything_starts_at_its_submit() -> None:
    late = FIRST.jobs[0].replace(name="late", submit_s=100_000.0)
    answer = ringsched.whatif_job(FIRST, late)
    assert answer.best.start_s == 100_020  # the next slot of a minute
    assert answer.at_once is answer.best


def test_a_running_job_is_not_a_new_one() -> None:
    running = FIRST.jobs[-1].replace(name="there", running_on={"node-0": [0]})
    with pytest.raises(InputError, match="the new job 'there': running_on is not allowed"):
        ringsched.whatif_job(FIRST, running)


def test_who_waits_for_gpus_holds_back_only_those_who_want_them_too() -> None:
    """b waits for the GPU of a. c, which is to start after b on another one, does not."""
    setting = scenario(cluster(2), *(job(name, 1, size) for name, size in (("a", 30), ("b", 10), ("c", 10))))
    run = follow(problem_of(setting), [0, 1, 2], [(0,), (0,), (1,)])
    assert (list(run.starts), list(run.finishes)) == ([0, 3, 2], [3, 4, 3])
    wide = setting.replace(jobs=(setting.jobs[0], setting.jobs[1].replace(gpus=2), setting.jobs[2]))
    run = follow(problem_of(wide), [0, 1, 2], [(0,), (0, 1), (1,)])  # b wants both, so c is behind it
    assert list(run.starts) == [0, 3, 4]


def test_what_matters_is_tried_even_if_there_is_time_for_little(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = ringsched.generate(ringsched.Workload.uniform(jobs=120, cluster=ringsched.Cluster.of_servers(16)))
    plan = ringsched.plan(busy, "list-scheduling")
    wide = FIRST.jobs[0].replace(name="wide", gpus=8, iterations=60_000)
    full = ringsched.whatif_job(busy, wide, plan=plan)
    assert len(full.options) > 8
    monkeypatch.setattr(places, "LEAST_TRIED", 1)
    monkeypatch.setattr(places, "JOBS_TRIED", 0)
    some = ringsched.whatif_job(busy, wide, plan=plan)
    assert len(some.options) < len(full.options)
    assert some.at_once == full.at_once
    assert some.harmless.delays == ()
    assert some.harmless.finish_s >= full.harmless.finish_s
