"""Ctrl-C and SIGTERM end the program in order, whatever it is in the middle of."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cli.helpers import FULL, users_environment, write_json

from ringsched.cli import interrupts

# A command that is given the signal in the middle of something, and then would go on for ten minutes.
SCRIPT = """
import ctypes, os, signal, sys, threading, time
import click

from ringsched.cli.main import main, ringsched

NUMBER = signal.Signals[sys.argv[1]]
def interrupt():
    os.kill(os.getpid(), NUMBER)
    time.sleep(1)

def start_slowly(self):
    threading.Thread.start(self)
    time.sleep(1)

class Finalised:
    def __del__(self):
        interrupt()

@click.command("work")
def work():
    if sys.argv[2] == "callback on a busy machine":
        threading.Timer.start = start_slowly
    if sys.argv[2].startswith("callback on") or sys.argv[2] == "callback":
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
    for _ in range(6000):
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
        timeout=300,  # a busy machine may take long to start it
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )


CASES = ["callback", "callback on a busy machine", "callback that matters", "finaliser", "exec", "error"]


@pytest.mark.parametrize("inside", CASES)
@pytest.mark.parametrize(
    ("number", "said", "code"),
    [("SIGINT", "Error: interrupted", 130), ("SIGTERM", "stopped by SIGTERM", 143)],
)
def test_signal_in_the_middle_of(tmp_path: Path, inside: str, number: str, said: str, code: int) -> None:
    """A callback and a finaliser lost it; after `exec` Python ended itself by SIGINT, with -2.

    On a busy machine the signal that was to be raised again came while the first was still being noted.
    """
    done = ended(tmp_path, number, inside)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"{said}\n")


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The program's handlers, in this process, and a clock that is set by hand."""
    before = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    now_s = [100.0]
    monkeypatch.setattr(interrupts, "_received", [])
    monkeypatch.setattr(interrupts, "_answered", threading.Event())
    monkeypatch.setattr(interrupts, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupts.listen()
    yield now_s
    for number, handler in before:
        signal.signal(number, handler)


def test_two_signals_at_once_are_one_press(listening: list[float]) -> None:
    """`timeout` signals the process and its group."""
    with interrupts.stop_requests(hold=lambda: True) as is_wished:
        assert not is_wished()
        signal.raise_signal(signal.SIGINT)
        assert is_wished()
        listening[0] += 0.9 * interrupts.TWICE_S
        signal.raise_signal(signal.SIGINT)
        listening[0] += 0.2 * interrupts.TWICE_S
        with pytest.raises(interrupts.Interrupted):
            signal.raise_signal(signal.SIGINT)


def test_a_search_without_a_plan_ends_at_the_first_press(listening: list[float]) -> None:
    with interrupts.stop_requests(hold=lambda: False), pytest.raises(interrupts.Interrupted):
        signal.raise_signal(signal.SIGINT)
    assert interrupts.answered() == signal.SIGINT


def test_an_interrupt_that_was_to_be_ignored_is_ignored(tmp_path: Path) -> None:
    """As in the background of a shell."""
    scenario = write_json(tmp_path, FULL)
    process = subprocess.Popen(
        [sys.executable, "-m", "ringsched", "plan", str(scenario), "--json"],
        stdout=subprocess.PIPE,
        text=True,
        env=users_environment(),
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_IGN),
    )
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=300)
    assert process.returncode == 0
