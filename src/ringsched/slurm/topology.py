"""The switches of a cluster: those that nodes hang on become racks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ringsched.errors import AdapterError
from ringsched.slurm.commands import Commands
from ringsched.slurm.hostlist import expand

_LEAF = re.compile(r"^SwitchName=(\S+) Level=0 LinkSpeed=\d+ Nodes=(\S+)", re.MULTILINE)


def read_racks(commands: Commands, nodes: Sequence[str]) -> dict[str, str]:
    """Return the rack of each of `nodes`; none if all hang on one switch or Slurm knows no switches."""
    try:
        text = commands.ask("scontrol", "show", "topology")
    except AdapterError as error:
        if not error.refused:
            raise
        return {}  # no topology plugin
    return racks_of(text, nodes)


def racks_of(text: str, nodes: Sequence[str]) -> dict[str, str]:
    """Return the same of what Slurm printed.

    Examples
    --------
    >>> text = '''SwitchName=r1 Level=0 LinkSpeed=1 Nodes=n[1-2]
    ... SwitchName=r2 Level=0 LinkSpeed=1 Nodes=n3
    ... SwitchName=core Level=1 LinkSpeed=1 Nodes=n[1-3] Switches=r[1-2]
    ... '''
    >>> racks_of(text, ["n1", "n3"]), racks_of(text, ["n1", "n2"])
    ({'n1': 'r1', 'n3': 'r2'}, {})
    """
    switch_of = {node: switch for switch, listed in _LEAF.findall(text) for node in expand(listed)}
    racks = {node: switch_of[node] for node in nodes if node in switch_of}
    return racks if len(set(racks.values())) > 1 or 0 < len(racks) < len(nodes) else {}
