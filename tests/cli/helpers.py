"""A scenario with every feature, ways to edit it, and ways to run the command line."""

from __future__ import annotations

import copy
import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from ringsched.cli.main import ringsched

DELETE = object()  # as a value in an edit: take the key away
OLD_BYTES = b"an older plan, to be left alone\n"

JOB: Mapping[str, Any] = {
    "name": "first",
    "gpus": 2,
    "iterations": 100,
    "gradient_mb": 40.0,
    "minibatch": 2,
    "forward_ms": 5.0,
    "backward_ms": 20.0,
}

FULL: Mapping[str, Any] = {
    "name": "full",
    "time": {"model": "slotted", "slot_s": 1.0},
    "cluster": {
        "inter_server_gbps": 10.0,
        "intra_server_gbps": 200.0,
        "reduce_gbps": 400.0,
        "servers": [
            {"name": "a", "gpus": 4, "count": 2, "rack": "r1"},
            {"name": "b", "gpus": 4, "rack": "r2", "uplink_gbps": 25.0, "unavailable": [3]},
            {"gpus": 2},
        ],
        "racks": {"r1": {"uplink_gbps": 40.0}, "r2": {"uplink_gbps": 20.0}},
    },
    "contention": {"model": "paper", "share": 1.0, "degradation": 0.2745, "server_latency_ms": 0.2},
    "jobs": [
        dict(JOB),
        {**JOB, "name": "running", "running_on": {"a-0": [0], "b": [1]}, "done_iterations": 30},
        {**JOB, "name": "late", "gpus": 6, "submit_s": 3.5, "weight": 2.0, "server_slack": 1.5},
        {"name": "known", "gpus": 3, "iterations": 50, "model": "resnet50", "estimate_s": 9.0},
    ],
}

CSV_HEADER = ("name", "gpus", "iterations", "gradient_mb", "minibatch", "forward_ms", "backward_ms")

Path_ = tuple[str | int, ...]  # where in a nested dict


def edited(edits: Mapping[Path_, Any], base: Mapping[str, Any] = FULL) -> dict[str, Any]:
    """A copy of `base` with the value at each path replaced, added or, with DELETE, taken away."""
    content = copy.deepcopy(dict(base))
    for path, value in edits.items():
        inner: Any = content
        for step in path[:-1]:
            inner = inner[step]
        if value is DELETE:
            del inner[path[-1]]
        else:
            inner[path[-1]] = value
    return content


def write_json(folder: Path, content: object, name: str = "queue.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def csv_text(rows: Sequence[Sequence[object]], header: Sequence[str] = CSV_HEADER) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([header, *rows])
    return text.getvalue()


def run(*arguments: object) -> Result:
    """The command line in this process; an exception it does not catch fails the test."""
    return CliRunner().invoke(ringsched, [str(part) for part in arguments], catch_exceptions=False)


def users_environment(**changes: str) -> dict[str, str]:
    """The environment as a user has it: small problems run as plain Python, without numba."""
    return {name: text for name, text in os.environ.items() if name != "RINGSCHED_KERNELS"} | changes


def run_process(
    *arguments: object, env: Mapping[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """The command line as a user starts it."""
    return subprocess.run(
        [sys.executable, "-m", "ringsched", *(str(part) for part in arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=300,
        env=users_environment() if env is None else env,
        **options,
    )


def plan_of(scenario: Path, *options: object) -> dict[str, Any]:
    """The plan the command prints as JSON."""
    result = run("plan", scenario, "--json", *options)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def sentence(result: Result | subprocess.CompletedProcess[str]) -> str:
    """The one sentence of a refusal, after checking that it is one and that nothing else was said."""
    code = result.exit_code if isinstance(result, Result) else result.returncode
    assert code == 2, (code, result.stdout, result.stderr)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    lines = result.stderr.splitlines()
    if lines[0].startswith("Usage: "):
        assert lines[-1].startswith("Error: ")
        return lines[-1]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("Error: ")
    assert len(lines[0]) < 600, "too long to be read"
    return lines[0]


def refused(folder: Path, scenario: Path, *options: object) -> str:
    """The sentence with which `plan` refuses; the output file that was there is left as it was."""
    output = folder / "plan.json"
    output.write_bytes(OLD_BYTES)
    before = sorted(folder.iterdir())
    said = sentence(run("plan", scenario, *options, "-o", output))
    assert output.read_bytes() == OLD_BYTES
    assert sorted(folder.iterdir()) == before, "a temporary file is left"
    return said
