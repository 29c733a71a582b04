"""The lines for training scripts in the tutorial: ranks meet, also when two jobs share their first node."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.integration.slurm.real import Real

from ringsched.clusters.controller import Start

pytestmark = [pytest.mark.slurm, pytest.mark.compiled]
TUTORIAL = Path(__file__).parents[3] / "docs" / "tutorials" / "slurm.md"
BLOCKS = [
    block
    for block in re.findall(r"```bash\n(.*?)```", TUTORIAL.read_text(), re.DOTALL)
    if "MASTER_ADDR" in block
]

# All ranks meet at the address of the first, which stays there for a while; then each says where it is.
MEET = """\
import os, socket, sys, time
name, address, port, rank, size = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
if rank == 0:
    with socket.create_server((address, port)) as server:
        server.settimeout(20)
        others = [server.accept()[0] for _ in range(size - 1)]
        met = sorted(int(other.recv(9)) for other in others)
        time.sleep(2)
        assert met == list(range(1, size)), met
else:
    for _ in range(200):
        try:
            with socket.create_connection((address, port)) as connection:
                connection.sendall(str(rank).encode())
            break
        except OSError:
            time.sleep(0.1)
    else:
        raise SystemExit("nobody is there")
line = f"{name} {os.environ['SLURM_JOB_ID']} {rank} {size} {os.environ['SLURMD_NODENAME']}\\n"
with open("met", "a") as file:
    file.write(line)
"""
TRAIN = """\
import os, runpy, sys
sys.argv[1:] = ["train", *(os.environ[key] for key in ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"))]
runpy.run_path("meet.py")
"""
TORCHRUN = """\
#!{python}
import runpy, sys
given = dict(word[2:].split("=") for word in sys.argv[1:] if word.startswith("--"))
keys = ("master_addr", "master_port", "node_rank", "nnodes")
sys.argv[1:] = [given["nproc_per_node"], *(given[key] for key in keys)]
runpy.run_path("meet.py")
"""


def test_the_tutorial_has_both_ways() -> None:
    assert ["torchrun" in block for block in BLOCKS] == [False, True]


@pytest.fixture
def prepared(real: Real) -> Real:
    """A cluster with `python`, a stand-in for `torchrun`, and a script for each way."""
    programs = real.folder / "bin"
    programs.mkdir()
    (programs / "python").symlink_to(sys.executable)
    (programs / "torchrun").write_text(TORCHRUN.format(python=sys.executable))
    (programs / "torchrun").chmod(0o755)
    (real.folder / "meet.py").write_text(MEET)
    (real.folder / "train.py").write_text(TRAIN)
    for at, block in enumerate(BLOCKS):
        setup = f"export PATH={programs}:$PATH TMPDIR={real.folder}; cd {real.folder}\n"
        (real.folder / f"way{at}.sh").write_text(f"#!/bin/bash\n{setup}{block}")
    return real


def met(real: Real) -> list[list[str]]:
    return [line.split() for line in (real.folder / "met").read_text().splitlines()]


@pytest.mark.parametrize("way", range(len(BLOCKS)))
def test_two_jobs_share_their_first_node(prepared: Real, way: int) -> None:
    """Four GPUs each, two on each of two nodes, at the same time."""
    real = prepared
    request = ("--nodes=2", "--gpus-per-node=2") if way else ("--nodes=2", "--ntasks=4", "--gpus-per-task=1")
    (real.folder / "job.sh").write_text((real.folder / f"way{way}.sh").read_text())
    real.commands.tell("scontrol", "update", "nodename=n3,n4", "state=drain", "reason=not now")
    ids = [real.sbatch(f"job{at}", 4, *request, seconds=3) for at in range(2)]
    cycles = real.run(real.controller())
    assert cycles[0].started == {f"job-{job_id}" for job_id in ids}  # side by side
    assert [real.jobs()[job_id].state for job_id in ids] == ["COMPLETED", "COMPLETED"]
    found = met(real)
    size = 2 if way else 4
    assert Counter(row[1] for row in found) == dict.fromkeys(ids, size)
    assert {row[4] for row in found if row[2] == "0"} == {"n1"}
    if way:
        assert {row[0] for row in found} == {"2"}  # processes on each node
        assert {(row[2], row[4]) for row in found} == {("0", "n1"), ("1", "n2")}


def test_ranks_follow_the_ring(prepared: Real) -> None:
    """In the ring n2 comes before n1; Slurm's own order is the other."""
    real = prepared
    (real.folder / "job.sh").write_text((real.folder / "way1.sh").read_text())
    job_id = real.sbatch("job", 4, "--gpus=4")
    backend = real.backend()
    backend.snapshot()
    assert backend.apply([Start(name=f"job-{job_id}", servers={"n2": 2, "n1": 2}, finish_s=3.0)])
    real.wait(lambda: real.jobs()[job_id].done)
    assert {(row[2], row[4]) for row in met(real)} == {("0", "n2"), ("1", "n1")}
