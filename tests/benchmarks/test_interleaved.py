"""The comparison of two versions: its statistics, and what makes it fail."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pytest
from benchmarks.interleaved import BASE, HERE, Measured, TaskFailed, Version, _measure, verdict


class FakeVersion(Version):
    """Answers as a worker would, with given times."""

    def __init__(
        self, *times_s: float, result: Any = 1.0, error: str = "", value: float | None = None
    ) -> None:
        self._times_s, self._result, self._error = cycle(times_s), result, error
        self._value = {} if value is None else {"value": value}

    def ask(self, method: str, argument: object) -> dict[str, Any]:
        if self._error:
            raise TaskFailed(self._error)
        time_s = next(self._times_s)
        return {"result": self._result, "cpu_s": time_s, "wall_s": time_s} | self._value


def measured(base: Version, here: Version, name: str = "a/b") -> Measured:
    result = Measured(name)
    _measure(result, {BASE: base, HERE: here}, repeats=6)
    return result


def code(*results: Measured) -> int:
    return verdict(results, most_median=1.05, most=1.10)[1]


def test_the_ratio_is_here_over_base() -> None:
    result = measured(FakeVersion(0.1), FakeVersion(0.2))
    assert result.ratio == pytest.approx(2)
    assert result.error == pytest.approx(0)
    assert len(result.ratios) == 6


def test_what_searches_reach_in_their_time_is_compared() -> None:
    result = measured(FakeVersion(0.1, value=300.0), FakeVersion(0.2, value=330.0))
    assert result.ratio == pytest.approx(1.1)
    assert (result.text(BASE), result.text(HERE)) == ("300 s", "330 s")


@pytest.mark.parametrize(("here_s", "expected"), [(0.08, 0), (0.104, 0), (0.108, 1), (0.2, 1)])
def test_the_limit_of_the_median_counts(here_s: float, expected: int) -> None:
    assert code(measured(FakeVersion(0.1), FakeVersion(here_s))) == expected


def test_one_benchmark_above_its_limit_is_enough() -> None:
    good = [measured(FakeVersion(0.1), FakeVersion(0.1)) for _ in range(5)]
    assert code(*good, measured(FakeVersion(0.1), FakeVersion(0.109))) == 0
    lines, exit_code = verdict(
        [*good, measured(FakeVersion(0.1), FakeVersion(0.112), "slow/one")], most_median=1.05, most=1.10
    )
    assert exit_code == 1
    assert any(line.startswith("ABOVE THE LIMIT: slow/one") for line in lines)


def test_other_results_are_reported() -> None:
    result = measured(FakeVersion(0.1, result=[3.0, 4.0]), FakeVersion(0.1, result=[3.0, 4.1]))
    assert "results differ" in result.problem
    assert code(result) == 2


def test_rounding_is_no_other_result() -> None:
    assert not measured(FakeVersion(0.1, result=[3.0]), FakeVersion(0.1, result=[3.0 + 1e-12])).problem


def test_a_failed_task_is_reported() -> None:
    assert code(measured(FakeVersion(0.1), FakeVersion(0.1, error="broken"))) == 2


def test_short_tasks_are_repeated_within_one_timing() -> None:
    assert measured(FakeVersion(0.001), FakeVersion(0.001)).number == 50
