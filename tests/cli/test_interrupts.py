"""Ctrl-C and SIGTERM end the program in order, whatever it is in the middle of."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from tests.cli.helpers import FULL, write_json

# A command that is given the signal in the middle of something, and then would go on for a minute.
SCRIPT = """
import ctypes, os, signal, sys, time
import click

from ringsched.cli.main import main, ringsched

NUMBER = signal.Signals[sys.argv[1]]
def interrupt():
    os.kill(os.getpid(), NUMBER)
    time.sleep(1)

class Finalised:
    def __del__(self):
        interrupt()

@click.command("work")
def work():
    if sys.argv[2] == "callback":
        ctypes.CFUNCTYPE(None)(interrupt)()
    elif sys.argv[2] == "finaliser":
        Finalised()
    elif sys.argv[2] == "exec":
        exec("interrupt()", globals())
    elif sys.argv[2] == "callback that matters":
        ctypes.CFUNCTYPE(None)(interrupt)()
        raise RuntimeError("what the callback should have done is missing")
    elif sys.argv[2] == "error":
        try:
            interrupt()
        except KeyboardInterrupt:
            raise RuntimeError("a worker was killed") from None
    for _ in range(600):
        time.sleep(0.1)

type(ringsched).get_command = lambda *_: work
main(["work"])
"""


def ended(folder: Path, number: str, inside: str) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(SCRIPT)
    return subprocess.run(
        # By -m, as `python -m ringsched`: it is then that Python remembers an interrupt within `exec`.
        [sys.executable, "-m", "script", number, inside],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )


@pytest.mark.parametrize("inside", ["callback", "callback that matters", "finaliser", "exec", "error"])
@pytest.mark.parametrize(
    ("number", "said", "code"), [("SIGINT", "interrupted", 130), ("SIGTERM", "terminated", 143)]
)
def test_signal_in_the_middle_of(tmp_path: Path, inside: str, number: str, said: str, code: int) -> None:
    """A callback and a finaliser lost it; after `exec` Python ended itself by SIGINT, with -2."""
    done = ended(tmp_path, number, inside)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"ringsched: {said}\n")


def test_an_interrupt_that_was_to_be_ignored_is_ignored(tmp_path: Path) -> None:
    """As in the background of a shell."""
    scenario = write_json(tmp_path, FULL)
    process = subprocess.Popen(
        [sys.executable, "-m", "ringsched", "plan", str(scenario), "--json"],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_IGN),
    )
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=300)
    assert process.returncode == 0
