"""Tests against a real slurmctld."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.slurm.real import Real, real_cluster

from ringsched.clusters.slurm import commands

GPUS = (4, 4, 8, 8)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is saved for jobs, and what they print, goes to folders of the test."""
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    found, mine = commands.pwd.getpwuid, commands.os.geteuid()

    def getpwuid(uid: int) -> object:
        entry = found(uid)
        return entry if uid != mine else type(entry)((*entry[:5], str(home), entry[6]))

    monkeypatch.setattr(commands.pwd, "getpwuid", getpwuid)
    return home


@pytest.fixture
def real() -> Iterator[Real]:
    with real_cluster(GPUS) as cluster:
        yield cluster
