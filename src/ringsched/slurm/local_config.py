"""The files of a Slurm cluster of many nodes with fake GPUs on this machine alone."""

from __future__ import annotations

import getpass
import socket
from collections.abc import Sequence
from pathlib import Path

PARTITION = "gpu"

_CONFIG = """\
ClusterName=ringsched
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd.%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
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


def write_config(folder: Path, gpus: Sequence[int], num_switches: int, ports: Sequence[int]) -> None:
    """Write slurm.conf and what belongs to it; the first port is slurmctld's, the others are the nodes'."""
    host = socket.gethostname().partition(".")[0]
    lines = [_CONFIG.format(host=host, port=ports[0], user=getpass.getuser(), folder=folder)]
    resources = ["AutoDetect=off\n"]
    for at, (count, port) in enumerate(zip(gpus, ports[1:], strict=True), start=1):
        cores = max(8, 2 * count)
        lines.append(
            f"NodeName=n{at} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cores} Sockets=1 "
            f"CoresPerSocket={cores} ThreadsPerCore=1 RealMemory=4000 Gres=gpu:{count} State=UNKNOWN\n"
        )
        resources.append(f"NodeName=n{at} Name=gpu File={folder}/dev/gpu[0-{count - 1}]\n")
    lines.append(f"PartitionName={PARTITION} Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n")
    if num_switches:
        lines.append("TopologyPlugin=topology/tree\n")
        (folder / "etc" / "topology.conf").write_text(_switches(len(gpus), num_switches))
    (folder / "etc" / "slurm.conf").write_text("".join(lines))
    (folder / "etc" / "gres.conf").write_text("".join(resources))
    (folder / "etc" / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    for index in range(max(gpus)):
        (folder / "dev" / f"gpu{index}").symlink_to("/dev/null")


def _switches(num_nodes: int, num_switches: int) -> str:
    nodes_of: dict[int, list[str]] = {}
    for at in range(num_nodes):
        nodes_of.setdefault(at * num_switches // num_nodes, []).append(f"n{at + 1}")
    leaves = [f"SwitchName=r{switch} Nodes={','.join(nodes)}\n" for switch, nodes in nodes_of.items()]
    return "".join([*leaves, f"SwitchName=core Switches={','.join(f'r{switch}' for switch in nodes_of)}\n"])


def free_ports(count: int) -> list[int]:
    """Return ports of this machine that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
