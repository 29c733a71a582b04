"""Changes of a scenario for `whatif`, with labels in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from ringsched.errors import InputError, UnknownName
from ringsched.formats.overrides import overridden
from ringsched.formatting import listed
from ringsched.model import Cluster, Scenario, Server, Switch
from ringsched.model.checks import MAX_GPUS, integer, number
from ringsched.model.cluster import RACKS, SWITCHES
from ringsched.model.eligibility import NO_LABELS

# Fields that can be set by name; a table of factors is not a single number.
CONTENTION_KEYS = ("model", "share", "degradation", "server_latency_ms", "lanes")

_Node = TypeVar("_Node", Server, Switch)


class Change(Protocol):
    """One change of a scenario."""

    def label(self, scenario: Scenario) -> str:
        """Return the change in words."""

    def apply(self, scenario: Scenario) -> Scenario:
        """Return the changed scenario, or raise if it is invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddServers:
    """More servers, connected to the core with the cluster's link speed; by default of the usual size.

    They have the labels that most servers of their size have.
    If one switch without an uplink is above the whole cluster, they are connected to it.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> change = AddServers(count=2)
    >>> change.label(scenario), len(change.apply(scenario).cluster.servers)
    ('2 more servers of 8 GPUs', 6)
    """

    count: int
    gpus: int | None = None

    def __post_init__(self) -> None:
        integer(self.count, "add-servers", minimum=1, maximum=MAX_GPUS)
        if self.gpus is not None:
            integer(self.gpus, "add-servers", minimum=1, maximum=MAX_GPUS)

    def label(self, scenario: Scenario) -> str:
        """Return their number and size."""
        gpus, servers = self._gpus(scenario), "server" if self.count == 1 else "servers"
        return f"{self.count} more {servers} of {gpus} GPU{'' if gpus == 1 else 's'}"

    def apply(self, scenario: Scenario) -> Scenario:
        """Return the scenario with the servers at its end."""
        servers, names = list(scenario.cluster.servers), {server.name for server in scenario.cluster.servers}
        switches = scenario.cluster.switches
        top = next((switch.name for switch in switches if switch.uplink_gbps is None), None)
        gpus = self._gpus(scenario)
        like = [server.labels for server in servers if server.gpus == gpus] or [NO_LABELS]
        labels = Counter(like).most_common(1)[0][0]
        number = 0
        while len(servers) < len(names) + self.count:
            if f"new-{number}" not in names:
                servers.append(Server(name=f"new-{number}", gpus=gpus, switch=top, labels=labels))
            number += 1
        return _with_cluster(scenario, servers=tuple(servers))

    def _gpus(self, scenario: Scenario) -> int:
        usual = Counter(server.gpus for server in scenario.cluster.servers).most_common(1)
        return usual[0][0] if self.gpus is None else self.gpus


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveServer:
    """Removes a server; no job may be running there."""

    name: str

    def label(self, scenario: Scenario) -> str:  # noqa: ARG002
        """Return the removed server."""
        return f"without server {self.name}"

    def apply(self, scenario: Scenario) -> Scenario:
        """Return the scenario without it."""
        names = [server.name for server in scenario.cluster.servers]
        if self.name not in names:
            raise UnknownName("server", self.name, names, field="remove-server")
        for job in scenario.jobs:
            if self.name in (job.running_on or {}):
                raise InputError(f"job {job.name!r} runs there already, and is not moved")
        kept = tuple(server for server in scenario.cluster.servers if server.name != self.name)
        return _with_cluster(scenario, servers=kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSpeed:
    """Another `inter_server_gbps`; servers and switches with their own uplink speed keep it.

    Examples
    --------
    >>> import ringsched
    >>> LinkSpeed(inter_server_gbps=400).label(ringsched.load_scenario("examples/first.toml"))
    'server uplinks 400 Gbit/s, not 100'
    """

    inter_server_gbps: float

    def __post_init__(self) -> None:
        number(self.inter_server_gbps, "inter_server_gbps", above=0)

    def label(self, scenario: Scenario) -> str:
        """Return the new and the old speed, and whether the links of switches keep theirs."""
        cluster = scenario.cluster
        words = f"server uplinks {self.inter_server_gbps:g} Gbit/s, not {cluster.inter_server_gbps:g}"
        kept = any(switch.uplink_gbps is not None for switch in cluster.switches)
        return f"{words}; rack uplinks unchanged" if kept else words

    def apply(self, scenario: Scenario) -> Scenario:
        """Return the scenario with that speed."""
        return _with_cluster(scenario, inter_server_gbps=self.inter_server_gbps)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFactor:
    """Multiplies the speed of all links between servers and switches, or of those of one level.

    Examples
    --------
    >>> import ringsched
    >>> cluster = ringsched.Cluster.of_levels((4, 2, 2), oversubscription=(1, 4))
    >>> scenario = ringsched.Scenario(cluster=cluster, jobs=())
    >>> change = LinkFactor(factor=4, level=2)
    >>> change.label(scenario), change.apply(scenario).cluster.switches[4].uplink_gbps
    ('level-2 links 4 times as fast', 800.0)
    """

    factor: float
    level: int | None = None  # 0 for the links of servers, 1 for those of the switches above them, ...

    def __post_init__(self) -> None:
        number(self.factor, "link-factor", above=0)
        if self.level is not None:
            integer(self.level, "link-factor", minimum=0)

    def label(self, scenario: Scenario) -> str:
        """Return the factor, and of which links."""
        which = "links" if self.level is None else _links_of(scenario.cluster, self.level)
        return f"{which} {self.factor:g} times as fast"

    def apply(self, scenario: Scenario) -> Scenario:
        """Return the scenario with these uplinks multiplied."""
        cluster, level_of = scenario.cluster, scenario.cluster.switch_levels
        if self.level is not None:
            _check_level(cluster, self.level)
        changed: dict[str, Any] = {
            "switches": tuple(
                self._faster(switch) if self.level in (None, level_of[switch.name]) else switch
                for switch in cluster.switches
            )
        }
        if self.level in (None, 0):
            changed["servers"] = tuple(self._faster(server) for server in cluster.servers)
            changed["inter_server_gbps"] = cluster.inter_server_gbps * self.factor
        return _with_cluster(scenario, **changed)

    def _faster(self, node: _Node) -> _Node:
        return node if node.uplink_gbps is None else node.replace(uplink_gbps=node.uplink_gbps * self.factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelSpeed:
    """Another speed of all links of one level.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.Scenario(cluster=ringsched.Cluster.of_servers(4, switches=2), jobs=())
    >>> LevelSpeed(gbps=400, level=1).label(scenario)
    '400 Gbit/s rack links, not 100'
    """

    gbps: float
    level: int  # 0 for the links of servers, 1 for those of the switches above them, ...

    def __post_init__(self) -> None:
        number(self.gbps, "link-gbps", above=0)
        integer(self.level, "link-gbps", minimum=0)

    def label(self, scenario: Scenario) -> str:
        """Return the new speed, and the old one if it is the same everywhere."""
        cluster = scenario.cluster
        if self.level == 0:
            speeds = {server.uplink_gbps or cluster.inter_server_gbps for server in cluster.servers}
        else:
            speeds = {switch.uplink_gbps or 0.0 for switch in self._switches(cluster)}
        old = f", not {speeds.pop():g}" if len(speeds) == 1 else ""
        return f"{self.gbps:g} Gbit/s {_links_of(cluster, self.level)}{old}"

    def apply(self, scenario: Scenario) -> Scenario:
        """Return the scenario with that speed."""
        cluster = scenario.cluster
        _check_level(cluster, self.level)
        if self.level == 0:
            servers = tuple(server.replace(uplink_gbps=None) for server in cluster.servers)
            return _with_cluster(scenario, servers=servers, inter_server_gbps=self.gbps)
        changed = {switch.name: switch.replace(uplink_gbps=self.gbps) for switch in self._switches(cluster)}
        switches = tuple(changed.get(switch.name, switch) for switch in cluster.switches)
        return _with_cluster(scenario, switches=switches)

    def _switches(self, cluster: Cluster) -> list[Switch]:
        """Return the switches of the level; one without an uplink has no speed to change."""
        level_of = cluster.switch_levels
        return [
            switch
            for switch in cluster.switches
            if level_of[switch.name] == self.level and switch.uplink_gbps is not None
        ]


def _links_of(cluster: Cluster, level: int) -> str:
    if level == 0:
        return "server links"
    return f"level-{level} links" if cluster.switch_words is SWITCHES else f"{RACKS.one} links"


def _check_level(cluster: Cluster, level: int) -> None:
    """Refuse a level without links."""
    levels = {cluster.switch_levels[switch.name] for switch in cluster.switches if switch.uplink_gbps}
    if level not in {0, *levels}:
        known = [f"{each} ({cluster.level_name(each)})" for each in sorted({0, *levels})]
        raise InputError(f"there are no such links, only those of level {listed(known)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherContention:
    """Other fields of the scenario's contention."""

    fields: Mapping[str, Any]

    def label(self, scenario: Scenario) -> str:  # noqa: ARG002
        """Return the fields."""
        return f"contention {', '.join(f'{key} {value}' for key, value in self.fields.items())}"

    def apply(self, scenario: Scenario) -> Scenario:
        """Return the scenario with them."""
        return scenario.replace(contention=scenario.contention.replace(**self.fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class SetField:
    """Another value of any field of the scenario, written as for `--set`.

    Examples
    --------
    >>> import ringsched
    >>> change = SetField(written="time.slot_s=30")
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> change.label(scenario), change.apply(scenario).time.slot_s
    ('time.slot_s = 30', 30.0)
    """

    written: str

    def label(self, scenario: Scenario) -> str:  # noqa: ARG002
        """Return the field and its value."""
        key, _, value = self.written.partition("=")
        return f"{key.strip()} = {value.strip()}"

    def apply(self, scenario: Scenario) -> Scenario:
        """Return the scenario with that value."""
        return overridden(scenario, self.written)


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Several changes at once, one after the other."""

    changes: tuple[Change, ...]

    def label(self, scenario: Scenario) -> str:
        """Return all of them."""
        return ", ".join(change.label(scenario) for change in self.changes)

    def apply(self, scenario: Scenario) -> Scenario:
        """Return the scenario with all of them."""
        for change in self.changes:
            scenario = change.apply(scenario)
        return scenario


def _with_cluster(scenario: Scenario, **fields: Any) -> Scenario:
    cluster: Cluster = replace(scenario.cluster, **fields)
    return scenario.replace(cluster=cluster)
