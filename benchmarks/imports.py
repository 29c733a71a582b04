"""What imports cost, and what each contention model makes of the Philly trace: the table of the how-to guide.

Run `python -m benchmarks.imports`. It is not part of `make bench`.
"""

from __future__ import annotations

import random
import time
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import ringsched
from benchmarks.online import TRACES
from ringsched import Cluster, Contention, Scenario, Time
from ringsched.analysis.over_time import over_time
from ringsched.formatting import duration

LATENCY_MS = 0.2
CONTENTION = {
    "phases": Contention(model="phases", server_latency_ms=LATENCY_MS),
    "max-min": Contention(model="max-min", server_latency_ms=LATENCY_MS),
    "reserved, 4 lanes": Contention(model="reserved", lanes=4, server_latency_ms=LATENCY_MS),
    "paper": Contention(server_latency_ms=LATENCY_MS),
    "paper, degradation 0.2745": Contention.ethernet(),
}
CLUSTERS = {
    "109 servers": Cluster.of_servers(109),
    "96 servers": Cluster.of_servers(96),
    "64 servers": Cluster.of_servers(64),
    "64 servers, racks 4:1": Cluster.of_servers(64, switches=8),
}
NUM_ROWS = 1_000_000


def replay(cluster: Cluster, contention: Contention, policy: str = "fifo") -> str:
    """Return simulated over recorded GPU time, and the mean waiting time."""
    around = Scenario(cluster=cluster, contention=contention, time=Time(model="continuous"), jobs=())
    scenario = ringsched.import_trace(TRACES / "philly.csv.gz", "philly", cluster=around).scenario
    result = ringsched.simulate(scenario, policy)
    recorded = float((result.gpus * result.best_case_s).sum())
    simulated = float((result.gpus * (result.finish_s - result.start_s)).sum())
    return f"{simulated / recorded:.2f}, {duration(over_time(result).mean_waiting_s)}"


def seconds_for_a_million_rows() -> float:
    """Return how long the import of a generated table takes, without writing the scenario."""
    draw = random.Random(1)
    at = datetime(2024, 1, 1)
    with TemporaryDirectory() as directory:
        path = Path(directory, "million.csv")
        with path.open("w", encoding="utf-8") as file:
            file.write("id,submitted,run_s,n_gpu,net\n")
            for row in range(NUM_ROWS):
                at += timedelta(seconds=draw.expovariate(1 / 30))
                gpus, model = draw.choice((1, 1, 1, 2, 4, 8)), draw.choice(("resnet50", "vgg16", "", "dqn"))
                file.write(
                    f"j{row},{at:%Y-%m-%d %H:%M:%S},{draw.lognormvariate(7, 1.5):.1f},{gpus},{model}\n"
                )
        columns = "submit=submitted,duration=run_s,gpus=n_gpu,name=id,model=net"
        started = time.perf_counter()
        ringsched.import_trace(path, "csv", columns=columns)
        return time.perf_counter() - started


def main() -> None:
    """Print the table, and how long imports take."""
    print(" | ".join(["contention", *CLUSTERS]))
    for name, contention in CONTENTION.items():
        print(" | ".join([name, *(replay(cluster, contention) for cluster in CLUSTERS.values())]), flush=True)
    print("free-links on 64 servers:", replay(CLUSTERS["64 servers"], CONTENTION["phases"], "free-links"))
    started = time.perf_counter()
    ringsched.import_trace(TRACES / "philly.csv.gz", "philly")
    print(f"Philly, 82,247 rows: {time.perf_counter() - started:.1f} s")
    print(f"a generated table, 1,000,000 rows: {seconds_for_a_million_rows():.1f} s")


if __name__ == "__main__":
    main()
