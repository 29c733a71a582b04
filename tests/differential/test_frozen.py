"""Plans, simulations, bounds and explanations keep their bytes: against records in `tests/frozen`."""

from __future__ import annotations

from difflib import unified_diff
from itertools import islice

import pytest
from tests.effort import AS_PYTHON
from tests.frozen.cases import texts_of
from tests.frozen.records import digest, recorded_digests, recorded_texts
from tests.frozen.scenarios import EVERY_REFUSED, NUM_SCENARIOS

NUM_CHUNKS = 25
MOST_NAMED = 10  # cases that differ, in a message
MOST_LINES = 30  # of a difference
EVERY_AS_PYTHON = 13  # one scenario in so many, and no proofs: they take thousands of nodes


def numbers_of(chunk: int) -> range:
    if AS_PYTHON:
        return range(chunk * EVERY_AS_PYTHON, NUM_SCENARIOS, NUM_CHUNKS * EVERY_AS_PYTHON)
    return range(chunk, NUM_SCENARIOS, NUM_CHUNKS)


def without_proofs(names: list[str]) -> list[str]:
    return [name for name in names if not name.startswith("plan exact")]


@pytest.mark.parametrize("chunk", range(NUM_CHUNKS))
def test_what_was_recorded_is_said_again(chunk: int) -> None:
    differences = [line for number in numbers_of(chunk) for line in differences_of(number)]
    hidden = len(differences) - MOST_NAMED
    named = "\n".join(differences[:MOST_NAMED]) + (f"\n... and {hidden} more" if hidden > 0 else "")
    assert not differences, f"not as recorded:\n{named}"


def differences_of(number: int) -> list[str]:
    """Say of every case of a scenario that is not as it was what differs, and how to see it."""
    recorded = recorded_digests()[number]
    texts = dict(texts_of(number, without=frozenset({"exact"} if AS_PYTHON else ())))
    names = without_proofs(list(recorded)) if AS_PYTHON else list(recorded)
    said = [f"scenario {number}: {name} is no longer said" for name in names if name not in texts]
    said += [f"scenario {number}: {name} was never recorded" for name in texts if name not in recorded]
    for name, text in texts.items():
        if name in recorded and digest(text) != recorded[name]:
            said.append(f"scenario {number}: {name} differs{how(number, name, text)}")
    return said


def how(number: int, name: str, text: str) -> str:
    before = recorded_texts().get(number)
    if before is None:
        return f"; python -m tests.frozen.record {number} {name} prints it, here and in the version before"
    lines = unified_diff(before[name].splitlines(), text.splitlines(), "recorded", "now", n=0, lineterm="")
    return ":\n" + "\n".join(islice(lines, MOST_LINES))


def test_the_records_are_of_all_scenarios_and_of_all_kinds() -> None:
    recorded = recorded_digests()
    assert list(recorded) == list(range(NUM_SCENARIOS))
    sound = [number for number in recorded if number % EVERY_REFUSED != EVERY_REFUSED - 1]
    for kind in ("scenario", "plan", "simulation", "bounds", "explanation"):
        assert all(any(name.startswith(kind) for name in recorded[number]) for number in sound), kind


def test_whole_texts_are_those_of_the_digests() -> None:
    assert len(recorded_texts()) >= 30
    for number, texts in recorded_texts().items():
        assert {name: digest(text) for name, text in texts.items()} == recorded_digests()[number], number
