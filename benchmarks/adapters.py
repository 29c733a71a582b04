"""What the timed tasks use beyond the public API, so that they run on two versions of the source.

A name that a version moved or renamed gets a second entry here; the first that exists is used.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from ringsched import Scenario

PHILLY_SHA256 = "1ec7ddd0df2e647208d3e358d468d2c805b306980fd7d3965e74c6b9cf54d53e"
_NEWER_BOUNDS = ("_placements", "_priced_placements")


def leave_out_newer_bounds() -> None:
    """Let plans have only the bounds that older versions know too, so that both do the same work."""
    try:
        module = import_module("ringsched.bounds.lower_bound")
    except ModuleNotFoundError:  # a version that has none of them
        return
    newer = [getattr(module, name, None) for name in _NEWER_BOUNDS]
    module.ALL_OF = {  # type: ignore[attr-defined]
        objective: tuple(each for each in groups if each not in newer)
        for objective, groups in getattr(module, "ALL_OF", {}).items()
    }


def derived_values() -> list[dict[Any, Any]]:
    """Return what each scenario keeps of what was derived from it; older versions keep nothing."""
    scenarios = (each for each in gc.get_objects() if isinstance(each, Scenario))
    return [scenario.derived for scenario in scenarios if hasattr(scenario, "derived")]


def trial(scenario: Scenario, *, rule: str = "BALANCED", kappa: int) -> Callable[[], float | None]:
    """Return a function that runs one trial of a queue, smallest job first, and returns its makespan."""
    problem = _first("ringsched.engine.problem:problem_of")(scenario)
    priorities = _first("ringsched.policies.policy:priorities", "ringsched.policies.orders:priorities")
    runner = _first("ringsched.rules.runner:Runner", "ringsched.placement.runner:Runner")
    run = runner(problem, priorities(problem, "smallest-first")).run
    old = {"BALANCED": "KAPPA"}.get(rule, rule)
    chosen = _first(f"ringsched.rules.table:{rule}", f"ringsched.placement.trial:{old}")
    return lambda: run(chosen, theta=problem.horizon, kappa=kappa)


def plan_request(scenario: Scenario, policy: str) -> Callable[[], dict[str, Any]]:
    """Return a function that answers one plan request of the lab, charts included, without the network."""
    reply_to = _first("ringsched.web.work:reply_to")
    limits = _first("ringsched.web.limits:Limits")()
    body = json.dumps({"scenario": scenario.expanded(), "policy": policy, "pictures": True}).encode()

    def answer() -> dict[str, Any]:
        reply = reply_to("plan", body, limits)
        if reply.status != 200:
            raise RuntimeError(reply.content.decode())
        return reply  # type: ignore[no-any-return]

    return answer


def generated(kind: str, *, seed: int = 0, **options: Any) -> Any:
    """Return a generated scenario; older versions have a function for each kind, some call switches racks."""
    import ringsched

    if hasattr(ringsched, "Workload"):
        return ringsched.generate(_workload(kind, **options), seed=seed)
    generate = getattr(ringsched, f"generate_{kind}")
    if "switches" not in signature(generate).parameters and "switches" in options:
        options["racks"] = options.pop("switches")
    return generate(seed=seed, **options)


def _workload(kind: str, **options: Any) -> Any:
    """Return a workload from the arguments of the older functions."""
    from ringsched import Cluster, Time, Workload

    if kind == "paper":
        share = {"contention_share": options.pop("contention")} if "contention" in options else {}
        return Workload.paper(**share, **options)
    options["cluster"] = Cluster.of_servers(
        options.pop("servers"), options.pop("gpus_per_server", 8), switches=options.pop("switches", 0)
    )
    if "slot_s" in options:
        options["time"] = Time(slot_s=options.pop("slot_s"))
    return getattr(Workload, kind)(**options)


def imported(path: Path, kind: str) -> Any:
    """Return a trace on 64 servers in 8 oversubscribed racks under the paper's contention.

    These were the defaults of imports once. Versions that have others get them explicitly, so that
    measurements of all versions are about the same scenario.
    """
    import ringsched

    if "unknown_models" not in signature(ringsched.import_trace).parameters:
        return ringsched.import_trace(path, kind).scenario
    around = ringsched.Scenario(
        cluster=ringsched.Cluster.of_servers(64, 8, switches=8),
        contention=ringsched.Contention.ethernet(),
        time=ringsched.Time(model="continuous"),
        jobs=(),
    )
    return ringsched.import_trace(path, kind, cluster=around, unknown_models="draw").scenario


def philly_phased(path: Path) -> Any:
    """Return all of Philly on 109 servers below one switch under the contention model `phases`.

    These were the defaults of its import once. All is explicit, and the digest is checked, so that
    measurements of all versions are about the same scenario.
    """
    import ringsched

    speeds = {"inter_server_gbps": 100.0, "intra_server_gbps": 200.0, "reduce_gbps": 400.0}
    around = ringsched.Scenario(
        cluster=ringsched.Cluster.of_servers(109, 8).replace(**speeds),
        contention=ringsched.Contention(model="phases", server_latency_ms=0.2),
        time=ringsched.Time(model="continuous"),
        jobs=(),
    )
    imported = ringsched.import_trace(path, "philly", cluster=around, unknown_models="draw").scenario
    assert imported.sha256() == PHILLY_SHA256
    return imported


def offered_load(scenario: Scenario) -> float:
    """Return the load that the jobs of a scenario offer its cluster."""
    return float(_first("ringsched.workloads:offered_load", "ringsched:offered_load")(scenario))


def known_models() -> Any:
    """Return the catalogue of models."""
    return _first("ringsched.formats.jobs:CATALOGUE", "ringsched:CATALOGUE")


def search_limits(schedules: int, workers: int | None = None) -> dict[str, Any]:
    """Return the arguments of a search of so many schedules."""
    import ringsched

    is_new = hasattr(ringsched, "Stop")
    limits = {"stop": _stop(schedules)} if is_new else {"iterations": schedules}
    return limits | ({} if workers is None else _workers(workers))


def search_time(seconds: float, workers: int) -> dict[str, Any]:
    """Return the arguments of a search of so many seconds."""
    import ringsched

    is_new = hasattr(ringsched, "Stop")
    limits = {"stop": ringsched.Stop(time_limit_s=seconds)} if is_new else {"time_limit_s": seconds}
    return limits | _workers(workers)


def _workers(number: int) -> dict[str, Any]:
    import ringsched

    return {"workers" if hasattr(ringsched, "Stop") else "threads": number}


def _stop(schedules: int) -> Any:
    import ringsched

    try:
        return ringsched.Stop(max_schedules=schedules)
    except TypeError:  # in a checkout from before the name was that of the option
        return ringsched.Stop(**{"schedules": schedules})


def _first(*places: str) -> Any:
    """Return the first of several "module:name" that exists."""
    for place in places:
        module, name = place.split(":")
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError):
            continue
    raise LookupError(
        f"not found in this version: {' or '.join(places)}; add its name to benchmarks/adapters.py"
    )
