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
        ((), "--gradient-mb is missing"),
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
