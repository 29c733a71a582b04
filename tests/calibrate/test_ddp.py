"""Real DDP jobs on the testbed, where there is a torch; and what needs none."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from statistics import fmean, median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.helpers import run, sentence

import ringsched
from ringsched.calibrate import ddp
from ringsched.calibrate.blocks import settled_of
from ringsched.calibrate.carry_out import bed_for, carry_out
from ringsched.calibrate.ddp import CONTENDING, SOLO, torch_python
from ringsched.calibrate.measurements import Measurement
from ringsched.calibrate.predict import MODELS, Placed, predict, simulate_exchanges
from ringsched.calibrate.testbed import JobRun, Testbed, TestJob
from ringsched.calibrate.worker import Iteration
from ringsched.contention.iteration_time import iteration_time_s, overlap_of
from ringsched.engine.problem import problem_of
from ringsched.errors import InputError
from ringsched.model.calibration import Calibration

LINK = Calibration(inter_server_gbps=0.16, server_latency_ms=0.1)


@pytest.fixture(scope="module")
def python() -> str:
    try:
        return torch_python()
    except InputError as error:
        pytest.skip(f"NOT TESTED: {error}")


jobs = st.builds(
    lambda mb, forward, backward, buckets: Placed(
        placement=(0, 1),
        message_mb=mb,
        compute_s=forward + backward,
        backward_s=backward,
        buckets=buckets,
    ),
    st.floats(0.5, 16),
    st.floats(0, 0.5),
    st.floats(0, 1),
    st.integers(1, 12),
)


@given(jobs)
def test_simulated_buckets_of_a_job_alone_take_as_long_as_the_formula(job: Placed) -> None:
    simulated = simulate_exchanges([job], [0.0], LINK, seconds=40)[0]
    for model in MODELS:
        assert simulated == pytest.approx(predict([job], LINK, model)[0], rel=1e-6)


@settings(max_examples=40)
@given(st.lists(jobs, min_size=2, max_size=3), st.integers(0, 99))
def test_simulated_buckets_are_between_alone_and_full_contention(members: list[Placed], seed: int) -> None:
    draw = random.Random(seed)
    simulated = simulate_exchanges(members, [draw.random() for _ in members], LINK, seconds=60)
    slowest = predict(members, LINK, "paper")
    for at, member in enumerate(members):
        alone = predict([member], LINK)[0]
        assert alone * (1 - 1e-6) <= simulated[at] <= slowest[at] * 1.02  # the mean of whole iterations


def test_phases_is_near_the_simulated_mean_over_random_starts() -> None:
    """Overlapped jobs: measured against single exchanges, from 30 random starts each."""
    draw = random.Random(5)
    errors: dict[str, list[float]] = {model: [] for model in MODELS}
    for members in CONTENDING.values():
        runs = [
            simulate_exchanges(members, [draw.uniform(0, 1.5) for _ in members], LINK, seconds=30)
            for _ in range(30)
        ]
        for at in range(len(members)):
            mean = fmean(each[at] for each in runs)
            for model in MODELS:
                errors[model].append(abs(predict(members, LINK, model)[at] / mean - 1))
    assert median(errors["phases"]) < 0.04
    assert max(errors["phases"]) < 0.12
    assert median(errors["phases"]) < min(median(errors["max-min"]), median(errors["paper"]))


@given(jobs, st.floats(1.0, 3.0))
def test_the_fit_recovers_what_is_hidden(job: Placed, slower: float) -> None:
    ring_s = slower * job.exchange_gbit / 0.16
    seconds = iteration_time_s(0.0, ring_s, job.compute_s, job.backward_s, overlap_of(job.buckets), 0.0, 1.0)
    row = Measurement(
        servers=2,
        workers=2,
        concurrent=1,
        message_mb=job.message_mb,
        seconds=seconds,
        compute_s=job.compute_s,
        backward_s=job.backward_s,
        buckets=job.buckets,
    )
    assert row.ring_s == pytest.approx(ring_s, rel=1e-6)


def test_what_is_validated_is_as_much_as_promised() -> None:
    assert len(SOLO) >= 12
    assert len({(job.buckets, len(job.placement)) for job in SOLO}) >= 8
    together = [job for members in CONTENDING.values() for job in members]
    assert len(together) >= 12
    assert Counter(len(members) for members in CONTENDING.values())[3] >= 2
    assert any({job.buckets == 1 for job in members} == {True, False} for members in CONTENDING.values())


def test_where_a_job_settles() -> None:
    def made(starts: list[float]) -> JobRun:
        iterations = tuple(Iteration(start, 1.0, 0.0, 0.0) for start in starts)
        return JobRun(job=TestJob(placement=(0, 1), message_mb=1), iterations=iterations, sent_bytes=(0, 0))

    assert settled_of([made([0, 1, 2, 3]), made([0.25, 1.25, 2.25, 3.25])]) == pytest.approx((0.0, 0.25))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--worker", "torch", "--torch-python", "/nowhere"], "must be a Python that has PyTorch"),
        (["--torch-python", "python3"], "is only allowed with --worker torch"),
        (["--worker", "tensorflow"], "unknown worker 'tensorflow'"),
        (["--placement", "0,1", "--buckets", "2"], "is only allowed with --worker torch"),
        (["--placement", "0,1", "--backward", "1s"], "--backward must be"),
    ],
)
def test_wrong_options(options: list[str], said: str) -> None:
    assert said in sentence(run("calibrate", "testbed", *options))


def test_no_torch_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ddp, "_has_torch", lambda _: False)
    monkeypatch.delenv(ddp.VARIABLE, raising=False)
    with pytest.raises(InputError, match="no Python with PyTorch was found; install python3-torch"):
        torch_python()


@pytest.mark.usefixtures("rights")
@pytest.mark.testbed
def test_ddp_alone_takes_as_long_as_predicted(python: str) -> None:
    """Wide limits: CI's machines are noisy. docs/calibration.md has the errors of a quiet one."""
    job = Placed(placement=(0, 1), message_mb=4.0, compute_s=0.3, backward_s=0.2, buckets=4)
    with Testbed(2, 200) as bed:
        done = bed.run([ddp.ddp_job(job, python, iterations=8)])
        link = Calibration(inter_server_gbps=bed.payload_gbps)
    measured = median(each.seconds for each in done.jobs[0].iterations)
    assert 0.95 * predict([job], link)[0] <= measured <= 1.5 * predict([job], link)[0]
    assert len(done.jobs[0].iterations) == 8


@pytest.mark.usefixtures("rights")
@pytest.mark.testbed
def test_a_rank_that_fails_ends_the_block_with_one_sentence(tmp_path: Path) -> None:
    """A Python whose torch breaks: nothing waits for its timeout, and the testbed can be used again."""
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'ImportError: no torch today' >&2\nexit 1\n")
    broken.chmod(0o755)
    good = TestJob(placement=(0, 1), message_mb=0.1, iterations=3)
    with Testbed(2, 200) as bed:
        with pytest.raises(ringsched.RingschedError, match="a DDP rank failed: ImportError: no torch today"):
            bed.run([TestJob(placement=(0, 1), message_mb=0.1, iterations=3, python=str(broken)), good])
        assert len(bed.run([good]).jobs[0].iterations) == 3


@pytest.mark.usefixtures("rights")
@pytest.mark.testbed
def test_the_whole_way_from_profile_to_a_plan_that_ran(python: str, tmp_path: Path) -> None:
    """Profile a job alone, plan it with two others, run the plan with DDP; wide limits, see above."""
    settings = {"message_mb": 4.0, "compute_s": 0.15, "backward_s": 0.1, "buckets": 4, "iterations": 30}
    torchrun = [python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    command = [*torchrun, "--redirects=1", "--tee=1", str(ddp.WORKER), json.dumps(settings)]
    entry, profile = tmp_path / "jobs.toml", [sys.executable, "-m", "ringsched", "profile"]
    profiled = subprocess.run(
        [*profile, "--name", "mine", "--iterations", "12", "-o", str(entry), "--", *command],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        timeout=120,
    )
    assert profiled.returncode == 0, profiled.stderr
    head = """
[time]
model = "continuous"
[contention]
model = "phases"
[cluster]
inter_server_gbps = 0.1913
intra_server_gbps = 10.0
reduce_gbps = 100.0
servers = [{ name = "s", gpus = 1, count = 3 }]
[[jobs]]
name = "one"
gpus = 2
iterations = 10
gradient_mb = 4.0
minibatch = 1
forward_ms = 50.0
backward_ms = 150.0
buckets = 4
[[jobs]]
name = "two"
gpus = 2
iterations = 10
gradient_mb = 3.0
minibatch = 1
forward_ms = 100.0
backward_ms = 100.0
"""
    (tmp_path / "queue.toml").write_text(head + entry.read_text())
    scenario = ringsched.load_scenario(tmp_path / "queue.toml")
    mine = next(job for job in scenario.jobs if job.name == "mine")
    assert mine.buckets == 4
    assert mine.gradient_mb == pytest.approx(4.0, rel=0.01)
    plan = ringsched.plan(scenario, "longest-first")
    with bed_for(scenario, plan, python) as bed:
        done = carry_out(scenario, plan, bed, python)
    problem = problem_of(scenario)
    for job, best_s, worst_s in zip(done.jobs, problem.best_case, problem.worst_case, strict=True):
        assert 0.95 * best_s <= job.measured_finish_s - job.measured_start_s <= 1.5 * worst_s, job
