"""One more job, against carrying out the plan by hand, in Fractions."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.effort import examples
from tests.reference.follow import follow
from tests.strategies import job_fields, scenarios

import ringsched
from ringsched import Infeasible, InputError, Job, Scenario
from ringsched.analysis.whatif.changes import OtherContention

POLICIES = ("random", "longest-first", "list-scheduling")


@st.composite
def questions(draw: st.DrawFn) -> tuple[Scenario, Job]:
    """A scenario without its last job, and that job, which is yet to be placed."""
    scenario = draw(scenarios(max_jobs=7))
    last = scenario.jobs[-1].replace(running_on=None, done_iterations=0)
    fields = draw(job_fields(scenario.cluster.capacity)) if draw(st.booleans()) else {}
    return scenario.replace(jobs=scenario.jobs[:-1]), last.replace(
        **({} if scenario.time.slotted else fields)
    )


@examples(120)
@given(questions(), st.sampled_from(POLICIES), st.integers(0, 5))
def test_every_choice_is_what_would_happen(question: tuple[Scenario, Job], policy: str, seed: int) -> None:
    scenario, job = question
    try:
        answer = ringsched.whatif_job(scenario, job, policy=policy, seed=seed)
    except Infeasible:
        assume(False)
        raise
    planned = {each.name: each for each in answer.present.jobs}
    for option in answer.options:
        starts_s = [*(planned[each.name].start_s for each in scenario.jobs), option.start_s]
        gpus = [*(dict(planned[each.name].gpus) for each in scenario.jobs), dict(option.gpus)]
        finishes = follow(answer.scenario, starts_s, gpus)
        assert option.finish_s == pytest.approx(float(finishes[-1]), rel=1e-8, abs=1e-8)
        changed = {change.job: change.after_s for change in option.changes}
        for each, finish in zip(scenario.jobs, finishes, strict=False):
            expected_s = changed.get(each.name, planned[each.name].finish_s)
            assert expected_s == pytest.approx(float(finish), rel=1e-8, abs=1e-8)
        assert option.start_s >= job.submit_s - 1e-9 * max(1.0, job.submit_s)


@examples(120)
@given(questions(), st.sampled_from(POLICIES))
def test_the_answer_is_the_best_of_what_was_tried(question: tuple[Scenario, Job], policy: str) -> None:
    scenario, job = question
    try:
        answer = ringsched.whatif_job(scenario, job, policy=policy)
    except Infeasible:
        assume(False)
        raise
    assert answer.best.cost_s == min(option.cost_s for option in answer.options)
    assert answer.soonest.finish_s == min(option.finish_s for option in answer.options)
    assert answer.harmless.delays == ()
    # Never later than when all others have ended; a slot may begin up to one slot after the submit.
    release_s = job.submit_s + (scenario.time.slot_s if scenario.time.slotted else 0.0)
    last_s = max((planned.finish_s for planned in answer.present.jobs), default=0.0)
    assert answer.harmless.start_s <= max(last_s, release_s)
    assert answer.best.cost_s <= answer.harmless.cost_s
    for option in answer.options:
        others = [change.change_s for change in option.changes]
        assert option.cost_s == pytest.approx(option.finish_s - job.submit_s + sum(others))


@examples(60)
@given(scenarios(), st.sampled_from(["longest-first", "sjf-bco", "first-fit"]))
def test_without_a_change_nothing_changes(scenario: Scenario, policy: str) -> None:
    try:
        plan = ringsched.plan(scenario, policy)
    except Infeasible:
        assume(False)
        raise
    same = OtherContention(fields={"server_latency_ms": scenario.contention.server_latency_ms})
    answer = ringsched.whatif(scenario, same, plan=plan)
    assert (answer.policy, answer.replanned, answer.variants[0].plan) == (policy, None, plan)
    assert answer.variants[0].changes == ()


def test_jobs_that_cannot_be_are_refused() -> None:
    scenario = ringsched.load_scenario("examples/first.toml")
    wide = scenario.jobs[0].replace(name="wide", gpus=33)
    with pytest.raises(InputError, match=r"^the new job 'wide': gpus = 33 is more than the 32 GPUs"):
        ringsched.whatif_job(scenario, wide)
