"""The example scenarios that are installed with ringsched."""

from __future__ import annotations

from pathlib import Path

# In a wheel beside the package's modules; in a checkout at the top of the repository.
_PLACES = (Path(__file__).parents[1] / "examples", Path(__file__).parents[3] / "examples")


def example_names() -> list[str]:
    """Return the names of the examples.

    Examples
    --------
    >>> "first" in example_names()
    True
    """
    return sorted(path.stem for path in _directory().glob("*.toml"))


def example_text(name: str) -> str:
    """Return the text of an example, TOML with comments."""
    return (_directory() / f"{name}.toml").read_text(encoding="utf-8")


def _directory() -> Path:
    return next(place for place in _PLACES if place.is_dir())
