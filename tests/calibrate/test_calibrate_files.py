"""Files of measurements: CSV, nccl-tests, OSU; what is wrong with them is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.helpers import run, sentence

from ringsched.calibrate.measurements import load_measurements, save_measurements
from ringsched.errors import InputError
from ringsched.formats.scenario import load_scenario

HEADER = "servers,workers,concurrent,message_mb,seconds\n"
NCCL = """# nThread 1 nGpus 1 minBytes 8388608 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
#  Rank  0 Group  0 Pid   5123 on     node-a device  0 [0000:07:00] NVIDIA A100-SXM4-80GB
#  Rank  1 Group  0 Pid   5124 on     node-a device  1 [0000:0b:00] NVIDIA A100-SXM4-80GB
#  Rank  2 Group  0 Pid   7011 on     node-b device  0 [0000:07:00] NVIDIA A100-SXM4-80GB
#  Rank  3 Group  0 Pid   7012 on     node-b device  1 [0000:0b:00] NVIDIA A100-SXM4-80GB
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     8388608       2097152     float     sum      -1   1243.2    6.75   10.12      0   1239.8    6.77   10.15
    16777216       4194304     float     sum      -1   2401.7    6.99   10.48      0   2399.1    6.99   10.49
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 10.31
"""
OSU = """
# OSU MPI Allreduce Latency Test v7.4
# Datatype: MPI_FLOAT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                      21.10             20.01             22.40        1000
1048576              1802.77           1800.00           1811.10         100
"""


def written(folder: Path, text: str, name: str = "measurements.csv") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_csv_is_read_and_written(tmp_path: Path) -> None:
    header = "job,servers,workers,concurrent,message_mb,seconds,compute_s,reduce_s\n"
    text = f"{header}a,2,4,2,2.5,0.25,0.1,\n,2,2,1,1,0.5,,0.1\n"
    rows = load_measurements(written(tmp_path, text))
    assert [(row.job, row.compute_s, row.reduce_s) for row in rows] == [("a", 0.1, None), ("", 0.0, 0.1)]
    save_measurements(rows, tmp_path / "again.csv")
    assert load_measurements(tmp_path / "again.csv") == rows


def test_nccl_says_where_it_ran(tmp_path: Path) -> None:
    first, second = load_measurements(written(tmp_path, NCCL), concurrent=3)
    assert (first.servers, first.workers, first.concurrent) == (2, 4, 3)
    assert (first.message_mb, first.seconds) == (8.388608, pytest.approx(1243.2e-6))
    assert second.exchange_gbit / second.seconds == pytest.approx(8 * 10.48, rel=1e-3)  # its busbw


def test_osu_does_not_say_where_it_ran(tmp_path: Path) -> None:
    path = written(tmp_path, OSU, "osu.txt")
    rows = load_measurements(path, servers=2, workers=2)
    assert [row.seconds for row in rows] == pytest.approx([21.1e-6, 1802.77e-6])
    with pytest.raises(InputError, match="does not contain the placement of the job; give --servers"):
        load_measurements(path)
    other = written(tmp_path, OSU.replace("Allreduce", "Bcast"), "bcast.txt")
    with pytest.raises(InputError, match="not of osu_allreduce"):
        load_measurements(other, servers=2, workers=2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("servers,workers,concurrent,message_mb\n2,2,1,1\n", "line 1: seconds is missing"),
        (HEADER.replace("seconds", "second"), "unknown key 'second' (did you mean 'seconds'?)"),
        (HEADER.replace(",", ";"), "has one column; separate the cells by commas"),
        (HEADER, "has a header but no measurements"),
        (HEADER + "2,2,1,1,-0.5\n", "line 2: seconds must be a number > 0, not -0.5"),
        (HEADER + "2,2,1,1,nan\n", "line 2: seconds must be a number > 0"),
        (HEADER + "2,2,1,1,fast\n", "line 2: seconds must be a number > 0, not 'fast'"),
        (HEADER + "2,2,1,1\n", "line 2: has 4 cells, the header 5"),
        (HEADER + "2,2,1,1,\n", "line 2: seconds is missing"),
        (HEADER + "3,2,1,1,1\n", "line 2: workers must be at least servers (3), not 2"),
        (HEADER + "1,1,1,1,1\n", "line 2: workers must be an integer >= 2"),
        (HEADER + "2,2.5,1,1,1\n", "line 2: workers must be an integer >= 2, not '2.5'"),
        (HEADER + "2,2,0,1,1\n", "line 2: concurrent must be an integer >= 1"),
        (
            "servers,workers,concurrent,message_mb,seconds,compute_s\n2,2,1,1,1,1\n",
            "line 2: seconds must be more than compute_s and reduce_s",
        ),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said in sentence(run("calibrate", "fit", written(tmp_path, text)))


def test_commands_from_measurements_to_a_scenario(tmp_path: Path) -> None:
    fitted, plot, scenario = tmp_path / "c.toml", tmp_path / "fit.svg", tmp_path / "calibrated.toml"
    done = run("calibrate", "fit", "examples/measurements.csv", "-o", fitted, "--plot", plot)
    assert done.exit_code == 0, done.output
    assert "verdict: linear is good up to 4 jobs" in done.stdout
    assert plot.read_text().startswith("<?xml")
    assert run("calibrate", "apply", fitted, "examples/first.toml", "-o", scenario).exit_code == 0
    measured = load_scenario(scenario)
    assert f"inter_server_gbps = {measured.cluster.inter_server_gbps}" in fitted.read_text()
    assert "degradation = [0.0, 0.0166969601]" in fitted.read_text().partition("[intervals]")[2]
    content = json.loads(run("calibrate", "fit", "examples/measurements.csv", "--json").stdout)
    assert content["form"] == "linear"
    assert len(content["factors"]) == 3


def test_what_fair_links_do_not_have_is_said(tmp_path: Path) -> None:
    fitted, scenario = tmp_path / "c.toml", tmp_path / "fair.json"
    fitted.write_text("[cluster]\ninter_server_gbps = 9.0\n[contention]\ndegradation = 0.3\n")
    content = json.loads(run("calibrate", "apply", fitted, "examples/first.toml").stdout)
    content["contention"] = {"model": "max-min"}
    scenario.write_text(json.dumps(content))
    done = run("calibrate", "apply", fitted, scenario)
    assert done.exit_code == 0
    assert done.stderr == "contention model 'max-min' has no degradation: left out\n"
    assert json.loads(done.stdout)["contention"] == {"model": "max-min", "server_latency_ms": 0.0}


def test_no_input_is_written_over(tmp_path: Path) -> None:
    rows = written(tmp_path, Path("examples/measurements.csv").read_text())
    before = rows.read_bytes()
    assert "is a file of measurements" in sentence(run("calibrate", "fit", rows, "-o", rows))
    assert rows.read_bytes() == before
    assert "must end in .svg" in sentence(run("calibrate", "fit", rows, "--plot", tmp_path / "fit.gif"))
    assert "one for each of the 1 files" in sentence(run("calibrate", "fit", rows, "--concurrent", "1,2"))
    assert "--duty must be a number > 0 and <= 1" in sentence(run("calibrate", "fit", rows, "--duty", "0"))
    assert "there is no such file" in sentence(run("calibrate", "fit", tmp_path / "none.csv"))
