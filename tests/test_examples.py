"""Every example runs, as a user would run it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ringsched
from ringsched.policies.exact import MOST_JOBS

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_script(script: Path) -> None:
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
@pytest.mark.parametrize("policy", [policy.name for policy in ringsched.list_policies()])
def test_scenario(file: Path, policy: str) -> None:
    scenario = ringsched.load_scenario(file)
    if policy == "exact" and len(scenario.jobs) > MOST_JOBS:
        pytest.skip("too large for a proof")
    assert ringsched.verify(scenario, ringsched.plan(scenario, policy)).valid


def test_own_policy_is_under_20_lines() -> None:
    source = (EXAMPLES / "own_policy.py").read_text()
    body = source[source.index("class ") : source.index("if __name__")]
    assert len([line for line in body.splitlines() if line.strip()]) < 20
