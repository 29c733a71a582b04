"""Counters of the testbed's links; called inside it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path


def wire_bytes(num_servers: int) -> int:
    """Return what the shaped interfaces of all servers have sent so far, headers included."""
    return sum(_sent(server) for server in range(num_servers))


def _sent(server: int) -> int:
    command = ["tc", "-n", f"s{server}", "-s", "-j", "qdisc", "show", "dev", "eth0"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(json.loads(done.stdout)[0]["bytes"])


def segments_again(text: str | None = None) -> int:
    r"""Return how many segments were sent again in the network of this process; 0 where the kernel is silent.

    Examples
    --------
    >>> segments_again("Tcp: ActiveOpens RetransSegs\nTcp: 4 17")
    17
    """
    try:
        lines = (Path("/proc/self/net/snmp").read_text() if text is None else text).splitlines()
        names, values = [line.split() for line in lines if line.startswith("Tcp:")]
        return int(values[names.index("RetransSegs")])
    except (OSError, ValueError):
        return 0
