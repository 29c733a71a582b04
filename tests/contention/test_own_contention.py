"""A contention model from outside the package: k**1.2, once by counting jobs, once as a general model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests import planning
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import Contention, InputError
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
    fast, slow = (planning.plan(under(model, time), policy, **limits) for model in (Power(), GeneralPower()))
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
        planning.simulate(under(model), policy, backfill=backfill, **limits)
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
    with pytest.raises(InputError, match="'general-power' is not supported by policy 'exact'"):
        ringsched.plan(small, "exact")


def test_a_model_that_states_a_loose_limit_has_sound_bounds_and_blame() -> None:
    """The speed alone was taken from the limit: bounds were far above makespans, and contention below 0."""

    class Loose(GeneralPower):
        name = "loose"

        def factor(self, num_jobs: int) -> float:
            return 1e3 * num_jobs**1.2

    setting = under(Loose())
    plan = ringsched.plan(setting, "list-scheduling")
    exact = ringsched.plan(under(GeneralPower()), "list-scheduling")
    assert plan.lower_bound_s == exact.lower_bound_s <= plan.makespan_s
    assert all(account.contention_s >= 0 for account in ringsched.explain(setting, plan).jobs)


@pytest.mark.parametrize("model", [Power(), GeneralPower()])
def test_a_job_that_sends_nothing_is_blamed_where_the_model_counts_it(model: CountingModel) -> None:
    held = [{"s0": [gpu], "s1": [gpu]} for gpu in (0, 1)]
    jobs = [
        job(name, gpus=2, iterations=10, gradient_mb=size, running_on=gpus)
        for name, size, gpus in zip("az", (125.0, 0.0), held, strict=True)
    ]
    setting = scenario(cluster(2, 2), *jobs, contention={"model": model}, time={"model": "continuous"})
    ledger = ringsched.explain(setting, ringsched.plan(setting, "longest-first"))
    assert ledger.by_victim().keys() == {"a"}
    assert ledger.by_culprit() == pytest.approx({"z": ledger.by_victim()["a"]})


def test_models_of_one_class_are_told_apart_by_their_settings() -> None:
    class Exponent(Power):
        def __init__(self, exponent: float) -> None:
            self._exponent = exponent

        def settings(self) -> dict[str, float]:
            return {"exponent": self._exponent}

    assert under(Exponent(1.2)).sha256() == under(Exponent(1.2)).sha256() != under(Exponent(1.9)).sha256()
    assert under(Power()).sha256() != under(GeneralPower()).sha256()


def test_no_file_can_hold_a_custom_model(tmp_path: Path) -> None:
    for name in ("s.json", "s.toml"):
        with pytest.raises(InputError, match="'power' is a custom model, which a scenario file cannot hold"):
            ringsched.save_scenario(under(Power()), tmp_path / name)
        assert not (tmp_path / name).exists()


class Wrong(GeneralPower):
    name = "wrong"

    def __init__(self, pace: Pace | None) -> None:
        super().__init__()
        self._pace = pace

    def iteration_times(self, rings: Mapping[int, Ring], uplink_gbps: Sequence[float]) -> dict[int, Pace]:
        return dict.fromkeys(rings, self._pace) if self._pace else {}


@pytest.mark.parametrize(
    ("pace", "sentence"),
    [
        (Pace(-1.0, NO_LINK), "'wrong' returned an iteration time of -1.0 s; alone it is"),
        (Pace(1e9, NO_LINK), "by the model's factor at most"),
        (Pace(float("nan"), NO_LINK), "'wrong' returned an iteration time of nan s"),
        (Pace("x", NO_LINK), "'wrong' returned 'x' for an iteration time"),  # type: ignore[arg-type]
        (Pace(0.3, 99), "'wrong' returned 99 as the limiting link"),
        (None, "'wrong' returned no iteration time, for job number"),
    ],
)
@pytest.mark.parametrize("time", ["continuous", "slotted"])
def test_wrong_answers_are_refused(pace: Pace | None, sentence: str, time: str) -> None:
    with pytest.raises(InputError, match=sentence):
        ringsched.plan(under(Wrong(pace), time), "list-scheduling")


@pytest.mark.parametrize("factor", [0.5, float("nan"), -1.0, "x"])
def test_wrong_factors_are_refused(factor: float) -> None:
    class Bad(CountingModel):
        name = "bad"

        def factor(self, num_jobs: int) -> float:
            return factor

    with pytest.raises(InputError, match="'bad' has factors"):
        ringsched.plan(under(Bad()), "longest-first")


def test_something_else_is_no_model() -> None:
    class Named:
        name = "x"

    with pytest.raises(InputError, match="must be a name, a CountingModel or a PythonModel"):
        ringsched.plan(under(Named()), "longest-first")
    for wrong in ("papper", 3, [], None):
        with pytest.raises(InputError, match="model must be"):
            Contention(model=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="is a custom model with the name of ringsched's own 'paper'"):
        Contention(model=type("Paper", (Power,), {"name": "paper"})())
