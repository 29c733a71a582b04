"""A real Slurm for tests: clusters, scripts that say what they saw, and what must be true of every run."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from ringsched.clusters.slurm.commands import SlurmCommands
from ringsched.clusters.slurm.controller import Controller, Cycle, Planner
from ringsched.clusters.slurm.jobs import SlurmJob, read_jobs
from ringsched.clusters.slurm.local import LocalCluster, of_cluster
from ringsched.clusters.slurm.network import Network
from ringsched.clusters.slurm.run import run
from ringsched.clusters.slurm.submit import submit

# Writes down start, end and the GPUs Slurm gave it, each line in one write.
SCRIPT = """#!/bin/bash
folder=$1 name=$2 sleep_s=$3 code=${4:-0}
parts=$(for at in $(seq 0 $((${SLURM_HET_SIZE:-1} - 1))); do
    id=SLURM_JOB_ID_HET_GROUP_$at
    scontrol show job -d -o "${!id:-$SLURM_JOB_ID}" |
        grep -oE ' Nodes=[^ ]+ CPU_IDs=[^ ]+ Mem=[^ ]+ GRES=[^ ]+'
done)
echo "$name start $(date +%s.%N) $SLURM_JOB_ID $(id -un) ${parts//$'\\n'/ }" >> "$folder/log"
sleep "$sleep_s"
echo "$name end $(date +%s.%N) $SLURM_JOB_ID" >> "$folder/log"
exit "$code"
"""
# A second for every iteration, and nothing to exchange: what it takes does not depend on where it is.
SLEEPS: Mapping[str, object] = {"gradient_mb": 0.0, "minibatch": 1, "forward_ms": 0.0, "backward_ms": 1000.0}
NETWORK = Network()


@dataclass(kw_only=True)
class Real:
    """A cluster, where its jobs write, and what a controller did."""

    local: LocalCluster
    folder: Path
    commands: SlurmCommands
    released: dict[str, dict[str, int]] = field(default_factory=dict)  # id -> servers

    def submit(
        self, name: str, gpus: int, sleep_s: float, *, seconds: int | None = None, code: int = 0
    ) -> int:
        fields = {**SLEEPS, "gpus": gpus, "iterations": seconds or max(1, round(sleep_s))}
        arguments = [str(self.folder), name, str(sleep_s), str(code)]
        return submit(
            self.commands, fields, self.folder / "job.sh", arguments, partition="gpu", options=("--requeue",)
        )

    def controller(self, planner: Planner | None = None, **more: object) -> Controller:
        return Controller(
            commands=self.commands,
            clock=time.time,
            network=NETWORK,
            partition="gpu",
            planner=planner or Planner(policy="longest-first"),
            **more,  # type: ignore[arg-type]
        )

    def run(self, controller: Controller, timeout_s: float = 120.0) -> list[Cycle]:
        """Run until nothing is left to do; remember what was released where."""
        cycles: list[Cycle] = []
        end_s = time.monotonic() + timeout_s

        def wait(seconds: float) -> None:
            assert time.monotonic() < end_s, "jobs are left"
            time.sleep(seconds)

        run(controller, interval_s=0.1, wait=wait, until_idle=True, on_cycle=cycles.append)
        for cycle in cycles:
            self.remember(cycle)
        return cycles

    def remember(self, cycle: Cycle) -> None:
        if cycle.planned is None:
            return
        planned = {entry.name: entry for entry in cycle.planned.plan.jobs}
        for name, job_id in cycle.released.items():
            servers = {server: len(held) for server, held in planned[name].gpus.items()}
            self.released[job_id] = servers

    def jobs(self) -> dict[int, SlurmJob]:
        return {job.id: job for job in read_jobs(self.commands)}

    def runs(self) -> list[Run]:
        """What the jobs wrote down."""
        log = self.folder / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        ends = {
            (line.split()[0], line.split()[3]): float(line.split()[2]) for line in lines if " end " in line
        }
        return [_run(line, ends) for line in lines if " start " in line]

    def wait(self, condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
        end_s = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < end_s, "waited in vain"
            time.sleep(0.05)


@dataclass(frozen=True)
class Run:
    name: str
    start_s: float
    end_s: float | None
    job_id: str
    user: str
    gpus: Mapping[str, tuple[int, ...]]

    @property
    def servers(self) -> dict[str, int]:
        return {node: len(held) for node, held in self.gpus.items()}


def _run(line: str, ends: Mapping[tuple[str, str], float]) -> Run:
    from ringsched.clusters.slurm.values import expand, gpu_indices

    name, _, start_s, job_id, user, *parts = line.split()
    gpus: dict[str, tuple[int, ...]] = {}
    nodes: list[str] = []
    for part in parts:
        if part.startswith("Nodes="):
            nodes = expand(part.removeprefix("Nodes="))
        elif part.startswith("GRES="):
            gpus |= dict.fromkeys(nodes, gpu_indices(part.removeprefix("GRES=")))
    return Run(name, float(start_s), ends.get((name, job_id)), job_id, user, gpus)


def assert_no_gpu_twice(runs: Sequence[Run]) -> None:
    held: dict[tuple[str, int], list[tuple[float, float, str]]] = {}
    for each in runs:
        for node, gpus in each.gpus.items():
            for gpu in gpus:
                held.setdefault((node, gpu), []).append((each.start_s, each.end_s or each.start_s, each.name))
    for stays in held.values():
        stays.sort()
        for (_, end_s, first), (start_s, _, second) in pairwise(stays):
            assert start_s >= end_s, (first, second)


@contextmanager
def real_cluster(gpus: Sequence[int], num_switches: int = 0) -> Iterator[Real]:
    """A cluster that is gone afterwards, whatever happened, to the last process."""
    base = Path(tempfile.mkdtemp(prefix="ringsched-"))  # short, for sockets; pytest's are too long and closed
    base.chmod(0o755)
    local = LocalCluster(base / "slurm")
    before = os.environ.get("SLURM_CONF")
    try:
        local.start(gpus, num_switches)
        os.environ["SLURM_CONF"] = str(local.config)
        work = base / "work"
        work.mkdir()
        work.chmod(0o777)
        (work / "job.sh").write_text(SCRIPT)
        (work / "log").touch()
        (work / "log").chmod(0o666)  # jobs of all users write there
        yield Real(local=local, folder=work, commands=SlurmCommands(timeout_s=20.0, config=local.config))
    finally:
        os.environ.pop("SLURM_CONF", None)
        if before is not None:
            os.environ["SLURM_CONF"] = before
        if local.config.exists():
            local.stop()
        assert of_cluster(local.config) == [], "something survived"
        shutil.rmtree(base)
