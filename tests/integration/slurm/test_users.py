"""Each job runs as its owner, and neither can touch the other's."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.slurm.real import Real, real_cluster

from ringsched.clusters.slurm.commands import Owner, owner_of
from ringsched.clusters.slurm.comments import Note, comment_of, note_text
from ringsched.errors import AdapterError

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
    pytest.mark.skipif(os.geteuid() != 0, reason="TWO USERS NOT TESTED: only root can make users"),
]


@pytest.fixture
def users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Owner]]:
    """Two users of this machine, for as long as the test runs."""
    names = [f"ringsched-{os.getpid()}-{at}" for at in range(2)]
    base = Path("/tmp") / f"ringsched-homes-{os.getpid()}"
    base.mkdir(mode=0o755)
    try:
        for name in names:
            subprocess.run(["useradd", "-m", "-d", str(base / name), name], check=True, capture_output=True)
        yield [owner_of(int(subprocess.check_output(["id", "-u", name]))) for name in names]
    finally:
        for name in names:
            subprocess.run(["userdel", "-r", name], check=False, capture_output=True)
        base.rmdir()


def submit_as(user: Owner, real: Real, name: str, gpus: int) -> int:
    """In a process of the user's own: root's Python may be nothing that a user can start."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(user.gid)
            os.setuid(user.uid)
            os.chdir(user.home)
            os.environ["MINE"] = name
            os.write(send, str(real.submit(name, gpus, 1)).encode())
        finally:
            os._exit(0)
    os.close(send)
    with open(receive) as pipe:  # noqa: PTH123
        said = pipe.read()
    os.waitpid(child, 0)
    return int(said)


def test_two_users(users: list[Owner]) -> None:
    with real_cluster((4, 4, 8, 8)) as real:
        ids = {}
        for user in users:
            for gpus in (8, 24):  # an equal split and an unequal one
                name = f"{user.name}-{gpus}"
                ids[name] = submit_as(user, real, name, gpus)
        first, second = users
        saved = first.home / ".ringsched" / "slurm"
        for path in (saved.parent, saved, *saved.iterdir()):
            assert path.stat().st_mode & 0o777 == 0o700
        assert {path.stat().st_mode & 0o777 for path in saved.glob("*/submission.json")} == {0o600}

        mine = ids[f"{first.name}-8"]
        for command in (["scancel", "--verbose", str(mine)], ["scontrol", "release", str(mine)]):
            with pytest.raises(AdapterError):
                real.commands.tell(*command, owner=second)
        with pytest.raises(AdapterError):  # nor write what only the controller writes, on one's own job
            real.commands.tell("scontrol", "update", f"jobid={mine}", "AdminComment=x", owner=first)

        real.run(real.controller())
        runs = {run.name: run for run in real.runs()}
        assert sorted(runs) == sorted(ids)
        for user in users:
            for gpus in (8, 24):
                assert runs[f"{user.name}-{gpus}"].user == user.name
            assert (user.home / f"slurm-{ids[f'{user.name}-24']}.out").stat().st_uid == user.uid


def test_a_comment_cannot_reach_another_users_job(users: list[Owner]) -> None:
    """`origin` names another user's job, as if it had taken its place: that job must stay."""
    first, second = users
    with real_cluster((4,)) as real:
        mine = submit_as(first, real, "mine", 4)
        fields = {"gpus": 1, "iterations": 1, "model": "resnet50", "origin": mine}
        forged = real.commands.tell(
            "sbatch", "--parsable", "--ntasks=1", "--gpus-per-task=1", "--chdir=/tmp", "--output=/dev/null",
            f"--comment={comment_of(fields)}", "--wrap=true", owner=second,
        )  # fmt: skip
        real.wait(lambda: real.jobs()[int(forged)].done)
        real.run(real.controller())
        assert [run.name for run in real.runs()] == ["mine"]


def test_what_a_user_saves_cannot_make_root_read_another_file(users: list[Owner]) -> None:
    """A link to a file that only root can read: the controller reads as the user, and cannot either."""
    first, _ = users
    with real_cluster((4, 4, 8, 8)) as real:
        job_id = submit_as(first, real, "job", 24)
        secret = real.folder / "secret"
        secret.write_text('{"arguments": [], "environment": {"SECRET": "x"}, "umask": 0}')
        secret.chmod(0o600)
        submission = next((first.home / ".ringsched" / "slurm").glob("*/submission.json"))
        submission.unlink()
        submission.symlink_to(secret)
        real.controller().cycle()
        job = real.jobs()[job_id]
        assert job.held
        assert "refused" in job.note
        assert note_text(Note(), job.note)  # what stands there can be read again
        assert real.runs() == []
