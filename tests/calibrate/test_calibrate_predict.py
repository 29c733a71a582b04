"""Predictions: the facts of the model's page, and fair shares against their definition."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.helpers import run, sentence

from ringsched.calibrate.blocks import typical_s, while_all_run
from ringsched.calibrate.noise import CpuTimes, Noise, steal_between
from ringsched.calibrate.predict import MODELS, Placed, predict, simulate_exchanges
from ringsched.calibrate.testbed import JobRun, NoRights, TestJob, check_rights
from ringsched.calibrate.validation import HELD_OUT
from ringsched.calibrate.worker import Iteration
from ringsched.errors import InputError
from ringsched.model.calibration import Calibration

LINK = Calibration(inter_server_gbps=0.16)  # 2 MB between two servers take 0.1 s


@given(num_jobs=st.integers(1, 6), compute_s=st.floats(0, 1))
def test_like_jobs_on_one_link(num_jobs: int, compute_s: float) -> None:
    jobs = [Placed(placement=(0, 1), message_mb=2.0, compute_s=compute_s)] * num_jobs
    expected = max(compute_s + 0.1, num_jobs * 0.1)
    assert predict(jobs, LINK, "max-min") == pytest.approx([expected] * num_jobs)
    assert expected - 1e-9 <= predict(jobs, LINK)[0] <= predict(jobs, LINK, "paper")[0] + 1e-9


def test_alone_all_models_agree() -> None:
    calibration = Calibration(
        inter_server_gbps=0.16,
        intra_server_gbps=4.0,
        reduce_gbps=40.0,
        server_latency_ms=1.0,
        degradation=0.3,
    )
    for placement in ((0, 1), (0, 0, 1), (0, 0)):
        job = Placed(placement=placement, message_mb=2.0, compute_s=0.05)
        expected = predict([job], calibration)[0]
        assert predict([job], calibration, "paper") == pytest.approx([expected])
        assert predict([job], calibration, "max-min") == pytest.approx([expected])
        assert simulate_exchanges([job], [0.0], calibration, seconds=9) == pytest.approx([expected])
    with pytest.raises(InputError, match="inter_server_gbps is needed"):
        predict([job], Calibration(reduce_gbps=1.0))


def test_what_cannot_be_predicted_is_told() -> None:
    """A misspelt model was answered by the paper's rule; without a message the simulation never ended."""
    job = Placed(placement=(0, 1), message_mb=2.0)
    with pytest.raises(InputError, match=r"^model must be one of phases, max-min, paper, not 'maxmin'"):
        predict([job], LINK, "maxmin")
    for wrong in ({"message_mb": 0}, {"message_mb": math.inf}, {"compute_s": -0.1}, {"placement": ()}):
        given: dict[str, Any] = {"placement": (0, 1), "message_mb": 2.0} | wrong
        with pytest.raises(InputError, match=f"^{next(iter(wrong))} must"):
            Placed(**given)
    with pytest.raises(InputError, match="placement must have two workers"):
        simulate_exchanges([Placed(placement=(0,), message_mb=2.0)], [0.0], LINK, seconds=1)


@pytest.mark.parametrize("model", MODELS)
def test_no_jobs_take_no_time(model: str) -> None:
    assert predict([], LINK, model) == []


def test_a_job_that_computes_beside_one_that_does_not() -> None:
    """Average rates promise it all it asks for; at every moment it has half the link."""
    jobs = [Placed(placement=(0, 1), message_mb=2.0), Placed(placement=(0, 1), message_mb=2.0, compute_s=0.4)]
    assert predict(jobs, LINK, "max-min")[1] == pytest.approx(0.5)
    assert predict(jobs, LINK)[1] == pytest.approx(0.6)
    assert simulate_exchanges(jobs, [0.0, 0.03], LINK, seconds=60)[1] == pytest.approx(0.6, rel=0.02)


def test_held_out_placements_are_many_and_of_all_kinds() -> None:
    jobs = [job for members in HELD_OUT.values() for job in members]
    assert len(jobs) >= 12
    assert {round(duty, 2) for _, duty in jobs} == {1.0, 0.5, 0.33}
    assert all(max(placement) < 4 for placement, _ in jobs)


def test_only_what_all_jobs_saw_is_counted() -> None:
    def job(start_s: float, count: int) -> JobRun:
        steps = tuple(Iteration(start_s + at, 1.0, 0.0, 0.0) for at in range(count))
        settings = TestJob(placement=(0, 1), message_mb=1.0)
        return JobRun(job=settings, iterations=steps, sent_bytes=())

    early, late = while_all_run([job(0, 10), job(3, 12)])
    assert [each.start_s for each in early] == [3, 4, 5, 6, 7, 8, 9]
    assert [each.start_s for each in late] == [4, 5, 6, 7, 8, 9]


def test_iterations_that_take_turns_are_averaged() -> None:
    steps = [Iteration(0, seconds, 0, 0) for seconds in (1.0, 3.0, 3.0, 1.0, 3.0)]
    assert typical_s(steps, alike=True) == 3.0
    assert typical_s(steps, alike=False) == pytest.approx(2.2)


def test_noise() -> None:
    assert steal_between(CpuTimes(1000, 10), CpuTimes(2000, 60)) == 0.05
    assert Noise(0.05, 0.0).disturbed
    assert Noise(0.0, 0.3).disturbed
    assert Noise(0.0, 0.0, 0.2).disturbed
    assert not Noise(0.01, 0.1, 0.05).disturbed


def test_rights_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(NoRights, match="needs Linux"):
        check_rights()
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("shutil.which", lambda program: None if program == "tc" else f"/bin/{program}")
    with pytest.raises(NoRights, match=r"needs the program tc \(package iproute2\)"):
        check_rights()
    monkeypatch.setattr("shutil.which", lambda program: f"/bin/{program}")
    monkeypatch.setattr(
        "ringsched.calibrate.testbed.PRIVATE", ("sh", "-c", "echo unshare failed >&2; exit 1")
    )
    with pytest.raises(NoRights, match="cannot be made here: unshare failed; it needs user namespaces"):
        check_rights()


def test_commands_without_the_rights_say_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    (tmp_path / "c.toml").write_text("[cluster]\ninter_server_gbps = 0.19\n")
    output = tmp_path / "m.csv"
    for command in (("testbed", "-o", output), ("validate", tmp_path / "c.toml")):
        assert "the testbed needs the program unshare" in sentence(run("calibrate", *command))
    assert not output.exists()


def test_plans_that_cannot_be_run(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    assert run("plan", "examples/first.toml", "--policy", "first-fit", "-o", plan).exit_code == 0
    said = sentence(run("calibrate", "run", "examples/first.toml", plan))
    assert any(
        reason in said
        for reason in ("cannot run on the testbed", "the testbed runs 1 to 8", "the testbed runs at most")
    )
    assert "is no valid plan" in sentence(run("calibrate", "run", "examples/testbed.toml", plan))
