"""The copy in which forward simulations run: what is copied of changes is what a fresh copy would have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.crowds import crowd
from tests.effort import examples

import ringsched
from ringsched.engine import events
from ringsched.online import ghost


@examples(60)
@given(st.integers(0, 10**6), st.sampled_from(["fifo", "free-links"]), st.sampled_from([0.0, 1.0]))
def test_a_log_that_is_too_short_changes_nothing(seed: int, policy: str, error: float) -> None:
    case = crowd(seed)
    options = {"backfill": "easy", "estimate_error": error, "seed": seed}
    long = ringsched.simulate(case, policy, **options)  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RINGSCHED_KERNELS", "python")
        for size in (0, 2):
            patch.setattr(events, "LOG_SIZE", size)
            patch.setattr(ghost, "LOG_SIZE", size)
            short = ringsched.simulate(case, policy, **options)  # type: ignore[arg-type]
            assert short.finish_s.tolist() == long.finish_s.tolist()
            assert short.backfilled.tolist() == long.backfilled.tolist()
