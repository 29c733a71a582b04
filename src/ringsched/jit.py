"""How kernels are compiled: without the GIL, once, into a cache of our own.

numba's cache looks only at the file of the function it compiles, not at the kernels that function
calls. Ours is keyed by the text of all kernel files it may call, room by room, so that no stale machine
code is ever run.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numba import config as numba_config
from numba import njit
from numba.core import event

# Typed loosely: numba fills its settings in at run time, and does not declare all options.
config: Any = numba_config
_njit: Any = njit

_Function = TypeVar("_Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parent
# The rooms with kernels, and the rooms whose kernels and types they use.
_CORE = ("contention", "engine")
_ROOMS = {
    "contention": _CORE,
    "engine": _CORE,
    "placement": (*_CORE, "placement"),
    "search": (*_CORE, "placement", "search"),
    "online": (*_CORE, "placement", "online"),
}
_OURS = re.compile("kernels-[0-9a-f]{16}")
_LOCK = threading.Lock()

UNUSED_S = 30 * 24 * 3600


def kernel(function: _Function) -> _Function:
    """Compile `function` when it is first called, or load it from the cache.

    Kernels allocate nothing, so they do without reference counts; counting those of the arrays in our
    named tuples at every call took three quarters of the time.
    """
    return _compiled(function)


def part(function: _Function) -> _Function:
    """Make `function` a part of the kernels that call it, for the sake of the compiler's time.

    LLVM optimises all that a kernel calls once more for each kernel; a chain of them is compiled as
    often as it is long. A part is put in where it is called and never compiled by itself.
    """
    return _compiled(function, inline="always")


def _compiled(function: _Function, **options: Any) -> _Function:
    with _LOCK:  # modules may be imported by several threads, and the setting is one for all
        folder = _cache_folder(function.__module__.split(".")[1])
        theirs, config.CACHE_DIR = config.CACHE_DIR, folder or config.CACHE_DIR
        try:
            compiled: _Function = _njit(
                function, cache=folder is not None, nogil=True, error_model="numpy", _nrt=False, **options
            )
        finally:
            config.CACHE_DIR = theirs
    return compiled


@cache
def _cache_folder(room: str) -> str | None:
    """Return where compiled kernels are kept; None if there is no place, then they are compiled anew."""
    digest = hashlib.sha256()
    for path in (Path(__file__), _PACKAGE / "model" / "checks.py", *_kernel_files(room)):
        digest.update(path.read_bytes())
    for base in (config.CACHE_DIR, _user_cache()):
        if base and _is_writable(Path(base)):
            folder = Path(base) / f"kernels-{digest.hexdigest()[:16]}"
            _prune(folder)
            return str(folder)
    return None


def _prune(used: Path) -> None:
    """Mark our folder as used, and remove those of other versions that were not for a month."""
    try:
        used.mkdir(exist_ok=True)
        os.utime(used)
        for folder in used.parent.iterdir():
            if _OURS.fullmatch(folder.name) and time.time() - folder.stat().st_mtime > UNUSED_S:
                shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        pass  # a cache that is not tidy is no reason to stop


def _kernel_files(room: str) -> list[Path]:
    return [path for used in _ROOMS[room] for path in sorted((_PACKAGE / used).rglob("*.py"))]


def _user_cache() -> Path | None:
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ringsched"
    except RuntimeError:  # a user without a home, as in some containers
        return None


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


class _Announcement(event.Listener):
    """Says once, to someone who watches, that compiling takes a while."""

    def __init__(self) -> None:
        self._said = False

    def on_start(self, event: Any) -> None:
        ours = event.data["dispatcher"].py_func.__module__.startswith("ringsched.")
        if ours and not self._said and sys.stderr.isatty():
            self._said = True
            sys.stderr.write("ringsched: compiling its kernels, this once; about a minute\n")

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call]
