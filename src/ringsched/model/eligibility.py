"""Where and when a job may run: labels of servers, windows without a server, and layouts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from ringsched.errors import InputError
from ringsched.model.checks import number, sequence, shown, text

ANY_LAYOUT = "any"
BALANCED = "balanced"  # the same number of GPUs on every server that the job uses
LAYOUTS = (ANY_LAYOUT, BALANCED)
# How a job's GPUs are split among servers: in any way, into equal parts, or into a number of equal parts.
ANY_PARTS = 0
EQUAL_PARTS = -1


class Labels(Mapping[str, str]):
    """An immutable mapping from the name of a label to its value.

    Examples
    --------
    >>> Labels({"ib": "yes", "gpu": "a100"}).expanded()
    {'gpu': 'a100', 'ib': 'yes'}
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        given: object = {} if values is None else values
        if not isinstance(given, Mapping):
            raise InputError(f"must be a table of labels such as {{gpu = 'a100'}}, not {shown(given)}")
        self._values = {
            text(name, "label name"): text(value, str(name)) for name, value in sorted(given.items(), key=str)
        }

    def expanded(self) -> dict[str, str]:
        """Return the labels as a scenario file writes them."""
        return dict(self._values)

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __eq__(self, other: object) -> bool:
        return self._values == dict(other) if isinstance(other, Mapping) else NotImplemented

    def __repr__(self) -> str:
        return f"Labels({self._values!r})"


NO_LABELS = Labels()


def labels(value: object, field: str) -> Labels:
    """Return `value` as labels."""
    try:
        return value if isinstance(value, Labels) else Labels(value)  # type: ignore[arg-type]
    except InputError as error:
        raise InputError(error.problem, field=f"{field}.{error.field}" if error.field else field) from None


Windows = tuple[tuple[float, float], ...]


def windows(value: object, field: str) -> Windows:
    """Return windows of time by their start; windows that overlap or touch become one."""
    merged: list[tuple[float, float]] = []
    for begin, end in sorted(
        _window(each, f"{field}[{at}]") for at, each in enumerate(_listed(value, field))
    ):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return tuple(merged)


def _listed(value: object, field: str) -> Sequence[object]:
    return sequence(value, field, "windows such as [[3600, 7200]]")


def _window(value: object, field: str) -> tuple[float, float]:
    pair = sequence(value, field, "two times, from_s and to_s")
    if len(pair) != 2:
        raise InputError(f"must hold two times, from_s and to_s, not {len(pair)}", field=field)
    begin, end = (number(each, field, minimum=0) for each in pair)
    if begin >= end:
        raise InputError(f"must end after it begins, not at {end:g}", field=field)
    return begin, end


class _Labelled(Protocol):
    @property
    def labels(self) -> Labels: ...


def matching(servers: Sequence[_Labelled], requires: Labels) -> tuple[bool, ...]:
    """Return of each server whether it has the required labels."""
    wanted = tuple(requires.items())
    return tuple(all(server.labels.get(name) == value for name, value in wanted) for server in servers)


def balanced_sizes(gpus: int, num_servers: int, parts: int = EQUAL_PARTS) -> Iterator[tuple[int, int]]:
    """Yield the balanced layouts of a job: how many servers and GPUs on each, the fewest servers first.

    Examples
    --------
    >>> list(balanced_sizes(12, 6))
    [(1, 12), (2, 6), (3, 4), (4, 3), (6, 2)]
    >>> list(balanced_sizes(12, 6, parts=3))
    [(3, 4)]
    """
    for number_of in range(1, min(gpus, num_servers) + 1):
        if gpus % number_of == 0 and parts in (EQUAL_PARTS, number_of):
            yield number_of, gpus // number_of


def has_balanced_layout(gpus: int, capacities: Sequence[int], parts: int = EQUAL_PARTS) -> bool:
    """Whether a job of so many GPUs has a balanced layout on idle servers of these capacities.

    Examples
    --------
    >>> has_balanced_layout(6, [4, 4]), has_balanced_layout(5, [4, 4]), has_balanced_layout(6, [6, 2], 2)
    (True, False, False)
    """
    descending = sorted(capacities, reverse=True)
    sizes = balanced_sizes(gpus, len(descending), parts)
    return any(descending[number_of - 1] >= each for number_of, each in sizes)
