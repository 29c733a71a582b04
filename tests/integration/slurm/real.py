"""A real Slurm for tests: clusters, scripts that say what they saw, and what must be true of every run."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from tests.integration.slurm.accounting import accounting

from ringsched.clusters.controller import Controller, Cycle, Start, run
from ringsched.clusters.network import Network
from ringsched.clusters.planning import Planner
from ringsched.clusters.slurm.backend import SlurmBackend
from ringsched.clusters.slurm.commands import Commands, SlurmCommands
from ringsched.clusters.slurm.comments import comment_of
from ringsched.clusters.slurm.jobs import SlurmJob, read_jobs
from ringsched.clusters.slurm.local import LocalCluster, LocalNode, of_cluster
from ringsched.clusters.slurm.submit import submit
from ringsched.clusters.slurm.values import expand, gpu_indices

# Writes down start, end and the GPUs Slurm gave it, each line in one write.
SCRIPT = """#!/bin/bash
folder=$1 name=$2 sleep_s=$3 code=${4:-0}
id=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}
parts=$(scontrol show job -d -o "${id:-$SLURM_JOB_ID}" |
    grep -oE ' Nodes=[^ ]+ CPU_IDs=[^ ]+ Mem=[^ ]+ GRES=[^ ]+')
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
    ) -> str:
        fields = {**SLEEPS, "gpus": gpus, "iterations": seconds or max(1, round(sleep_s))}
        arguments = [str(self.folder), name, str(sleep_s), str(code)]
        script = self.folder / "job.sh"
        options = ("--requeue", "--output=/dev/null")
        return str(submit(self.commands, fields, script, arguments, partition="gpu", options=options))

    def sbatch(
        self, name: str, gpus: int, *options: str, seconds: int = 1, sleep_s: float = 0.3, code: int = 0
    ) -> str:
        """Submit a held job as a user types it; return its id."""
        fields = {**SLEEPS, "gpus": gpus, "iterations": seconds}
        return self.commands.tell(
            "sbatch", "--parsable", "--hold", "--requeue", "--output=/dev/null", "--chdir=/tmp",
            f"--comment={comment_of(fields)}", *options, str(self.folder / "job.sh"), str(self.folder), name,
            str(sleep_s), str(code),
        ).strip()  # fmt: skip

    def backend(self, commands: Commands | None = None, **more: object) -> SlurmBackend:
        options: dict[str, object] = {"partitions": ("gpu",)} | more
        return SlurmBackend(
            commands=commands or self.commands, clock=time.time, network=NETWORK, **options  # type: ignore[arg-type]
        )  # fmt: skip

    def controller(
        self, planner: Planner | None = None, commands: Commands | None = None, **more: object
    ) -> Controller:
        return Controller(
            backend=self.backend(commands, **more), planner=planner or Planner(policy="longest-first")
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
        for decision in cycle.decisions:
            if isinstance(decision, Start) and decision.name in cycle.started:
                self.released[decision.name.removeprefix("job-")] = dict(decision.servers)

    def jobs(self) -> dict[str, SlurmJob]:
        return {job.id: job for job in read_jobs(self.commands)}

    def runs(self) -> list[Run]:
        """What the jobs wrote down; a run without an end was cut off, or is still going on."""
        log, runs = self.folder / "log", list[Run]()
        for line in log.read_text().splitlines() if log.exists() else []:
            name, event, moment, job_id, *_ = line.split()
            if event == "start":
                runs.append(_run(line))
            else:  # of its last start, since a requeued job starts again
                last = max(at for at, run in enumerate(runs) if (run.name, run.job_id) == (name, job_id))
                runs[last] = replace(runs[last], end_s=float(moment))
        return runs

    def lose(self, node: str) -> None:
        """The power of a node fails: its daemon and all processes of jobs on it are gone."""
        self.local.stop_daemon(node, signal.SIGKILL)
        here = [
            process
            for process in of_cluster(self.local.config)
            if f"SLURMD_NODENAME={node}".encode() in process.environment
        ]
        for pid in {_parent(process.pid) for process in here}:
            if Path(f"/proc/{pid}/comm").read_text().strip() == "slurmstepd":
                os.kill(pid, signal.SIGKILL)
        for process in here:
            process.end(signal.SIGKILL)
        self.commands.tell("scontrol", "update", f"nodename={node}", "state=down", "reason=power")

    def start_soon(self, job_id: str) -> None:
        """Shorten the delay before a requeued job starts; in the second of its end, nodes would refuse it."""
        self.wait(lambda: self.jobs()[job_id].held)
        time.sleep(2)
        self.commands.tell("scontrol", "update", f"jobid={job_id}", "StartTime=now")

    def wait(
        self, condition: Callable[[], bool], timeout_s: float = 30.0, said: Callable[[], str] = lambda: ""
    ) -> None:
        """Wait for something; if it does not come, fail with what was said meanwhile."""
        end_s = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < end_s, f"waited in vain\n{said()}"
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


def _parent(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return int(stat[stat.rindex(")") + 2 :].split()[1])


def _run(line: str) -> Run:
    name, _, start_s, job_id, user, *parts = line.split()
    gpus: dict[str, tuple[int, ...]] = {}
    nodes: list[str] = []
    for part in parts:
        if part.startswith("Nodes="):
            nodes = expand(part.removeprefix("Nodes="))
        elif part.startswith("GRES="):
            gpus |= dict.fromkeys(nodes, gpu_indices(part.removeprefix("GRES=")))
    return Run(name, float(start_s), None, job_id, user, gpus)


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
def real_cluster(
    gpus: Sequence[int | LocalNode], num_switches: int = 0, more: str = "", *, with_accounts: bool = False
) -> Iterator[Real]:
    """A cluster that is gone afterwards, whatever happened, to the last process."""
    base = Path(tempfile.mkdtemp(prefix="ringsched-"))  # short, for sockets; pytest's are too long and closed
    base.chmod(0o755)
    local = LocalCluster(base / "slurm")
    before = os.environ.get("SLURM_CONF")
    stack = ExitStack()
    try:
        if with_accounts:
            socket = local.directory / "munge" / "munge.socket"
            accounts = stack.enter_context(accounting(base / "accounts", socket))
            local.start(gpus, num_switches, more + accounts.settings, accounts.start_slurmdbd)
        else:
            local.start(gpus, num_switches, more)
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
        stack.close()
        assert of_cluster(local.config) == [], "something survived"
        shutil.rmtree(base)
