"""The page and what it is made of: files of the package out of a fixed table."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
FOLDERS = (("ringsched.reporting", "assets"), ("ringsched.web", "assets"))
PAGE = "index.html"


def asset_table() -> Mapping[str, Traversable]:
    """Return all assets by their names: those of reports, and those of the lab, which win.

    Examples
    --------
    >>> "report.css" in asset_table(), "../../etc/passwd" in asset_table()
    (True, False)
    """
    found: dict[str, Traversable] = {}
    for package, folder in FOLDERS:
        place = files(package).joinpath(folder)
        for entry in place.iterdir() if place.is_dir() else ():
            if entry.is_file() and media_type(entry.name) is not None:
                found[entry.name] = entry
    return found


def media_type(name: str) -> str | None:
    """Return what kind of file it is, None if it is none to hand out."""
    return MEDIA_TYPES.get(name[name.rfind(".") :]) if "." in name else None
