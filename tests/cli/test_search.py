"""`ringsched plan` with a search that is watched, interrupted and killed."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cli.helpers import run, sentence
from tests.workloads import paper_mix

import ringsched

pytestmark = pytest.mark.compiled

HANGS_S = 300.0  # what takes longer never ends


@pytest.fixture(scope="module")
def mix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mix") / "mix.json"
    path.write_text(json.dumps(paper_mix(1).expanded()))
    return path


@pytest.fixture
def searching(mix: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A search of ten minutes that has written a plan."""
    output = tmp_path / "plan.json"
    options = ["--objective", "mean-completion", "--time-limit", "600", "-o", str(output)]
    process = subprocess.Popen(
        [sys.executable, "-m", "ringsched", "plan", str(mix), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_listen,
    )
    deadline = time.monotonic() + 600  # the kernels may have to be compiled first
    while not output.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    yield process, output
    with suppress(ProcessLookupError):
        process.kill()
    process.wait()


def _listen() -> None:
    """A shell starts its background work deaf to Ctrl-C, and so would be all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_gives_the_best_plan_so_far(mix: Path, searching: tuple[subprocess.Popen[str], Path]) -> None:
    process, output = searching
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=HANGS_S)
    assert (process.returncode, stderr) == (0, "")
    assert stdout.endswith(f"plan written to {output}\n")
    plan = ringsched.load_plan(output)
    assert plan.ended == "interrupted"
    assert run("verify", mix, output).exit_code == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_in_mid_search_the_last_plan_is_whole(
    mix: Path, searching: tuple[subprocess.Popen[str], Path], number: int
) -> None:
    process, output = searching
    process.send_signal(number)
    process.communicate(timeout=HANGS_S)
    assert process.returncode != 0
    assert run("verify", mix, output).exit_code == 0
    assert not [path for path in output.parent.iterdir() if path != output and number != signal.SIGKILL]


def test_progress_on_a_terminal(mix: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "ringsched", "plan", str(mix), "--time-limit", "600", "--json"],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=os.environ | {"COLUMNS": "200", "TERM": "xterm"},
        preexec_fn=_listen,
    )
    os.close(theirs)
    missing = {b"searching: best", b"gap ", b" %; ", b"schedules in"}
    seen = b""
    with suppress(OSError):  # that is how a terminal ends
        while part := os.read(ours, 1000):
            seen += part
            if missing and not (missing := {words for words in missing if words not in seen}):
                process.send_signal(signal.SIGINT)
    assert process.wait() == 0
    os.close(ours)
    assert not missing


def test_options_that_cannot_be(mix: Path) -> None:
    assert "--gap must be a percentage above the bound such as 1%, or 0.01, not '1.05'" in sentence(
        run("plan", mix, "--gap", "1.05")
    )
    assert "--time-limit must be" in sentence(run("plan", mix, "--time-limit", "nan"))
    refused = sentence(run("plan", mix, "--policy", "first-fit", "--max-schedules", "5"))
    assert "--max-schedules is not allowed with policy 'first-fit', only with search" in refused
