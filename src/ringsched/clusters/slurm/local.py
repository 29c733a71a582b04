"""A local Slurm cluster of many nodes with simulated GPUs, for trials and tests."""

from __future__ import annotations

import getpass
import os
import re
import shlex
import shutil
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ringsched.clusters.processes import Process, processes_with, start, wait_until
from ringsched.clusters.slurm.commands import SlurmCommands
from ringsched.errors import AdapterError, InputError

PARTITION = "gpu"
_DAEMONS = ("munged", "slurmctld", "slurmd", "slurmscriptd", "slurmstepd")


def of_cluster(config: Path) -> list[Process]:
    """Return the daemons and the jobs' processes of the cluster with this slurm.conf."""
    # A user's shell may have the configuration too, but is not in a job.
    return [
        process
        for process in processes_with(f"SLURM_CONF={config}")
        if process.program in _DAEMONS or _is_in_job(process)
    ]


def _is_in_job(process: Process) -> bool:
    """Whether it is of a job; slurmstepd keeps these, and does not end on request without slurmctld."""
    is_started_by_slurm = any(word.startswith(b"SLURM_JOB_ID=") for word in process.environment)
    return process.program == "slurmstepd" or is_started_by_slurm


_CONFIG = """\
ClusterName=ringsched
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={directory}/munge/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool/%n
SlurmctldPidFile={directory}/run/slurmctld.pid
SlurmdPidFile={directory}/run/slurmd.%n.pid
SlurmctldLogFile={directory}/log/slurmctld.log
SlurmdLogFile={directory}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
# Everything at once: this is for trying out, not for thousands of jobs.
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,bf_interval=1,bf_hetjob_immediate
PriorityType=priority/basic
SlurmdParameters=config_overrides
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
GresTypes=gpu
ReturnToService=2
KillWait=2
MinJobAge=300
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalNode:
    """A node to be simulated; without `cpus`, it has two for each GPU, and at least eight."""

    gpus: int
    gpu_type: str = ""
    features: str = ""
    cpus: int = 0


def write_config(
    directory: Path, nodes: Sequence[LocalNode], num_switches: int, ports: Sequence[int], more: str = ""
) -> None:
    """Write slurm.conf and its companion files.

    The first port is slurmctld's, then those of the nodes. `more` is appended, and a key in it counts instead
    of the usual one.
    """
    host = socket.gethostname().partition(".")[0]
    usual = _CONFIG.format(host=host, port=ports[0], user=getpass.getuser(), directory=directory)
    changed = {line.partition("=")[0] for line in more.splitlines() if not line.startswith("PartitionName")}
    lines = [line for line in usual.splitlines(keepends=True) if line.partition("=")[0] not in changed]
    resources = ["AutoDetect=off\n"]
    for at, (node, port) in enumerate(zip(nodes, ports[1:], strict=True), start=1):
        cores = node.cpus or max(8, 2 * node.gpus)
        kind = f"{node.gpu_type}:" if node.gpu_type else ""
        features = f"Feature={node.features} " if node.features else ""
        lines.append(
            f"NodeName=n{at} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cores} Sockets=1 "
            f"CoresPerSocket={cores} ThreadsPerCore=1 RealMemory=4000 {features}"
            f"Gres=gpu:{kind}{node.gpus} State=UNKNOWN\n"
        )
        type_of = f"Type={node.gpu_type} " if node.gpu_type else ""
        resources.append(f"NodeName=n{at} Name=gpu {type_of}File={directory}/dev/gpu[0-{node.gpus - 1}]\n")
    lines.append(f"PartitionName={PARTITION} Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n")
    lines.append(more)
    gpus = [node.gpus for node in nodes]
    if num_switches:
        lines.append("TopologyPlugin=topology/tree\n")
        (directory / "etc" / "topology.conf").write_text(_switches(len(gpus), num_switches))
    (directory / "etc" / "slurm.conf").write_text("".join(lines))
    (directory / "etc" / "gres.conf").write_text("".join(resources))
    (directory / "etc" / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    for index in range(max(gpus)):
        (directory / "dev" / f"gpu{index}").symlink_to("/dev/null")


def _switches(num_nodes: int, num_switches: int) -> str:
    nodes_of: dict[int, list[str]] = {}
    for at in range(num_nodes):
        nodes_of.setdefault(at * num_switches // num_nodes, []).append(f"n{at + 1}")
    leaves = [f"SwitchName=r{switch} Nodes={','.join(nodes)}\n" for switch, nodes in nodes_of.items()]
    return "".join([*leaves, f"SwitchName=core Switches={','.join(f'r{switch}' for switch in nodes_of)}\n"])


def free_ports(count: int) -> list[int]:
    """Return unused ports of this machine."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue")
_START_S = 30.0
_END_S = 10.0
_LONGEST_SOCKET = 107  # characters of the path of a socket


def missing_programs() -> list[str]:
    """Return the missing programs of Slurm and munge."""
    return [program for program in PROGRAMS if _program(program) is None]


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


class LocalCluster:
    """A cluster in a directory; any process can `start` and `stop` it.

    Runs as the user who starts it; only root's cluster can run jobs of several users.
    """

    def __init__(self, directory: Path) -> None:
        self._given = directory
        self.directory = directory.absolute()

    @property
    def config(self) -> Path:
        """The value of SLURM_CONF for this cluster."""
        return self.directory / "etc" / "slurm.conf"

    def start(
        self,
        gpus: Sequence[int | LocalNode],
        num_switches: int = 0,
        more: str = "",
        before: Callable[[], None] = lambda: None,
    ) -> None:
        """Start a node for each number of GPUs, and wait until all of them are there.

        `more` is added to slurm.conf. `before` is called when munged is up, before slurmctld starts.
        """
        if missing := missing_programs():
            names = ", ".join(missing)
            raise AdapterError(f"not installed here: {names}; on Debian: apt-get install slurm-wlm munge")
        if len(f"{self.directory}/munge/munge.socket") > _LONGEST_SOCKET:
            raise InputError("is too long for sockets; choose a shorter path", file=str(self.directory))
        try:
            self.directory.mkdir(mode=0o755)
        except FileExistsError:
            stop = f"ringsched slurm local --stop --directory {shlex.quote(str(self._given))}"
            problem = f"already exists; stop the cluster there with '{stop}', or choose another --directory"
            raise InputError(problem, file=str(self.directory)) from None
        except OSError as error:
            raise InputError(f"cannot be created: {error.strerror}", file=str(self.directory)) from None
        try:
            nodes = [LocalNode(gpus=each) if isinstance(each, int) else each for each in gpus]
            self._start(nodes, num_switches, more, before)
        except BaseException:
            self._end()
            raise

    def _start(
        self, nodes: Sequence[LocalNode], num_switches: int, more: str, before: Callable[[], None]
    ) -> None:
        for name in ("etc", "run", "state", "log", "spool", "munge", "dev"):
            (self.directory / name).mkdir(mode=0o755)
        write_config(self.directory, nodes, num_switches, free_ports(len(nodes) + 1), more)
        key = os.open(self.directory / "munge" / "munge.key", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(key, "wb") as file:  # noqa: PTH123
            file.write(os.urandom(1024))
        self.start_daemon("munged")
        before()
        self.start_daemon("slurmctld")
        for at in range(len(nodes)):
            self.start_daemon(f"n{at + 1}")
        self.wait_for_nodes(len(nodes))

    def start_daemon(self, name: str) -> None:
        """Start `munged` or `slurmctld`, and wait until it listens; or the slurmd of a node."""
        munge = self.directory / "munge"
        options = {
            "munged": [
                # --force also allows a private directory, where only jobs of its owner run.
                "munged", "--foreground", "--force", f"--socket={munge}/munge.socket",
                f"--key-file={munge}/munge.key", f"--log-file={munge}/munged.log",
                f"--pid-file={munge}/munged.pid", f"--seed-file={munge}/munged.seed",
            ],
            "slurmctld": ["slurmctld", "-D", "-f", str(self.config)],
        }  # fmt: skip
        program, *rest = options.get(name, ["slurmd", "-D", "-N", name, "-f", str(self.config)])
        found = _program(program)
        assert found is not None  # checked by start
        environment = {"PATH": os.environ.get("PATH", os.defpath), "SLURM_CONF": str(self.config)}
        start([found, *rest], self._output_of(name), environment)
        # Commands and a slurmd that find no slurmctld would try again only after seconds.
        listens = {"munged": (munge / "munge.socket").exists, "slurmctld": self._slurmctld_listens}
        if name in listens and not wait_until(listens[name], _START_S):
            raise AdapterError(f"{name} does not start: {self._last_message(name)}")

    def _slurmctld_listens(self) -> bool:
        port = re.search(r"^SlurmctldPort=(\d+)$", self.config.read_text(), re.MULTILINE)
        with socket.socket() as probe:
            return port is not None and probe.connect_ex(("127.0.0.1", int(port[1]))) == 0

    def stop_daemon(self, name: str, number: signal.Signals = signal.SIGTERM) -> None:
        """End one of them, and wait until it has ended."""
        found = [
            process
            for process in of_cluster(self.config)
            if process.program == name or (process.program == "slurmd" and name in process.arguments)
        ]
        for each in (number, signal.SIGKILL):
            for process in found:
                process.end(each)
            if wait_until(lambda: not any(process.runs() for process in found), _END_S):
                return

    def wait_for_nodes(self, count: int) -> None:
        """Wait until so many nodes can run jobs."""
        commands = SlurmCommands(timeout_s=5.0, config=self.config)

        def are_up() -> bool:
            try:
                up = commands.ask("sinfo", "--noheader", "--Node", "--states=idle,mixed,alloc", "--format=%N")
            except AdapterError:
                return False
            return len(set(up.split())) == count

        if not wait_until(are_up, _START_S):
            raise AdapterError(f"the nodes do not come up: {self._last_message('slurmctld')}")

    def stop(self) -> None:
        """End the daemons and all jobs, and remove the directory."""
        if not self.config.exists():
            raise InputError(
                "is not a local cluster; name the directory of `ringsched slurm local`",
                file=str(self.directory),
            )
        self._end()

    def _end(self) -> None:
        def left(number: signal.Signals, *, jobs_only: bool = False) -> list[Process]:
            found = [process for process in of_cluster(self.config) if _is_in_job(process) or not jobs_only]
            for process in found:
                process.end(number)
            return [process for process in found if process.runs()]

        self.stop_daemon("slurmctld")  # first the processes that would start others
        wait_until(lambda: not left(signal.SIGKILL, jobs_only=True), _END_S)
        if not wait_until(lambda: not left(signal.SIGTERM), _END_S):
            wait_until(lambda: not left(signal.SIGKILL), _END_S)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _output_of(self, name: str) -> Path:
        return self.directory / "log" / f"{name}.out"

    def _last_message(self, name: str) -> str:
        try:
            lines = self._output_of(name).read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        return lines[-1] if lines else "no message"
