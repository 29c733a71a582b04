"""Slurm's own priorities as classes: the plan is free inside a class, and never across.

Slurm gives a held job no priority, so the same factors are weighed here as `priority/multifactor` does.
Age is left out: in a class, the job that waited longest comes first anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ringsched.clusters.slurm.commands import Commands
from ringsched.clusters.slurm.jobs import SlurmJob
from ringsched.clusters.slurm.site import Partition, Site, whole
from ringsched.clusters.slurm.values import number, string
from ringsched.errors import AdapterError

_STEPS = 100  # classes between no priority and the sum of all weights
_TIER = 10**6  # a tier is above everything else
_NICE = 2147483648  # an offset of newer versions of Slurm


@dataclass(frozen=True, slots=True, kw_only=True)
class Priorities:
    """What the priority of a job depends on.

    Parameters
    ----------
    weights
        The weight of `qos`, `fairshare` and `partition`; empty without `priority/multifactor`.
    qos
        The priority of each QOS.
    fairshare
        The factor of each account and user, from 0 to 1.
    """

    weights: Mapping[str, int] = field(default_factory=dict)
    qos: Mapping[str, int] = field(default_factory=dict)
    fairshare: Mapping[tuple[str, str], float] = field(default_factory=dict)
    most_factor: int = 1

    def of(self, job: SlurmJob, partition: Partition) -> int:
        """Return the class of a job, higher classes first."""
        nice = number(job.record, "nice") or 0
        nice -= _NICE if nice >= _NICE else 0
        qos = self.qos.get(string(job.record, "qos"), 0)
        if not self.weights:
            return _TIER * partition.tier + qos - nice
        share = self.fairshare.get((string(job.record, "account"), job.user), 0.0)
        value = (
            self.weights["qos"] * qos / max(1, *self.qos.values(), 1)
            + self.weights["fairshare"] * share
            + self.weights["partition"] * partition.factor / max(1, self.most_factor)
            - nice
        )
        return _TIER * partition.tier + round(_STEPS * value / max(1, sum(self.weights.values())))


def read_priorities(commands: Commands, site: Site) -> Priorities:
    """Read what priorities depend on; without accounting, there are only partitions and `--nice`."""
    settings = site.settings
    has_accounts = settings.get("AccountingStorageType") == "accounting_storage/slurmdbd"
    weights = {}
    if settings.get("PriorityType") == "priority/multifactor":
        keys = {"qos": "QOS", "fairshare": "FairShare", "partition": "Partition"}
        weights = {name: whole(settings.get(f"PriorityWeight{key}")) for name, key in keys.items()}
    lines = _lines(commands, "sacctmgr", "show", "qos", "format=name,priority") if has_accounts else []
    shares = []
    if has_accounts and weights.get("fairshare"):
        shares = _lines(commands, "sshare", "--all", "--format=Account,User,FairShare")
    return Priorities(
        weights=weights if sum(weights.values()) else {},
        qos={line[0]: whole(line[1]) for line in lines if len(line) > 1},
        fairshare={
            (line[0].strip(), line[1]): _share(line[2]) for line in shares if len(line) > 2 and line[1]
        },
        most_factor=max((each.factor for each in site.partitions.values()), default=1),
    )


def _lines(commands: Commands, *arguments: str) -> list[list[str]]:
    """Return the columns that a command of the accounting prints; none if it refuses."""
    try:
        text = commands.ask(*arguments, "--noheader", "--parsable2")
    except AdapterError as error:
        if not error.refused:
            raise
        return []
    return [line.split("|") for line in text.splitlines()]


def _share(text: str) -> float:
    try:
        return min(1.0, max(0.0, float(text)))
    except ValueError:
        return 0.0
