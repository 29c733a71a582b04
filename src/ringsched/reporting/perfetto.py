"""Plans as a trace for the Perfetto viewer: servers as processes, GPUs as threads, links as counters.

The form is that of Chrome's trace events, in JSON: complete events (`X`) with begin and duration in
microseconds, counters (`C`), and metadata (`M`) for names and order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from ringsched.model import Scenario
from ringsched.model.checks import instance
from ringsched.reporting.data import report_data
from ringsched.reporting.report import Plans, labelled

MICROSECONDS = 1e6
Event = dict[str, Any]


def perfetto_trace(scenario: Scenario, plans: Plans) -> str:
    """Return a trace of plans that ui.perfetto.dev and chrome://tracing open.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> trace = json.loads(perfetto_trace(scenario, ringsched.plan(scenario, "first-fit")))
    >>> sorted({event["ph"] for event in trace["traceEvents"]})
    ['C', 'M', 'X']
    """
    return trace_of(report_data(instance(scenario, "scenario", Scenario), labelled(plans)))


def trace_of(data: Mapping[str, Any]) -> str:
    """Return the trace of a report's data, an event a line."""
    numbers = count(1)  # of processes; 0 is the idle one in some viewers
    # Perfetto takes a thread with the number of a process for a main thread, and moves it to the top.
    threads = count(1 + len(data["plans"]) * (len(data["cluster"]["servers"]) + 1))
    events: list[Event] = []
    for plan in data["plans"]:
        prefix = f"{plan['label']}: " if len(data["plans"]) > 1 else ""
        events += _servers(data, plan, prefix, numbers, threads)
        events += _links(plan, prefix, numbers)
    lines = ",\n".join(json.dumps(event, ensure_ascii=False, allow_nan=False) for event in events)
    return f'{{"displayTimeUnit": "ms", "traceEvents": [\n{lines}\n]}}\n'


def _servers(
    data: Mapping[str, Any],
    plan: Mapping[str, Any],
    prefix: str,
    numbers: Iterator[int],
    threads: Iterator[int],
) -> Iterator[Event]:
    """Yield names of servers and GPUs, then what runs on them, in the order of time."""
    track: list[tuple[int, int]] = []  # process and thread of each row
    for server in data["cluster"]["servers"]:
        process = next(numbers)
        yield _named("process_name", process, 0, name=f"{prefix}{server['name']}")
        yield _named("process_sort_index", process, 0, sort_index=process)
        for gpu in range(server["gpus"]):
            thread = next(threads)
            track.append((process, thread))
            yield _named("thread_name", process, thread, name=f"GPU {gpu}")
    slices = [event for at in range(len(plan["gantt"]["job"])) for event in _slices(data, plan, at, track)]
    # The viewer nests what begins together by length.
    yield from sorted(slices, key=lambda event: (event["ts"], -event["dur"]))


def _slices(
    data: Mapping[str, Any], plan: Mapping[str, Any], at: int, track: list[tuple[int, int]]
) -> Iterator[Event]:
    """Yield a job on each of its GPUs, and inside it the intervals in which contention slows it."""
    gantt, jobs, losses = plan["gantt"], data["jobs"], plan["losses"]
    job = gantt["job"][at]
    details = {"gpus": jobs["gpus"][job], "submit_s": jobs["submit"][job]}
    if losses is not None:
        details |= {"contention_s": losses["contention"][job], "spreading_s": losses["spreading"][job]}
    runs, slow = gantt["runs"][at], gantt["slow"][at]
    for first, length in zip(runs[::2], runs[1::2], strict=True):
        for process, thread in track[first : first + length]:
            where = {"pid": process, "tid": thread}
            yield (
                _slice(jobs["name"][job], gantt["start"][at], gantt["finish"][at]) | where | {"args": details}
            )
            for since, until, factor in zip(slow[::3], slow[1::3], slow[2::3], strict=True):
                yield _slice(f"slowed up to {factor:.2f} times", since, until) | where


def _links(plan: Mapping[str, Any], prefix: str, numbers: Iterator[int]) -> Iterator[Event]:
    """Yield the counters of all links that are used."""
    if not plan["links"]:
        return
    process = next(numbers)
    yield _named("process_name", process, 0, name=f"{prefix}links")
    yield _named("process_sort_index", process, 0, sort_index=process)
    for link in plan["links"]:
        steps = link["steps"]
        for instant, jobs, percent in zip(steps[::3], steps[1::3], steps[2::3], strict=True):
            yield {
                "ph": "C",
                "name": f"uplink of {link['name']}",
                "pid": process,
                "ts": round(instant * MICROSECONDS),
                "args": {"jobs": jobs, "percent in use": percent},
            }


def _slice(name: str, since: float, until: float) -> Event:
    begin = round(since * MICROSECONDS)
    return {"ph": "X", "name": name, "ts": begin, "dur": round(until * MICROSECONDS) - begin}


def _named(what: str, process: int, thread: int, **arguments: object) -> Event:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": arguments}
