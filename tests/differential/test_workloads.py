"""Generated workloads keep their bytes: against records of the first version in `tests/frozen`."""

from __future__ import annotations

from typing import Any

import pytest
from tests.frozen.workloads import CASES, printed, recorded


@pytest.mark.parametrize("record", recorded(), ids=lambda record: record["case"])
def test_what_was_printed_is_printed_again(record: dict[str, Any]) -> None:
    assert printed(record["case"]) == record


def test_every_case_is_recorded_and_most_are_scenarios() -> None:
    records = recorded()
    assert [record["case"] for record in records] == list(CASES)
    assert len({record["sha256"] for record in records}) > 60
