"""How kernels are compiled: without the GIL, once, into a cache of our own.

numba's cache looks only at the file of the function it compiles, not at the kernels that function
calls. Ours is keyed by the text of all kernel files, so that no stale machine code is ever run.
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
_ROOMS = ("engine", "contention", "placement", "search")
_OURS = re.compile("kernels-[0-9a-f]{16}")
_LOCK = threading.Lock()

UNUSED_S = 30 * 24 * 3600


def kernel(function: _Function) -> _Function:
    """Compile `function` when it is first called, or load it from the cache.

    Kernels allocate nothing, so they do without reference counts; counting those of the arrays in our
    named tuples at every call took three quarters of the time.
    """
    keep = _CACHE_FOLDER is not None
    with _LOCK:  # modules may be imported by several threads, and the setting is one for all
        theirs, config.CACHE_DIR = config.CACHE_DIR, _CACHE_FOLDER or config.CACHE_DIR
        try:
            compiled: _Function = _njit(function, cache=keep, nogil=True, error_model="numpy", _nrt=False)
        finally:
            config.CACHE_DIR = theirs
    return compiled


def _cache_folder() -> str | None:
    """Return where compiled kernels are kept; None if there is no place, then they are compiled anew."""
    digest = hashlib.sha256()
    for path in (Path(__file__), _PACKAGE / "model" / "checks.py", *_kernel_files()):
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


def _kernel_files() -> list[Path]:
    return [path for room in _ROOMS for path in sorted((_PACKAGE / room).rglob("*.py"))]


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


_CACHE_FOLDER = _cache_folder()
event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call]
