"""Every example runs, as a user would run it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import ringsched
from ringsched.cli.main import ringsched as command
from ringsched.policies.exact import MOST_JOBS

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(
    {*EXAMPLES.glob("*.py")} - {EXAMPLES / "http_client.py"}
)  # which docs/reference/http.md runs


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_script(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RINGSCHED_KERNELS", raising=False)  # as a reader has it
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
@pytest.mark.parametrize("policy", [policy.name for policy in ringsched.list_policies()])
def test_scenario(file: Path, policy: str) -> None:
    scenario = ringsched.load_scenario(file)
    if policy == "exact" and len(scenario.jobs) > MOST_JOBS:
        pytest.skip("too large for a proof")
    assert ringsched.verify(scenario, ringsched.plan(scenario, policy)).valid


@pytest.mark.parametrize("policy", ["QuietUplinks", "emptiest_servers"])
def test_own_policy_by_command(policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RINGSCHED_KERNELS", raising=False)  # as a reader has it
    plan_file = tmp_path / "plan.json"
    given = ["--policy", f"{EXAMPLES / 'own_policy.py'}:{policy}", "-o", str(plan_file)]
    done = CliRunner().invoke(command, ["plan", str(EXAMPLES / "first.toml"), *given])
    assert done.exit_code == 0, done.output
    scenario = ringsched.load_scenario(EXAMPLES / "first.toml")
    assert ringsched.verify(scenario, ringsched.load_plan(plan_file)).valid


@pytest.mark.parametrize(
    ("begin", "end"), [("class ", "def emptiest_first"), ("def emptiest_first", "if __name__")]
)
def test_own_policy_is_short(begin: str, end: str) -> None:
    source = (EXAMPLES / "own_policy.py").read_text(encoding="utf-8")
    body = source[source.index(begin) : source.index(end)]
    assert len([line for line in body.splitlines() if line.strip()]) <= 20
