"""Duty cycles from copies side by side."""

from __future__ import annotations

import json
import random
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.helpers import run, sentence

from ringsched.calibrate.copies import Copies, slowdown_of
from ringsched.calibrate.predict import Placed, simulate_exchanges
from ringsched.model.calibration import Calibration


@given(st.floats(0.02, 1.0), st.integers(2, 5))
def test_the_duty_cycle_is_recovered(duty: float, copies: int) -> None:
    together = 100 / slowdown_of([duty] * copies)[0]
    found = Copies(job="a", alone=100, together=together, copies=copies).duty_cycle
    assert found == pytest.approx(duty, abs=1e-3)


@pytest.mark.parametrize("duty", [0.2, 0.5, 0.8])
def test_it_is_that_of_simulated_exchanges_from_random_starts(duty: float) -> None:
    """The throughput of two copies, each exchange simulated, tells how long they exchange."""
    job = Placed(placement=(0, 1), message_mb=duty, compute_s=1 - duty)
    draw = random.Random(3)
    link = Calibration(inter_server_gbps=8e-3)
    runs = [simulate_exchanges([job] * 2, [0.0, draw.random()], link, seconds=60)[0] for _ in range(60)]
    assert Copies(job="a", alone=1.0, together=1 / fmean(runs)).duty_cycle == pytest.approx(duty, abs=0.08)


def test_more_than_the_copies_allow_is_a_duty_cycle_of_one() -> None:
    assert Copies(job="a", alone=100, together=30).duty_cycle == pytest.approx(1.0)
    assert Copies(job="a", alone=100, together=101).duty_cycle == pytest.approx(0.0, abs=1e-9)


def test_fit_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "copies.csv"
    path.write_text("job, alone, together\nresnet,410,352\nvgg,120,66\nvgg,120,70\n")
    told = run("calibrate", "fit", str(path)).stdout
    assert "resnet" in told
    assert "beside" in told
    content = json.loads(run("calibrate", "fit", str(path), "--json").stdout)
    assert [each["job"] for each in content["jobs"]] == ["resnet", "vgg"]
    assert content["jobs"][1]["duty_cycle"]["low"] < content["jobs"][1]["duty_cycle"]["value"]
    assert len(content["pairs"]) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("job,alone,together\na,100,140\n", "line 2: together is 40% above alone"),
        ("job,alone,together\na,100,x\n", "line 2: together must be a number > 0, not 'x'"),
        ("job,alone,together\na,100\n", "line 2: has another number of cells"),
        ("job,alone,together\n", "has a header but no measurements"),
        ("alone,together\n1,1\n", "line 1: job is missing"),
        ("job,alone,together,gpus\na,1,1,2\n", "line 1: unknown key 'gpus'"),
        ("job,alone,together,copies\na,1,1,1\n", "line 2: copies must be an integer"),
    ],
)
def test_wrong_copies(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "copies.csv"
    path.write_text(text)
    assert said in sentence(run("calibrate", "fit", str(path)))


def test_copies_do_not_make_a_calibration(tmp_path: Path) -> None:
    path = tmp_path / "copies.csv"
    path.write_text("job,alone,together\na,100,90\n")
    told = sentence(run("calibrate", "fit", str(path), "-o", str(tmp_path / "out.toml")))
    assert "--output is not written from copies" in told
    assert not (tmp_path / "out.toml").exists()
