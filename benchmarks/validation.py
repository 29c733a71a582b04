"""How near the contention models come to real rings between network namespaces."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.effort import sized
from ringsched.calibrate.fit import calibration_of, fit_measurements
from ringsched.calibrate.measurements import load_measurements
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
