"""A fit as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ringsched.calibrate.fit import Fit
from ringsched.model.calibration import Calibration


def fit_content(fit: Fit, calibration: Calibration) -> dict[str, Any]:
    """Return everything a fit found."""
    sharing = fit.sharing
    return {
        "verdict": fit.verdict,
        "calibration": {key: value for key, value in asdict(calibration).items() if value is not None},
        "links": asdict(fit.links),
        "factors": {} if sharing is None else {str(k): asdict(f) for k, f in sharing.factors.items()},
        "degradation": None
        if sharing is None or sharing.degradation is None
        else asdict(sharing.degradation),
        "form": None if sharing is None else sharing.form,
        "linear_up_to": None if sharing is None else sharing.linear_up_to,
        "duty_shares": [asdict(each) for each in fit.duty_shares],
        "missing": list(fit.missing),
        "residuals": [
            asdict(each.row) | {"fitted_s": each.fitted_s, "relative": each.relative}
            for each in fit.residuals
        ],
    }
