"""Reading text and writing it so that a crash leaves the old file or the new one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from ringsched.errors import InputError


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, or say why it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError("there is no such file", file=str(path)) from None
    except IsADirectoryError:
        raise InputError("is a folder, not a file", file=str(path)) from None
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text (byte {error.start})", file=str(path)) from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        raise InputError(f"cannot be read: {_reason(error)}", file=str(path)) from None


def check_writable(path: Path) -> None:
    """Raise if a file cannot be written there, before any work is done for it."""
    folder = path.parent
    if path.is_dir():
        raise InputError("is a folder, not a file", file=str(path))
    if not folder.is_dir():
        raise InputError(f"cannot be written: there is no folder {str(folder)!r}", file=str(path))
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise InputError("cannot be written: permission denied", file=str(path))


def write_text(path: Path, text: str) -> None:
    """Write a file atomically: first beside it, then over it."""
    check_writable(path)
    if path.exists() and not path.is_file():  # a pipe or a terminal, such as /dev/stdout
        path.write_text(text, encoding="utf-8")
        return
    target = path.resolve()  # through a link, to what it names
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).chmod(mode)
            Path(temporary).replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
    except OSError as error:
        raise InputError(f"cannot be written: {_reason(error)}", file=str(path)) from None


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
