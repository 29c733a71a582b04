"""The paper's integer programs, solved as written for three jobs, against brute force and the engine.

docs/concepts/ilp.md tells what these numbers mean.
"""

from __future__ import annotations

import pytest
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched.engine.problem import problem_of
from ringsched.rules.runner import replay

pytest.importorskip("ortools", reason="pip install '.[solver]'")

from tests.reference.ilp import (
    Schedule,
    ends_of,
    least_makespan,
    load,
    schedules,
    splits,
    within_load,
)

# Two GPUs each: 3 slots inside a server; 4 or 5 between the two, alone; 7 or 9 with the others there too.
CASE = scenario(
    cluster(3, 3),
    *(
        job(name, gpus=2, iterations=iterations, gradient_mb=240, backward_ms=250)
        for name, iterations in (("a", 9), ("b", 9), ("c", 7))
    ),
    contention={"degradation": 0.2745},
)
HORIZON = 6


@pytest.fixture(scope="module")
def columns() -> list[Schedule]:
    return schedules(CASE, HORIZON)


def test_every_column_is_what_the_engine_says(columns: list[Schedule]) -> None:
    problem = problem_of(CASE)
    assert len(columns) == 300
    for one in columns:
        gpus = [
            sorted(problem.first_gpu[problem.server_index[server]] + gpu for server, gpu in held)
            for held in one.gpus
        ]
        run = replay(problem, one.starts, gpus)
        assert (tuple(run.starts), tuple(run.finishes)) == (one.starts, one.ends)


def test_program_10_finds_the_least_makespan(columns: list[Schedule]) -> None:
    """c, the shortest, is the one that is spread; SJF-BCO spreads b."""
    k = least_makespan(CASE.jobs, columns)
    assert k is not None
    assert columns[k].makespan == min(one.makespan for one in columns) == 4
    spread = [len({server for server, _ in held}) > 1 for held in columns[k].gpus]
    assert spread == [False, False, True]
    assert ringsched.plan(CASE, "sjf-bco").makespan_s == 5
    assert [ringsched.plan(CASE, name).makespan_s for name in ("longest-first", "lwf", "free-links")] == [
        4,
        4,
        4,
    ]
    bounds = {bound.name: bound.value_s for bound in ringsched.lower_bounds(CASE)}
    assert (bounds["area"], max(bounds.values())) == (3, 4)  # servers of one size make the difference


def test_program_10_has_no_answer_below_the_optimum() -> None:
    assert schedules(CASE, 3) == []
    assert least_makespan(CASE.jobs, []) is None


def test_program_14_bounds_the_makespan_from_below_and_says_no_more(columns: list[Schedule]) -> None:
    """The least theta is 3; a schedule within it may end at 4, the optimum, or at any later time."""
    thetas = [theta for theta in range(1, HORIZON + 1) if within_load(CASE, columns, theta) is not None]
    assert thetas == [3, 4, 5, 6]
    assert all(load(CASE, one) <= one.makespan * 10**6 for one in columns)
    within = [one.makespan for one in columns if load(CASE, one) <= 3 * 10**6]
    assert (min(within), max(within), len(within)) == (4, HORIZON, 224)


def test_program_14_does_not_see_contention() -> None:
    """Same starts, one job on every GPU, so the same loads: c spread, b spread, all of them spread."""
    inside_0, inside_1, between = (2, 0), (0, 2), (1, 1)
    ends = [
        ends_of(CASE, counts, (0, 0, 0))
        for counts in (
            (inside_0, inside_1, between),
            (inside_0, between, inside_1),
            (between, between, between),
        )
    ]
    assert ends == [(3, 3, 4), (3, 5, 3), (9, 9, 7)]


def test_one_overestimate_loosens_program_14(columns: list[Schedule]) -> None:
    """u is the same for all jobs: if c is thought to take three times as long, a and b count a third."""
    wrong = CASE.replace(jobs=(*CASE.jobs[:2], CASE.jobs[2].replace(estimate_s=9)))
    one_after_the_other = next(one for one in columns if one.gpus[0] == one.gpus[1])
    assert load(CASE, one_after_the_other) == 6 * 10**6
    assert load(wrong, one_after_the_other) == 3 * 10**6  # that of c; a and b on one GPU make 2
    assert sum(load(wrong, one) <= 3 * 10**6 for one in columns) > 224


def test_splits() -> None:
    assert list(splits(2, [3, 1])) == [(1, 1), (2, 0)]
    assert list(splits(3, [1, 1])) == []
