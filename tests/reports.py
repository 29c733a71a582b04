"""Scenarios that are hard to draw, shared by the tests of the report."""

from __future__ import annotations

from pathlib import Path

from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched.model import Cluster, Placement, Plan, Scenario, Server, Switch

EXAMPLE = Path(__file__).parents[1] / "examples" / "first.toml"
SCRIPT = "<script>window.hacked = 1</script>"
HOSTILE_NAMES = (
    SCRIPT,
    f"</script>{SCRIPT}",
    "<img src=x onerror='window.hacked = 1'>",
    "a" * 3000,
    "日本語 🚀 çş",
    "$x^2$ & \"double\" 'single' \\ `back`",
    "__proto__",
    "_hidden",
    "${1} {{2}}",
)


def first() -> Scenario:
    return ringsched.load_scenario(EXAMPLE)


def contended() -> Scenario:
    """Two racks, and spread jobs that meet on their links; one GPU is broken, one job runs already."""
    servers = tuple(
        Server(name=f"{rack}-{at}", gpus=4, switch=rack, unavailable=(3,) if at == 0 else ())
        for rack in ("left", "right")
        for at in range(2)
    )
    racks = (Switch(name="left", uplink_gbps=20.0), Switch(name="right", uplink_gbps=20.0))
    network = Cluster(
        servers=servers, switches=racks, inter_server_gbps=10, intra_server_gbps=200, reduce_gbps=400
    )
    jobs = [job(f"job-{at}", gpus=1 + at % 6, iterations=60 + 5 * at, gradient_mb=40) for at in range(12)]
    there = Placement({"left-0": [0], "right-1": [1]})
    jobs.append(job("here", gpus=2, iterations=50, gradient_mb=40, running_on=there))
    return scenario(network, *jobs, contention={"degradation": 0.3})


def hostile() -> Scenario:
    servers = tuple(Server(name=name, gpus=4, switch=f"<b>{SCRIPT}</b>") for name in HOSTILE_NAMES)
    racks = (Switch(name=f"<b>{SCRIPT}</b>", uplink_gbps=10),)
    network = Cluster(
        servers=servers, switches=racks, inter_server_gbps=10, intra_server_gbps=200, reduce_gbps=400
    )
    jobs = [
        job(name, gpus=1 + 3 * at % 7, iterations=40, gradient_mb=30) for at, name in enumerate(HOSTILE_NAMES)
    ]
    return scenario(network, *jobs).replace(name=SCRIPT * 20)


def empty() -> Scenario:
    return scenario(cluster(4, 2))


def invalid(plan: Plan) -> Plan:
    """A plan that ends too early, on a server that does not exist, and lies about its gap."""
    jobs = list(plan.jobs)
    jobs[0] = jobs[0].replace(finish_s=jobs[0].start_s)
    jobs[1] = jobs[1].replace(gpus=Placement({"nowhere": range(jobs[1].gpus.num_gpus)}))
    return plan.replace(jobs=tuple(jobs), gap=1.0)
