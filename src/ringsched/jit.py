"""How kernels are compiled: without the GIL, once, into a cache of our own.

numba's cache looks only at the file of the function it compiles, not at the kernels that function
calls. Ours is keyed by the text of all kernel files, so that no stale machine code is ever run.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
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
_ROOMS = ("engine", "contention", "placement")


def kernel(function: _Function) -> _Function:
    """Compile `function` when it is first called, or load it from the cache.

    Kernels allocate nothing, so they do without reference counts; counting those of the arrays in our
    named tuples at every call took three quarters of the time.
    """
    theirs, config.CACHE_DIR = config.CACHE_DIR, _CACHE_FOLDER
    try:
        compiled: _Function = _njit(function, cache=True, nogil=True, error_model="numpy", _nrt=False)
    finally:
        config.CACHE_DIR = theirs
    return compiled


def _cache_folder() -> str:
    digest = hashlib.sha256()
    for room in _ROOMS:
        for path in sorted((_PACKAGE / room).glob("*.py")):
            digest.update(path.read_bytes())
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for base in (config.CACHE_DIR, home / "ringsched"):
        if base and _is_writable(Path(base)):
            return str(Path(base) / f"kernels-{digest.hexdigest()[:16]}")
    return str(
        Path(tempfile.gettempdir()) / f"ringsched-{os.getuid()}" / f"kernels-{digest.hexdigest()[:16]}"
    )


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

    def on_start(self, _event: object) -> None:
        if not self._said and sys.stderr.isatty():
            sys.stderr.write("ringsched: compiling its kernels, this once; about half a minute\n")
        self._said = True

    def on_end(self, _event: object) -> None:
        pass


_CACHE_FOLDER = _cache_folder()
event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call]
