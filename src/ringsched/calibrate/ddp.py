"""Real DDP jobs on the testbed: the Python that runs them, and predictions compared with them."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from ringsched.calibrate.blocks import MeasuredBlock, measure
from ringsched.calibrate.predict import MODELS, Placed, predict, simulate_exchanges
from ringsched.calibrate.testbed import Testbed, TestJob
from ringsched.calibrate.validation import ONE_BY_ONE, SERVERS, ValidatedJob, Validation
from ringsched.errors import InputError
from ringsched.model.calibration import Calibration
from ringsched.model.checks import integer

VARIABLE = "RINGSCHED_TORCH_PYTHON"
WORKER = Path(__file__).with_name("ddp_worker.py")  # also for torchrun
ALONE = "alone"
STARTS = 8
ITERATIONS = 10  # of a job alone
_TRY = "import torch.distributed as d; assert d.is_available() and hasattr(d, 'ProcessGroupGloo')"


def torch_python(given: str | None = None) -> str:
    """Return a Python that has PyTorch with gloo: the one given, or the first that is found."""
    asked = given or os.environ.get(VARIABLE)
    field = "--torch-python" if given else VARIABLE
    tried = [asked] if asked else [sys.executable, shutil.which("python3"), "/usr/bin/python3"]
    for python in tried:
        if python and (found := shutil.which(python)) is not None and _has_torch(found):
            return found
    if asked:
        raise InputError(f"must be a Python that has PyTorch with gloo, not {asked!r}", field=field)
    raise InputError(
        "no Python with PyTorch was found; install python3-torch, or name one with --torch-python"
    )


def torch_version(python: str) -> str:
    """Return the version of PyTorch that a Python has."""
    command = [python, "-c", "import torch; print(torch.__version__)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _has_torch(python: str) -> bool:
    return subprocess.run([python, "-c", _TRY], capture_output=True, check=False).returncode == 0


def _job(placement: tuple[int, ...], mb: float, forward_s: float, backward_s: float, buckets: int) -> Placed:
    return Placed(
        placement=placement,
        message_mb=mb,
        compute_s=round(forward_s + backward_s, 6),
        backward_s=backward_s,
        buckets=buckets,
    )


# Sizes are for links of 200 Mbit/s. None of these jobs is in the procedure that `fit` uses.
SOLO: tuple[Placed, ...] = (
    _job((0, 1), 8, 0.05, 0.6, 1),
    _job((0, 1), 8, 0.05, 0.6, 2),
    _job((0, 1), 8, 0.1, 0.2, 4),
    _job((0, 1), 8, 0.1, 0.5, 4),
    _job((0, 1), 8, 0.2, 0.33, 4),
    _job((0, 1), 8, 0.1, 0.3, 8),
    _job((0, 1), 3, 0.05, 0.1, 3),
    _job((0, 1), 16, 0.1, 0.4, 6),
    _job((0, 1), 16, 0.2, 1.0, 12),
    _job((0, 1, 2), 8, 0.1, 0.2, 4),
    _job((0, 1, 2), 6, 0.05, 0.5, 2),
    _job((0, 1, 2, 3), 8, 0.1, 0.2, 4),
    _job((0, 1, 2, 3), 12, 0.1, 0.6, 8),
    _job((0, 0, 1, 1), 8, 0.1, 0.3, 4),
)
CONTENDING: Mapping[str, tuple[Placed, ...]] = {
    "two alike, 1 bucket": (_job((0, 1), 8, 0.05, 0.6, 1),) * 2,
    "two alike, 4 buckets": (_job((0, 1), 8, 0.1, 0.3, 4),) * 2,
    "three alike": (_job((0, 1), 6, 0.1, 0.3, 4),) * 3,
    "4 buckets beside 1": (_job((0, 1), 8, 0.1, 0.4, 4), _job((0, 1), 8, 0.1, 0.4, 1)),
    "a chain": (_job((0, 1), 8, 0.1, 0.4, 4), _job((1, 2), 8, 0.1, 0.4, 4), _job((2, 3), 8, 0.1, 0.4, 2)),
    "different sizes": (
        _job((0, 1), 8, 0.1, 0.5, 4),
        _job((0, 1), 4, 0.05, 0.2, 2),
        _job((0, 1, 2), 4, 0.1, 0.3, 4),
    ),
}


def ddp_job(job: Placed, python: str, **options: float | None) -> TestJob:
    """Return a job of the models as a DDP job for the testbed."""
    return TestJob(
        placement=job.placement,
        message_mb=job.message_mb,
        compute_s=job.compute_s,
        backward_s=job.backward_s,
        buckets=job.buckets,
        python=python,
        **options,  # type: ignore[arg-type]
    )


def validate_ddp(
    testbed: Testbed,
    calibration: Calibration,
    python: str,
    *,
    starts: int = STARTS,
    seconds: float = 12.0,
    seed: int = 0,
    on_try: Callable[[str, int], None] | None = None,
) -> Validation:
    """Run DDP jobs alone, and together from random starts, and compare them with the predictions."""
    if testbed.servers < SERVERS:
        raise InputError(f"must be at least {SERVERS} for these placements", field="--servers")
    integer(starts, "--starts", minimum=1, maximum=100)
    jobs: list[ValidatedJob] = []
    blocks: list[MeasuredBlock] = []
    for each in SOLO:
        test = ddp_job(each, python, iterations=ITERATIONS)
        block = measure(testbed, ALONE, [test], on_try=on_try)
        blocks.append(block)
        jobs += _validated(ALONE, [each], [block], [[0.0]], calibration, seconds)
    draw = random.Random(seed)
    for name, members in CONTENDING.items():
        offsets_s = [list(_starts(members, calibration, draw)) for _ in range(starts)]
        runs = [
            measure(
                testbed,
                name,
                [
                    ddp_job(each, python, seconds=seconds, start_s=start_s)
                    for each, start_s in zip(members, some, strict=True)
                ],
                on_try=on_try,
            )
            for some in offsets_s
        ]
        blocks += runs
        jobs += _validated(name, members, runs, offsets_s, calibration, seconds)
    return Validation(jobs=tuple(jobs), blocks=tuple(blocks))


def _starts(members: Sequence[Placed], calibration: Calibration, draw: random.Random) -> Iterator[float]:
    """Yield a random start within one iteration of each job."""
    for each in members:
        yield round(draw.uniform(0, predict([each], calibration)[0]), 4)


def _validated(
    name: str,
    members: Sequence[Placed],
    runs: Sequence[MeasuredBlock],
    starts_s: Sequence[Sequence[float]],
    calibration: Calibration,
    seconds: float,
) -> Iterator[ValidatedJob]:
    """Yield every job with the mean over its starts; disturbed runs are left out if others are not."""
    good = [at for at, run in enumerate(runs) if not run.suspect]
    counted = good or list(range(len(runs)))
    predicted = {model: predict(members, calibration, model) for model in MODELS}
    one_by_one = [simulate_exchanges(members, starts_s[at], calibration, seconds=seconds) for at in counted]
    for at, member in enumerate(members):
        by_start_s = tuple(runs[run].seconds[at] for run in counted)
        alone_s = predict([member], calibration)[0]
        wire_s = member.exchange_gbit / (calibration.inter_server_gbps or 1.0)
        yield ValidatedJob(
            block=name,
            placement=member.placement,
            duty_cycle=min(1.0, wire_s / alone_s),
            measured_s=fmean(by_start_s),
            predicted_s={model: predicted[model][at] for model in MODELS}
            | {ONE_BY_ONE: fmean(each[at] for each in one_by_one)},
            suspect=not good,
            buckets=member.buckets,
            by_start_s=by_start_s,
            settled=tuple(runs[run].settled[at] for run in counted),
        )
