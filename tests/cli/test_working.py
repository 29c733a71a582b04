"""The sign of life of long commands."""

from __future__ import annotations

import sys
import time

import pytest

from ringsched.cli import progress


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SILENT_S", 0.0)


@pytest.mark.usefixtures("at_once")
def test_someone_who_watches_sees_it(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.Working("drawing the jobs") as sign:
        while sign._status is None:
            time.sleep(0.01)
    assert "drawing the jobs" in capsys.readouterr().err


@pytest.mark.usefixtures("at_once")
def test_a_file_sees_nothing(capsys) -> None:
    with progress.Working("drawing the jobs") as sign:
        time.sleep(0.05)
        assert sign._status is None
    assert capsys.readouterr().err == ""


def test_a_quick_command_shows_nothing(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.Working("drawing the jobs"):
        pass
    assert capsys.readouterr().err == ""
