"""Which code made a row."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from ringsched._version import __version__

PACKAGE = Path(__file__).parents[1]
# Nothing that plans can import it (the layers say so), so it changes no row.
LEFT_OUT = PACKAGE / "cli"


@cache
def code_version() -> str:
    """Return the version and, after a plus, a digest of the source: code being worked on keeps its version.

    Examples
    --------
    >>> code_version().startswith(f"{__version__}+")
    True
    """
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        if not path.is_relative_to(LEFT_OUT):
            digest.update(str(path.relative_to(PACKAGE)).encode())
            digest.update(path.read_bytes())
    return f"{__version__}+{digest.hexdigest()[:12]}"
