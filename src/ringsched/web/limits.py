"""The server's limits on size, time and number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ringsched.errors import RingschedError


class OverLimit(RingschedError):
    """Exceeds a limit of this server; the command line may accept it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """All limits; `GET /api/v1/about` returns them."""

    body_bytes: int = 32 * 2**20
    jobs: int = 20_000
    servers: int = 5_000
    gpus: int = 100_000
    plans: int = 8  # side by side
    changes: int = 32  # of one what-if
    runs: int = 1_000  # of one comparison
    work_s: float = 60.0  # of one request, waiting not counted
    upload_s: float = 30.0
    uploads_bytes: int = 256 * 2**20  # of bodies that have not come in full, all together
    workers: int = 2  # requests worked on at the same time
    queue: int = 16  # requests that wait for a worker
    searches: int = 2  # running at the same time
    search_s: float = 600.0  # of one of them
    kept_searches: int = 32
    kept_s: float = 900.0  # how long a search that has ended can still be asked for
    streams: int = 32  # of events, open at the same time
    memory_bytes: int = 4 * 2**30  # that a worker may ask for
    worker_bytes: int = 2**30  # a worker that once held more makes way for a fresh one

    def as_dict(self) -> dict[str, float | int]:
        """Return the limits by name.

        Examples
        --------
        >>> Limits().as_dict()["jobs"]
        20000
        """
        return asdict(self)


def check_scenario_size(content: Mapping[str, Any], limits: Limits, place: str = "scenario") -> None:
    """Raise if a scenario, as nested dicts, is too large, before anything is expanded.

    Invalid parts are skipped here; parsing the scenario reports them.

    Examples
    --------
    >>> check_scenario_size({"cluster": {"servers": [{"gpus": 8, "count": 10**8}]}}, Limits())
    Traceback (most recent call last):
        ...
    ringsched.web.limits.OverLimit: scenario: 100000000 servers are more than the limit of 5000 on this server
    """
    jobs, cluster = content.get("jobs"), content.get("cluster")
    if isinstance(jobs, list):
        check_count(len(jobs), "jobs", limits.jobs, place)
    entries = cluster.get("servers") if isinstance(cluster, dict) else None
    entries = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    counts = [_whole(entry.get("count", 1)) for entry in entries]
    check_count(sum(counts), "servers", limits.servers, place)
    gpus = sum(count * _whole(entry.get("gpus")) for count, entry in zip(counts, entries, strict=True))
    check_count(gpus, "GPUs", limits.gpus, place)


def check_count(number: int, what: str, most: int, place: str) -> None:
    """Raise if there are too many."""
    if number > most:
        many = f"{number} {what} are" if number < 10**15 else "there are"
        raise OverLimit(f"{place}: {many} more than the limit of {most} on this server")


def _whole(value: object) -> int:
    return value if type(value) is int and value > 0 else 0
