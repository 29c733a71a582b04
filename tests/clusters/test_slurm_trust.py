"""What users write, save or let hang concerns their own jobs only."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.slurm_double import SlurmDouble

from ringsched.cli.slurm import slurm_command
from ringsched.clusters.slurm import commands as commands_module
from ringsched.clusters.slurm import run as run_module
from ringsched.clusters.slurm import submit as submit_module
from ringsched.clusters.slurm.commands import Owner, SlurmCommands
from ringsched.clusters.slurm.jobs import read_jobs
from ringsched.clusters.slurm.network import Network
from ringsched.clusters.slurm.queue import sort_jobs
from ringsched.clusters.slurm.resubmission import (
    _carried,
    _without_directives,
    directory_of,
    forget_old,
    load,
)
from ringsched.clusters.slurm.snapshot import read_slurm, snapshot_of
from ringsched.clusters.slurm.submit import submit, tidy
from ringsched.errors import AdapterError, InputError

FIELDS: dict[str, Any] = {"gpus": 2, "iterations": 10, "model": "resnet50"}
TOKEN = "0123456789abcdef"


class Told:
    """Commands that answer anything with the same text, and remember."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words: list[tuple[object, ...]] = []

    def ask(self, *arguments: object, **_: object) -> str:
        self.words.append(arguments)
        return self.text

    tell = ask


class Another(Owner):
    """Ourselves, but treated as another user."""

    @property
    def is_me(self) -> bool:
        return False

    def rights(self) -> dict[str, Any]:
        return {}


def owner(home: Path, kind: type[Owner] = Owner) -> Owner:
    return kind(uid=os.geteuid(), gid=os.getegid(), name="ann", home=home)


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"arguments": [], "environment": {}, "umask": Infinity}', "[]", "7", ""]
)
def test_whatever_was_saved_is_refused_in_one_sentence(text: str, tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match="was changed after it was saved") as caught:
        load(Told(text), owner(tmp_path), TOKEN)  # type: ignore[arg-type]
    assert caught.value.refused


@pytest.mark.parametrize(("kind", "refused"), [(Owner, False), (Another, True)])
def test_a_user_whose_commands_hang_or_lie_keeps_nobody_else_waiting(
    kind: type[Owner], refused: bool, tmp_path: Path
) -> None:
    runs = SlurmCommands(timeout_s=0.2)
    for command in (["sleep", "5"], ["sh", "-c", "echo Unable to contact slurm controller >&2; exit 1"]):
        with pytest.raises(AdapterError) as caught:
            runs.ask(*command, owner=owner(tmp_path, kind))
        assert caught.value.refused is refused


def test_a_saved_environment_does_not_name_another_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_CONF", raising=False)
    saved = {"SLURM_CONF": "/home/ann/slurm.conf", "SLURM_CLUSTERS": "other", "MINE": "1"}
    said = SlurmCommands().tell("env", environment=saved)
    assert said.split() == ["MINE=1"]
    assert commands_module.SlurmCommands(config=Path("/c")).tell("env", environment=saved).split() == [
        "MINE=1", "SLURM_CONF=/c"
    ]  # fmt: skip


def test_a_job_without_an_owner_is_not_roots() -> None:
    for key in ("user_id", "group_id"):
        slurm = SlurmDouble({"a": 4})
        slurm.add(FIELDS, tasks=2)
        del slurm.jobs[1][key]
        with pytest.raises(AdapterError, match=f"a job without {key}"):
            read_jobs(slurm)


@pytest.mark.parametrize("reason", ["JobHoldMaxRequeue", "ReservationDeleted"])
def test_a_job_that_slurm_itself_holds_is_left_alone(reason: str) -> None:
    slurm = SlurmDouble({"a": 4})
    slurm.add(FIELDS, tasks=2, state_reason=reason)
    assert sort_jobs(read_jobs(slurm), "gpu", slurm.now_s).left == {1: f"is held by Slurm: {reason}"}


def test_a_job_that_excludes_nodes_is_not_placed_on_them() -> None:
    slurm = SlurmDouble({"a": 4})
    slurm.add(FIELDS, tasks=2, excluded_nodes="a")
    sorted_jobs = sort_jobs(read_jobs(slurm), "gpu", slurm.now_s)
    assert sorted_jobs.left == {1: "excludes nodes; leave them to the plan"}


def test_components_that_exclude_each_others_nodes_are_planned() -> None:
    slurm = SlurmDouble({"a": 4, "b": 4})
    slurm.add(FIELDS, tasks=1, het_job_id=1, excluded_nodes="b")
    slurm.add(FIELDS, tasks=1, het_job_id=1, het_job_offset=1, excluded_nodes="a")
    assert sort_jobs(read_jobs(slurm), "gpu", slurm.now_s).left == {}


def test_a_script_keeps_every_byte() -> None:
    script = "#!/bin/sh\n#SBATCH -n 3\nprintf 'a\r#SBATCH\x0c\udcff'\r\n"
    said = SlurmCommands().tell("cat", text=script)
    assert said == script
    assert _without_directives(said) == script.replace("\n#SBATCH", "\n# SBATCH")


def test_what_is_saved_for_a_job_stays_as_long_as_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the job is in another partition, held by an operator, or has a comment to be mended."""
    me = owner(tmp_path)
    monkeypatch.setattr(submit_module, "owner_of", lambda _uid: me)
    tokens = [f"{at:016x}" for at in range(5)]
    for token in tokens:
        directory_of(me, token).mkdir(parents=True)
        os.utime(directory_of(me, token), (0, 0))
    (tmp_path / ".ringsched" / "slurm" / "dangling").symlink_to("nowhere")
    slurm = SlurmDouble({"a": 4})
    slurm.add(FIELDS | {"saved": tokens[0]}, tasks=2)
    slurm.add(FIELDS | {"saved": tokens[1]}, tasks=2, partition="b")
    slurm.add(FIELDS | {"saved": tokens[2]}, tasks=2, state_reason="JobHeldAdmin")
    slurm.add(FIELDS | {"saved": tokens[3], "oops": 1}, tasks=2)
    tidy(snapshot_of(read_slurm(slurm, "gpu", time.time()), Network()))
    assert [directory_of(me, token).exists() for token in tokens] == [True, True, True, True, False]
    forget_old(me, ())


def test_the_type_of_gpu_is_carried_to_the_new_job() -> None:
    slurm = SlurmDouble({"a": 4})
    slurm.add(FIELDS, tasks=2, tres_per_task="gres:gpu:a100:1")
    slurm.add(FIELDS, tasks=2)
    ours = sort_jobs(read_jobs(slurm), "gpu", slurm.now_s).queued
    asked = [[word for word in _carried(job, "") if word.startswith("--gpus-per-task")] for job in ours]
    assert asked == [["--gpus-per-task=a100:1"], ["--gpus-per-task=1"]]


def test_a_name_in_the_script_is_not_overruled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submit_module, "owner_of", lambda *_: owner(tmp_path))
    script = tmp_path / "train.sh"
    script.write_text("#!/bin/sh\n#SBATCH --job-name=mine\n")
    told = Told("7\n")
    assert submit(told, FIELDS, script, partition="gpu") == 7  # type: ignore[arg-type]
    assert not [word for word in told.words[0] if str(word).startswith("--job-name")]


def test_a_second_controller_is_refused_however_the_cluster_is_spelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "owner_of", lambda _uid: owner(tmp_path))
    monkeypatch.delenv("SLURM_CONF", raising=False)
    with run_module.alone("gpu"):
        for spelled in ("", "/etc/slurm/slurm.conf", "/etc/../etc/slurm/slurm.conf"):
            monkeypatch.setenv("SLURM_CONF", spelled)
            with pytest.raises(AdapterError, match="another controller is running"), run_module.alone("gpu"):
                pass
        monkeypatch.setenv("SLURM_CONF", "/elsewhere/slurm.conf")
        with run_module.alone("gpu"):
            pass


def test_a_controller_needs_a_lock_that_the_kernel_frees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(_handle: int, _operation: int) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(run_module, "owner_of", lambda _uid: owner(tmp_path))
    monkeypatch.setattr("fcntl.flock", flock)
    with (
        pytest.raises(InputError, match="cannot be locked: Function not"),
        run_module.alone("gpu"),
    ):
        pass


@pytest.mark.parametrize("option", ["--command-timeout", "--poll-interval", "--start-timeout"])
@pytest.mark.parametrize("value", ["inf", "1e300", "nan", "0"])
def test_times_that_nobody_can_wait_for(option: str, value: str) -> None:
    result = CliRunner().invoke(slurm_command, ["run", option, value])
    assert isinstance(result.exception, InputError)
    assert str(result.exception).startswith(f"{option} must be > 0 and at most 86400, not ")
