"""Tests against a real slurmctld."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.slurm.real import Real, real_cluster

GPUS = (4, 4, 8, 8)


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What jobs print goes to a folder of the test."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def real(request: pytest.FixtureRequest) -> Iterator[Real]:
    """A cluster; as a parameter, what its slurm.conf has besides."""
    with real_cluster(GPUS, more=getattr(request, "param", "")) as cluster:
        yield cluster
