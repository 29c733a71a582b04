"""Gradients near the largest float."""

from __future__ import annotations

from tests.scenarios import cluster, job, scenario

import ringsched


def test_gradients_of_one_gpu_were_not_a_number() -> None:
    """Twice their size is infinite, and none of it is sent: the verifier refused a valid plan."""
    setting = scenario(cluster(2), job("a", gpus=1, gradient_mb=1.7e308))
    assert ringsched.verify(setting, ringsched.plan(setting, "first-fit")).valid
