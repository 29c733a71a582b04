"""Files of calibrations."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ringsched.errors import InputError
from ringsched.formats.decode import check_keys, parse, table
from ringsched.formats.files import write_lines
from ringsched.model.calibration import CONTENTION, SPEEDS, UNCERTAIN, Calibration

SECTIONS = (("cluster", SPEEDS), ("contention", CONTENTION))


def load_calibration(path: str | os.PathLike[str]) -> Calibration:
    """Read a calibration: a TOML or JSON file with a part of [cluster] and [contention], and [intervals]."""
    path = Path(path)
    content = parse(path)
    try:
        check_keys(content, ("cluster", "contention", "intervals"), (), None)
        given: dict[str, Any] = {}
        for section, known in SECTIONS:
            given |= _section(content, section, known)
        intervals = _section(content, "intervals", (*UNCERTAIN, "table"))
        of_table = intervals.pop("table", None)
        return Calibration(**given, intervals=intervals, table_intervals=of_table)
    except InputError as error:
        raise error.located(file=str(path)) from None


def write_calibration(calibration: Calibration, path: Path, comments: Sequence[str]) -> None:
    """Write a calibration as TOML after lines of comment, atomically."""
    write_lines(path, _lines(calibration, comments))


def _section(content: dict[str, Any], section: str, known: Sequence[str]) -> dict[str, Any]:
    part = table(content.get(section, {}), section)
    check_keys(part, known, (), section)
    return dict(part)


def _lines(calibration: Calibration, comments: Sequence[str]) -> Iterator[str]:
    yield from (f"# {comment}\n" for comment in comments)
    for section, names in SECTIONS:
        known = {name: getattr(calibration, name) for name in names}
        yield from _table(section, {name: value for name, value in known.items() if value is not None})
    intervals: dict[str, Any] = dict(calibration.intervals)
    if calibration.table_intervals is not None:
        intervals["table"] = calibration.table_intervals
    yield from _table("intervals", intervals)


def _table(section: str, fields: dict[str, Any]) -> Iterator[str]:
    if fields:
        yield f"\n[{section}]\n"
    for name, value in fields.items():
        yield f"{name} = {_shown(value)}\n"


def _shown(value: Any) -> Any:
    """Return numbers with nine figures: more than was measured."""
    return [_shown(each) for each in value] if isinstance(value, tuple) else float(f"{value:.9g}")
