"""The ledger against books kept slot by slot in Fractions."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.effort import examples
from tests.reference.blame import Books, books_of
from tests.strategies import fair_contentions, scenarios

import ringsched
from ringsched import Contention, Infeasible, Scenario
from ringsched.analysis.explain.ledger import Ledger

POLICIES = ("random", "first-fit", "list-scheduling", "longest-first", "adaptive-overlap")


def ledger_of(scenario: Scenario, policy: str, seed: int) -> Ledger:
    try:
        return ringsched.explain(scenario, ringsched.plan(scenario, policy, seed=seed))
    except Infeasible:
        assume(False)
        raise


def assert_same(ledger: Ledger, books: Books) -> None:
    for account in ledger.jobs:
        scale = max(1.0, account.duration_s)
        for part in ("duration", "best_case", "spreading", "contention", "rounding"):
            expected = float(getattr(books, part).get(account.name, 0))
            # Completions 1e-9 apart are one instant, also for a job that floats let end a little later.
            allowed = 1e-9 * scale if ledger.scenario.time.slotted else 1e-8 * max(1.0, account.finish_s)
            assert getattr(account, f"{part}_s") == pytest.approx(expected, abs=allowed)
    links = {
        link.label: ("server" if link.kind == "server" else "switch", link.name) for link in ledger.links
    }
    found = {
        (blame.victim, blame.culprit, *links[blame.link]): blame.seconds for blame in ledger.attributions()
    }
    for key in found.keys() | books.blame.keys():
        assert found.get(key, 0.0) == pytest.approx(float(books.blame.get(key, 0)), rel=1e-9, abs=1e-9)


@st.composite
def crowded(draw: st.DrawFn, contention: st.SearchStrategy[Contention] | None = None) -> Scenario:
    """Many small jobs that come one after another, so that links have several of them at a time."""
    scenario = draw(scenarios(min_jobs=6, max_jobs=14, contention=contention))
    return scenario.replace(
        jobs=tuple(
            job if job.is_running else job.replace(gpus=min(job.gpus, draw(st.integers(2, 3))))
            for job in scenario.jobs
        )
    )


@examples(200)
@given(scenarios(min_jobs=0) | crowded(), st.sampled_from(POLICIES), st.integers(0, 9))
def test_ledger_equals_books_kept_slot_by_slot(scenario: Scenario, policy: str, seed: int) -> None:
    ledger = ledger_of(scenario, policy, seed)
    plan = {job.name: job for job in ledger.plan.jobs}
    starts_s = [plan[job.name].start_s for job in scenario.jobs]
    gpus = [dict(plan[job.name].gpus) for job in scenario.jobs]
    assert_same(ledger, books_of(scenario, starts_s, gpus))


@examples(100)
@given(
    scenarios(min_jobs=3, max_jobs=12, contention=fair_contentions()),
    st.sampled_from(POLICIES[:-1]),
    st.integers(0, 9),
)
def test_ledger_of_fair_links_equals_books(scenario: Scenario, policy: str, seed: int) -> None:
    ledger = ledger_of(scenario, policy, seed)
    plan = {job.name: job for job in ledger.plan.jobs}
    starts_s = [plan[job.name].start_s for job in scenario.jobs]
    assert_same(ledger, books_of(scenario, starts_s, [dict(plan[job.name].gpus) for job in scenario.jobs]))
    assert_accounted_for_once(ledger)


@examples(150)
@given(scenarios(min_jobs=0), st.sampled_from(POLICIES), st.integers(0, 9))
def test_every_second_is_accounted_for_once(scenario: Scenario, policy: str, seed: int) -> None:
    assert_accounted_for_once(ledger_of(scenario, policy, seed))


def assert_accounted_for_once(ledger: Ledger) -> None:
    time = ledger.scenario.time
    lost = sum(account.contention_s for account in ledger.jobs)
    for account in ledger.jobs:
        scale = max(1.0, account.duration_s)
        parts = (account.best_case_s, account.spreading_s, account.contention_s, account.rounding_s)
        assert math.fsum(parts) == account.duration_s  # to the last bit
        assert min(parts[:3]) >= 0
        assert account.rounding_s >= -1e-8 * max(1.0, account.finish_s)
        if time.slotted:
            num_slots = round(account.duration_s / time.slot_s)
            assert account.duration_s == num_slots * time.slot_s
            assert account.rounding_s < account.duration_s
        else:
            assert account.rounding_s == pytest.approx(0, abs=1e-8 * max(1.0, account.finish_s))
        mine = sum(blame.seconds for blame in ledger.attributions(victim=account.name))
        assert mine == pytest.approx(account.contention_s, rel=1e-9, abs=1e-12 * scale)
    for view in (ledger.by_victim(), ledger.by_culprit(), ledger.by_link(), ledger.matrix()):
        assert sum(view.values()) == pytest.approx(lost, rel=1e-9, abs=1e-9)
        assert all(seconds > 0 for seconds in view.values())


@examples(60)
@given(scenarios(), st.sampled_from(POLICIES), st.integers(0, 9), st.data())
def test_without_a_job_is_a_replay_without_it(
    scenario: Scenario, policy: str, seed: int, data: st.DataObject
) -> None:
    ledger = ledger_of(scenario, policy, seed)
    name = data.draw(st.sampled_from([job.name for job in scenario.jobs]))
    gains = checked_gains(ledger, name)
    assert all(gain > -1e-6 for gain in gains)  # where f counts heads


@examples(40)
@given(crowded(fair_contentions()), st.just("random"), st.integers(0, 9))
def test_without_any_job_on_fair_links_gains_and_losses_are_those_of_a_replay(
    scenario: Scenario, policy: str, seed: int
) -> None:
    ledger = ledger_of(scenario, policy, seed)
    for job in scenario.jobs:  # losses are rare
        gains = checked_gains(ledger, job.name)
        assert ledger.without(job.name).total_gain_s == pytest.approx(sum(gains), rel=1e-6, abs=1e-6)


def checked_gains(ledger: Ledger, name: str) -> list[float]:
    """What all others gain without a job, by the books, which is what the ledger says."""
    scenario, without = ledger.scenario, ledger.without(name)
    jobs = [job for job in scenario.jobs if job.name != name]
    planned = {job.name: job for job in ledger.plan.jobs}
    books = books_of(
        scenario.replace(jobs=tuple(jobs)),
        [planned[job.name].start_s for job in jobs],
        [dict(planned[job.name].gpus) for job in jobs],
    )
    gains = []
    for job in jobs:
        gain = planned[job.name].finish_s - (planned[job.name].start_s + float(books.duration[job.name]))
        assert without.gain_of(job.name) == pytest.approx(gain, rel=1e-6, abs=1e-7)
        gains.append(gain)
    return gains
