"""Schemathesis sends what the API's description allows and what it forbids: no mistake of ours comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks
from tests.web.conftest import HANGS_S, ended, started

import ringsched
from ringsched.formats.plan import plan_to_json
from ringsched.web.examples import example_scenario

pytestmark = pytest.mark.compiled

load_all_checks()
QUICK, LONG = 4, 300  # requests of each kind to each endpoint
CHECKS = [
    schemathesis.checks.status_code_conformance,
    schemathesis.checks.content_type_conformance,
    schemathesis.checks.response_schema_conformance,
]


@cache
def sound() -> dict[str, Any]:
    """Values that can be planned, by field; made when first asked for, not when tests are collected."""
    scenario = example_scenario("small")
    plan = json.loads(plan_to_json(ringsched.plan(scenario, "sjf-bco")))
    return {
        "scenario": scenario.expanded(),
        "scenarios": [scenario.expanded()],
        "plan": plan,
        "plans": {"a": plan},
        "changes": [{"link_factor": 2.0, "add_servers": 1}],
        "text": json.dumps(scenario.expanded()),
        "time_limit_s": None,
        "iterations": 10,
    }


POLITE = {503, 504}  # too much at once, or too long: documented, and no mistake


@pytest.fixture(scope="module")
def described() -> Iterator[Any]:
    """A server of its own: random searches go on after their test, and would keep others waiting."""
    server = started("--workers", "2", "--request-timeout", "20")
    yield schemathesis.openapi.from_url(f"{server.url}/api/v1/openapi.json", timeout=HANGS_S)
    ended(server)


def operations(described: Any) -> list[Any]:
    found = [result.ok() for result in described.get_all_operations()]
    # Events go on and on, and a report has the body of the pictures.
    return [operation for operation in found if not operation.path.endswith(("/events", "/report"))]


def sent(described: Any, mode: GenerationMode, number: int) -> list[int]:
    """Send so many requests to every endpoint, and return the statuses."""
    statuses: list[int] = []
    for operation in operations(described):
        if mode == GenerationMode.POSITIVE or operation.body:
            send_to(operation, mode, number, statuses)
    return statuses


def send_to(operation: Any, mode: GenerationMode, number: int, statuses: list[int]) -> None:
    """Send requests to one endpoint; of those that are allowed half have a scenario that can be planned."""

    @given(case=operation.as_strategy(generation_mode=mode), is_sound=st.booleans())
    @settings(max_examples=number, deadline=None, suppress_health_check=list(HealthCheck))
    def send(case: Any, is_sound: bool) -> None:
        if is_sound and mode == GenerationMode.POSITIVE and operation.body:
            case.body.pop("job", None)
            case.body |= {name: sound()[name] for name in case.body if name in sound()}
        answer = case.call(timeout=HANGS_S)
        statuses.append(answer.status_code)
        assert answer.status_code < 500 or answer.status_code in POLITE, answer.text
        case.validate_response(answer, checks=CHECKS)
        assert mode == GenerationMode.POSITIVE or answer.status_code >= 400, answer.text

    send()


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_what_schemathesis_sends(described: Any, mode: GenerationMode) -> None:
    statuses = sent(described, mode, QUICK)
    assert len(statuses) >= 28
    assert 422 in statuses
    assert (200 in statuses) == (mode == GenerationMode.POSITIVE)


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(GenerationMode))
def test_what_schemathesis_sends_for_long(described: Any, mode: GenerationMode) -> None:
    assert len(sent(described, mode, LONG)) > 2000
