"""No GPU is held by two jobs at once, constraint (2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ringsched.verify.checks import Gpu
from ringsched.verify.clock import Clock
from ringsched.verify.verdict import Violation, shown

# All jobs on one GPU clash in quadratically many pairs; nobody reads more than this.
MOST_PAIRS = 10_000


@dataclass(frozen=True, slots=True)
class Hold:
    """A job holds its GPUs from `start` up to, not including, `end`."""

    job: str
    gpus: set[Gpu]
    start: float
    end: float


def check_overlaps(holds: Iterable[Hold], clock: Clock) -> Iterator[Violation]:
    """Yield one violation for every pair of jobs that hold a GPU at the same time."""
    clashes: dict[tuple[int, int], list[Gpu]] = {}
    # The same name twice is one job named twice, which is reported as that.
    numbered = list({hold.job: hold for hold in reversed(list(holds))}.values())[::-1]
    for first, second, gpu in _clashes(numbered, clock):
        pair = (min(first, second), max(first, second))
        if pair not in clashes and len(clashes) == MOST_PAIRS:
            message = (
                f"more than {MOST_PAIRS} pairs of jobs hold GPUs at the same time; the others are not listed"
            )
            yield Violation(constraint="gpu-overlap", message=message)
            break
        clashes.setdefault(pair, []).append(gpu)
    for (first, second), gpus in sorted(clashes.items()):
        yield _violation(numbered[first], numbered[second], sorted(gpus), clock)


def _clashes(holds: list[Hold], clock: Clock) -> Iterator[tuple[int, int, Gpu]]:
    """Yield (hold, hold, GPU) for every clash, sweeping over each GPU in the order of time."""
    by_gpu: defaultdict[Gpu, list[int]] = defaultdict(list)
    for at in sorted(range(len(holds)), key=lambda at: holds[at].start):
        for gpu in holds[at].gpus:
            by_gpu[gpu].append(at)
    for gpu in sorted(by_gpu):
        active: list[int] = []
        for at in by_gpu[gpu]:
            active = [other for other in active if holds[other].end > holds[at].start]
            for other in active:
                first, second = holds[other], holds[at]
                shorter = min(first.end - first.start, second.end - second.start)
                if clock.overlaps(*_shared(first, second), shorter):
                    yield other, at, gpu
            active.append(at)


def _shared(first: Hold, second: Hold) -> tuple[float, float]:
    return max(first.start, second.start), min(first.end, second.end)


def _violation(first: Hold, second: Hold, gpus: list[Gpu], clock: Clock) -> Violation:
    begin, end = _shared(first, second)
    server, gpu = gpus[0]
    others = f" (and {len(gpus) - 1} more GPUs)" if len(gpus) > 1 else ""
    message = (
        f"jobs {first.job!r} and {second.job!r} both hold GPU {gpu} of server {server!r}{others} "
        f"from {shown(clock.seconds(begin))} s to {shown(clock.seconds(end))} s"
    )
    return Violation(constraint="gpu-overlap", message=message, job=second.job)
