"""Random scenarios as scenario files have them; nothing here depends on the library.

What the number of a scenario decides (model of contention, clock, what is wrong with it) goes round, so
that all of it occurs; the rest is drawn. The first submit is always 0.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

NUM_SCENARIOS = 525
EVERY_REFUSED = 15  # one in so many is wrong in some way

Content = dict[str, Any]

CONTENTIONS = ("share", "table", "max-min", "phases", "reserved")
SLOTS_S = (0.25, 0.5, 1.0, 2.5, 7.3, 20.0, 60.0)
CATALOGUE = ("resnet50", "inception-v3", "resnet18")


def scenario_content(number: int) -> Content:
    """Return the scenario of that number, which may be one that is refused."""
    generator = random.Random(f"frozen {number}")
    content = _sound(number, generator)
    if number % EVERY_REFUSED == EVERY_REFUSED - 1:
        mistake = MISTAKES[number // EVERY_REFUSED % len(MISTAKES)]
        mistake(content)
    return content


def _sound(number: int, generator: random.Random) -> Content:
    content: Content = {"name": f"frozen-{number}"} if number % 3 else {}
    content["cluster"] = _cluster(generator, with_racks=generator.random() < 0.5)
    content["contention"] = _contention(generator, CONTENTIONS[number % len(CONTENTIONS)])
    content["jobs"] = _jobs(generator, content["cluster"])
    content["time"] = _time(generator, content, continuous=number // 5 % 3 == 2)
    _add_submits(generator, content)
    _add_estimates(generator, content)
    return content


def _cluster(generator: random.Random, *, with_racks: bool) -> Content:
    cluster: Content = {
        "inter_server_gbps": generator.choice([10.0, 10.0, 25.0, 40.0]),
        "intra_server_gbps": generator.choice([100.0, 200.0, 7.75]),
        "reduce_gbps": generator.choice([400.0, 100.0]),
    }
    racks = [f"r{at}" for at in range(generator.randint(1, 3))] if with_racks else []
    if racks:
        cluster["racks"] = {name: {"uplink_gbps": generator.choice([8.0, 20.0, 40.0])} for name in racks}
    like = generator.random() < 0.3
    gpus, num_servers = generator.randint(1, 6), generator.choice([1, 2, 2, 3, 3, 4, 5, 6])
    if like and not racks:
        cluster["servers"] = [{"name": "node", "gpus": gpus, "count": num_servers}]
        return cluster
    servers = []
    for at in range(num_servers):
        server: Content = {"name": f"s{at}", "gpus": gpus if like else generator.randint(1, 6)}
        if racks and generator.random() < 0.8:
            server["rack"] = generator.choice(racks)
        if generator.random() < 0.2:
            server["uplink_gbps"] = generator.choice([4.5, 16.0, 50.0])
        if generator.random() < 0.2:
            num_broken = generator.randint(1, server["gpus"])
            server["unavailable"] = sorted(generator.sample(range(server["gpus"]), num_broken))
        servers.append(server)
    if not _free_gpus(servers):
        servers[0].pop("unavailable")
    cluster["servers"] = servers
    return cluster


def _free_gpus(servers: list[Content]) -> list[tuple[str, int]]:
    """Return server and index of every GPU that can be used."""
    return [
        (f"{server['name']}-{at}" if "count" in server else server["name"], gpu)
        for server in servers
        for at in range(server.get("count", 1))
        for gpu in range(server["gpus"])
        if gpu not in server.get("unavailable", [])
    ]


def _contention(generator: random.Random, kind: str) -> Content:
    contention: Content = {}
    if kind == "share":
        if generator.random() < 0.5:
            contention["model"] = "paper"
        contention["share"] = generator.choice([1.0, 0.74, 0.2])
        contention["degradation"] = generator.choice([0.0, 0.2745])
    elif kind == "table":
        table = [1.0]
        for _ in range(generator.randint(1, 4)):
            table.append(table[-1] + generator.choice([0.0, 0.5, 1.3]))
        contention["table"] = table
    else:
        contention["model"] = kind
    if kind == "reserved":
        contention["lanes"] = generator.randint(1, 4)
    if generator.random() < 0.5:
        contention["server_latency_ms"] = generator.choice([0.2, 1.5])
    return contention


def _jobs(generator: random.Random, cluster: Content) -> list[Content]:
    free = _free_gpus(cluster["servers"])
    capacity = len(free)
    generator.shuffle(free)
    num_jobs = generator.choice([1, 2, 3, 3, 4, 4, 5, 6, 7, 8, 10, 12])
    some_run = generator.random() < 0.4
    jobs: list[Content] = []
    for at in range(num_jobs):
        if jobs and generator.random() < 0.2:
            twin = {key: value for key, value in jobs[-1].items() if key not in _RUNNING}
            jobs.append(twin | {"name": f"j{at}"})
            continue
        job = {"name": f"j{at}", **_job(generator, capacity)}
        if some_run and job["gpus"] <= len(free) and generator.random() < 0.4:
            held: dict[str, list[int]] = {}
            for server, gpu in (free.pop() for _ in range(job["gpus"])):
                held.setdefault(server, []).append(gpu)
            job["running_on"] = {server: sorted(gpus) for server, gpus in sorted(held.items())}
            if generator.random() < 0.7:
                job["done_iterations"] = generator.randint(0, job["iterations"] - 1)
        jobs.append(job)
    return jobs


_RUNNING = ("running_on", "done_iterations")


def _job(generator: random.Random, capacity: int) -> Content:
    most = min(capacity, generator.choice([1, 2, 4, 8, capacity]))
    job: Content = {"gpus": generator.randint(1, most), "iterations": generator.randint(20, 900)}
    if generator.random() < 0.15:
        job["model"] = generator.choice(CATALOGUE)
    else:
        job |= {
            "gradient_mb": generator.choice([0.0, 3.2, 14.1, 47.0, round(generator.uniform(1, 90), 2)]),
            "minibatch": generator.randint(1, 4),
            "forward_ms": generator.choice([0.0, 0.7313, 2.2361, round(generator.uniform(0.1, 9), 3)]),
            "backward_ms": generator.choice([1.618, 2.7183, 31.4159, round(generator.uniform(1, 60), 3)]),
        }
    if generator.random() < 0.3:
        job["weight"] = generator.choice([0.5, 2.5, 7.0])
    if generator.random() < 0.3:
        job["server_slack"] = generator.choice([1.5, 4.0])
    return job


def _time(generator: random.Random, content: Content, *, continuous: bool) -> Content:
    time: Content = {"model": "continuous"} if continuous else {}
    if not continuous:
        slowest_s = max(_slowest_iteration_s(content, job) for job in content["jobs"])
        allowed = [slot_s for slot_s in SLOTS_S if slot_s >= slowest_s] or [slowest_s]
        time["slot_s"] = generator.choice(allowed[:3])
    if generator.random() < 0.4:
        free, jobs = len(_free_gpus(content["cluster"]["servers"])), content["jobs"]
        area_s = sum(job["gpus"] * _quick_s(content, job) for job in jobs) / free
        longest_s = max(_quick_s(content, job) for job in jobs)
        time["horizon_s"] = round(generator.choice([0.4, 1.3, 2.0, 3.5, 8.0]) * max(area_s, longest_s), 2)
    return time


def _fields(job: Content) -> tuple[float, float]:
    """Return megabytes of gradients, and seconds of computation in an iteration, not too little of both."""
    if "model" in job:
        return 103.0, 0.8
    return job["gradient_mb"], (job["forward_ms"] * job["minibatch"] + job["backward_ms"]) * 1e-3


def _quick_s(content: Content, job: Content) -> float:
    """Return about how long a job takes if nothing slows it."""
    gradient_mb, compute_s = _fields(job)
    sent_s = 2 * gradient_mb * 8e-3 / content["cluster"]["intra_server_gbps"] if job["gpus"] > 1 else 0.0
    return job["iterations"] * (compute_s + sent_s)


def _slowest_iteration_s(content: Content, job: Content) -> float:
    """Return more than an iteration ever takes: a slot must not be shorter than one."""
    cluster, contention = content["cluster"], content["contention"]
    speeds = [cluster["inter_server_gbps"]]
    speeds += [server["uplink_gbps"] for server in cluster["servers"] if "uplink_gbps" in server]
    speeds += [rack["uplink_gbps"] for rack in cluster.get("racks", {}).values()]
    num_jobs = len(content["jobs"])
    factor = num_jobs * (1 + contention.get("degradation", 0.0))
    if "table" in contention:
        factor = contention["table"][-1] + 1.3 * num_jobs
    factor = max(factor, contention.get("lanes", 1))
    gradient_mb, compute_s = _fields(job)
    gigabits = gradient_mb * 8e-3
    sent_s = 2 * gigabits * max(factor / min(speeds), 1 / cluster["intra_server_gbps"])
    latency_s = contention.get("server_latency_ms", 0.0) * 1e-3 * 6
    return 1.01 * (compute_s + sent_s + gigabits / cluster["reduce_gbps"] + latency_s)


def _add_submits(generator: random.Random, content: Content) -> None:
    """Let jobs arrive, several at the same instant and others alone; the first at time 0."""
    queued = [job for job in content["jobs"] if "running_on" not in job]
    if not queued or generator.random() < 0.3:
        return
    slot_s = content["time"].get("slot_s", 1.0)
    span_s = sum(_quick_s(content, job) for job in queued) * generator.choice([0.1, 0.4, 1.0])
    instants = [slot_s * generator.randint(0, int(span_s / slot_s) + 1) for _ in range(len(queued))]
    instants += [round(generator.uniform(0, span_s), 3) for _ in range(len(queued) // 2)]
    for job in queued:
        if generator.random() < 0.8:
            job["submit_s"] = generator.choice(instants)
    if len(queued) == len(content["jobs"]) and all(job.get("submit_s", 0.0) > 0 for job in queued):
        generator.choice(queued)["submit_s"] = 0.0


def _add_estimates(generator: random.Random, content: Content) -> None:
    if generator.random() < 0.5:
        return
    for job in content["jobs"]:
        if generator.random() < 0.5:
            factor = generator.choice([0.1103, 0.3107, 1.7013, 5.3091])
            job["estimate_s"] = round(factor * _quick_s(content, job), 6)


def _too_wide(content: Content) -> None:
    content["jobs"][0]["gpus"] = 1 + len(_free_gpus(content["cluster"]["servers"]))
    content["jobs"][0].pop("running_on", None)
    content["jobs"][0].pop("done_iterations", None)


def _unknown_key(content: Content) -> None:
    content["jobs"][-1]["gradients_mb"] = 3.0


def _same_names(content: Content) -> None:
    content["jobs"].append(dict(content["jobs"][0]))


def _unknown_rack(content: Content) -> None:
    content["cluster"]["servers"][0]["rack"] = "r9"


def _not_positive(content: Content) -> None:
    content["cluster"]["inter_server_gbps"] = 0.0


def _not_an_integer(content: Content) -> None:
    content["jobs"][0]["iterations"] = 2.5


def _no_servers(content: Content) -> None:
    content["cluster"]["servers"] = []


def _slot_too_short(content: Content) -> None:
    content["time"] = {"slot_s": 1e-4}


def _unknown_model(content: Content) -> None:
    content["contention"] = {"model": "phase"}


def _lanes_without_reservation(content: Content) -> None:
    content["contention"] = {"model": "max-min", "lanes": 2}


def _falling_table(content: Content) -> None:
    content["contention"] = {"table": [1.0, 2.0, 1.5]}


def _runs_nowhere(content: Content) -> None:
    content["jobs"][0]["running_on"] = {"elsewhere": list(range(content["jobs"][0]["gpus"]))}
    content["jobs"][0].pop("submit_s", None)


def _more_done_than_there_is(content: Content) -> None:
    server, gpu = _free_gpus(content["cluster"]["servers"])[0]
    job = content["jobs"][0]
    job |= {"gpus": 1, "running_on": {server: [gpu]}, "done_iterations": job["iterations"]}
    job.pop("submit_s", None)


def _running_and_submitted(content: Content) -> None:
    server, gpu = _free_gpus(content["cluster"]["servers"])[0]
    content["jobs"][0] |= {"gpus": 1, "running_on": {server: [gpu]}, "submit_s": 3.0}
    content["jobs"][0].pop("done_iterations", None)


def _no_share(content: Content) -> None:
    content["contention"] = {"share": 0.0}


def _broken_gpu_that_is_not_there(content: Content) -> None:
    server = content["cluster"]["servers"][0]
    server.pop("count", None)
    server["unavailable"] = [server["gpus"]]


def _no_computation(content: Content) -> None:
    content["jobs"][0] |= {"gradient_mb": 1.0, "minibatch": 1, "forward_ms": 0.0, "backward_ms": 0.0}


MISTAKES: tuple[Callable[[Content], None], ...] = (
    _too_wide,
    _unknown_key,
    _same_names,
    _unknown_rack,
    _not_positive,
    _not_an_integer,
    _no_servers,
    _slot_too_short,
    _unknown_model,
    _lanes_without_reservation,
    _falling_table,
    _runs_nowhere,
    _more_done_than_there_is,
    _running_and_submitted,
    _no_share,
    _broken_gpu_that_is_not_there,
    _no_computation,
)
