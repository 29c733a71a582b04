"""The switches that nodes hang on, as Slurm's topology has them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ringsched.errors import AdapterError
from ringsched.slurm.commands import Commands
from ringsched.slurm.hostlist import expand

_SWITCH = re.compile(
    r"^SwitchName=(\S+) Level=(\d+) LinkSpeed=\d+ Nodes=(\S+)(?: Switches=(\S+))?", re.MULTILINE
)


class Topology(NamedTuple):
    """Which switch each node hangs on, and which one each of these; what hangs on the core is left out."""

    switch_of: Mapping[str, str]
    parent_of: Mapping[str, str]


def read_topology(commands: Commands, nodes: Sequence[str]) -> Topology:
    """Return the switches above `nodes`; none if Slurm knows none, or all nodes hang on the same."""
    try:
        text = commands.ask("scontrol", "show", "topology")
    except AdapterError as error:
        if not error.refused:
            raise
        return Topology({}, {})  # no topology plugin
    return topology_of(text, nodes)


def topology_of(text: str, nodes: Sequence[str]) -> Topology:
    """Return the same of what Slurm printed.

    Switches above all of the nodes are left out, as no job of theirs crosses an uplink up there.

    Examples
    --------
    >>> text = '''SwitchName=r1 Level=0 LinkSpeed=1 Nodes=n[1-2]
    ... SwitchName=r2 Level=0 LinkSpeed=1 Nodes=n3
    ... SwitchName=r3 Level=0 LinkSpeed=1 Nodes=n4
    ... SwitchName=left Level=1 LinkSpeed=1 Nodes=n[1-3] Switches=r[1-2]
    ... SwitchName=core Level=2 LinkSpeed=1 Nodes=n[1-4] Switches=left,r3
    ... '''
    >>> topology_of(text, ["n1", "n4"])
    Topology(switch_of={'n1': 'r1', 'n4': 'r3'}, parent_of={'r1': 'left'})
    >>> topology_of(text, ["n1", "n2"])
    Topology(switch_of={}, parent_of={})
    """
    switch_of: dict[str, str] = {}
    parent_of: dict[str, str] = {}
    above_all: set[str] = set()
    for name, level, listed, switches in _SWITCH.findall(text):
        below = set(expand(listed))
        if below.issuperset(nodes):
            above_all.add(name)
        if level == "0":
            switch_of |= dict.fromkeys(below, name)
        parent_of |= dict.fromkeys(expand(switches) if switches else (), name)
    used = {node: switch_of[node] for node in nodes if switch_of.get(node, "") not in {"", *above_all}}
    above: dict[str, str] = {}
    for switch in used.values():
        while (parent := parent_of.get(switch)) is not None and parent not in above_all:
            above[switch] = parent
            switch = parent
    return Topology(used, above)
