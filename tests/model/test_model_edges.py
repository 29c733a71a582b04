"""Digests that must not change, and values a message has to cut."""

from __future__ import annotations

import pytest
from tests.scenarios import cluster, job, scenario

from ringsched import InputError, Server
from ringsched.model.checks import integer, number, shown

SERVERS = (Server(name="é", gpus=2, switch="x"), Server(name="b", gpus=1))


def test_the_digest_of_a_scenario_stays_what_it_is() -> None:
    """Plans on disk carry it: sorted keys, no spaces, UTF-8."""
    problem = scenario(cluster(servers=SERVERS, switches={"x": 40}), job("größer", gpus=2, submit_s=1.5))
    assert problem.sha256() == "595d3521be033fe3bc75464692761ebfe8bc66103ce3ab3f919afb68233b9e52"


def test_a_negative_zero_is_a_zero() -> None:
    plain, signed = (scenario(cluster(1), job("a", submit_s=zero)) for zero in (0.0, -0.0))
    assert str(signed.jobs[0].submit_s) == "0.0"
    assert signed.sha256() == plain.sha256()


@pytest.mark.parametrize("length", [60, 61, 1000])
def test_long_texts_are_cut_in_messages(length: int) -> None:
    assert len(shown("x" * length)) <= 62


@pytest.mark.parametrize(("value", "allowed"), [(1, True), (7, True), (0, False), (8, False)])
def test_limits_of_integers_are_included(value: int, allowed: bool) -> None:
    if allowed:
        assert integer(value, "n", minimum=1, maximum=7) == value
    else:
        with pytest.raises(InputError, match="n"):
            integer(value, "n", minimum=1, maximum=7)


@pytest.mark.parametrize(
    ("limits", "value", "allowed"),
    [
        ({"minimum": 1}, 1.0, True),
        ({"above": 1}, 1.0, False),
        ({"maximum": 1}, 1.0, True),
        ({"maximum": 1}, 1.5, False),
        ({}, float("nan"), False),
        ({}, 10**400, False),
    ],
)
def test_limits_of_numbers(limits: dict[str, float], value: float, allowed: bool) -> None:
    if allowed:
        assert number(value, "x", **limits) == value
    else:
        with pytest.raises(InputError, match="must be a number"):
            number(value, "x", **limits)


def test_estimates_are_counted_in_seconds_when_time_is_continuous() -> None:
    """The length of a slot means nothing then."""
    long = job("a", estimate_s=1e7)
    assert scenario(cluster(1), long, time={"model": "continuous", "slot_s": 1e-12}).jobs == (long,)
    with pytest.raises(InputError, match="too long to be counted exactly"):
        scenario(cluster(1), long, time={"slot_s": 1e-12})
