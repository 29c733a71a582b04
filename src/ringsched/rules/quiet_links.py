"""Quiet links: one server if any holds the job, else few servers behind links that few jobs use."""

from __future__ import annotations

from ringsched.contention.network import CORE
from ringsched.engine.state import Arrays, State
from ringsched.jit import kernel, part
from ringsched.model.eligibility import ANY_PARTS
from ringsched.rules.best_fit import one_server, take
from ringsched.rules.eligible import narrow, widen
from ringsched.rules.layout import is_split
from ringsched.rules.shared import ANY_NUMBER, Queue, Scratch, sort

# Which servers a job is spread over.
EMPTIEST_FIRST, FULLEST_FIRST = 0, 1


@kernel
def quiet_links(
    arrays: Arrays, state: State, scratch: Scratch, queue: Queue, job: int, limit: int, kappa: int
) -> bool:
    """Choose one server if any holds the job, else servers over the links that the fewest jobs use."""
    return one_server(arrays, state, job) or spread_quietly(
        arrays, state, scratch, job, ANY_NUMBER, EMPTIEST_FIRST
    )


@kernel
def spread_quietly(
    arrays: Arrays, state: State, scratch: Scratch, job: int, most_on_link: int, first: int
) -> bool:
    """Choose GPUs of several servers behind links with at most so many jobs, in a layout that suits the job.

    For a balanced layout, every server is seen with as many idle GPUs as one part needs, or with none.
    """
    if arrays.permits.parts[job] == ANY_PARTS:
        return over_quiet_links(arrays, state, scratch, job, most_on_link, first)
    wanted, found = arrays.gpus[job], False
    for num_parts in range(2, min(wanted, arrays.num_servers) + 1):
        if is_split(arrays, job, num_parts):
            narrow(arrays, state, scratch, wanted // num_parts)
            found = over_quiet_links(arrays, state, scratch, job, most_on_link, first)
            widen(arrays, state, scratch)
            if found:
                break
    return found


@kernel
def waiting_for_server(
    arrays: Arrays, state: State, scratch: Scratch, queue: Queue, job: int, limit: int, kappa: int
) -> bool:
    """Choose one server, for which a job of up to κ GPUs waits; a larger one goes over the quietest links."""
    if one_server(arrays, state, job):
        return True
    must_spread = arrays.gpus[job] > kappa or arrays.permits.parts[job] > 1
    return must_spread and spread_quietly(arrays, state, scratch, job, ANY_NUMBER, EMPTIEST_FIRST)


@kernel
def few_on_links(
    arrays: Arrays, state: State, scratch: Scratch, queue: Queue, job: int, limit: int, kappa: int
) -> bool:
    """Choose one server if any holds the job, else servers over links that at most κ jobs use so far."""
    return one_server(arrays, state, job) or spread_quietly(
        arrays, state, scratch, job, kappa, EMPTIEST_FIRST
    )


@kernel
def fullest_servers(
    arrays: Arrays, state: State, scratch: Scratch, queue: Queue, job: int, limit: int, kappa: int
) -> bool:
    """Choose one server if any holds the job, else the fullest servers over links that no job uses.

    So a large job uses up what smaller jobs left of their servers.
    """
    return one_server(arrays, state, job) or spread_quietly(arrays, state, scratch, job, 0, FULLEST_FIRST)


@kernel
def over_quiet_links(
    arrays: Arrays, state: State, scratch: Scratch, job: int, most_on_link: int, first: int
) -> bool:
    """Choose GPUs behind links that are crossed by at most `most_on_link` jobs so far.

    First of all the quietest links that suffice; on those one switch, if one suffices; there the emptiest
    or the fullest servers first. False if there are too few behind such links.
    """
    wanted = arrays.gpus[job]
    level = 0
    while level <= most_on_link:
        switch = _tightest_switch(arrays, state, scratch, wanted, level)
        total = 0
        next_level = most_on_link + 1
        for server in range(arrays.num_servers):
            if state.num_idle[server] > 0:
                on_link = _busiest_link(arrays, state, server)
                if on_link <= level:
                    total += state.num_idle[server]
                else:
                    next_level = min(next_level, on_link)
        if switch != CORE or total >= wanted:
            _exclude(arrays, state, scratch, level, switch)
            if first == FULLEST_FIRST:
                _take_fullest(arrays, state, scratch, wanted)
            else:
                _take_emptiest(arrays, state, scratch, wanted)
            return True
        level = next_level
    return False


@part
def _busiest_link(arrays: Arrays, state: State, server: int) -> int:
    """Return the most jobs that cross one of the uplinks from a server to the core."""
    on_link = state.traffic.num_on_link[server]
    node = arrays.links.parent_of[server]
    while node != CORE:
        on_link = max(on_link, state.traffic.num_on_link[node])
        node = arrays.links.parent_of[node]
    return on_link


@part
def _tightest_switch(arrays: Arrays, state: State, scratch: Scratch, wanted: int, level: int) -> int:
    """Return the switch with the fewest idle GPUs that suffice, behind quiet links below it; else CORE.

    Inside a switch its own uplink is not crossed.
    """
    idle, num_on_link = scratch.idle_below, state.traffic.num_on_link
    for switch in range(arrays.num_servers, len(arrays.capacity)):
        idle[switch] = 0
    for server in range(arrays.num_servers):
        node = server
        while num_on_link[node] <= level:
            node = arrays.links.parent_of[node]
            if node == CORE:
                break
            idle[node] += state.num_idle[server]
    tightest = CORE
    for switch in range(arrays.num_servers, len(arrays.capacity)):
        if idle[switch] >= wanted and (tightest == CORE or idle[switch] < idle[tightest]):
            tightest = switch
    return tightest


@part
def _exclude(arrays: Arrays, state: State, scratch: Scratch, level: int, switch: int) -> None:
    """Count as taken all servers that are not below a switch, or are behind a busy link."""
    for server in range(arrays.num_servers):
        node = server
        while node != switch and node != CORE and state.traffic.num_on_link[node] <= level:
            node = arrays.links.parent_of[node]
        scratch.taken[server] = node != switch


@part
def _take_emptiest(arrays: Arrays, state: State, scratch: Scratch, wanted: int) -> None:
    """Take the emptiest servers first, and as the last one the fullest that holds the rest."""
    num_chosen = 0
    while num_chosen < wanted:
        server = _next_server(state, scratch, wanted - num_chosen)
        scratch.taken[server] = True
        num_chosen = take(arrays, state, server, num_chosen, wanted)
    sort(state.chosen, wanted)


@part
def _take_fullest(arrays: Arrays, state: State, scratch: Scratch, wanted: int) -> None:
    """Take the fullest servers first; of the last one all GPUs, if leaving out another server allows it."""
    found, most_idle = 0, 0
    while found < wanted:
        most_idle += 1
        for server in range(len(scratch.taken)):
            if found < wanted and not scratch.taken[server] and state.num_idle[server] == most_idle:
                found += most_idle
    left_over, num_chosen = found - wanted, 0
    for idle in range(1, most_idle + 1):
        for server in range(len(scratch.taken)):
            if scratch.taken[server] or state.num_idle[server] != idle or num_chosen == wanted:
                continue
            if idle == left_over:
                left_over = 0
            else:
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
