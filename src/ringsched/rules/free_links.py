"""Free links: a spread job starts only on links with fewer than n jobs: SRSF(n) of Wang et al. (2020)."""

from __future__ import annotations

from ringsched.contention.network import CORE
from ringsched.engine.state import Arrays, State
from ringsched.jit import kernel, part
from ringsched.model.eligibility import ANY_PARTS
from ringsched.rules.best_fit import fit
from ringsched.rules.layout import BY_IDLE, is_split, take_parts
from ringsched.rules.shared import MAX_LOAD, Queue, Scratch


@kernel
def free_links(
    arrays: Arrays, state: State, scratch: Scratch, queue: Queue, job: int, limit: int, kappa: int
) -> bool:
    """Choose by best fit, but no uplink with as many jobs on it as there are lanes (κ)."""
    return over_free_links(arrays, state, scratch, job, kappa)


@kernel
def over_free_links(arrays: Arrays, state: State, scratch: Scratch, job: int, most_jobs: int) -> bool:
    """Choose by best fit, but no uplink that the job would then share with `most_jobs` others.

    The links it would cross are left in `scratch.links`. A job that waits does so behind one that runs
    on a link, so none waits for ever.
    """
    if arrays.permits.parts[job] == ANY_PARTS:
        return fit(arrays, state, scratch, job, most_jobs) and _are_free(
            arrays, state, scratch, job, most_jobs
        )
    wanted = arrays.gpus[job]
    for num_parts in range(1, min(wanted, arrays.num_servers) + 1):
        if (
            is_split(arrays, job, num_parts)
            and take_parts(
                arrays, state, scratch, num_parts, wanted // num_parts, MAX_LOAD, BY_IDLE, most_jobs
            )
            and _are_free(arrays, state, scratch, job, most_jobs)
        ):
            return True
    return False


@part
def _are_free(arrays: Arrays, state: State, scratch: Scratch, job: int, most_jobs: int) -> bool:
    """Whether all links that the job would cross on the chosen GPUs have fewer than so many jobs."""
    scratch.num_links[0] = crossed_links(arrays, state, scratch, job)
    num_full = 0  # of switches; best fit has looked at servers
    for at in range(scratch.num_links[0]):
        num_full += state.traffic.num_on_link[scratch.links[at]] >= most_jobs
    return num_full == 0


@part
def crossed_links(arrays: Arrays, state: State, scratch: Scratch, job: int) -> int:
    """List the links the job would cross on the chosen GPUs: 0 < y(v) < G, eq. (6)."""
    links, below, wanted, num_links = arrays.links, scratch.below, arrays.gpus[job], 0
    if arrays.server_of[state.chosen[0]] == arrays.server_of[state.chosen[wanted - 1]]:
        return 0  # on one server
    below[:] = 0
    for at in range(wanted):
        node = arrays.server_of[state.chosen[at]]
        while node != CORE:
            below[node] += 1
            node = links.parent_of[node]
    for node in range(len(below)):
        if 0 < below[node] < wanted:
            scratch.links[num_links] = node
            num_links += 1
    return num_links
