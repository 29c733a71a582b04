"""A worker once printed a traceback of its own when Ctrl-C ended a comparison."""

from __future__ import annotations

import os
import subprocess
import sys

SCRIPT = """
import os, signal, subprocess, sys
from ringsched.analysis.compare.workers import _interrupts_held_back
heard = []
signal.signal(signal.SIGINT, lambda *_: heard.append("kept"))
ask = "import signal; print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)"
with _interrupts_held_back():
    os.kill(os.getpid(), signal.SIGINT)
    deaf = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True).stdout.strip()
    before = list(heard)
print(deaf, before, heard)
"""


def test_processes_started_meanwhile_are_deaf_and_nothing_is_lost_here() -> None:
    # Threads of numerical libraries do not hold signals back: there is one thread here.
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=alone, capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[0] == "True [] ['kept']"
