"""Microsoft's Philly clusters: the JSON list `cluster_job_log` as published, and the table of AdaptDL."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import tzinfo
from pathlib import Path
from typing import IO, Any

from ringsched.errors import InputError
from ringsched.formats.traces.options import ReadOptions
from ringsched.formats.traces.rows import (
    NEVER_STARTED,
    NO_GPU,
    NO_SUBMIT,
    STILL_RUNNING,
    BadRow,
    NotThisFormat,
    Recorded,
    TraceRow,
    checked_duration_s,
    malformed,
)
from ringsched.formats.traces.table import Cells, Table, open_trace
from ringsched.formats.traces.values import instant_of
from ringsched.model.checks import shown

CHUNK = 1 << 20
LONGEST = 1 << 22  # characters; what cannot be read within so many is broken, not long
BETWEEN = re.compile(r"[\s,\[\]]*")  # so that one object a line is read as well

BROKEN = object()  # replaces an element that is not JSON


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


GPU = re.compile(r"[A-Za-z]*([0-9]{1,3})")  # "gpu7"


class PhillyJson:
    """The format of `cluster_job_log`."""

    takes = frozenset({"time_zone"})
    records_places = True

    def rows(self, path: Path, options: ReadOptions) -> Iterator[TraceRow | BadRow]:
        """Yield every record: a job by its last attempt, or why it is none."""
        with open_trace(path) as text:
            _check_list(text, path)
            for line, value in JsonStream(text, _is_record).elements():
                try:
                    yield _read(value, line, options.time_zone)
                except BadRow as bad:
                    yield bad.on(line)


def _check_list(text: IO[str], path: Path) -> None:
    """Raise if the file does not begin as a JSON list; the `[` is all that is taken off it."""
    first = text.read(1)
    while first.isspace():
        first = text.read(1)
    if not first:
        raise InputError("is empty", file=str(path))
    if first != "[":
        raise NotThisFormat("is no JSON list: not a trace of this format", place="line 1", file=str(path))


def _is_record(value: object) -> bool:
    return isinstance(value, dict) and ("jobid" in value or "attempts" in value)


def _read(value: object, line: int, zone: tzinfo) -> TraceRow:
    if value is BROKEN:
        raise BadRow("not JSON", field="the record", problem="is not valid JSON")
    if not isinstance(value, dict):
        raise BadRow("not a record", field="the record", problem=f"must be an object, not {shown(value)}")
    submit = instant_of(value.get("submitted_time"), "submitted_time", zone)
    recorded, gpus = _recorded(_last_attempt(value), zone)
    if submit is None:
        raise BadRow(NO_SUBMIT)
    return TraceRow(
        line=line,
        submit=submit,
        duration_s=checked_duration_s(recorded.end - recorded.start, "end_time - start_time"),
        gpus=gpus,
        name=_text(value, "jobid"),
        recorded=recorded,
    )


def _last_attempt(record: dict[str, Any]) -> dict[str, Any]:
    attempts = _list(record, "attempts")
    if not attempts:
        raise BadRow(NEVER_STARTED)
    if not isinstance(attempts[-1], dict):
        raise malformed("attempts", f"must hold objects, not {shown(attempts[-1])}")
    return attempts[-1]


def _recorded(attempt: dict[str, Any], zone: tzinfo) -> tuple[Recorded, int]:
    """Return where and when it ran, and on how many GPUs."""
    start = instant_of(attempt.get("start_time"), "start_time", zone)
    end = instant_of(attempt.get("end_time"), "end_time", zone)
    if start is None or end is None:
        raise BadRow(STILL_RUNNING)
    held: dict[str, tuple[int, ...]] = {}
    for machine in _list(attempt, "detail"):
        if not isinstance(machine, dict):
            raise malformed("detail", f"must hold objects, not {shown(machine)}")
        name, gpus = _text(machine, "ip"), tuple(_gpu(gpu) for gpu in _list(machine, "gpus"))
        if name in held or len(set(gpus)) < len(gpus):
            raise malformed("detail", f"names a GPU or the machine {name!r} twice")
        if gpus:
            held[name] = gpus
    if not held:
        raise BadRow(NO_GPU)
    return Recorded(start, end, held), sum(map(len, held.values()))


def _gpu(name: object) -> int:
    match = GPU.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        raise malformed("gpus", f"must hold names such as 'gpu0', not {shown(name)}")
    return int(match[1])


def _list(value: dict[str, Any], key: str) -> list[Any]:
    if not isinstance(value.get(key), list):
        raise malformed(key, f"must be a list, not {shown(value.get(key))}")
    result: list[Any] = value[key]
    return result


def _text(value: dict[str, Any], key: str) -> str:
    text = value.get(key)
    if not isinstance(text, str) or not text.strip() or not text.isprintable():
        raise malformed(key, f"must be printable text, not {shown(text)}")
    return text


PHILLY_JSON = PhillyJson()


def _read_table(row: Cells) -> TraceRow:
    return TraceRow(
        line=row.line,
        submit=row.submit("timestamp"),
        duration_s=row.duration_s("duration"),
        gpus=row.gpus("num_gpus"),
        name=f"job-{row.line}",
    )


PHILLY = Table(
    columns=("timestamp", "duration", "num_gpus"), others=("gpu_time", "cluster"), read=_read_table
)
