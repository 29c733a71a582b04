"""`ringsched ring`: the paper's Fig. 1 in a terminal."""

from __future__ import annotations

import json

import pytest
from tests.cli.helpers import run, sentence


def test_figure_1() -> None:
    result = run("ring", "--ranks", 3, "--elements", 6)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("3 workers, 6 elements each, 4 steps")
    assert lines[10].split() == ["0", "chunk", "0", "chunk", "2", "1", "2", "3", "4", "505", "606"]
    assert "step 3 of 4, share-only: each worker keeps what it receives" in lines
    assert lines[-2].split() == ["all", "192", "192", "96"]
    assert lines[-1].endswith("more than 128 bytes; a server for all workers would have to move 288")


def test_json() -> None:
    content = json.loads(run("ring", "--ranks", 4, "--elements", 6, "--json").stdout)
    assert (content["workers"], content["size"], len(content["steps"])) == (4, 6, 6)
    assert content["steps"][-1]["vectors"] == [[1111, 2222, 3333, 4444, 5555, 6666]] * 4
    assert content["steps"][0]["transfers"][1] == {
        "sender": 1,
        "receiver": 2,
        "chunk": 1,
        "elements": 2,
        "bytes": 16,
    }
    assert sum(content["sent_bytes"]) == 2 * 3 * 6 * 8
    assert content["server_worker_bytes"] == 2 * 4 * 6 * 8


def test_what_is_too_wide_is_not_drawn() -> None:
    lines = run("ring", "--ranks", 32, "--elements", 1000).stdout.splitlines()
    assert lines[1] == "too wide to be drawn; --json has every step"
    assert not any("…" in line for line in lines)


@pytest.mark.parametrize(("workers", "size"), [(1, 3), (2, 0), (9, 6), (12, 12)])
def test_odd_rings(workers: int, size: int) -> None:
    result = run("ring", "--ranks", workers, "--elements", size)
    assert result.exit_code == 0
    assert "…" not in result.stdout


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--ranks", 0), "--ranks must be an integer >= 1, not 0"),
        (("--ranks", 33), "--ranks must be at most 32, not 33"),
        (("--elements", -1), "--elements must be an integer >= 0, not -1"),
        (("--elements", 1001), "--elements must be at most 1000, not 1001"),
        (("--elements", "six"), "--elements must be an integer, not 'six'"),
        (("--worker", 3), "no such option"),
    ],
)
def test_bad_input(options: tuple[object, ...], complaint: str) -> None:
    assert complaint in sentence(run("ring", *options))
