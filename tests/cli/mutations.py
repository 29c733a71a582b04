"""Valid files, and ways to spoil them."""

from __future__ import annotations

import copy
import json
import string
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st
from tests.cli.helpers import CSV_HEADER, DELETE, FULL, JOB, csv_text, edited

CSV_JOBS = csv_text(
    [
        ("a", 2, 40, 40.0, 2, 5.0, 20.0, "", "", '{"a-0": [0], "b": [1]}', 3),
        ("b", 3, 50, "", "", "", "", "resnet50", 1.5, "", ""),
        ("c", 1, 60, 0, 1, 0.0, 30.0, "", "", "", ""),
    ],
    [*CSV_HEADER, "model", "submit_s", "running_on", "done_iterations"],
)

TOML = """
name = "twin"
[time]
model = "continuous"
horizon_s = 900.5
[cluster]
inter_server_gbps = 10
intra_server_gbps = 200.0
reduce_gbps = 400.0
racks.r1.uplink_gbps = 40.0
[[cluster.servers]]
gpus = 4
rack = "r1"
[[cluster.servers]]
name = "b"
gpus = 4
unavailable = [0, 2]
[contention]
table = [1.0, 2.3, 3.6]
server_latency_ms = 0.2
[[jobs]]
name = "x"
gpus = 3
iterations = 70
model = "bert-base"
[[jobs]]
name = "y"
gpus = 2
iterations = 30
gradient_mb = 100.0
minibatch = 4
forward_ms = 1.5
backward_ms = 9.0
running_on = {s0 = [1], b = [3]}
done_iterations = 7
[[jobs]]
name = "z"
gpus = 5
iterations = 20
model = "vgg16"
submit_s = 2.25
estimate_s = 4.0
"""

SCENARIOS: tuple[dict[str, Any], ...] = (
    dict(FULL),
    edited({("time",): {"model": "continuous"}, ("contention",): {"table": [1, 1.5, 4]}}),
    edited({("jobs",): DELETE, ("jobs_file",): "jobs.csv", ("time", "slot_s"): 0.75}),
    edited({("jobs",): [{**JOB, "name": f"j{at}", "gpus": 1 + at % 4} for at in range(6)]}),
)

# Large enough to be wrong or extreme, never such that the work becomes large.
VALUES: tuple[Any, ...] = (
    *(0, 1, -1, 2, 3, 7, 2**53, 2**53 + 1, 2**63, 10**19, 10**400, -(10**400)),
    *(0.0, -0.0, 0.5, 1.0, 2.5, 1e-9, 1e-300, 5e-324, 2.2e-308, 1e9, 1e15, 1e16, 1e300, 1e308, 1.7e308),
    *(float("nan"), float("inf"), float("-inf")),
    *(True, False, None, "", " ", "a", "r1", "a-0", "0", "nan", "max-min", "continuous", "slotted"),
    *("\n", "\x00", "\ud800", "[red]x", ":cat:", "ß" * 70, "x" * 10_000),
    *([], [0], [1], [[]], [1.0, 2.0], [1, 1e308], [0, 1, 2], {}, {"a-0": [0]}, {"b": []}, {"": [0]}),
    json.loads("[" * 200 + "]" * 200),
)

# Within the range of most fields, so that what comes after the checks of the form is met too.
POSITIVE: tuple[float, ...] = (
    5e-324,
    1e-300,
    1e-12,
    1e-3,
    0.3,
    1.0,
    1.5,
    7.0,
    99.9,
    1e6,
    1e12,
    1e150,
    1.7e308,
)
COUNTS: tuple[int, ...] = (1, 2, 3, 4, 6, 9, 13, 250, 10**6 + 1, 10**15, 2**53)

POLICY_OPTIONS: tuple[tuple[str, ...], ...] = (
    ("--policy", "sjf-bco"),
    ("--policy", "sjf-bco", "--kappa", "2", "--server-slack", "1.5"),
    ("--policy", "sjf-bco", "--order", "longest-first", "--theta", "30"),
    ("--policy", "first-fit"),
    ("--policy", "first-fit", "--order", "shortest-first"),
    ("--policy", "list-scheduling"),
    ("--policy", "random", "--seed", "5"),
    ("--policy", "longest-first"),
    ("--policy", "longest-first", "--order", "smallest-area-first"),
    ("--policy", "lwf", "--kappa", "2"),
    ("--policy", "free-links"),
    ("--policy", "adaptive-overlap"),
)


def places(content: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every path into nested dicts and lists, not too deep."""
    if len(path) > 8:
        return
    keys = (
        content.keys()
        if isinstance(content, dict)
        else range(len(content))
        if isinstance(content, list)
        else ()
    )
    for key in keys:
        yield (*path, key)
        yield from places(content[key], (*path, key))


@st.composite
def stretched(draw: st.DrawFn, content: dict[str, Any]) -> dict[str, Any]:
    """`content` with one to three of its numbers replaced by others of the same type, some extreme."""
    content = copy.deepcopy(content)
    for _ in range(draw(st.integers(1, 3))):
        *outer, key = draw(st.sampled_from([path for path in places(content) if is_number(content, path)]))
        inner = value_at(content, outer)
        inner[key] = draw(st.sampled_from(POSITIVE if isinstance(inner[key], float) else COUNTS))
    return content


def is_number(content: Any, path: Sequence[str | int]) -> bool:
    return type(value_at(content, path)) in (int, float)


def value_at(content: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        content = content[step]
    return content


@st.composite
def spoiled(draw: st.DrawFn, content: dict[str, Any]) -> dict[str, Any]:
    """`content` after one to three edits: another value, a key less, a key renamed, a value elsewhere."""
    content = copy.deepcopy(content)
    for _ in range(draw(st.integers(1, 3))):
        paths = list(places(content))
        if not paths:
            break
        *outer, key = draw(st.sampled_from(paths))
        inner = value_at(content, outer)
        kind = draw(st.sampled_from(["replace", "replace", "replace", "scale", "delete", "rename", "copy"]))
        if kind == "replace":
            inner[key] = copy.deepcopy(draw(st.sampled_from(VALUES)))
        elif kind == "scale" and isinstance(inner[key], float):
            inner[key] *= draw(st.sampled_from([1e-300, 1e-12, 1e-3, -1.0, 1e3, 1e12, 1e300]))
        elif kind == "delete":
            del inner[key]
        elif kind == "rename" and isinstance(inner, dict):
            inner[draw(st.sampled_from(["gpus", "name", "x", "time", f"{key}s", "uplink_gbps"]))] = inner.pop(
                key
            )
        elif kind == "copy" and isinstance(inner, list):
            inner.append(copy.deepcopy(inner[key]))
    return content


@st.composite
def spoiled_text(draw: st.DrawFn, text: str) -> bytes:
    """The bytes of `text` after one to four edits: flipped, inserted, removed, cut off, doubled."""
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    fillers = [*(letter.encode() for letter in string.punctuation), b"0", b"9", b"e", b"\n", b"\r", b"\t"]
    fillers += [
        b"nan",
        b"e308",
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        "ß".encode(),
        b"[" * 3000,
        b'{"a":' * 3000,
    ]
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        kind = draw(st.sampled_from(["flip", "insert", "insert", "remove", "cut", "double"]))
        if kind == "flip" and data:
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == "insert":
            data[at:at] = draw(st.sampled_from(fillers))
        elif kind == "remove":
            del data[at : at + draw(st.integers(1, 12))]
        elif kind == "cut" and draw(st.booleans()):
            del data[at:]
        elif kind == "double":
            data[at:at] = data[at : at + draw(st.integers(1, 40))]
    return bytes(data)
