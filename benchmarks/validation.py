"""How near the contention models come to real rings and DDP jobs between network namespaces."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import ringsched
from benchmarks.effort import sized
from ringsched.calibrate import ddp as ddp_jobs
from ringsched.calibrate.blocks import run_procedure
from ringsched.calibrate.carry_out import bed_for, carry_out
from ringsched.calibrate.fit import calibration_of, fit_measurements
from ringsched.calibrate.measurements import load_measurements
from ringsched.calibrate.profile.description import profile_job
from ringsched.calibrate.testbed import Testbed
from ringsched.calibrate.validation import COLUMNS, HELD_OUT, SERVERS, ValidatedJob, validate

MEASUREMENTS = Path(__file__).parents[1] / "examples" / "measurements.csv"
MBPS = 200.0
RUNS = sized(2, 1)
SECONDS = sized(8.0, 2.0)
ALL = "all"


def validation() -> dict[str, Any]:
    """Errors of the contention models against real rings on links of 200 Mbit/s: `calibrate validate`."""
    calibration = calibration_of(fit_measurements(load_measurements(MEASUREMENTS)))
    jobs: list[ValidatedJob] = []
    num_suspect = 0
    for run in range(RUNS):
        with Testbed(SERVERS, MBPS) as testbed:
            done = validate(testbed, calibration, seconds=SECONDS)
        suspect = sum(block.suspect for block in done.blocks)
        print(f"run {run + 1} of {RUNS}: {suspect} blocks suspect", file=sys.stderr, flush=True)
        num_suspect += suspect
        jobs += [job for job in done.jobs if not job.suspect]
    results: dict[str, Any] = {"runs": RUNS, "blocks suspect": num_suspect}
    for block in (*HELD_OUT, ALL):
        members = [job for job in jobs if block in (ALL, job.block)]
        for model in COLUMNS if members else ():
            errors = sorted(100 * abs(job.error(model)) for job in members)
            results[f"{block}, {model}, median error, %"] = median(errors)
            results[f"{block}, {model}, worst, %"] = errors[-1]
    return results


DDP_STARTS = sized(8, 1)
DDP_SECONDS = sized(10.0, 3.0)


def ddp() -> dict[str, Any]:
    """Errors of the contention models against real PyTorch DDP jobs over gloo, links of 200 Mbit/s."""
    python = ddp_jobs.torch_python()
    with Testbed(SERVERS, MBPS) as testbed:
        measured = run_procedure(testbed, quick=True, python=python)
        calibration = calibration_of(fit_measurements(measured.measurements))
        done = ddp_jobs.validate_ddp(
            testbed, calibration, python, starts=DDP_STARTS, seconds=DDP_SECONDS, on_try=_say
        )
    results: dict[str, Any] = {
        "torch": ddp_jobs.torch_version(python),
        "starts": DDP_STARTS,
        "blocks suspect": sum(block.suspect for block in done.blocks),
        "fitted inter_server_gbps": calibration.inter_server_gbps,
    }
    together = [job for job in done.jobs if job.block != ddp_jobs.ALONE]
    groups = {ddp_jobs.ALONE: [job for job in done.jobs if job.block == ddp_jobs.ALONE], TOGETHER: together}
    groups |= {name: [job for job in together if job.block == name] for name in ddp_jobs.CONTENDING}
    for name, members in groups.items():
        good = [job for job in members if not job.suspect]
        results[f"{name}, jobs"] = len(good)
        for model in COLUMNS if good else ():
            errors = sorted(100 * abs(job.error(model)) for job in good)
            results[f"{name}, {model}, median error, %"] = median(errors)
            results[f"{name}, {model}, worst, %"] = errors[-1]
    for name in ddp_jobs.CONTENDING:
        members = groups[name]
        results[f"{name}, s"] = [round(job.measured_s, 3) for job in members]
        results[f"{name}, least s"] = [round(min(job.by_start_s), 3) for job in members]
        results[f"{name}, most s"] = [round(max(job.by_start_s), 3) for job in members]
        results[f"{name}, behind the first"] = [
            [round(each, 2) for each in job.settled] for job in members[1:]
        ]
    return results


TOGETHER = "together"
QUEUE = """
time.model = "continuous"
contention.model = "phases"
[cluster]
inter_server_gbps = 0.1913
intra_server_gbps = 10.0
reduce_gbps = 100.0
servers = [{ name = "s", gpus = 2, count = 4 }]
[[jobs]]
name = "overlapped"
gpus = 3
iterations = 40
gradient_mb = 8.0
minibatch = 1
forward_ms = 100.0
backward_ms = 400.0
buckets = 4
[[jobs]]
name = "one-bucket"
gpus = 2
iterations = 40
gradient_mb = 6.0
minibatch = 1
forward_ms = 200.0
backward_ms = 200.0
"""
PROFILED = {"message_mb": 8.0, "compute_s": 0.4, "backward_s": 0.3, "buckets": 4, "iterations": 60}


def whole_way() -> dict[str, Any]:
    """A DDP job profiled alone, planned with two others, and the plan run with real DDP."""
    python = ddp_jobs.torch_python()
    torchrun = [python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    command = [*torchrun, "--redirects=1", "--tee=1", str(ddp_jobs.WORKER), json.dumps(PROFILED)]
    profile = profile_job(command, name="profiled", iterations=sized(40, 5))
    with TemporaryDirectory() as name:
        path = Path(name) / "queue.toml"
        path.write_text(QUEUE + profile.as_toml(), encoding="utf-8")
        scenario = ringsched.load_scenario(path)
    # One policy that spreads jobs over shared links: here contention is what is tested.
    plan = ringsched.plan(scenario, "list-scheduling")
    with bed_for(scenario, plan, python) as testbed:
        done = carry_out(scenario, plan, testbed, python)
    results: dict[str, Any] = {
        "profiled, backward_ms": profile.job.backward_ms,
        "profiled, forward_ms of the minibatch": profile.job.forward_ms * profile.job.minibatch,
        "profiled, buckets": profile.job.buckets,
        "profiled, gradient_mb": profile.job.gradient_mb,
    }
    for job in done.jobs:
        results[f"{job.name}: planned s"] = job.finish_s - job.start_s
        results[f"{job.name}: measured s"] = job.measured_finish_s - job.measured_start_s
        results[f"{job.name}: error, %"] = 100 * job.error
    return results


def _say(block: str, number: int) -> None:
    print(f"{block}, try {number}", file=sys.stderr, flush=True)
