"""GPUs counted in units: what jobs take of them, and what the bound on completions gains."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import Scenario, Stop, lower_bounds
from ringsched.bounds import priced_placements
from ringsched.bounds.prices import Columns, Runs
from ringsched.bounds.resources import Resource
from ringsched.bounds.rounding import expected_of, rounded_gpus, worth

CONTINUOUS = {"model": "continuous"}


def columns(gpus: list[int], durations: list[float]) -> Columns:
    number = np.arange(len(gpus))
    return Columns(
        job=number,
        first=number,
        gpus=np.array(gpus),
        start=np.zeros(len(gpus)),
        duration=np.array(durations, dtype=np.float64),
        weight=np.full(len(gpus), 1 / len(gpus)),
    )


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=7),
    num_gpus=st.integers(1, 24),
    unit=st.integers(2, 9),
    data=st.data(),
)
def test_no_jobs_that_run_together_take_more_than_there_is(
    sizes: list[int], num_gpus: int, unit: int, data: st.DataObject
) -> None:
    """Whichever jobs are expected: checked with all sets of jobs that fit beside each other."""
    expected = data.draw(st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes)))
    whole = columns(sizes, [1.0] * len(sizes))
    # All jobs run all the time, so that no cell is left out.
    runs = Runs(whole.job, np.zeros(len(sizes)), np.ones(len(sizes)))
    resource = Resource(
        "gpus", np.array(sizes, dtype=np.float64)[:, None], whole.duration, np.array([num_gpus], dtype=float)
    )
    running = np.array(expected)[:, None]
    for counted in rounded_gpus(whole, [resource], np.array([0.0, 1.0]), runs, running):
        amounts = counted.amount[:, 0]
        for chosen in product((0, 1), repeat=len(sizes)):
            if np.dot(chosen, sizes) <= num_gpus:
                assert np.dot(chosen, amounts) <= counted.capacity[0]
    rest = np.array(data.draw(st.integers(0, unit - 1)))
    one, other = (np.array(data.draw(st.integers(-30, 30))) for _ in range(2))
    assert worth(one, unit, rest) + worth(other, unit, rest) <= worth(one + other, unit, rest)


def test_jobs_are_expected_where_half_of_them_runs() -> None:
    """A third of the first job starts at 0 and the rest at 4; the second one starts at 2."""
    runs = Runs(np.array([0, 1, 0]), np.array([0.0, 2.0, 4.0]), np.array([1 / 3, 1, 2 / 3]))
    expected = expected_of(columns([1, 1], [3, 5]), runs, lambda times: 10 * times)
    assert (expected.from_s.tolist(), expected.until_s.tolist()) == ([40, 20], [70, 70])
    in_cells = expected.in_cells(np.array([0.0, 30.0, 60.0, 90.0]))
    assert in_cells.tolist() == [[False, True, False], [False, True, False]]


def beside_small_jobs() -> Scenario:
    """Three jobs of one GPU leave 5 of 8 GPUs, so one job of 4 GPUs at a time fits beside them.

    The short jobs end at once. Without them, the number of jobs at a time would be limit enough.
    """
    small = [job(f"small{at}", iterations=600, weight=5) for at in range(3)]
    large = [job(f"large{at}", gpus=4, iterations=100) for at in range(6)]
    short = [job(f"short{at}", iterations=1) for at in range(8)]
    return scenario(cluster(*[1] * 8), *small, *large, *short, time=CONTINUOUS)


def test_one_large_job_at_a_time_fits_beside_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """The small jobs run until 60 s, and the large ones one after another; only units of GPUs show it."""
    problem = beside_small_jobs()
    plan = ringsched.plan(problem, "search", objective="weighted-completion", stop=Stop(max_schedules=500))
    assert "gpus_by_4" in plan.bounds[0].terms
    assert plan.gap < 1.003
    assert ringsched.verify(problem, plan).valid

    def nothing(*_: object) -> Iterator[Resource]:
        return iter(())

    monkeypatch.setattr(priced_placements, "rounded_gpus", nothing)
    changed = problem.replace(name="the same, without what was kept")
    assert lower_bounds(changed, "weighted-completion")[0].value_s < 0.98 * plan.lower_bound_s
