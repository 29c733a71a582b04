"""Slurm's way to write GPUs."""

from __future__ import annotations

import re

from ringsched.errors import AdapterError

_COUNT = re.compile(r"(?:^|,)(?:gres[:/])?gpu(?::(?!\d+(?:\(|,|$))[^:,(]+)?:(\d+)")
_INDICES = re.compile(r"(?:^|,)gpu(?::[^:,(]+)?:\d+\(IDX:([\d,-]*)\)")

_TYPE = re.compile(r"(?:^|[,:/])gpu:([^:,(]+):\d")


def gpu_count(text: str) -> int:
    """Return how many GPUs a list of resources names, of whatever types.

    Examples
    --------
    >>> gpu_count("gpu:4"), gpu_count("gpu:a100:4(S:0-1),gpu:v100:2"), gpu_count("gres:gpu:1"), gpu_count("")
    (4, 6, 1, 0)
    """
    return sum(int(count) for count in _COUNT.findall(text or ""))


def gpu_type(text: str) -> str:
    """Return the type of GPU that a request names; nothing if any will do.

    Examples
    --------
    >>> gpu_type("gres:gpu:a100:1"), gpu_type("gres:gpu:1g.5gb:1"), gpu_type("gres:gpu:1"), gpu_type("")
    ('a100', '1g.5gb', '', '')
    """
    found = _TYPE.search(text)
    return found[1] if found else ""


def gpu_indices(text: str) -> tuple[int, ...]:
    """Return the GPUs a job holds on a node.

    Examples
    --------
    >>> gpu_indices("gpu:a100:3(IDX:0-1,5)"), gpu_indices("gpu:0(IDX:)")
    ((0, 1, 5), ())
    """
    indices: list[int] = []
    for ranges in _INDICES.findall(text):
        for item in filter(None, ranges.split(",")):
            first, _, last = item.partition("-")
            indices += range(int(first), int(last or first) + 1)
    if len(indices) != gpu_count(text):
        raise AdapterError(f"Slurm wrote GPUs that cannot be read: {text!r}")
    return tuple(indices)
