"""The cache of compiled kernels: where it is, what its key is, and which kernels it holds.

numba's cache looks only at the file of the function it compiles, not at the kernels that function
calls. Ours is keyed by the text of all kernel files it may call, package by package, so that no stale
machine code is ever run.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path

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
_COMPILER = ("jit.py", "numba_cache.py", "numba_compiler.py", "numba_passes.py", "numba_records.py")
_OURS = re.compile("kernels-[0-9a-f]{16}")
UNUSED_S = 30 * 24 * 3600


@contextmanager
def kept_once(names: list[str]) -> Iterator[bool]:
    """Yield whether the twins of kernels are in the cache already; mark them as cached afterwards.

    If several processes need the same twins, one compiles them and the rest wait for it.
    """
    from filelock import FileLock

    marks = [mark for mark in map(kept_mark, names) if mark is not None]
    with FileLock(f"{marks[0]}.lock") if marks else nullcontext():
        yield bool(marks) and all(mark.exists() for mark in marks)
        for mark in marks:
            mark.touch()


@cache
def cache_directory(package: str) -> str | None:
    """Return the cache directory of compiled kernels; None if none is writable, so nothing is cached."""
    digest = hashlib.sha256()
    constants = (_PACKAGE / "model" / name for name in ("checks.py", "objective.py"))
    compiler = (Path(__file__).with_name(name) for name in _COMPILER)
    for path in (*compiler, *constants, *_kernel_files(package)):
        digest.update(path.read_bytes())
    for base in (os.environ.get("NUMBA_CACHE_DIR"), _user_cache()):
        directory = Path(base or "") / f"kernels-{digest.hexdigest()[:16]}"
        if base and _is_writable(directory):
            _prune(directory)
            return str(directory)
    return None


def kept_mark(name: str) -> Path | None:
    """Return the file that marks the twin of a kernel as cached; None if there is no cache."""
    directory = cache_directory(name.split(".")[1]) if name.startswith("ringsched.") else None
    return None if directory is None else Path(directory) / f"{name}-{_machine()}.kept"


@cache
def _machine() -> str:
    """Return what machine code depends on besides the source: Python, numba, and the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next(line for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        processor = platform.processor()
    from importlib.metadata import PackageNotFoundError, version  # it takes a while to load

    try:
        versions = [version("numba"), version("llvmlite")]
    except PackageNotFoundError:  # installed without metadata
        versions = []
    # numba keeps what it compiled by the path of the source, too.
    described = "/".join((sys.version, platform.machine(), processor, str(_PACKAGE), *versions))
    return hashlib.sha256(described.encode()).hexdigest()[:12]


def _prune(used: Path) -> None:
    """Mark our directory as used, and remove those of other versions that were not used for a month."""
    try:
        used.mkdir(exist_ok=True)
        os.utime(used)
        for directory in used.parent.iterdir():
            if _OURS.fullmatch(directory.name) and time.time() - directory.stat().st_mtime > UNUSED_S:
                shutil.rmtree(directory, ignore_errors=True)
    except OSError:
        pass  # a cache that is not tidy is no reason to stop


def _kernel_files(package: str) -> list[Path]:
    return [path for used in _USED[package] for path in sorted((_PACKAGE / used).rglob("*.py"))]


def _user_cache() -> Path | None:
    from platformdirs import user_cache_path

    try:
        directory = user_cache_path("ringsched", appauthor=False)
    except RuntimeError:  # a user without a home, as in some containers
        return None
    return directory if directory.is_absolute() else None  # platformdirs before 4.12 says "~/.cache" then


def _is_writable(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(directory, os.W_OK)
