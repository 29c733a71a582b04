"""The paper's workload (section 7): 160 jobs on servers of 4, 8, 16 or 32 GPUs."""

from __future__ import annotations

import random

from ringsched.model import Cluster, Contention, Job, Scenario, Server

SIZES = {1: 80, 2: 14, 4: 26, 8: 30, 16: 8, 32: 2}


def paper_mix(seed: int, num_servers: int = 20) -> Scenario:
    """F in [1000, 6000], tau in [0.01, 0.05] slots, F*tau in [50, 300] slots; gradients of 0.5 to 2 MB."""
    generator = random.Random(seed)
    sizes = [size for size, number in SIZES.items() for _ in range(number)]
    generator.shuffle(sizes)
    servers = tuple(Server(name=f"s{at}", gpus=generator.choice([4, 8, 16, 32])) for at in range(num_servers))
    return Scenario(
        cluster=Cluster(servers=servers, inter_server_gbps=10, intra_server_gbps=200, reduce_gbps=400),
        contention=Contention(degradation=0.2745, server_latency_ms=0.1),
        jobs=tuple(_job(generator, f"job-{at}", gpus) for at, gpus in enumerate(sizes)),
    )


def _job(generator: random.Random, name: str, gpus: int) -> Job:
    while True:
        iterations, tau_s = generator.randint(1000, 6000), generator.uniform(0.01, 0.05)
        if 50 <= iterations * tau_s <= 300:
            return Job(
                name=name,
                gpus=gpus,
                iterations=iterations,
                gradient_mb=generator.uniform(0.5, 2.0),
                minibatch=1,
                forward_ms=tau_s * 400,
                backward_ms=tau_s * 600,
            )
