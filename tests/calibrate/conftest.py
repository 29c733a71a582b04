"""What the tests on the testbed need."""

from __future__ import annotations

import os

import pytest

from ringsched.calibrate.testbed import NoRights, check_rights


@pytest.fixture(scope="session")
def rights() -> None:
    """Skip, loudly, where the testbed cannot be made; `RINGSCHED_TESTBED=required` makes that an error."""
    try:
        check_rights()
    except NoRights as error:
        if os.environ.get("RINGSCHED_TESTBED") == "required":
            raise
        pytest.skip(f"NO TESTBED, CALIBRATION IS NOT TRIED FOR REAL: {error}")
