"""One writer at a time: two comparisons with one output would lose each other's rows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ringsched.errors import InputError

try:
    import fcntl
except ImportError:  # not on Windows: nobody is kept out there
    fcntl = None  # type: ignore[assignment]


@contextmanager
def sole_writer(path: Path | None) -> Iterator[None]:
    """Keep other comparisons away from `path`; raise if one of them is writing it now.

    The lock is on a file beside it, since the file itself is replaced when it is written. It goes with
    the process that holds it, however that ends; what a crash leaves lying there locks nothing.
    """
    handle = None if path is None or fcntl is None else _locked(path)
    try:
        yield
    finally:
        if path is not None and handle is not None:
            with suppress(OSError):
                _lock_file(path).unlink()
            os.close(handle)


def _locked(path: Path) -> int | None:
    """Return the handle of the locked file; None where the file system has no locks."""
    while True:
        try:
            handle = os.open(_lock_file(path), os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:  # left behind by another user, say
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            problem = "another comparison is writing this file; wait for its end, or write to another"
            raise InputError(problem, file=str(path)) from None
        except OSError:
            os.close(handle)
            return None
        if _is_in_place(handle, path):
            return handle
        os.close(handle)


def _is_in_place(handle: int, path: Path) -> bool:
    """Whether the locked file is the one others will find, and was not taken away by its last owner."""
    try:
        return os.path.samestat(os.fstat(handle), _lock_file(path).stat())
    except FileNotFoundError:
        return False


def _lock_file(path: Path) -> Path:
    target = path.resolve()
    digest = hashlib.sha256(target.name.encode(errors="surrogateescape")).hexdigest()[:16]
    return target.with_name(f".ringsched-{digest}.lock")
