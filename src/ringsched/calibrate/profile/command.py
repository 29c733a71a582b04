"""Run a command with the hook inside, and end all of it whatever happens."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ringsched.errors import AdapterError, InputError
from ringsched.formatting import counted

MARK = "RINGSCHED_PROFILE"  # a variable of the command's environment, by which its processes are found
GRACE_S = 5.0  # between SIGTERM and SIGKILL
POLL_S = 0.1
TAIL_BYTES = 20_000
PR_SET_PDEATHSIG = 1


class Observed(NamedTuple):
    """What the processes of a command left behind."""

    ranks: list[dict[str, Any]]
    python: bool  # the hook was loaded
    torch: bool  # torch was imported
    stopped: bool  # by the time limit


def observe(
    command: Sequence[str],
    *,
    time_limit_s: float | None = None,
    echo: Callable[[bytes], object] | None = None,
) -> Observed:
    """Run a command with the hook until it ends or its time is over; return what its processes measured.

    Its output goes to `echo`. When this function ends, by a return or by any error, no process of the
    command is left, and neither are temporary files.
    """
    program = shutil.which(command[0])
    if program is None:
        raise InputError(f"starts {command[0]!r}, which is no program on the PATH", field="COMMAND")
    with tempfile.TemporaryDirectory(prefix="ringsched-profile-", ignore_cleanup_errors=True) as name:
        directory = Path(name).resolve()
        shutil.copyfile(Path(__file__).with_name("hook.py"), directory / "sitecustomize.py")
        code, tail = _run([program, *command[1:]], directory, time_limit_s, echo)
        if code:
            raise AdapterError(_failure(code, tail.decode(errors="replace"), shown=echo is not None))
        return Observed(
            ranks=[json.loads(path.read_text("utf-8")) for path in sorted(directory.glob("rank-*.json"))],
            python=any(directory.glob("python-*")),
            torch=any(directory.glob("torch-*")),
            stopped=code is None,
        )


def _run(
    command: Sequence[str],
    directory: Path,
    time_limit_s: float | None,
    echo: Callable[[bytes], object] | None,
) -> tuple[int | None, bytes]:
    """Return the exit code, None if the time was over, and the end of the output."""
    path = os.pathsep.join(filter(None, [str(directory), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, MARK: str(directory)}
    process: subprocess.Popen[bytes] | None = None
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_end_with_parent if sys.platform == "linux" else None,
        )
        end_s = None if time_limit_s is None else time.monotonic() + time_limit_s
        tail = b""
        for output in _output(process, end_s):
            tail = (tail + output)[-TAIL_BYTES:]
            if echo is not None:
                echo(output)
        return process.poll(), tail
    except OSError as error:
        raise InputError(f"cannot be started: {error.strerror}", field="COMMAND") from None
    finally:
        if process is not None:
            _end(process, directory)
            assert process.stdout is not None
            process.stdout.close()


def _output(process: subprocess.Popen[bytes], end_s: float | None) -> Iterator[bytes]:
    """Yield the output until the command has ended, though processes it started may still hold the pipe."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while end_s is None or time.monotonic() < end_s:
            ended = process.poll() is not None
            ready = bool(selector.select(0 if ended else POLL_S)) if selector.get_map() else False
            output = os.read(process.stdout.fileno(), 65536) if ready else b""
            if output:
                yield output
            elif ready:
                selector.unregister(process.stdout)
            elif ended:
                return
            elif not selector.get_map():  # it closed its output and goes on
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(POLL_S)


def _end_with_parent() -> None:
    """Ask the kernel to end the command when ringsched is killed; torchrun then ends its workers."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _end(process: subprocess.Popen[bytes], directory: Path) -> None:
    """End all processes of the command, also those in other sessions, such as torchrun's workers."""
    try:
        if process.poll() is None:
            process.terminate()  # torchrun ends its workers
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_S)
        _signal(process, directory, signal.SIGTERM)
        end_s = time.monotonic() + GRACE_S
        while _marked(directory) and time.monotonic() < end_s:
            time.sleep(POLL_S)
    finally:
        _signal(process, directory, signal.SIGKILL)
        process.wait()


def _signal(process: subprocess.Popen[bytes], directory: Path, number: signal.Signals) -> None:
    if process.poll() is None:
        process.send_signal(number)
    for pid in _marked(directory):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _marked(directory: Path) -> list[int]:
    """Return the live processes that have this run's mark in their environment."""
    mark = f"{MARK}={directory}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):  # a zombie's is empty
                found.append(int(entry.name))
    return found


def _failure(code: int, tail: str, *, shown: bool) -> str:
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    lines = [line.strip() for line in tail.splitlines() if line.strip()]
    errors = [line for line in lines if line.partition(":")[0].endswith(("Error", "Exception", "Interrupt"))]
    reason = f": {(errors or lines)[-1]}" if lines else ""
    last = lines[-20:]
    listed = "" if shown or not last else f"\nits last {counted(len(last), 'line')}:\n" + "\n".join(last)
    return f"the command {how}{reason}{listed}"
