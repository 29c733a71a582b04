"""What `ringsched profile` adds to a job: the same DDP job with and without the hook, in turns."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.effort import sized
from ringsched.calibrate.ddp import torch_python, torch_version

PAIRS = sized(8, 1)
FIRST_PORT = 29_800
JOB = """
import os, sys, time, torch, torch.distributed as dist
def train(rank):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    layers = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(24)))
    model = torch.nn.parallel.DistributedDataParallel(layers, bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs = torch.randn(32, 256)
    for step in range(210):
        if step == 10:
            begun, cpu = time.perf_counter(), time.process_time()
        model(inputs).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    if rank == 0:
        print("LOOP", time.perf_counter() - begun, time.process_time() - cpu, flush=True)
if __name__ == "__main__":
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[1])
    torch.multiprocessing.spawn(train, nprocs=2)
"""


def profile() -> dict[str, Any]:
    """Time of a small DDP job with the hook of `ringsched profile` over that without, in pairs."""
    python = torch_python()
    ratios = []
    with TemporaryDirectory() as directory:
        job = Path(directory) / "job.py"
        job.write_text(JOB)
        for pair in range(PAIRS):
            order = (False, True) if pair % 2 else (True, False)
            times = {hook: _loop_s(python, job, FIRST_PORT + 2 * pair + hook, hook=hook) for hook in order}
            ratios.append([with_ / without for with_, without in zip(times[True], times[False], strict=True)])
    results: dict[str, Any] = {"torch": torch_version(python), "pairs": PAIRS}
    for name, values in zip(("wall", "CPU"), zip(*ratios, strict=True), strict=True):
        results |= {f"{name}, median": median(values), f"{name}, least": min(values)}
        results[f"{name}, most"] = max(values)
    return results


def _loop_s(python: str, job: Path, port: int, *, hook: bool) -> tuple[float, float]:
    """Return the wall and the CPU seconds of 200 iterations."""
    line = [python, str(job), str(port)]
    if hook:
        line = [sys.executable, "-m", "ringsched", "profile", "--", *line]
    output = subprocess.run(
        line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    ).stdout
    found = re.search(r"LOOP (\S+) (\S+)", output)
    assert found is not None, output
    return float(found[1]), float(found[2])
