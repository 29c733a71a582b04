"""The contention model `phases` against exchanges that are simulated one by one."""

from __future__ import annotations

from statistics import median

from benchmarks.contention import KINDS, errors


def test_near_to_exchanges_simulated_one_by_one() -> None:
    """Measured over many more networks (`python -m benchmarks.run models`): 0.5 to 1 %; max-min 5 to 18 %."""
    found = errors(KINDS["all kinds"], networks=20, draws=4, seed=3)
    ordered = sorted(found["phases"])
    assert median(ordered) < 0.02
    assert ordered[int(0.9 * len(ordered))] < 0.08
    assert median(found["max-min"]) > 8 * median(ordered)
    assert median(found["paper"]) > 8 * median(ordered)


def test_between_jobs_that_never_compute_it_is_max_min() -> None:
    found = errors(KINDS["always exchanging"], networks=10, draws=2, seed=5)
    assert max(found["phases"]) < 1e-9
    assert max(found["max-min"]) < 1e-9
