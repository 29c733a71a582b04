"""What follows from a frozen object, computed once and kept by it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar


class Keeps(Protocol):
    """A frozen object that keeps what was derived from it, by the function that derives it."""

    @property
    def derived(self) -> dict[Callable[..., Any], Any]:
        """What each function derived."""


_Object = TypeVar("_Object", bound=Keeps)
_Value = TypeVar("_Value")


def derived_once(function: Callable[[_Object], _Value]) -> Callable[[_Object], _Value]:
    """Let an object keep what `function` returns for it."""

    @wraps(function)
    def kept(source: _Object) -> _Value:
        if function not in source.derived:
            source.derived[function] = function(source)
        return source.derived[function]  # type: ignore[no-any-return]

    return kept
