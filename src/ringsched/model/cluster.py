"""The hardware: servers, switches above them to any depth, and the links between them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

from ringsched.errors import InputError, UnknownName
from ringsched.formatting import counted, one_line
from ringsched.model.checks import (
    MAX_GPUS,
    Replaceable,
    instance,
    integer,
    number,
    sequence,
    settle,
    text,
    unique,
)
from ringsched.model.eligibility import NO_LABELS, Labels, Windows, labels, windows


class SwitchWords(NamedTuple):
    """What files and labels call a switch: the field of a server that names one, and the table of all."""

    one: str
    table: str


SWITCHES = SwitchWords("switch", "switches")
RACKS = SwitchWords("rack", "racks")  # the same in clusters with one level of them

# Of hardware about which nothing is known.
INTER_SERVER_GBPS = 100.0
INTRA_SERVER_GBPS = 200.0
REDUCE_GBPS = 400.0
OVERSUBSCRIPTION = 4  # of a switch's uplink

LEVEL_NAMES = ("leaf", "spine", "core")  # of switches, from the servers up


@dataclass(frozen=True, slots=True, kw_only=True)
class Server(Replaceable):
    """One server: O_s GPUs behind one uplink.

    Parameters
    ----------
    name, gpus
        Its name and how many GPUs it has, the unavailable ones included.
    switch
        Name of the switch its uplink leads to; the core of the network if absent.
    uplink_gbps
        Speed of its uplink; the cluster's `inter_server_gbps` if absent.
    unavailable
        Indices of GPUs that are unavailable.
    labels
        Its properties by name, such as `{"gpu": "a100"}`, which jobs can require.
    unavailable_windows
        Pairs (from_s, to_s): no job may hold a GPU of the server during one.
    """

    name: str
    gpus: int
    switch: str | None = None
    uplink_gbps: float | None = None
    unavailable: tuple[int, ...] = ()
    labels: Labels = NO_LABELS
    unavailable_windows: Windows = ()

    def __post_init__(self) -> None:
        settle(
            self, name=text(self.name, "name"), gpus=integer(self.gpus, "gpus", minimum=1, maximum=MAX_GPUS)
        )
        if self.switch is not None:
            settle(self, switch=text(self.switch, "switch"))
        if self.uplink_gbps is not None:
            settle(self, uplink_gbps=number(self.uplink_gbps, "uplink_gbps", above=0))
        settle(
            self,
            unavailable=self._checked_unavailable(),
            labels=labels(self.labels, "labels"),
            unavailable_windows=windows(self.unavailable_windows, "unavailable_windows"),
        )

    @property
    def capacity(self) -> int:
        """GPUs that can be used."""
        return self.gpus - len(self.unavailable)

    def _checked_unavailable(self) -> tuple[int, ...]:
        listed = sequence(self.unavailable, "unavailable", "GPU indices")
        indices = [integer(index, f"unavailable[{at}]", minimum=0) for at, index in enumerate(listed)]
        seen: set[int] = set()
        for at, index in enumerate(indices):
            if index >= self.gpus:
                raise InputError(
                    f"names GPU {index}, but the server has GPUs 0 to {self.gpus - 1}",
                    field=f"unavailable[{at}]",
                )
            if index in seen:
                raise InputError(f"names GPU {index} twice", field=f"unavailable[{at}]")
            seen.add(index)
        return tuple(sorted(indices))

    def expanded(self) -> dict[str, Any]:
        """Return the fields as a scenario file writes them, absent optionals left out."""
        optional = {
            "switch": self.switch,
            "uplink_gbps": self.uplink_gbps,
            "unavailable": list(self.unavailable),
            "labels": self.labels.expanded(),
            "unavailable_windows": [list(window) for window in self.unavailable_windows],
        }
        return {"name": self.name, "gpus": self.gpus} | {
            key: value for key, value in optional.items() if value not in (None, [], {})
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch(Replaceable):
    """A node of the network above servers or other switches, with one uplink.

    Parameters
    ----------
    name
        Its name; servers and switches below it refer to it.
    uplink_gbps
        Speed of its uplink, the sum of parallel links. Only a switch above the whole cluster can do
        without: no job crosses its uplink.
    parent
        Name of the switch its uplink leads to; the core of the network if absent.
    """

    name: str
    uplink_gbps: float | None = None
    parent: str | None = None

    def __post_init__(self) -> None:
        settle(self, name=text(self.name, "name"))
        if self.uplink_gbps is not None:
            settle(self, uplink_gbps=number(self.uplink_gbps, "uplink_gbps", above=0))
        if self.parent is not None:
            settle(self, parent=text(self.parent, "parent"))

    def expanded(self) -> dict[str, Any]:
        """Return the fields but the name as a scenario file writes them, absent optionals left out."""
        optional = {"uplink_gbps": self.uplink_gbps, "parent": self.parent}
        return {key: value for key, value in optional.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster(Replaceable):
    """Servers, the switches above them, and the speeds b^e, b^i and C of the paper.

    The network is a tree. Switches are kept level by level from the servers up, those of a level in the
    order in which the servers first reach them, so that nothing depends on the order of keys in a file.

    `intra_server_gbps` may be given as a table by the number of GPUs that a job uses in the server, such as
    `{2: 600, 8: 400}`: 600 with 2 to 7 GPUs, 400 with more. It then becomes the speed between two GPUs, and
    `intra_server_steps` has the table.

    Examples
    --------
    >>> servers = (Server(name="a", gpus=8),)
    >>> cluster = Cluster(
    ...     servers=servers, inter_server_gbps=100, intra_server_gbps={2: 600, 5: 400}, reduce_gbps=400
    ... )
    >>> cluster.intra_server_gbps, cluster.intra_server_steps, cluster.inside_gbps
    (600.0, ((2, 600.0), (5, 400.0)), (600.0, 600.0, 600.0, 600.0, 600.0, 400.0))
    """

    servers: tuple[Server, ...]
    inter_server_gbps: float
    intra_server_gbps: float
    reduce_gbps: float
    switches: tuple[Switch, ...] = ()
    intra_server_steps: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        given: object = self.intra_server_gbps
        if isinstance(given, Mapping):
            settle(self, intra_server_steps=tuple(given.items()), intra_server_gbps=math.nan)
        self._settle_steps(from_table=isinstance(given, Mapping))
        servers = tuple(
            instance(server, f"servers[{at}]", Server)
            for at, server in enumerate(sequence(self.servers, "servers", "servers"))
        )
        switches = tuple(
            instance(switch, f"switches[{at}]", Switch)
            for at, switch in enumerate(sequence(self.switches, "switches", "switches"))
        )
        for field in ("inter_server_gbps", "intra_server_gbps", "reduce_gbps"):
            settle(self, **{field: number(getattr(self, field), field, above=0)})
        if not servers:
            raise InputError("must hold at least one server", field="servers")
        unique(((f"servers[{at}]", server.name) for at, server in enumerate(servers)), "server")
        unique(((f"switches[{at}]", switch.name) for at, switch in enumerate(switches)), "switch")
        settle(self, servers=servers, switches=_checked_tree(switches, servers))
        if sum(server.gpus for server in servers) > MAX_GPUS:
            raise InputError(f"hold more than {MAX_GPUS} GPUs in all", field="servers")

    def _settle_steps(self, *, from_table: bool) -> None:
        """Check the table of speeds inside servers; one speed that is given later replaces the table."""
        steps = []
        for gpus, gbps in self.intra_server_steps:
            field = f"intra_server_gbps.{gpus}"
            steps.append((integer(gpus, field, minimum=2, maximum=MAX_GPUS), number(gbps, field, above=0)))
        steps.sort()
        if (steps or from_table) and [gpus for gpus, _ in steps[:1]] != [2]:
            raise InputError("is missing: the speed between two GPUs", field="intra_server_gbps.2")
        if from_table:
            settle(self, intra_server_gbps=steps[0][1])
        is_table = len(steps) > 1 and self.intra_server_gbps == steps[0][1]
        settle(self, intra_server_steps=tuple(steps) if is_table else ())

    @property
    def inside_gbps(self) -> tuple[float, ...]:
        """The speeds inside a server by the number of its GPUs that a job uses; the last holds beyond."""
        speeds = [self.intra_server_gbps] * 3  # with 0 and 1 GPUs nothing is sent
        for (_, gbps), (upper, _) in pairwise(self.intra_server_steps):
            speeds += [gbps] * (upper - len(speeds))
        return (*speeds, *(gbps for _, gbps in self.intra_server_steps[1:][-1:]))

    @classmethod
    def of_servers(
        cls,
        servers: int,
        gpus_per_server: int = 8,
        *,
        switches: int = 0,
        inter_server_gbps: float = INTER_SERVER_GBPS,
        switch_uplink_gbps: float | None = None,
    ) -> Self:
        """Return identical servers s0, s1, ... below switches r0, r1, ..., split as evenly as possible.

        Parameters
        ----------
        switches
            How many; 0 for none.
        switch_uplink_gbps
            If absent, a quarter of what the most servers below one switch can send, but no less than one can.

        Examples
        --------
        >>> cluster = Cluster.of_servers(4, switches=2)
        >>> [(server.name, server.switch) for server in cluster.servers][1:3], cluster.capacity
        ([('s1', 'r0'), ('s2', 'r1')], 32)
        """
        num_servers = integer(servers, "servers", minimum=1, maximum=MAX_GPUS)
        gpus = integer(gpus_per_server, "gpus_per_server", minimum=1, maximum=MAX_GPUS)
        if num_servers * gpus > MAX_GPUS:
            raise InputError(f"= {num_servers} of {gpus} GPUs are more than {MAX_GPUS} GPUs", field="servers")
        num_switches = integer(switches, "switches", minimum=0)
        if num_switches > num_servers:
            raise InputError(f"= {num_switches} are more than the servers, {num_servers}", field="switches")
        gbps = number(inter_server_gbps, "inter_server_gbps", above=0)
        if switch_uplink_gbps is not None and not num_switches:
            raise InputError("is only allowed with at least one switch", field="switch_uplink_gbps")
        if switch_uplink_gbps is not None:
            uplink_gbps = number(switch_uplink_gbps, "switch_uplink_gbps", above=0)
        else:
            most_servers = -(-num_servers // max(1, num_switches))  # below one switch
            uplink_gbps = max(gbps, gbps * most_servers / OVERSUBSCRIPTION)
        above = [
            f"r{at * num_switches // num_servers}" if num_switches else None for at in range(num_servers)
        ]
        return cls(
            servers=tuple(Server(name=f"s{at}", gpus=gpus, switch=name) for at, name in enumerate(above)),
            switches=tuple(Switch(name=f"r{at}", uplink_gbps=uplink_gbps) for at in range(num_switches)),
            inter_server_gbps=gbps,
            intra_server_gbps=INTRA_SERVER_GBPS,
            reduce_gbps=REDUCE_GBPS,
        )

    @classmethod
    def of_levels(
        cls,
        levels: Sequence[int],
        gpus_per_server: int = 8,
        *,
        servers: int | None = None,
        inter_server_gbps: float = INTER_SERVER_GBPS,
        oversubscription: Sequence[float] = (),
    ) -> Self:
        """Return identical servers s0, s1, ... below levels of switches, each filled before the next one.

        Parameters
        ----------
        levels
            From the servers up: servers below a leaf switch, leaf switches below a spine, and so on.
        servers
            How many; if absent, as many as one switch of the highest level has.
        oversubscription
            By level, from the lowest up: what the links below a switch can send over what its uplink can.
            1 where it is absent. A switch above all servers has no uplink.

        Examples
        --------
        >>> cluster = Cluster.of_levels((8, 4, 2), oversubscription=(1, 2, 4))
        >>> len(cluster.servers), [switch.name for switch in cluster.switches][-3:]
        (64, ['spine-0', 'spine-1', 'core-0'])
        >>> cluster.switches[0].uplink_gbps, cluster.switches[-2].uplink_gbps
        (800.0, 1600.0)
        """
        given = sequence(levels, "levels", "integers")
        sizes = [integer(each, "levels", minimum=1, maximum=MAX_GPUS) for each in given]
        if not sizes:
            raise InputError("must have at least one level, such as 8:4:2", field="levels")
        ratios = [
            number(each, "oversubscription", above=0)
            for each in sequence(oversubscription, "oversubscription", "numbers")
        ]
        if len(ratios) > len(sizes):
            problem = f"has {counted(len(ratios), 'ratio')} for {counted(len(sizes), 'level')} of switches"
            raise InputError(problem, field="oversubscription")
        gpus = integer(gpus_per_server, "gpus_per_server", minimum=1, maximum=MAX_GPUS)
        most = math.prod(sizes)
        num_servers = most if servers is None else integer(servers, "servers", minimum=1, maximum=MAX_GPUS)
        if num_servers * gpus > MAX_GPUS:
            field = "levels" if servers is None else "servers"
            raise InputError(f"= {num_servers} of {gpus} GPUs are more than {MAX_GPUS} GPUs", field=field)
        gbps = number(inter_server_gbps, "inter_server_gbps", above=0)

        def named(level: int, at: int) -> str:
            return f"{LEVEL_NAMES[level] if level < len(LEVEL_NAMES) else f'level{level + 1}'}-{at}"

        num_nodes = num_servers
        parent_of: dict[str, str] = {}
        for level, size in enumerate(sizes):
            if level > 0:
                parent_of |= {named(level - 1, at): named(level, at // size) for at in range(num_nodes)}
            num_nodes = -(-num_nodes // size)
        at_leaf = [named(0, at // sizes[0]) for at in range(num_servers)]
        placed = tuple(Server(name=f"s{at}", gpus=gpus, switch=leaf) for at, leaf in enumerate(at_leaf))
        uplinks_gbps = [gbps]  # a switch that is not full has the uplink of a full one
        for level, size in enumerate(sizes):
            ratio = ratios[level] if level < len(ratios) else 1.0
            uplinks_gbps.append(uplinks_gbps[-1] * size / ratio)
        switches = switches_above(placed, parent_of, gbps, lambda _, level, __: uplinks_gbps[level])
        if num_nodes == 1:
            switches = (*switches[:-1], switches[-1].replace(uplink_gbps=None))
        return cls(
            servers=placed,
            switches=switches,
            inter_server_gbps=gbps,
            intra_server_gbps=INTRA_SERVER_GBPS,
            reduce_gbps=REDUCE_GBPS,
        )

    @property
    def capacity(self) -> int:
        """N: GPUs that can be used, over all servers."""
        return sum(server.capacity for server in self.servers)

    @property
    def in_short(self) -> tuple[str, str]:
        """How many servers and GPUs, in words."""
        return counted(len(self.servers), "server"), counted(self.capacity, "GPU")

    def __repr__(self) -> str:
        switches = [f"{len(self.switches)} {self.switch_words.table}"] if self.switches else []
        return one_line(
            "Cluster", *self.in_short, *switches, f"{self.inter_server_gbps:g} Gbit/s between servers"
        )

    @property
    def switch_levels(self) -> dict[str, int]:
        """The level of each switch: 1 above servers only, else one more than the highest switch below."""
        heights = _heights(self.switches, {switch.name: switch for switch in self.switches})
        return {name: height + 1 for name, height in heights.items()}

    def level_name(self, level: int) -> str:
        """Return what to call the servers (level 0) or the switches of a level."""
        if level == 0:
            return "servers"
        return f"level-{level} switches" if self.switch_words is SWITCHES else RACKS.table

    @property
    def switch_words(self) -> SwitchWords:
        """What files and labels call the switches of this cluster.

        One level of them is called racks, as before there could be more, so that checksums stay.
        """
        return RACKS if all(switch.parent is None for switch in self.switches) else SWITCHES

    def expanded(self) -> dict[str, Any]:
        """Return the fields as a scenario file writes them."""
        words = self.switch_words
        servers = (server.expanded() for server in self.servers)
        fields: dict[str, Any] = {
            "inter_server_gbps": self.inter_server_gbps,
            "intra_server_gbps": self.intra_server_gbps
            if not self.intra_server_steps
            else {str(gpus): gbps for gpus, gbps in self.intra_server_steps},
            "reduce_gbps": self.reduce_gbps,
            "servers": [
                {words.one if key == "switch" else key: value for key, value in server.items()}
                for server in servers
            ],
        }
        if self.switches:
            fields[words.table] = {switch.name: switch.expanded() for switch in self.switches}
        return fields


# The speed of a switch's uplink by name, level and the speeds of all links right below.
UplinkRule = Callable[[str, int, Sequence[float]], float]


def switches_above(
    servers: Sequence[Server], parent_of: Mapping[str, str], inter_server_gbps: float, uplink_of: UplinkRule
) -> tuple[Switch, ...]:
    """Return the switches above servers, with uplinks that a rule derives from the links below.

    Examples
    --------
    >>> servers = [Server(name=f"s{at}", gpus=8, switch=f"r{at // 2}") for at in range(4)]
    >>> parent_of = {"r0": "pod", "r1": "pod"}
    >>> def rule(name, level, below):
    ...     return sum(below) / level
    >>> [(switch.name, switch.uplink_gbps) for switch in switches_above(servers, parent_of, 100, rule)]
    [('r0', 200.0), ('r1', 200.0), ('pod', 200.0)]
    """
    below: dict[str, list[float]] = {}
    for server in servers:
        name = server.switch
        while name is not None and name not in below:
            below[name] = []
            name = parent_of.get(name)
        if server.switch is not None:
            below[server.switch].append(server.uplink_gbps or inter_server_gbps)
    bare = {name: Switch(name=name, parent=parent_of.get(name)) for name in below}
    heights = _heights(tuple(bare.values()), bare)
    switches = []
    for name in sorted(below, key=lambda name: heights[name]):
        gbps = uplink_of(name, heights[name] + 1, below[name])
        switches.append(bare[name].replace(uplink_gbps=gbps))
        if name in parent_of:
            below[parent_of[name]].append(gbps)
    return tuple(switches)


def check_defined(
    above: str | None,
    names: Mapping[str, object],
    *,
    field: str,
    place: str,
    words: SwitchWords = SWITCHES,
) -> None:
    """Refuse a node whose `field` names a switch that is not defined."""
    if above is None or above in names:
        return
    if not names:
        raise InputError(f"names {above!r}, but no {words.table} are defined", field=field, place=place)
    raise UnknownName(words.one, above, names, field=field, place=place)


def _checked_tree(switches: Sequence[Switch], servers: Sequence[Server]) -> tuple[Switch, ...]:
    """Return the switches level by level, or say why they and the servers are not a tree."""
    by_name = {switch.name: switch for switch in switches}
    for server in servers:
        check_defined(server.switch, by_name, field="switch", place=f"server {server.name!r}")
    for switch in switches:
        check_defined(switch.parent, by_name, field="parent", place=f"switch {switch.name!r}")
    heights = _heights(switches, by_name)
    _check_uplinks(switches, servers)
    first_use: dict[str, int] = {}
    for at, server in enumerate(servers):
        name = server.switch
        while name is not None and name not in first_use:
            first_use[name] = at
            name = by_name[name].parent
    return tuple(
        sorted(
            switches,
            key=lambda switch: (heights[switch.name], first_use.get(switch.name, MAX_GPUS), switch.name),
        )
    )


def _heights(switches: Sequence[Switch], by_name: Mapping[str, Switch]) -> dict[str, int]:
    """Return the most switches below each on a way down to the servers; refuse a cycle."""
    num_unseen = Counter(switch.parent for switch in switches if switch.parent is not None)
    heights = dict.fromkeys(by_name, 0)
    seen = [switch for switch in switches if not num_unseen[switch.name]]
    for switch in seen:  # grows: a switch follows the last one below it
        if switch.parent is not None:
            heights[switch.parent] = max(heights[switch.parent], heights[switch.name] + 1)
            num_unseen[switch.parent] -= 1
            if not num_unseen[switch.parent]:
                seen.append(by_name[switch.parent])
    if len(seen) < len(switches):
        on_cycle = next(switch for switch in switches if num_unseen[switch.name])
        raise InputError(
            f"= {on_cycle.parent!r} leads back to {on_cycle.name!r}; the network must be a tree",
            field="parent",
            place=f"switch {on_cycle.name!r}",
        )
    return heights


def _check_uplinks(switches: Sequence[Switch], servers: Sequence[Server]) -> None:
    """Refuse a switch without an uplink, unless it is the only node below the core."""
    num_at_core = sum(switch.parent is None for switch in switches)
    num_at_core += sum(server.switch is None for server in servers)
    for switch in switches:
        if switch.uplink_gbps is None and (switch.parent is not None or num_at_core > 1):
            raise InputError("is missing", field="uplink_gbps", place=f"switch {switch.name!r}")
