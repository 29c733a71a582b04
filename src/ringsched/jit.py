"""How kernels are compiled: without the GIL, once, into a cache of our own; and how they run as they read.

A kernel is a plain Python function that numba can compile. `compiled` makes its twin: the same code in
which the kernels it calls are their twins. So one text runs both ways, and numba is loaded only where
something is compiled.

numba's cache looks only at the file of the function it compiles, not at the kernels that function
calls. Ours is keyed by the text of all kernel files it may call, package by package, so that no stale
machine code is ever run.
"""

from __future__ import annotations

import dis
import hashlib
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parent
# The packages with kernels, and the packages whose kernels and types they use.
_CORE = ("contention", "engine")
_USED = {
    "contention": ("contention",),
    "engine": _CORE,
    "rules": (*_CORE, "rules"),
    "search": (*_CORE, "rules", "search"),
    "online": (*_CORE, "rules", "online"),
}
_OURS = re.compile("kernels-[0-9a-f]{16}")
_LOCK = threading.RLock()
_OPTIONS: dict[Callable[..., Any], dict[str, Any]] = {}  # of each kernel: what numba is told of it
_PYTHON_ONLY: set[Callable[..., Any]] = set()
_TWINS: dict[Callable[..., Any], Callable[..., Any]] = {}

UNUSED_S = 30 * 24 * 3600


def kernel(function: _Function) -> _Function:
    """Say that `function` can be compiled.

    Kernels allocate nothing, so they do without reference counts; counting those of the arrays in our
    named tuples at every call took three quarters of the time.
    """
    _OPTIONS[function] = {}
    return function


def part(function: _Function) -> _Function:
    """Say that `function` is compiled as a part of the kernels that call it, to save the compiler's time.

    LLVM optimises all that a kernel calls once more for each kernel; a chain of them is compiled as
    often as it is long. A part is put in where it is called and never compiled by itself.
    """
    _OPTIONS[function] = {"inline": "always"}
    return function


def python_only(function: _Function) -> _Function:
    """Say that `function` is called only where kernels run as Python; compiled ones do nothing there."""
    _OPTIONS[function] = {}
    _PYTHON_ONLY.add(function)
    return function


def runnable(function: _Function, *, interpreted: bool) -> _Function:
    """Return a kernel as it is to be called from Python: as it reads, or compiled."""
    return function if interpreted else compiled(function)


def compiled(function: _Function) -> _Function:
    """Return the twin of a kernel that numba compiles when it is first called, or loads from the cache."""
    with _LOCK:  # several threads may come at once, and numba's setting is one for all
        twin: _Function = _twin(function)
        return twin


def _twin(function: Any) -> Any:
    if function not in _TWINS:
        module = function.__globals__
        text = _does_nothing if function in _PYTHON_ONLY else function
        called = {
            name: module[name]
            for name in _names(text.__code__)
            if name in module and getattr(module[name], "__hash__", None) and module[name] in _OPTIONS
        }
        names = module | {name: _twin(other) for name, other in called.items()}
        twin = FunctionType(text.__code__, names, function.__name__, text.__defaults__, text.__closure__)
        twin.__qualname__, twin.__doc__ = function.__qualname__, function.__doc__
        _TWINS[function] = _compiled(twin, function.__module__, _OPTIONS[function])
    return _TWINS[function]


def _does_nothing(*_: Any) -> None:
    pass


def _names(code: CodeType) -> Iterator[str]:
    """Yield the global names that a function uses."""
    return (step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL")


def _compiled(function: Any, module: str, options: dict[str, Any]) -> Any:
    import numba

    _announce()
    package = module.split(".")[1] if module.startswith("ringsched.") else None
    folder = None if package is None else _cache_folder(package)
    config: Any = numba.config  # numba fills its settings in at run time
    theirs, config.CACHE_DIR = config.CACHE_DIR, folder or config.CACHE_DIR
    try:
        njit: Any = numba.njit  # which does not declare all its options
        return njit(
            function, cache=folder is not None, nogil=True, error_model="numpy", _nrt=False, **options
        )
    finally:
        config.CACHE_DIR = theirs


@cache
def _cache_folder(package: str) -> str | None:
    """Return where compiled kernels are kept; None if there is no place, then they are compiled again."""
    import numba

    digest = hashlib.sha256()
    constants = (_PACKAGE / "model" / name for name in ("checks.py", "objective.py"))
    for path in (Path(__file__), *constants, *_kernel_files(package)):
        digest.update(path.read_bytes())
    for base in (numba.config.CACHE_DIR, _user_cache()):  # type: ignore[attr-defined]
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


def _kernel_files(package: str) -> list[Path]:
    return [path for used in _USED[package] for path in sorted((_PACKAGE / used).rglob("*.py"))]


def _user_cache() -> Path | None:
    from platformdirs import user_cache_path

    try:
        folder = user_cache_path("ringsched", appauthor=False)
    except RuntimeError:  # a user without a home, as in some containers
        return None
    return folder if folder.is_absolute() else None  # platformdirs before 4.12 says "~/.cache" then


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


@cache
def _announce() -> None:
    """Say once, to someone who watches, that compiling takes a while."""
    from numba.core import event

    class Announcement(event.Listener):
        said = False

        def on_start(self, event: Any) -> None:
            ours = event.data["dispatcher"].py_func.__module__.startswith("ringsched.")
            if ours and not self.said and sys.stderr.isatty():
                self.said = True
                sys.stderr.write("ringsched: compiling its kernels, this once; about a minute\n")

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Announcement())  # type: ignore[no-untyped-call]
