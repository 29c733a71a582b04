"""Settings for all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from tests.effort import AS_PYTHON

from ringsched.clusters.slurm.local import missing_programs

# CI sees the same examples every time; `HYPOTHESIS_PROFILE=search` looks for new ones.
settings.register_profile(
    "stable",
    derandomize=True,
    max_examples=10 if AS_PYTHON else 50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "search", settings.get_profile("stable"), derandomize=False, print_blob=True, max_examples=100
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "stable"))


# Small problems would run as plain Python; what is tested is what large ones run.
os.environ.setdefault("RINGSCHED_KERNELS", "compiled")

NO_SLURM = missing_programs()

# With real Slurm, browsers, PyTorch, and commands in shells: `make integration`.
INTEGRATION = ("tests/integration/", "tests/docs/test_documents.py", "tests/calibrate/test_profile.py")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two workers more than cores: tests of Slurm and of browsers wait more than they work."""
    return (os.cpu_count() or 1) + 2


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if NO_SLURM and item.get_closest_marker("slurm"):
            item.add_marker(pytest.mark.skip(reason=f"NO SLURM HERE: {', '.join(NO_SLURM)} missing"))
        if AS_PYTHON and item.get_closest_marker("compiled"):
            item.add_marker(pytest.mark.skip(reason="too much work for kernels as plain Python"))
        if item.nodeid.startswith(INTEGRATION):
            item.add_marker(pytest.mark.integration)
    # These wait most of the time. They come first, so that one worker waits while the others compute.
    items.sort(key=lambda item: item.get_closest_marker("slurm") is None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was not tried is said aloud."""
    if NO_SLURM:
        said = f"NOT TESTED: Slurm ({', '.join(NO_SLURM)} missing; apt-get install slurm-wlm munge)"
        terminalreporter.section(said, sep="!", red=True, bold=True)


@pytest.fixture(autouse=True, scope="session")
def _brief_searches() -> None:
    """As plain Python, a search that nothing limits ends after a few steps without progress."""
    if AS_PYTHON:
        from ringsched.search import anytime

        anytime.STALE_STEPS = 5
