"""`python -m benchmarks.run`: what it stores, and that every part works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.online import TRACES

from benchmarks import parts, run

ROOT = Path(__file__).parents[2]
NEEDS_TRACES = {"philly", "muri", "planning"}
NEEDS_NAMESPACES = {"validation"}


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for results, two parts that work, and one that fails."""

    def failing() -> dict[str, Any]:
        raise RuntimeError("no such network")

    fakes = {"one": parts.Part(lambda: {"s": 1.0}), "two": parts.Part(lambda: {"s": 2.0})}
    monkeypatch.setattr(parts, "PARTS", fakes | {"bad": parts.Part(failing)})
    monkeypatch.setattr(run, "DIRECTORY", tmp_path)
    monkeypatch.setattr(run, "load_results", list)
    monkeypatch.setattr(run, "_write_documents", lambda _: None)
    return tmp_path


def stored(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(directory.iterdir())]


def test_parts_are_stored_in_a_new_file_with_how_they_were_measured(results: Path) -> None:
    assert run.main(["one"]) == 0
    (result,) = stored(results)
    assert result["figures"] == {"one": {"s": 1.0}}
    assert set(result["parts"]["one"]) == {"date", "commit", "s"}


def test_a_part_that_fails_loses_no_other(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["one", "bad", "two"]) == 1
    assert list(stored(results)[0]["figures"]) == ["one", "two"]
    assert "FAILED: bad" in capsys.readouterr().err


def test_merge_measures_what_the_newest_file_lacks(results: Path) -> None:
    (results / "2000-01-01T000000.json").write_text(json.dumps({"date": "", "figures": {"one": {"s": 7.0}}}))
    assert run.main(["--merge"]) == 1  # "bad" is lacking too
    (result,) = stored(results)
    assert result["figures"] == {"one": {"s": 7.0}, "two": {"s": 2.0}}
    assert run.main(["--merge", "one"]) == 0
    assert stored(results)[0]["figures"]["one"] == {"s": 1.0}


def test_quick_stores_nothing(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGSCHED_BENCH_QUICK", "")  # set back afterwards
    assert run.main(["--quick", "one"]) == 0
    assert stored(results) == []


def test_an_unknown_part_is_refused(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["three"]) == 2
    assert "there are one, two, bad" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in parts.PARTS if name not in NEEDS_NAMESPACES])
def test_every_part_works(name: str) -> None:
    if name in NEEDS_TRACES and not TRACES.exists():
        pytest.skip(f"NO TRACES HERE: {TRACES}")
    command = [sys.executable, "-m", "benchmarks.run", "--quick", name]
    subprocess.run(command, cwd=ROOT, env=os.environ, check=True, timeout=600)


@pytest.mark.slow
@pytest.mark.testbed
@pytest.mark.parametrize("name", sorted(NEEDS_NAMESPACES))
def test_every_part_on_the_testbed_works(name: str) -> None:
    test_every_part_works(name)
