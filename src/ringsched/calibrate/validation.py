"""Predictions compared with placements that were not used for the fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from ringsched.calibrate.blocks import MeasuredBlock, measure
from ringsched.calibrate.predict import MODELS, Placed, predict, simulate_exchanges
from ringsched.calibrate.testbed import Testbed, TestJob
from ringsched.errors import InputError
from ringsched.formatting import counted, one_line
from ringsched.model.calibration import Calibration

SERVERS = 4
ONE_BY_ONE = "one by one"
COLUMNS = (*MODELS, ONE_BY_ONE)
# Servers of every worker and duty cycle of jobs that run at the same time; none of it is in the procedure.
HELD_OUT: dict[str, tuple[tuple[tuple[int, ...], float], ...]] = {
    "a chain": (((0, 1), 1.0), ((1, 2), 1.0), ((2, 3), 1.0), ((2, 3), 1.0)),
    "3+1": (((0, 0, 0, 1), 1.0), ((1, 2), 1.0), ((1, 1, 1, 3), 1.0)),
    "half the time": (((0, 1), 0.5), ((1, 2), 0.5), ((1, 3), 0.5)),
    "a third of it": (((0, 1, 2, 3), 1 / 3), ((0, 1), 1 / 3), ((2, 3), 1 / 3)),
    "mixed": (((0, 1, 2), 1.0), ((1, 3), 0.5), ((0, 3), 1 / 3)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatedJob:
    """A job of a block: predicted and measured."""

    block: str
    placement: tuple[int, ...]
    duty_cycle: float
    measured_s: float
    predicted_s: dict[str, float]  # by model
    suspect: bool
    buckets: int = 1
    by_start_s: tuple[float, ...] = ()  # measured from each random start, whose mean is `measured_s`
    settled: tuple[float, ...] = ()  # from each start: how far it ended behind the first job, in iterations

    def error(self, model: str) -> float:
        """Relative error of the prediction."""
        return self.predicted_s[model] / self.measured_s - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """All jobs of a validation."""

    jobs: tuple[ValidatedJob, ...]
    blocks: tuple[MeasuredBlock, ...]

    def __repr__(self) -> str:
        return one_line("Validation", counted(len(self.jobs), "job"), counted(len(self.blocks), "block"))

    def errors(self, model: str) -> tuple[float, float]:
        """Return the median and the worst of the sizes of the errors, over the jobs that are not suspect."""
        sizes = [abs(job.error(model)) for job in self.jobs if not job.suspect] or [float("nan")]
        return median(sizes), max(sizes)


def validate(
    testbed: Testbed,
    calibration: Calibration,
    *,
    message_mb: float = 4.0,
    seconds: float = 8.0,
    on_try: Callable[[str, int], None] | None = None,
) -> Validation:
    """Run the held-out placements and compare them with the predictions."""
    if testbed.servers < SERVERS:
        raise InputError(f"must be at least {SERVERS} for the held-out placements", field="--servers")
    jobs: list[ValidatedJob] = []
    blocks = []
    for name, members in HELD_OUT.items():
        placed = [_placed(placement, duty, message_mb, calibration) for placement, duty in members]
        block = measure(testbed, name, _staggered(placed, calibration, seconds), on_try=on_try)
        blocks.append(block)
        starts_s = [job.start_s - job.compute_s for job in block.jobs]  # a ring exchanges first
        predicted = {model: predict(placed, calibration, model) for model in MODELS}
        predicted[ONE_BY_ONE] = simulate_exchanges(placed, starts_s, calibration, seconds=seconds)
        for at, (placement, duty) in enumerate(members):
            jobs.append(
                ValidatedJob(
                    block=name,
                    placement=placement,
                    duty_cycle=duty,
                    measured_s=block.seconds[at],
                    predicted_s={model: predicted[model][at] for model in COLUMNS},
                    suspect=block.suspect,
                )
            )
    return Validation(jobs=tuple(jobs), blocks=tuple(blocks))


def _placed(placement: tuple[int, ...], duty: float, message_mb: float, calibration: Calibration) -> Placed:
    """Return a job that communicates for `duty` of an iteration alone."""
    quiet = Placed(placement=placement, message_mb=message_mb)
    ring_s = predict([quiet], calibration)[0]
    compute_s = float(f"{ring_s * (1 / duty - 1):.4g}")
    return Placed(placement=placement, message_mb=message_mb, compute_s=compute_s)


def _staggered(placed: Sequence[Placed], calibration: Calibration, seconds: float) -> list[TestJob]:
    """Start jobs one after another, because jobs that start together may stay in phase and be slower."""
    alone_s = [predict([job], calibration)[0] for job in placed]
    return [
        TestJob(
            placement=job.placement,
            message_mb=job.message_mb,
            compute_s=job.compute_s,
            start_s=alone_s[at] * at / len(placed),
            seconds=seconds,
        )
        for at, job in enumerate(placed)
    ]
