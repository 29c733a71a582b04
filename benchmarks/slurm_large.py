"""One cycle of the Slurm controller with 10,000 queued and 1,000 running jobs, apart from Slurm's commands.

`python -m benchmarks.slurm_large` prints how long reading, planning and deciding take together.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping
from typing import Any

from ringsched.clusters.controller import Controller
from ringsched.clusters.network import Network
from ringsched.clusters.planning import Planner
from ringsched.clusters.slurm.backend import SlurmBackend

NUM_NODES, GPUS = 600, 8
NUM_QUEUED, NUM_RUNNING = 10_000, 1_000
NOW_S = 1_800_000_000


class Recorded:
    """Slurm's answers, made beforehand; what is told is counted."""

    def __init__(self) -> None:
        draw = random.Random(1)
        names = [f"n{at}" for at in range(NUM_NODES)]
        types = {name: ("a100", "v100")[at % 2] for at, name in enumerate(names)}
        jobs = [_running(at, names, draw) for at in range(NUM_RUNNING)]
        jobs += [_queued(NUM_RUNNING + at, draw) for at in range(NUM_QUEUED)]
        used = dict.fromkeys(names, 0)
        for job in jobs[:NUM_RUNNING]:
            used[job["nodes"]] += 4
        nodes = [
            {
                "name": name, "gres": f"gpu:{types[name]}:{GPUS}", "gres_used": f"gpu:{used[name]}",
                "state": "mixed", "partitions": ["gpu"], "cpus": 64, "alloc_cpus": used[name],
                "real_memory": 512_000, "alloc_memory": 0, "features": "",
            }
            for name in names
        ]  # fmt: skip
        self._answers = {
            "squeue": json.dumps({"jobs": jobs}),
            "sinfo": json.dumps({"nodes": nodes}),
            "config": "PriorityType = priority/basic",
            "partition": f"PartitionName=gpu State=UP Nodes=n[0-{NUM_NODES - 1}]",
            "reservation": "No reservations in the system",
            "topology": "",
        }
        self.num_told = 0

    def ask(self, *arguments: str) -> str:
        """Return the answer to a read-only command."""
        return self._answers[arguments[0] if arguments[0] in self._answers else arguments[2]]

    def tell(self, *_: str, environment: Mapping[str, str] | None = None) -> str:  # noqa: ARG002
        """Count a command that would change something."""
        self.num_told += 1
        return ""


def _record(at: int, gpus: int, seconds: int) -> dict[str, Any]:
    fields = {"gpus": gpus, "iterations": seconds, "model": "resnet50"}
    return {
        "job_id": at + 1, "het_job_id": 0, "user_id": 7, "group_id": 7, "user_name": "ann", "name": "train",
        "partition": "gpu", "comment": json.dumps({"ringsched": fields}), "tasks": gpus, "cpus": gpus,
        "tres_per_task": "gres:gpu:1", "node_count": 1, "submit_time": NOW_S - 90_000 + at, "priority": 0,
        "job_state": "PENDING", "state_reason": "JobHeldUser", "array_job_id": 0, "time_limit": 1440,
        # As Slurm writes them, so that there is as much to read.
        **{f"other_field_{number}": "some text" for number in range(80)},
    }  # fmt: skip


def _queued(at: int, draw: random.Random) -> dict[str, Any]:
    record = _record(at, draw.choice((1, 2, 4, 8, 16, 32)), draw.randint(1_000, 100_000))
    return record | {"tres_per_task": f"gres:gpu:{draw.choice(('', 'a100:', 'v100:'))}1"}


def _running(at: int, names: list[str], draw: random.Random) -> dict[str, Any]:
    first = 4 * (at // NUM_NODES)
    return _record(at, 4, draw.randint(50_000, 100_000)) | {
        "job_state": "RUNNING", "priority": 1, "nodes": names[at % NUM_NODES], "start_time": NOW_S - 5_000,
        "end_time": NOW_S + 80_000, "gres_detail": [f"gpu:4(IDX:{first}-{first + 3})"],
    }  # fmt: skip


def main() -> None:
    """Measure three cycles; the first one loads the kernels."""
    commands = Recorded()
    for _ in range(3):
        backend = SlurmBackend(
            commands=commands, clock=lambda: float(NOW_S), network=Network(), partitions=("gpu",)
        )
        controller = Controller(backend=backend, planner=Planner())
        began, began_cpu = time.perf_counter(), time.process_time()
        cycle = controller.cycle()
        took_s, cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
        planned = len(cycle.snapshot.waiting)
        print(
            f"cycle {took_s:.2f} s, CPU {cpu_s:.2f} s, {NUM_QUEUED} waiting, {planned} of them planned, "
            f"{len(cycle.started)} started"
        )


if __name__ == "__main__":
    main()
