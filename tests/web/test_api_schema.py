"""Schemathesis sends what the API's description allows and what it forbids: no mistake of ours comes back."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks
from tests.web.conftest import Served

load_all_checks()
QUICK, LONG = 8, 300  # requests of each kind to each endpoint
CHECKS = [
    schemathesis.checks.status_code_conformance,
    schemathesis.checks.content_type_conformance,
    schemathesis.checks.response_schema_conformance,
]
POLITE = {503, 504}  # too much at once, or too long: documented, and no mistake


@pytest.fixture(scope="session")
def described(served: Served) -> Any:
    return schemathesis.openapi.from_url(f"{served.url}/api/v1/openapi.json")


def operations(described: Any) -> list[Any]:
    found = [result.ok() for result in described.get_all_operations()]
    return [operation for operation in found if not operation.path.endswith("/events")]  # it goes on and on


def sent(described: Any, mode: GenerationMode, number: int) -> list[int]:
    """Send so many requests to every endpoint, and return the statuses."""
    statuses: list[int] = []
    for operation in operations(described):
        if mode == GenerationMode.POSITIVE or operation.body:
            send_to(operation, mode, number, statuses)
    return statuses


def send_to(operation: Any, mode: GenerationMode, number: int, statuses: list[int]) -> None:
    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=number, deadline=None, suppress_health_check=list(HealthCheck))
    def send(case: Any) -> None:
        answer = case.call(timeout=60)
        statuses.append(answer.status_code)
        assert answer.status_code < 500 or answer.status_code in POLITE, answer.text
        case.validate_response(answer, checks=CHECKS)
        assert mode == GenerationMode.POSITIVE or answer.status_code >= 400, answer.text

    send()


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_what_schemathesis_sends(described: Any, mode: GenerationMode) -> None:
    statuses = sent(described, mode, QUICK)
    assert len(statuses) > 50
    assert 422 in statuses
    assert (200 in statuses) == (mode == GenerationMode.POSITIVE)


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(GenerationMode))
def test_what_schemathesis_sends_for_long(described: Any, mode: GenerationMode) -> None:
    assert len(sent(described, mode, LONG)) > 2000
