"""What NCCL Inspector recorded of a job: the size of its exchange and the bus bandwidth.

NCCL Inspector (`ext-profiler/inspector` of NCCL) writes a JSON line per collective operation, with the
communicator in `header` and the operation in `coll_perf`.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple

from ringsched.errors import InputError
from ringsched.formats.files import reading

ALL_REDUCE = "AllReduce"
SMALL = 1000  # times smaller than the largest: a loss or a flag, not gradients
SAME = 0.95  # of the operations must repeat for a period


class Operation(NamedTuple):
    """One collective operation of one rank."""

    number: int
    size_bytes: int
    seconds: float
    bus_gb_per_s: float


class Exchange(NamedTuple):
    """The all-reduces of one iteration of a job."""

    gpus: int
    servers: int
    gradient_mb: float
    bucket_mb: tuple[float, ...]
    iterations: int
    bus_gbps: float  # Gbit/s, the median over operations of gradients
    bus_low_gbps: float
    bus_high_gbps: float
    exchange_ms: float  # per iteration, all-reduces one after the other
    notes: tuple[str, ...]

    @property
    def buckets(self) -> int:
        """The model's number of equal buckets: the largest one is what cannot be hidden."""
        return max(1, round(self.gradient_mb / max(self.bucket_mb)))


def read_inspector(files: Sequence[Path]) -> Exchange:
    """Return the exchange in files of NCCL Inspector: that of the communicator with the most bytes."""
    operations: dict[tuple[str, int, int], dict[int, list[Operation]]] = defaultdict(
        lambda: defaultdict(list)
    )
    others: Counter[str] = Counter()
    for file in files:
        for place, record in _records(file):
            if "coll_perf" not in record:
                continue  # point-to-point
            try:
                header, perf = record["header"], record["coll_perf"]
                if perf["coll"] != ALL_REDUCE:
                    others[str(perf["coll"])] += 1
                    continue
                communicator = (str(header["id"]), int(header["n_ranks"]), int(header["nnodes"]))
                operation = Operation(
                    int(perf["coll_sn"]),
                    int(perf["coll_msg_size_bytes"]),
                    float(perf["coll_exec_time_us"]) * 1e-6,
                    float(perf["coll_busbw_gbs"]),
                )
                operations[communicator][int(header["rank"])].append(operation)
            except (KeyError, TypeError, ValueError) as error:
                what = f"no {error}" if isinstance(error, KeyError) else str(error)
                problem = f"is no record of NCCL Inspector ({what})"
                raise InputError(problem, place=place, file=str(file)) from None
    if not operations:
        seen = f"; it has {', '.join(others)}" if others else ""
        raise InputError(f"holds no all-reduce{seen}", field="--nccl-inspector")
    (_, gpus, servers), by_rank = max(
        operations.items(), key=lambda item: sum(each.size_bytes for ops in item[1].values() for each in ops)
    )
    notes = []
    if len(operations) > 1:
        notes.append(
            f"of {len(operations)} communicators with all-reduces, that with the most bytes is described"
        )
    if others:
        notes.append(f"left out: {', '.join(f'{count} {name}' for name, count in sorted(others.items()))}")
    if len(by_rank) < gpus:
        notes.append(f"{len(by_rank)} of {gpus} ranks were seen")
    return _exchange(by_rank, gpus, servers, notes)


def _exchange(by_rank: dict[int, list[Operation]], gpus: int, servers: int, notes: list[str]) -> Exchange:
    rank = min(by_rank)
    first = sorted(set(by_rank[rank]))
    least_bytes = max(each.size_bytes for each in first) / SMALL
    gradients = [each for each in first if each.size_bytes >= least_bytes]
    period = _period([each.size_bytes for each in gradients])
    if period is None:
        raise InputError(
            f"has all-reduces of rank {rank} that do not repeat; record at least four iterations",
            field="--nccl-inspector",
        )
    sizes = [each.size_bytes for each in gradients[-period:]]
    large = [each for ops in by_rank.values() for each in ops if each.size_bytes >= least_bytes]
    low, middle, high = quantiles([8 * each.bus_gb_per_s for each in large], n=4, method="inclusive")
    # The rank that enters an all-reduce last does not wait in it: its time is the exchange.
    shortest: dict[int, float] = {}
    for each in large:
        shortest[each.number] = min(each.seconds, shortest.get(each.number, each.seconds))
    iterations = len(gradients) // period
    seconds = sum(shortest[each.number] for each in gradients[-period * iterations :]) / iterations
    return Exchange(
        gpus=gpus,
        servers=servers,
        gradient_mb=sum(sizes) / 1e6,
        bucket_mb=tuple(size / 1e6 for size in sizes),
        iterations=iterations,
        bus_gbps=middle,
        bus_low_gbps=low,
        bus_high_gbps=high,
        exchange_ms=1e3 * seconds,
        notes=tuple(notes),
    )


def _period(sizes: Sequence[int]) -> int | None:
    """Return after how many operations the sizes repeat; the first quarter may still differ."""
    settled = sizes[len(sizes) // 4 :]
    for period in range(1, len(settled) // 3 + 1):
        pairs = list(zip(settled, settled[period:], strict=False))
        if sum(one == other for one, other in pairs) >= SAME * len(pairs):
            return period
    return None


def _records(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the content of each record; the last line of a running job may be cut off."""
    with reading(file), file.open(encoding="utf-8") as lines:
        broken: InputError | None = None
        for number, line in enumerate(lines, 1):
            if broken is not None:
                raise broken
            place = f"line {number}"
            try:
                record = json.loads(line)
            except ValueError:
                broken = InputError("is not JSON", place=place, file=str(file))
                if number == 1:
                    raise broken from None
                continue
            if not isinstance(record, dict):
                raise InputError("is not a JSON object", place=place, file=str(file))
            yield place, record
