"""A cluster of like servers, below one level of switches or none."""

from __future__ import annotations

from ringsched.errors import InputError
from ringsched.model import Cluster, Contention, Server, Switch
from ringsched.model.checks import MAX_GPUS, integer, number

INTER_SERVER_GBPS = 100.0
INTRA_SERVER_GBPS = 200.0
REDUCE_GBPS = 400.0
OVERSUBSCRIPTION = 4  # of a switch's uplink, unless its speed is given
CONTENTION = Contention(degradation=0.2745, server_latency_ms=0.2)  # Wang et al. on Ethernet


def like_servers(
    servers: int,
    gpus_per_server: int,
    switches: int = 0,
    inter_server_gbps: float = INTER_SERVER_GBPS,
    switch_uplink_gbps: float | None = None,
) -> Cluster:
    """Return servers s0, s1, ... below switches r0, r1, ..., split as evenly as possible; 0 for no switch.

    Examples
    --------
    >>> cluster = like_servers(4, 8, switches=2)
    >>> [(server.name, server.switch) for server in cluster.servers][1:3], cluster.capacity
    ([('s1', 'r0'), ('s2', 'r1')], 32)
    """
    num_servers = integer(servers, "servers", minimum=1, maximum=MAX_GPUS)
    num_gpus = integer(gpus_per_server, "gpus_per_server", minimum=1, maximum=MAX_GPUS)
    if num_servers * num_gpus > MAX_GPUS:
        raise InputError(f"= {num_servers} of {num_gpus} GPUs are more than {MAX_GPUS} GPUs", field="servers")
    num_switches = integer(switches, "switches", minimum=0)
    if num_switches > num_servers:
        raise InputError(f"= {num_switches} are more than the servers, {num_servers}", field="switches")
    gbps = number(inter_server_gbps, "inter_server_gbps", above=0)
    most_servers = -(-num_servers // num_switches) if num_switches else 0  # below one switch
    if switch_uplink_gbps is None:
        uplink_gbps = max(gbps, gbps * most_servers / OVERSUBSCRIPTION)
    elif num_switches == 0:
        raise InputError("is only allowed with at least one switch", field="switch_uplink_gbps")
    else:
        uplink_gbps = number(switch_uplink_gbps, "switch_uplink_gbps", above=0)
    return Cluster(
        servers=tuple(
            Server(
                name=f"s{at}",
                gpus=num_gpus,
                switch=f"r{at * num_switches // num_servers}" if num_switches else None,
            )
            for at in range(num_servers)
        ),
        switches=tuple(Switch(name=f"r{at}", uplink_gbps=uplink_gbps) for at in range(num_switches)),
        inter_server_gbps=gbps,
        intra_server_gbps=INTRA_SERVER_GBPS,
        reduce_gbps=REDUCE_GBPS,
    )
