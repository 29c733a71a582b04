"""Quiet links: one server if any holds the job, else few servers behind links that few jobs use."""

from __future__ import annotations

from ringsched.engine.arrays import Arrays
from ringsched.engine.state import State
from ringsched.jit import kernel, part
from ringsched.placement.best_fit import take
from ringsched.placement.scratch import Scratch
from ringsched.placement.select import sort

_NO_RACK = -1


@kernel
def one_server(arrays: Arrays, state: State, job: int) -> bool:
    """Choose GPUs of the server with the fewest idle ones that holds the job whole, if there is one."""
    wanted = arrays.gpus[job]
    tightest = -1
    for server in range(len(arrays.rack_of)):
        idle = state.num_idle[server]
        if idle >= wanted and (tightest < 0 or idle < state.num_idle[tightest]):
            tightest = server
            if idle == wanted:
                break
    return tightest >= 0 and take(arrays, state, tightest, 0, wanted) == wanted


@kernel
def quiet_links(arrays: Arrays, state: State, scratch: Scratch, job: int, most_on_link: int) -> bool:
    """Choose GPUs of servers whose uplinks are crossed by at most `most_on_link` jobs so far.

    First of all the quietest links that suffice; on those one rack, if one suffices; there the fewest
    servers, and the last of them as tight as possible. False if there are too few behind such links.
    """
    wanted = arrays.gpus[job]
    level = 0
    while level <= most_on_link:
        rack = _tightest_rack(arrays, state, scratch, wanted, level)
        total = 0
        next_level = most_on_link + 1
        for server in range(len(arrays.rack_of)):
            if state.num_idle[server] > 0:
                on_link = _busiest_link(arrays, state, server)
                if on_link <= level:
                    total += state.num_idle[server]
                else:
                    next_level = min(next_level, on_link)
        if rack != _NO_RACK or total >= wanted:
            _choose(arrays, state, scratch, wanted, level, rack)
            return True
        level = next_level
    return False


@part
def _busiest_link(arrays: Arrays, state: State, server: int) -> int:
    """Return how many jobs cross the uplink of a server or that of its rack, whichever has more."""
    rack = arrays.rack_of[server]
    on_link = state.num_on_link[server]
    return on_link if rack < 0 else max(on_link, state.num_on_link[rack])


@part
def _tightest_rack(arrays: Arrays, state: State, scratch: Scratch, wanted: int, level: int) -> int:
    """Return the rack with the fewest idle GPUs that suffice, behind quiet links of its servers.

    Inside a rack its own uplink is not crossed.
    """
    num_servers, num_nodes = len(arrays.rack_of), len(arrays.capacity)
    idle = scratch.rack_idle
    for rack in range(num_servers, num_nodes):
        idle[rack] = 0
    for server in range(num_servers):
        rack = arrays.rack_of[server]
        if rack >= 0 and state.num_on_link[server] <= level:
            idle[rack] += state.num_idle[server]
    tightest = _NO_RACK
    for rack in range(num_servers, num_nodes):
        if idle[rack] >= wanted and (tightest == _NO_RACK or idle[rack] < idle[tightest]):
            tightest = rack
    return tightest


@part
def _choose(arrays: Arrays, state: State, scratch: Scratch, wanted: int, level: int, rack: int) -> None:
    """Take the emptiest servers, and as the last one the fullest that holds the rest."""
    for server in range(len(arrays.rack_of)):
        if rack == _NO_RACK:
            scratch.taken[server] = _busiest_link(arrays, state, server) > level
        else:
            scratch.taken[server] = arrays.rack_of[server] != rack or state.num_on_link[server] > level
    num_chosen = 0
    while num_chosen < wanted:
        server = _next_server(state, scratch, wanted - num_chosen)
        scratch.taken[server] = True
        num_chosen = take(arrays, state, server, num_chosen, wanted)
    sort(state.chosen, wanted)


@part
def _next_server(state: State, scratch: Scratch, rest: int) -> int:
    """Return the fullest server that holds the rest, else the emptiest; ties go to the lower index."""
    emptiest = -1
    tightest = -1
    for server in range(len(scratch.taken)):
        idle = state.num_idle[server]
        if scratch.taken[server] or idle == 0:
            continue
        if emptiest < 0 or idle > state.num_idle[emptiest]:
            emptiest = server
        if idle >= rest and (tightest < 0 or idle < state.num_idle[tightest]):
            tightest = server
    return emptiest if tightest < 0 else tightest
