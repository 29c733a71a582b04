"""Waiting limits: no job is passed over for ever."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.crowds import crowd
from tests.effort import examples
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import InputError
from ringsched.analysis.over_time import over_time


def small_jobs_keep_coming() -> ringsched.Scenario:
    """Two GPUs; every second slot a job of one GPU comes that takes three slots."""
    small = [job(f"small-{at}", 1, 30, submit_s=2 * at) for at in range(20)]
    return scenario(cluster(2), *small, job("large", 2, 10, submit_s=1))


def test_a_large_job_starves_without_a_limit_and_not_with_one() -> None:
    case = small_jobs_keep_coming()
    starved = ringsched.simulate(case, "smallest-first")
    assert starved.start_s[-1] == starved.start_s.max()
    limited = ringsched.simulate(case, "smallest-first", max_wait_s=6)
    # It becomes the head at 7, and the jobs that run then end by 9 and 10.
    assert 7 <= limited.start_s[-1] <= 10
    waits = {each.size: each.max_waiting_s for each in over_time(limited).by_size}
    assert waits["2"] == limited.waiting_s[-1]
    assert waits["1"] == limited.waiting_s[:-1].max()


@pytest.mark.parametrize("backfill", ["none", "easy"])
def test_the_limit_also_holds_where_others_may_pass(backfill: str) -> None:
    case = small_jobs_keep_coming()
    limited = ringsched.simulate(case, "shortest-first", max_wait_s=6, backfill=backfill)
    assert limited.start_s[-1] <= 10
    assert ringsched.verify(case, limited.plan()).valid


@examples(80)
@given(st.integers(0, 10**6), st.sampled_from(["smallest-first", "longest-first", "shortest-first"]))
def test_no_patience_is_fifo_and_endless_patience_is_no_limit(seed: int, policy: str) -> None:
    case = crowd(seed)
    impatient = ringsched.simulate(case, policy, max_wait_s=0)
    assert impatient.start_s.tolist() == ringsched.simulate(case, policy, order="fifo").start_s.tolist()
    patient = ringsched.simulate(case, policy, max_wait_s=1e12, backfill="easy")
    assert patient.start_s.tolist() == ringsched.simulate(case, policy, backfill="easy").start_s.tolist()


def test_policies_that_plan_have_no_limit() -> None:
    with pytest.raises(InputError, match="max-wait"):
        ringsched.simulate(small_jobs_keep_coming(), "rolling", max_wait_s=6)


def test_the_table_names_those_that_can_starve_a_job() -> None:
    safe = {policy.name for policy in ringsched.list_policies(online=True) if not policy.may_starve}
    assert safe == {"fifo", "contention-aware", "first-fit", "list-scheduling"}
