"""The commands, as people type them, against a real slurmctld."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from tests.cli.helpers import run, users_environment
from tests.integration.slurm.real import Real, real_cluster

import ringsched
from ringsched.clusters.slurm.comments import comment_of
from ringsched.clusters.slurm.lease import Lease
from ringsched.clusters.slurm.local import of_cluster

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]
SLEEPS = ("--gradient-mb", 0, "--minibatch", 1, "--forward-ms", 0, "--backward-ms", 1000)


@pytest.fixture
def real_on_racks() -> object:
    with real_cluster((4, 4, 8, 8), num_switches=2) as cluster:
        yield cluster


def submit(real: Real, name: str, *options: object) -> str:
    result = run("slurm", "submit", *SLEEPS, *options, real.folder / "job.sh", real.folder, name, 1)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_cluster(real_on_racks: Real, tmp_path: Path) -> None:
    """Switches become racks, a drained node is unavailable, what runs is running."""
    real = real_on_racks
    real.commands.tell("scontrol", "update", "nodename=n2", "state=drain", "reason=broken fan")
    wrap = ["sbatch", "--ntasks=3", "--gpus-per-task=1", "--output=/dev/null", "--wrap=sleep 60"]
    real.commands.tell(*wrap, "--nodelist=n4", "--time=10")
    real.commands.tell(*wrap, "--nodelist=n3", "--nodes=1")  # nobody knows when it ends
    real.wait(lambda: all(job.placement for job in real.jobs().values()))
    output = tmp_path / "scenario.toml"
    result = run("slurm", "cluster", "-o", output)
    assert result.exit_code == 0, result.stderr
    scenario = ringsched.load_scenario(output)
    servers = {server.name: server for server in scenario.cluster.servers}
    assert [(server.gpus, server.switch) for server in servers.values()] == [
        (4, "r0"), (4, "r0"), (8, "r1"), (8, "r1")
    ]  # fmt: skip
    assert [server.capacity for server in servers.values()] == [4, 0, 5, 8]
    (other,) = scenario.jobs
    assert dict(other.running_on or {}) == {"n4": (0, 1, 2)}
    assert 500 < other.compute_s <= 600
    assert ringsched.plan(scenario, "longest-first").makespan_s == pytest.approx(other.compute_s, abs=1)


def test_submit_run_and_status(real: Real) -> None:
    said = submit(real, "whole", "--gpus", 16, "--iterations", 1)
    assert said == "submitted job 1\npredicted: starts in 0 s, ends in 1 s, on n3:8 n4:8\n"
    said = submit(real, "half", "--gpus", 8, "--iterations", 2, "--json")
    assert json.loads(said)["id"] == 2
    bad = 'JobState=RUNNING\n{"ringsched": {"gpus": 1, "iterations": 1, "modell": "resnet50"}}'
    real.commands.tell(
        "sbatch", "--hold", "--ntasks=1", "--gpus-per-task=1", "--wrap=true", f"--comment={bad}",
        "--job-name=$(touch /tmp/no) UserId=root(0)",
    )  # fmt: skip
    status = json.loads(run("slurm", "status", "--json").stdout)
    assert [(job["id"], job["phase"]) for job in status["jobs"]] == [
        ("1", "queued"),
        ("2", "queued"),
        ("3", "left"),
    ]
    assert "comment" in status["jobs"][2]["reason"]
    table = run("slurm", "status").stdout
    assert "left held" in table
    assert "$(touch /tmp/no) UserId=root(0)" in table

    dry = run("slurm", "run", "--dry-run", "--policy", "first-fit")
    assert dry.exit_code == 0, dry.stderr
    assert "NumNodes=2-2 ReqNodeList=n3,n4 TasksPerNode=8 NumTasks=16" in dry.stdout
    assert "scontrol release 1" in dry.stdout
    assert [job.state for job in real.jobs().values()] == ["PENDING"] * 3
    assert real.commands.ask("scontrol", "show", "reservation", "--oneliner").startswith("No reservations")

    done = run("slurm", "run", "--until-idle", "--poll-interval", 0.1, "--max-schedules", 500)
    assert done.exit_code == 0, done.stderr
    assert "release 1: n3:8 n4:8\n" in done.stdout
    assert sorted((each.name, each.job_id) for each in real.runs()) == [("half", "2"), ("whole", "1")]
    assert real.jobs()["3"].held


# The command, then what it has loaded and which processes it has started.
WATCHED = """
import subprocess, sys
started, start = [], subprocess.Popen.__init__
def watched(self, arguments, *rest, **more):
    started.append(str(arguments))
    start(self, arguments, *rest, **more)
subprocess.Popen.__init__ = watched
from ringsched.cli import main
try:
    main(sys.argv[1:])
finally:
    loaded = [name for name in ("numba", "llvmlite") if name in sys.modules]
    print(loaded, [words for words in started if "python" in words], file=sys.stderr)
"""


def test_the_first_submit_of_a_new_user_compiles_nothing(real: Real, tmp_path: Path) -> None:
    """In a home without a cache, with a queue that is worth a search."""
    for at in range(30):
        real.sbatch(f"job{at}", 8, "--gpus=8", seconds=60 + at)
    words = ["slurm", "submit", *SLEEPS, "--gpus", 16, "--iterations", 5, real.folder / "job.sh"]
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *map(str, words)],
        env=users_environment(HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache"), NUMBA_CACHE_DIR=""),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == "[] []\n"
    assert "predicted: starts in" in done.stdout
    assert not (tmp_path / "cache").exists()


def two_that_share_links(real: Real) -> None:
    """Two jobs over the links of the same two nodes."""
    for name in ("a", "b"):
        fields = ("--gradient-mb", 400, "--minibatch", 1, "--forward-ms", 0, "--backward-ms", 100)
        options = ("--sbatch=--nodes=2", "--sbatch=--nodelist=n3,n4")
        script = (*options, "--gpus", 8, "--iterations", 1000, real.folder / "job.sh", real.folder, name, 30)
        assert run("slurm", "submit", "--no-prediction", *fields, *script).stdout.startswith("submitted job ")
    run("slurm", "run", "--once", "--policy", "first-fit")
    real.wait(lambda: len(real.runs()) == 2)


def test_status_of_running_jobs(real: Real) -> None:
    """Each sees the other."""
    two_that_share_links(real)
    time.sleep(2)
    status = json.loads(run("slurm", "status", "--json").stdout)
    assert [job["phase"] for job in status["jobs"]] == ["running", "running"]
    for job in status["jobs"]:
        assert job["slowdown"] > 1.3
        assert 0 < job["done"] < 0.1
        assert job["predicted_finish_s"] == pytest.approx(job["finish_s"], rel=0.1)
    assert {link["name"] for link in status["shared_links"]} == {"n3", "n4"}


@pytest.mark.parametrize("model", ["max-min", "phases"])
def test_slower_is_what_a_plan_says(real: Real, model: str, tmp_path: Path) -> None:
    """Under the contention model of the site: the ratio of what a plan gives, together and alone."""
    network, output = tmp_path / "network.toml", tmp_path / "scenario.json"
    network.write_text(f'[contention]\nmodel = "{model}"\n')
    two_that_share_links(real)
    status = json.loads(run("slurm", "status", "--json", "--network", network).stdout)
    assert run("slurm", "cluster", "--network", network, "-o", output).exit_code == 0
    scenario = ringsched.load_scenario(output)
    together, alone = (
        ringsched.plan(scenario.replace(jobs=jobs), "fifo").jobs[0].finish_s
        for jobs in (scenario.jobs, scenario.jobs[:1])
    )
    for job in status["jobs"]:
        assert job["slowdown"] == pytest.approx(together / alone, rel=0.02)


def test_exit_codes(real: Real, tmp_path: Path) -> None:
    missing = run("slurm", "status", "--partition", "none")
    assert (missing.exit_code, missing.stderr) == (
        1, "Error: there is no partition 'none'; choose from gpu\n"
    )  # fmt: skip
    for options in (("--policy", "shortest"), ("--poll-interval", 0), ("--network", tmp_path / "none.toml")):
        assert run("slurm", "run", "--once", *options).exit_code == 2
    real.local.stop_daemon("slurmctld")
    silent = run("slurm", "run", "--once", "--command-timeout", 2)
    assert silent.exit_code == 1
    assert "sinfo" in silent.stderr


def test_a_second_controller_is_refused(real: Real) -> None:
    lease = Lease(commands=real.commands)
    assert lease.acquire()
    second = run("slurm", "run", "--once")
    assert second.exit_code == 1
    assert "another controller is active; stop it first" in second.stderr
    lease.release()
    assert run("slurm", "run", "--once").exit_code == 0


def test_ctrl_c_ends_the_controller(real: Real) -> None:
    comment = comment_of({"gpus": 8, "iterations": 1, "model": "resnet50"})
    request = [
        "sbatch",
        "--hold",
        "--ntasks=8",
        "--gpus-per-task=1",
        f"--comment={comment}",
        "--output=/dev/null",
    ]
    real.commands.tell(*request, "--wrap=sleep 5")
    arguments = [
        sys.executable,
        "-m",
        "ringsched",
        "slurm",
        "run",
        "--poll-interval",
        "0.2",
        "--max-schedules",
        "10",
    ]
    process = subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts its background work deaf to Ctrl-C, and so would be all that it starts.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    try:
        real.wait(lambda: real.jobs()["1"].holding, 60)
    finally:
        process.send_signal(signal.SIGINT)
        said, complained = process.communicate(timeout=30)
    assert (process.returncode, complained) == (130, "Error: interrupted\n")
    assert said in ("release 1: n3:8\n", "release 1: n4:8\n")


def test_local_from_nothing_to_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(f"/tmp/ringsched-local-{os.getpid()}")
    monkeypatch.chdir(tmp_path)
    try:
        result = run("slurm", "local", "--servers", 2, "--gpus-per-server", "2,3", "--directory", folder)
        assert result.exit_code == 0, result.stderr
        assert f"export SLURM_CONF={folder}/etc/slurm.conf" in result.stdout
        again = run("slurm", "local", "--directory", folder)
        assert again.exit_code == 2
        assert f"'ringsched slurm local --stop --directory {folder}'" in again.stderr
    finally:
        stopped = run("slurm", "local", "--stop", "--directory", folder)
    assert stopped.exit_code == 0
    assert not folder.exists()
    assert of_cluster(folder / "etc" / "slurm.conf") == []
    other = tmp_path / "precious"
    other.mkdir()
    assert run("slurm", "local", "--stop", "--directory", other).exit_code == 2
    assert other.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs all of these tests as one already")
def test_an_ordinary_user_can_have_a_local_cluster() -> None:
    import pwd

    from ringsched.clusters.slurm.local import LocalCluster

    nobody = pwd.getpwuid(65534)
    base = Path(f"/tmp/ringsched-nobody-{os.getpid()}")
    base.mkdir()
    os.chown(base, nobody.pw_uid, nobody.pw_gid)
    try:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.setgroups([])
                os.setgid(nobody.pw_gid)
                os.setuid(nobody.pw_uid)
                local = LocalCluster(base / "slurm")
                local.start([2, 2])
                local.stop()
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert of_cluster(base / "slurm" / "etc" / "slurm.conf") == []
    finally:
        base.rmdir()
