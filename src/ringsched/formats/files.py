"""Text and tables, read and written so that a crash leaves the old file or the new one."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ringsched.errors import InputError, check_installed


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, or say why it cannot be read."""
    with reading(path):
        text = path.read_text(encoding="utf-8-sig")
    if not text.strip():
        raise InputError("is empty", file=str(path))
    return text


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what goes wrong while a file is read into one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise InputError("there is no such file", file=str(path)) from None
    except IsADirectoryError:
        raise InputError("is a directory, not a file", file=str(path)) from None
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text (byte {error.start})", file=str(path)) from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        raise InputError(f"cannot be read: {_reason(error)}", file=str(path)) from None


def check_writable(path: Path) -> None:
    """Raise if a file cannot be written there, before any work is done for it."""
    try:
        directory = _target(path).parent if path.is_symlink() else path.parent
        if path.is_dir():
            raise InputError("is a directory, not a file", file=str(path))
        if not directory.is_dir():
            raise InputError(f"cannot be written: there is no directory {str(directory)!r}", file=str(path))
        places = [path] if is_stream(path) else [directory, path] if path.exists() else [directory]
        if not all(os.access(place, os.W_OK) for place in places):
            raise InputError("cannot be written: permission denied", file=str(path))
    except OSError as error:
        raise InputError(f"cannot be written: {_reason(error)}", file=str(path)) from None


def make_directory(directory: Path) -> None:
    """Make a directory and its parents unless they exist."""
    try:
        if directory.exists() and not directory.is_dir():
            raise InputError("is a file, not a directory", file=str(directory))
        directory.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        raise InputError(f"cannot be made: {_reason(error)}", file=str(directory)) from None


def write_text(path: Path, text: str) -> None:
    """Write a file atomically: first beside it, then over it."""
    write_lines(path, [text])


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a file atomically, line by line."""
    check_writable(path)
    try:
        if is_stream(path):
            with path.open("w", encoding="utf-8") as stream:
                stream.writelines(lines)
        else:
            with written_beside(path) as temporary, temporary.open("w", encoding="utf-8") as file:
                file.writelines(lines)
    except OSError as error:
        raise InputError(f"cannot be written: {_reason(error)}", file=str(path)) from None


@contextlib.contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """Give a new file in the same directory, which takes the place of `path` when it has been written."""
    temporary: Path | None = None
    try:
        target = _target(path)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~umask()
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:50]}.")
        os.close(handle)
        temporary = Path(name)
        yield temporary
        _flush(temporary)
        temporary.chmod(mode)
        temporary.replace(target)
    except OSError as error:
        raise InputError(f"cannot be written: {_reason(error)}", file=str(path)) from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Wait until the disk has what was written."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def is_stream(path: Path) -> bool:
    """Whether `path` is a pipe or a terminal, such as /dev/stdout."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _target(path: Path) -> Path:
    """Return the file itself: through a link, to what it names."""
    try:
        return path.resolve()
    except RuntimeError as error:  # Python before 3.13: a link that leads to itself
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from error


def umask() -> int:
    """Return which permissions new files do not get; there is no way to ask but to set it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


_ROWS_AT_A_TIME = 10_000

# Named columns of one length: lists, or arrays.
Columns = Mapping[str, Any]


def check_table_file(path: Path) -> None:
    """Raise if a table cannot be written there, before any work is done for it."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise InputError("must end in .csv or .parquet", file=str(path))
    if path.suffix.lower() == ".parquet":
        check_installed("pyarrow.parquet", "parquet", file=str(path))
    check_writable(path)


def save_table(columns: Columns, path: str | os.PathLike[str]) -> None:
    r"""Write columns of one length, atomically; a number that is none is an empty field, or null.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "table.csv")
    >>> save_table({"job": ["a", "b"], "start_s": [0.0, math.nan]}, path)
    >>> path.read_text()
    'job,start_s\na,0.0\nb,\n'
    """
    path = Path(path)
    check_table_file(path)
    if path.suffix.lower() == ".csv":
        write_lines(path, _lines(columns))
        return
    import pyarrow
    from pyarrow import parquet

    arrays = {name: pyarrow.array(values, from_pandas=True) for name, values in columns.items()}
    with written_beside(path) as temporary:
        parquet.write_table(pyarrow.table(arrays), temporary)


def _lines(columns: Columns) -> Iterator[str]:
    num_rows = len(next(iter(columns.values()), ()))
    yield _csv([tuple(columns)])
    for first in range(0, num_rows, _ROWS_AT_A_TIME):
        part = [_plain(values[first : first + _ROWS_AT_A_TIME]) for values in columns.values()]
        yield _csv(zip(*part, strict=True))


def _plain(values: Any) -> list[Any]:
    """Return values of Python itself, which are written in the shortest way that reads back the same."""
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    return ["" if isinstance(value, float) and math.isnan(value) else value for value in listed]


def _csv(rows: Any) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
