"""Texts of cells as values: numbers, instants, durations, and units in the names of columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from ringsched.formats.traces.rows import malformed
from ringsched.model.checks import shown

ABSENT = frozenset(
    {"", "-", "--", "none", "null", "(null)", "nil", "nan", "na", "nat", "n/a", "unknown", "undefined"}
)
MOST = 1e20  # nanoseconds since 1970 fit; more is taken for dirt
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_WITHOUT_ZONE = EPOCH.replace(tzinfo=None)


def is_absent(cell: str) -> bool:
    """Return whether a cell holds nothing: blank, `None`, `NaN`, `-`.

    Examples
    --------
    >>> is_absent("None"), is_absent("-"), is_absent("-1"), is_absent("0")
    (True, True, False, False)
    """
    return cell.lower() in ABSENT


# Numbers.

_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+|[+-]?\d{1,3}(?:\.\d{3})+,\d+")


def number_of(cell: str, field: str, delimiter: str = ",") -> float:
    """Return the number in a cell; `1,200` is a thousand and more, but in a table with `;` it is 1.2.

    Examples
    --------
    >>> number_of("12.5", "t"), number_of("1,200", "t"), number_of("12,5", "t", ";")
    (12.5, 1200.0, 12.5)
    """
    try:
        number = float(cell)
    except ValueError:
        if delimiter == ";" and _DECIMAL_COMMA.fullmatch(cell):
            number = float(cell.replace(".", "").replace(",", "."))
        elif _THOUSANDS.fullmatch(cell):
            number = float(cell.replace(",", ""))
        else:
            raise malformed(field, f"must be a number, not {shown(cell)}") from None
    if not abs(number) <= MOST or "_" in cell:  # Python would read 1_000 as a number
        raise malformed(field, f"must be a number, not {shown(cell)}")
    return number


def is_number(text: str) -> bool:
    """Return whether a text is a number as Python writes it."""
    try:
        float(text)
    except ValueError:
        return False
    return True


# Instants.

_LOOSE = re.compile(
    r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})[T ]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?"
    r"\s*(?:(Z|UTC|GMT)|([+-])(\d{2}):?(\d{2})?)?",
    re.IGNORECASE,
)
# Dates with letters, or with dots, are the same everywhere; 03/10/2024 is not.
_OTHER_DATES = (
    *("%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%Y-%m-%d %I:%M:%S %p", "%Y-%m-%d %I:%M %p"),
    *("%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S %Z %Y", "%a, %d %b %Y %H:%M:%S %z"),
    *("%a, %d %b %Y %H:%M:%S %Z", "%d %b %Y %H:%M:%S", "%d-%b-%Y %H:%M:%S", "%d/%b/%Y:%H:%M:%S %z"),
    *("%b %d %Y %H:%M:%S", "%b %d, %Y %H:%M:%S", "%b %d, %Y %I:%M:%S %p", "%Y%m%d %H:%M:%S", "%Y%m%d%H%M%S"),
)


def instant_of(text: object, field: str, zone: tzinfo = UTC) -> float | None:
    """Return `2017-10-09 07:01:55`, with or without an offset from UTC, as seconds since 1970.

    Without an offset the time is that of the zone. UTC is a clock that is never put forward or back.

    Examples
    --------
    >>> instant_of("1970-01-02 00:00:01", "t"), instant_of("1970-01-01T08:00:00+08:00", "t")
    (86401.0, 0.0)
    >>> instant_of("1970/1/1 8:00 +0800", "t"), instant_of("None", "t") is None
    (0.0, True)
    """
    if text is None or (isinstance(text, str) and is_absent(text.strip())):
        return None
    return instant(text, field, zone)


def instant(text: object, field: str, zone: tzinfo = UTC) -> float:
    """Return the same of a text that is there."""
    try:
        given = datetime.fromisoformat(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        given = _loose_instant(text, field)
    if given.tzinfo is not None:
        return (given - EPOCH).total_seconds()
    if zone is UTC:  # the usual case, and twice as fast
        return (given - EPOCH_WITHOUT_ZONE).total_seconds()
    return (given.replace(tzinfo=zone) - EPOCH).total_seconds()


def _loose_instant(text: object, field: str) -> datetime:
    """Return a date and time that is not quite ISO 8601: slashes, one digit, a blank before the offset."""
    found = _LOOSE.fullmatch(text.strip()) if isinstance(text, str) else None
    try:
        if found is None:
            return _other_instant(text)
        year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
        microsecond = int((found[7] or "").ljust(6, "0")[:6])
        zone: tzinfo | None = UTC if found[8] else None
        if found[9]:
            offset = timedelta(hours=int(found[10]), minutes=int(found[11] or 0))
            zone = timezone(-offset if found[9] == "-" else offset)
        return datetime(year, month, day, hour, minute, second, microsecond, tzinfo=zone)
    except ValueError:
        problem = f"must be a date and time such as 2024-03-31 18:00:00, not {shown(text)}"
        raise malformed(field, problem) from None


def _other_instant(text: object) -> datetime:
    if not isinstance(text, str) or not text[:1].isalnum():
        raise ValueError
    plain = re.sub(r"\s+", " ", text.strip())
    for form in _OTHER_DATES:
        try:
            given = datetime.strptime(plain, form)
        except ValueError:
            continue
        # `%Z` accepts a name and ignores it; only these two are always the same.
        return given.replace(tzinfo=UTC) if re.search(r"\b(UTC|GMT)\b", plain) else given
    raise ValueError


# Durations.

_ELAPSED = re.compile(
    r"(?:(\d+)(?:-| days? |day, |days, | day, | days, ))?(?:(\d+):)?(\d{1,2}):(\d{2}(?:\.\d+)?)"
)
_PARTS_S: Mapping[str, float] = {
    **dict.fromkeys(("ns",), 1e-9),
    **dict.fromkeys(("us", "µs"), 1e-6),
    **dict.fromkeys(("ms", "msec", "msecs"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-zµ]+)[\s,]*")
_PARTS = re.compile(rf"(?:{_PART.pattern})+", re.IGNORECASE)


def elapsed_s(text: str) -> float | None:
    """Return `[D-][HH:]MM:SS`, as Slurm writes it, or `1h30m`, in seconds; None if it is something else.

    Examples
    --------
    >>> elapsed_s("1-02:03:04"), elapsed_s("05:06"), elapsed_s("1 day, 0:00:10"), elapsed_s("306")
    (93784.0, 306.0, 86410.0, None)
    >>> elapsed_s("1h30m"), elapsed_s("600 s"), elapsed_s("6 parsecs") is None
    (5400.0, 600.0, True)
    """
    found = _ELAPSED.fullmatch(text)
    if found is not None:
        days, hours, minutes = (int(part or 0) for part in found.groups()[:3])
        return ((days * 24 + hours) * 60 + minutes) * 60 + float(found[4])
    if not _PARTS.fullmatch(text):
        return None
    parts = [(float(number), _PARTS_S.get(unit.lower())) for number, unit in _PART.findall(text.lower())]
    return (
        None
        if any(unit is None for _, unit in parts)
        else sum(number * (unit or 0.0) for number, unit in parts)
    )


# Units.

UNITS_S: Mapping[str, float] = {
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86_400.0,
}
_NAMES_OF_UNITS = {
    "ns": ("ns", "nsec", "nsecs", "nanos", "nanosecond", "nanoseconds"),
    "us": ("us", "usec", "usecs", "micros", "microsecond", "microseconds"),
    "ms": ("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "min": ("min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "d": ("d", "day", "days"),
}
_UNIT_OF = {name: unit for unit, names in _NAMES_OF_UNITS.items() for name in names}
_LAST_WORD = re.compile(r"[^A-Za-z0-9]([A-Za-z]+)[^A-Za-z0-9]*$|(?<=[a-z0-9])([A-Z][a-z]+)$")


def unit_in_name(column: str) -> str | None:
    """Return the unit that the name of a column ends with.

    Examples
    --------
    >>> unit_in_name("run_ms"), unit_in_name("Runtime (min)"), unit_in_name("durationSec")
    ('ms', 'min', 's')
    >>> unit_in_name("duration"), unit_in_name("gpus"), unit_in_name("submits")
    (None, None, None)
    """
    found = _LAST_WORD.search(column)
    return _UNIT_OF.get((found[1] or found[2]).lower()) if found else None


def without_unit(column: str) -> str:
    """Return the name of a column without the unit at its end.

    Examples
    --------
    >>> without_unit("run_ms"), without_unit("durationSec"), without_unit("duration")
    ('run', 'duration', 'duration')
    """
    return _LAST_WORD.sub("", column) if unit_in_name(column) else column
