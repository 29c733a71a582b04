"""A long JSON list, element by element, in little memory, past what is broken."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import IO

CHUNK = 1 << 20
LONGEST = 1 << 22  # characters; what cannot be read within so many is broken, not long
BETWEEN = re.compile(r"[\s,\[\]]*")  # so that one object a line is read as well

BROKEN = object()  # stands for an element that is not JSON


class JsonStream:
    """The elements of a list with the line each begins on.

    Parameters
    ----------
    is_element
        After something broken, what is not such an element is taken for a piece of it.
    """

    def __init__(self, text: IO[str], is_element: Callable[[object], bool]) -> None:
        self._text = text
        self._is_element = is_element
        self._decode = json.JSONDecoder().raw_decode
        self._buffer = ""
        self._at = 0
        self._line = 1
        self._ended = False

    def elements(self) -> Iterator[tuple[int, object]]:
        """Yield line and value of every element; BROKEN once where some text cannot be read."""
        lost = False  # in the middle of something broken
        while self._next():
            line, value = self._line, self._value()
            if value is BROKEN:
                if not lost:
                    yield line, BROKEN
                lost = True
                self._skip_to_object()
            elif not lost or self._is_element(value):
                lost = False
                yield line, value

    def _next(self) -> bool:
        """Go to the next element; False at the end."""
        while True:
            between = BETWEEN.match(self._buffer, self._at)
            assert between is not None  # it matches nothing as well
            self._move(between.end())
            if self._at < len(self._buffer):
                return True
            if self._ended:
                return False
            self._refill()

    def _value(self) -> object:
        while True:
            try:
                value, end = self._decode(self._buffer, self._at)
            except (ValueError, RecursionError):
                if self._ended or len(self._buffer) - self._at >= LONGEST:
                    return BROKEN
                self._refill()
            else:
                self._move(end)
                return value

    def _skip_to_object(self) -> None:
        found = self._buffer.find("{", self._at + 1)
        self._move(len(self._buffer) if found < 0 else found)

    def _move(self, end: int) -> None:
        self._line += self._buffer.count("\n", self._at, end)
        self._at = end

    def _refill(self) -> None:
        more = self._text.read(CHUNK)
        self._ended = not more
        self._buffer = self._buffer[self._at :] + more
        self._at = 0
