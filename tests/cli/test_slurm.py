"""`ringsched slurm` where there is no Slurm, or one in memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.helpers import run, sentence
from tests.slurm_double import SlurmDouble

from ringsched.cli import slurm as slurm_module

SUBMIT = ("slurm", "submit", "--gpus", 2, "--iterations", 10)


@pytest.fixture
def no_slurm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("no_slurm")
@pytest.mark.parametrize("command", ["cluster", "status", "run"])
def test_without_slurm(command: str) -> None:
    result = run("slurm", command)
    said = "Error: command 'sinfo' not found; install Slurm\n"
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", said)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--gpus-per-server", "4,4", "--servers", 3), "--gpus-per-server names 2 servers, --servers says 3"),
        (("--gpus-per-server", "a"), "--gpus-per-server must be numbers separated by commas"),
        (("--servers", 0), "--servers must be an integer >= 1"),
        (("--racks", 9), "--racks must be at most 4"),
        (("--stop",), "there is no such directory"),
    ],
)
def test_local_with_wrong_options(options: tuple[object, ...], problem: str, tmp_path: Path) -> None:
    assert problem in sentence(run("slurm", "local", *options, "--directory", tmp_path / "cluster"))
    assert not (tmp_path / "cluster").exists()


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> SlurmDouble:
    slurm = SlurmDouble({"a": 4, "b": 4})
    monkeypatch.setattr(slurm_module, "SlurmCommands", lambda **_: slurm)
    monkeypatch.setattr(slurm_module, "default_partition", lambda _: "gpu")
    return slurm


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--model", "resnet-50"), "unknown model 'resnet-50'"),
        (
            ("--gradient-mb", -1, "--minibatch", 1, "--forward-ms", 1, "--backward-ms", 1),
            "--gradient-mb must be",
        ),
        ((), "give --model NAME, or --gradient-mb, --minibatch, --forward-ms and --backward-ms"),
        (("--gradient-mb", 9, "--minibatch", 1), "the model is missing; give --model NAME"),
        (("--model", "vgg16", "--buckets", 0), "--buckets must be an integer >= 1"),
        (
            ("--model", "vgg16", "--sbatch", "time=60"),
            "--sbatch must be an option such as --sbatch=--time=60",
        ),
        (("--model", "vgg16", "--policy", "fastest"), "--policy names the unknown policy 'fastest'"),
        (("--model", "vgg16", "--estimate", 0), "--estimate must be a number > 0"),
    ],
)
def test_submit_refuses_before_slurm_does(
    double: SlurmDouble, options: tuple[object, ...], problem: str, tmp_path: Path
) -> None:
    script = tmp_path / "train.sh"
    script.write_text("#!/bin/sh\n")
    assert problem in sentence(run(*SUBMIT, *options, script))
    assert double.told == []


def test_submit_takes_buckets(double: SlurmDouble, tmp_path: Path) -> None:
    """The reference listed --buckets, but `submit` did not have it."""
    script = tmp_path / "train.sh"
    script.write_text("#!/bin/sh\n")
    result = run(*SUBMIT, "--model", "vgg16", "--buckets", 7, "--no-prediction", script)
    assert result.exit_code == 0, result.stderr
    assert '"buckets":7' in next(word for word in double.told[0] if word.startswith("--comment="))


@pytest.mark.parametrize(
    ("options", "said"),
    [((), []), (("--partition", "a,b"), ["--partition=a,b"]), (("--sbatch=-pc",), ["-pc"])],
)
def test_submit_leaves_the_partition_to_sbatch_and_the_script(
    double: SlurmDouble, options: tuple[str, ...], said: list[str], tmp_path: Path
) -> None:
    """A line #SBATCH --partition had no effect, because --partition always came after it."""
    script = tmp_path / "train.sh"
    script.write_text("#!/bin/sh\n#SBATCH --partition=train\n")
    result = run(*SUBMIT, "--model", "vgg16", "--no-prediction", *options, script)
    assert result.exit_code == 0, result.stderr
    assert [word for word in double.told[0] if word.startswith(("-p", "--partition"))] == [
        word for word in said if not word.startswith("--parsable")
    ]


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("command", ["status", "run"])
def test_an_unknown_partition_and_policy_list_the_known_ones(command: str) -> None:
    result = run("slurm", command, *(["--once"] if command == "run" else []), "--partition", "gpus")
    said = "Error: there is no partition 'gpus' (did you mean 'gpu'?); choose from gpu\n"
    assert (result.exit_code, result.stderr) == (1, said)
    said = sentence(run("slurm", command, "--policy", "rollin"))
    assert said.startswith("Error: --policy names the unknown policy 'rollin' (did you mean 'rolling'?); ")


@pytest.mark.compiled
def test_status_tells_gpus_of_other_jobs_from_unavailable_ones(double: SlurmDouble) -> None:
    """GPUs of a job without a time limit were called unavailable."""
    double.add("", tasks=2, priority=1, shape=[("a", 2)])
    double.pass_time(1)
    double.jobs[1]["end_time"] = 0
    double.states["b"] = ("idle", ["DRAIN"])
    lines = run("slurm", "status", "--policy", "longest-first").stdout.splitlines()
    assert lines[:3] == [
        "partition gpu: 2 servers, 8 GPUs: 2 in use, 2 free, 4 unavailable",
        "a: IDLE, 2 GPUs used by other Slurm jobs",
        "b: IDLE+DRAIN, 4 GPUs unavailable",
    ]


def test_submit_refuses_what_is_no_script(double: SlurmDouble, tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    assert "there is no such file" in sentence(run(*SUBMIT, "--model", "vgg16", script))
    script.write_text("sleep 1\n")
    assert "must begin with #!" in sentence(run(*SUBMIT, "--model", "vgg16", script))
    assert double.told == []


@pytest.mark.compiled
def test_status_shows_nothing_that_steers_a_terminal(double: SlurmDouble) -> None:
    double.add('{"ringsched": "\x1b[2J"}', tasks=1, name="\x1b[31mred\n")
    result = run("slurm", "status", "--policy", "longest-first")
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "?[31mred?" in result.stdout


def test_wrong_policies_are_refused_before_anything_is_done(double: SlurmDouble) -> None:
    for options in (("--policy", "fastest"), ("--max-schedules", -1), ("--objective", "joy")):
        sentence(run("slurm", "run", "--once", *options))
    assert double.told == []
