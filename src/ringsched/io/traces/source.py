"""A trace file as a stream of text, packed or not."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from ringsched.errors import InputError
from ringsched.io.files import reading

GZIP_MAGIC = b"\x1f\x8b"


@contextmanager
def open_trace(path: Path) -> Iterator[IO[str]]:
    """Open a trace; gzip is known by its first bytes, and what is not UTF-8 is replaced, not fatal."""
    with reading(path):
        file = path.open("rb")
    with file:
        try:
            packed = file.peek(2)[:2] == GZIP_MAGIC
            source = cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if packed else file
            with io.TextIOWrapper(source, encoding="utf-8-sig", errors="replace") as text:
                yield text
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            reason = str(error).rstrip(".").lower()
            raise InputError(f"is not whole or no gzip: {reason}", file=str(path)) from None
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}".lower(), file=str(path)) from None
