"""A contention model from outside the package: k**1.2, once by counting jobs, once as a general model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import Contention, Infeasible, InputError
from ringsched.contention.iteration_time import Ring
from ringsched.contention.model import NO_LINK, CountingModel, Pace, PythonModel


class Power(CountingModel):
    """k jobs on a link slow each other by k**1.2."""

    name = "power"

    def factor(self, num_jobs: int) -> float:
        return num_jobs**1.2


class GeneralPower(PythonModel):
    """The same as a general model, which sees all jobs at once."""

    name = "general-power"

    def __init__(self) -> None:
        self.num_calls = 0

    def factor(self, num_jobs: int) -> float:
        return num_jobs**1.2

    def iteration_times(self, rings: Mapping[int, Ring], uplink_gbps: Sequence[float]) -> dict[int, Pace]:
        self.num_calls += 1
        on_link = Counter(link for ring in rings.values() for link in ring.links)
        paces = {}
        for number, ring in rings.items():
            gbps, link = min((uplink_gbps[link] / on_link[link] ** 1.2, link) for link in ring.links)
            paces[number] = Pace(ring.tau(gbps), link if on_link[link] > 1 else NO_LINK)
        return paces


JOBS = [
    job(f"j{at}", gpus=2 + at % 3, iterations=40 + 7 * at, gradient_mb=90.0, submit_s=at // 3)
    for at in range(7)
]
PLACE = cluster(3, 3, 3, inter_server_gbps=5)


def under(model: object, time: str = "continuous") -> ringsched.Scenario:
    return scenario(PLACE, *JOBS, contention={"model": model}, time={"model": time, "slot_s": 1.0})


def test_two_jobs_on_a_link_by_hand() -> None:
    """Two rings over the links of two servers: 2**1.2 times the exchange, whichever way it is said."""
    pair = [
        job(name, gpus=2, iterations=10, gradient_mb=125.0, running_on={"s0": [gpu], "s1": [gpu]})
        for gpu, name in enumerate("ab")
    ]
    for model in (Power(), GeneralPower()):
        setting = scenario(
            cluster(2, 2, reduce_gbps=1e12), *pair, contention={"model": model}, time={"model": "continuous"}
        )
        tau_s = 0.1 + 0.1 * 2**1.2
        assert ringsched.plan(setting, "longest-first").makespan_s == pytest.approx(10 * tau_s)


@pytest.mark.parametrize("policy", ["longest-first", "sjf-bco", "list-scheduling", "free-links", "search"])
@pytest.mark.parametrize("time", ["continuous", "slotted"])
def test_both_kinds_plan_alike(policy: str, time: str) -> None:
    limits = {"iterations": 40} if policy == "search" else {}
    fast, slow = (ringsched.plan(under(model, time), policy, **limits) for model in (Power(), GeneralPower()))
    assert [entry.gpus for entry in fast.jobs] == [entry.gpus for entry in slow.jobs]
    assert [entry.finish_s for entry in fast.jobs] == pytest.approx([entry.finish_s for entry in slow.jobs])
    assert fast.lower_bound_s == slow.lower_bound_s <= fast.makespan_s * (1 + 1e-9)
    if policy == "list-scheduling":  # it spreads jobs, so that they meet
        other = ringsched.plan(under("paper", time), policy)
        assert [entry.finish_s for entry in other.jobs] != [entry.finish_s for entry in fast.jobs]


@pytest.mark.parametrize("policy", ["fifo", "contention-aware", "rolling"])
@pytest.mark.parametrize("backfill", ["none", "easy"])
def test_both_kinds_simulate_alike(policy: str, backfill: str) -> None:
    limits = {"iterations": 20} if policy == "rolling" else {}
    fast, slow = (
        ringsched.simulate(under(model), policy, backfill=backfill, **limits)
        for model in (Power(), GeneralPower())
    )
    assert list(fast.finish_s) == pytest.approx(list(slow.finish_s))


def test_both_kinds_replay_and_explain() -> None:
    for model in (Power(), GeneralPower()):
        setting = under(model)
        plan = ringsched.plan(setting, "list-scheduling")
        again = ringsched.replay(setting, plan)
        assert again.finishes_s == pytest.approx([entry.finish_s for entry in plan.jobs])
        ledger = ringsched.explain(setting, plan)
        assert sum(account.contention_s for account in ledger.jobs) > 0
        assert sum(ledger.by_culprit().values()) == pytest.approx(sum(ledger.by_victim().values()))


def test_a_general_model_is_asked_and_kernels_run_as_python() -> None:
    model = GeneralPower()
    ringsched.plan(under(model), "longest-first")
    assert model.num_calls > 0


def test_the_verifier_knows_only_the_models_of_ringsched() -> None:
    setting = under(Power())
    with pytest.raises(InputError, match=r"contention\.model: .*'power'"):
        ringsched.verify(setting, ringsched.plan(setting, "longest-first"))


def test_a_general_model_is_no_counting_one() -> None:
    small = scenario(PLACE, *JOBS[:2], contention={"model": GeneralPower()}, time={"model": "continuous"})
    with pytest.raises(InputError, match="must not be 'general-power' for policy 'exact'"):
        ringsched.plan(small, "exact")


class Wrong(GeneralPower):
    name = "wrong"

    def __init__(self, answer: object) -> None:
        super().__init__()
        self._answer = answer

    def iteration_times(self, rings: Mapping[int, Ring], uplink_gbps: Sequence[float]) -> dict[int, Pace]:
        return {number: Pace(self._answer, NO_LINK) for number in rings} if self._answer else {}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (-1.0, "'wrong' returned -1.0 for an iteration time; it must be a number > 0"),
        (float("nan"), "'wrong' returned nan for an iteration time"),
        (None, "'wrong' returned no iteration time for one of the jobs"),
    ],
)
def test_wrong_answers_are_refused(answer: object, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        ringsched.plan(under(Wrong(answer)), "list-scheduling")


def test_something_else_is_no_model() -> None:
    class Nameless:
        name = "x"

    with pytest.raises((InputError, Infeasible), match="must be a name or a ContentionModel"):
        ringsched.plan(under(Nameless()), "longest-first")
    with pytest.raises(InputError, match="model must be"):
        Contention(model="papper")
